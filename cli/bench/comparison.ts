/** Another gateway on this machine, as named on the command line: `NAME=URL,KEY,MODEL,PID`. */
import { AppError } from '../../server/contract/errors.ts';

export interface Rival {
  readonly name: string;
  readonly port: number;
  /** The path of its chat operation. */
  readonly path: string;
  readonly key: string;
  /** Empty = it knows the models of all practice upstreams by their own names. */
  readonly model: string;
  /** null = its CPU is unknown. */
  readonly pid: number | null;
  /** Header lines, each ending in CRLF. */
  readonly headers: string;
}

const loopback = /^(127(\.\d{1,3}){3}|localhost)$/;
const wrong = (detail: string): AppError => new AppError('usage', { detail: `--against ${detail}` });
const lineBreak = /[\r\n]/;

/** @param headers `NAME=HEADER: VALUE`, for whichever of them is meant. @throws AppError usage */
export function parseRival(text: string, headers: readonly string[] = []): Rival {
  const at = text.indexOf('=');
  const name = text.slice(0, at).trim();
  const [address = '', key = '', model = '', pid = '', ...more] = text.slice(at + 1).split(',');
  if (at < 1 || name === '' || more.length > 0) throw wrong(`${text}: NAME=URL,KEY,MODEL,PID`);
  if (!URL.canParse(address)) throw wrong(`${text}: URL`);
  const url = new URL(address);
  // Load goes to this machine alone, and is sent without encryption.
  if (url.protocol !== 'http:' || !loopback.test(url.hostname)) throw wrong(`${text}: http://127.0.0.1:PORT/v1`);
  if (pid !== '' && !/^[1-9]\d*$/.test(pid)) throw wrong(`${text}: PID`);
  if (lineBreak.test(key)) throw wrong(`${text}: KEY`);
  return {
    name,
    port: Number(url.port || 80),
    path: `${url.pathname.replace(/\/+$/, '')}/chat/completions`,
    key: key === '' ? '-' : key,
    model,
    pid: pid === '' ? null : Number(pid),
    headers: headersOf(name, headers),
  };
}

function headersOf(name: string, headers: readonly string[]): string {
  const own = headers.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1));
  if (own.some((line) => !/^[\w-]+:\s*[^\r\n]+$/.test(line))) throw wrong(`${name}: NAME=HEADER: VALUE`);
  return own.map((line) => `${line}\r\n`).join('');
}

/** @throws AppError usage when two have one name, or one a name of ours. */
export function parseRivals(texts: readonly string[], headers: readonly string[], taken: readonly string[]): Rival[] {
  const rivals = texts.map((text) => parseRival(text, headers));
  const names = [...taken, ...rivals.map(({ name }) => name)];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw wrong(`${twice}: twice`);
  const stray = headers.find((line) => !rivals.some(({ name }) => line.startsWith(`${name}=`)));
  if (stray !== undefined) throw wrong(`${stray}: NAME=HEADER: VALUE`);
  return rivals;
}
