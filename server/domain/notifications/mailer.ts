/** Mail over the SMTP server of the options. */
import { AppError } from '../../contract/errors.ts';
import type { OptionsService } from '../options/service.ts';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly html: string;
}

/** @throws AppError mail_unset, mail_unencrypted, mail_failed. */
export type SendMail = (mail: Mail) => Promise<void>;

/** Ports where TLS comes first and not on request. */
const tlsPort = 465;
const timeoutMs = 10_000;

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** This machine by a name that cannot be anybody else. */
const isLocal = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);

/** @param ca certificate to trust besides the system's. */
export function createMailer(options: OptionsService, ca?: string): SendMail {
  return async ({ to, subject, html }) => {
    const host = options.get('SMTPServer');
    const account = options.get('SMTPAccount');
    const from = options.get('SMTPFrom') || account;
    if (host === '' || from === '') throw new AppError('mail_unset');
    // One address, never an injected list.
    if (/[\s,;<>]/.test(to)) throw new AppError('email_invalid');
    const port = options.get('SMTPPort');
    const password = options.get('SMTPToken');
    const secure = port === tlsPort || options.get('SMTPSSLEnabled');
    const isSet = account !== '' && password !== '';
    // An attacker on the network only has to hide that the server supports STARTTLS.
    const requireTLS = isSet && !secure && !(options.get('SMTPAllowPlainLocal') && isLocal(host));
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({
      host,
      port,
      secure,
      requireTLS,
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      disableFileAccess: true,
      disableUrlAccess: true,
      ...(isSet ? { auth: { user: account, pass: password } } : {}),
      ...(ca === undefined ? {} : { tls: { ca } }),
    });
    try {
      await transport.sendMail({ from: { name: options.get('SystemName'), address: from }, to, subject, html });
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      throw new AppError(requireTLS && code === 'ETLS' ? 'mail_unencrypted' : 'mail_failed', {}, error);
    } finally {
      transport.close();
    }
  };
}
