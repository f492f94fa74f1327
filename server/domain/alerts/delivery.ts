/** Delivers alerts, to each target once. Errors are reported without addresses: addresses contain keys. */
import { type AlertTargetName, alertTargetNames } from '../../contract/alert-kinds.ts';
import { AppError, formatError } from '../../contract/errors.ts';
import { networkWords } from '../../contract/network-words.ts';
import { escapeHtml, type SendMail } from '../notifications/mailer.ts';
import type { OptionsService } from '../options/service.ts';
import type { Alert } from './alert.ts';
import { alertTargets } from './targets.ts';

const timeoutMs = 10_000;
/** Bytes of a response that are kept; more is not needed to report that the alert arrived. */
const maxResponseLength = 16_384;

export interface DeliverDeps {
  readonly options: OptionsService;
  readonly sendMail: SendMail;
  /** The guarded one. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

export interface Deliver {
  /** Those that are configured. */
  targets(): readonly AlertTargetName[];
  /** @throws AppError alert_undelivered */
  to(target: AlertTargetName, alert: Alert): Promise<void>;
}

export function createDeliver({ options, sendMail, fetch }: DeliverDeps): Deliver {
  const { get } = options;

  const mail = async ({ site, title, text }: Alert): Promise<void> => {
    const subject = `[${site}] ${title}`;
    const html = `<p>${escapeHtml(text)}</p>`;
    const sent = await Promise.allSettled(get('alert_setting.mail_to').map((to) => sendMail({ to, subject, html })));
    // Who has it is not sent it again for the sake of another.
    const failed = sent.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected' && sent.every(({ status }) => status === 'rejected')) throw failed.reason;
  };
  const call = async (target: Exclude<AlertTargetName, 'mail'>, alert: Alert): Promise<void> => {
    const row = alertTargets[target];
    const made = row.call(get, alert);
    if (made === null) throw new AppError('alert_undelivered', { target, reason: 'unset' });
    const response = await fetch(made.url, {
      method: 'POST',
      body: made.body,
      signal: AbortSignal.timeout(timeoutMs),
      headers: { 'content-type': 'application/json', ...made.headers },
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new AppError('alert_undelivered', { target, reason: `HTTP ${response.status}` });
    }
    if (row.isAccepted === undefined) return response.body?.cancel();
    if (!row.isAccepted(answerOf(await shortText(response))))
      throw new AppError('alert_undelivered', { target, reason: 'refused' });
  };

  const some: Alert = { kind: 'test', subject: '', site: '', title: '', text: '', at: 0 };
  const isSet = (target: AlertTargetName): boolean =>
    target === 'mail' ? get('alert_setting.mail_to').length > 0 : alertTargets[target].call(get, some) !== null;

  return {
    targets: () => alertTargetNames.filter(isSet),
    to: (target, alert) =>
      (target === 'mail' ? mail(alert) : call(target, alert)).catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'alert_undelivered') throw error;
        // The transport's own words may repeat the address.
        const { zh, en } =
          error instanceof AppError
            ? { zh: formatError(error.code, error.params, 'zh'), en: formatError(error.code, error.params, 'en') }
            : networkWords(error);
        throw new AppError('alert_undelivered', { target, reason: en, reason_zh: zh, reason_en: en });
      }),
  };
}

async function shortText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > maxResponseLength) break;
  }
  return text;
}

function answerOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
