/** A real SMTP server on loopback that keeps what it gets. */
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface Letter {
  readonly from: string;
  readonly to: readonly string[];
  /** Decoded text of the message. */
  readonly text: string;
}

/** @param login what a client must say, null = nobody is asked. */
export async function createMailbox(login: { readonly user: string; readonly password: string } | null = null) {
  const letters: Letter[] = [];
  /** Passwords that clients said, right or wrong. */
  const passwords: string[] = [];
  const server = new SMTPServer({
    authOptional: login === null,
    disabledCommands: login === null ? ['AUTH', 'STARTTLS'] : ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: (auth, _session, done) => {
      passwords.push(auth.password ?? '');
      if (auth.username === login?.user && auth.password === login?.password) done(null, { user: auth.username });
      else done(new Error('535 wrong'));
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        letters.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: decode(Buffer.concat(chunks).toString('utf8')),
        });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    letters,
    passwords,
    port: (server.server.address() as AddressInfo).port,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

export type Mailbox = Awaited<ReturnType<typeof createMailbox>>;

/** Quoted-printable and base64 bodies, as nodemailer chooses. */
function decode(message: string): string {
  const [head = '', ...rest] = message.split('\r\n\r\n');
  const body = rest.join('\r\n\r\n');
  const encoding = /^content-transfer-encoding: (\S+)/im.exec(head)?.[1]?.toLowerCase();
  if (encoding === 'base64') return `${head}\n\n${Buffer.from(body, 'base64').toString('utf8')}`;
  if (encoding !== 'quoted-printable') return message;
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return `${head}\n\n${Buffer.from(bytes, 'latin1').toString('utf8')}`;
}
