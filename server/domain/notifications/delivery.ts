/** Hands a notice over as its recipient wants: by mail, or to a webhook of theirs. */
import { createHmac } from 'node:crypto';
import { AppError } from '../../contract/errors.ts';
import { escapeHtml, type SendMail } from './mailer.ts';
import type { Notice, Notify } from './notice.ts';

const timeoutMs = 10_000;

/** Hex HMAC-SHA256 of the body under the user's secret, in `X-Webhook-Signature`; the secret itself goes as bearer token, as the specification has it. */
export const signatureOf = (secret: string, body: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');

export interface DeliveryDeps {
  readonly sendMail: SendMail;
  /** Secret of a user's webhook, '' = none. */
  readonly secretOf: (userId: number) => Promise<string>;
  /** The guarded one: users choose the address. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export function createNotify({ sendMail, secretOf, fetch, now }: DeliveryDeps): Notify {
  const post = async (url: string, secret: string, notice: Notice): Promise<void> => {
    if (!url.startsWith('https://')) throw new AppError('webhook_invalid');
    const body = JSON.stringify({ ...notice, timestamp: Math.floor(now() / 1000) });
    const response = await fetch(url, {
      method: 'POST',
      body,
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        'content-type': 'application/json',
        ...(secret === ''
          ? {}
          : { authorization: `Bearer ${secret}`, 'x-webhook-signature': signatureOf(secret, body) }),
      },
    });
    await response.body?.cancel();
    if (!response.ok) throw new AppError('webhook_failed', { status: response.status });
  };

  return async (recipient, notice) => {
    const setting = JSON.parse(recipient.setting || '{}') as Readonly<Record<string, unknown>>;
    const text = (key: string): string => (typeof setting[key] === 'string' ? setting[key] : '');
    if (text('notify_type') === 'webhook') {
      await post(text('webhook_url'), await secretOf(recipient.id), notice);
      return;
    }
    const to = text('notification_email') || recipient.email;
    if (to === '') return;
    await sendMail({ to, subject: notice.title, html: `<p>${escapeHtml(notice.content)}</p>` });
  };
}
