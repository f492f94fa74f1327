/** Mail over the SMTP server of the options. */
import { createTransport } from 'nodemailer';
import { AppError } from '../../contract/errors.ts';
import type { OptionsService } from '../options/service.ts';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly html: string;
}

/** @throws AppError mail_unset, mail_failed. */
export type SendMail = (mail: Mail) => Promise<void>;

/** Ports where TLS comes first and not on request. */
const tlsPort = 465;
const patienceMs = 10_000;

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** @param ca certificate to trust besides the system's. */
export function createMailer(options: OptionsService, ca?: string): SendMail {
  return async ({ to, subject, html }) => {
    const host = options.get('SMTPServer');
    const account = options.get('SMTPAccount');
    const from = options.get('SMTPFrom') || account;
    if (host === '' || from === '') throw new AppError('mail_unset');
    // One address, never a list somebody smuggled in.
    if (/[\s,;<>]/.test(to)) throw new AppError('email_invalid');
    const port = options.get('SMTPPort');
    const password = options.get('SMTPToken');
    const transport = createTransport({
      host,
      port,
      secure: port === tlsPort || options.get('SMTPSSLEnabled'),
      connectionTimeout: patienceMs,
      greetingTimeout: patienceMs,
      socketTimeout: patienceMs,
      disableFileAccess: true,
      disableUrlAccess: true,
      ...(account === '' || password === '' ? {} : { auth: { user: account, pass: password } }),
      ...(ca === undefined ? {} : { tls: { ca } }),
    });
    try {
      await transport.sendMail({ from: { name: options.get('SystemName'), address: from }, to, subject, html });
    } catch (error) {
      throw new AppError('mail_failed', {}, error);
    } finally {
      transport.close();
    }
  };
}
