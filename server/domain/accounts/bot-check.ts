/** Proof that a person sits at the form: Cloudflare's Turnstile. */
import { AppError } from '../../contract/errors.ts';
import type { OptionsService } from '../options/service.ts';

const address = 'https://challenges.cloudflare.com/turnstile/v0/siteverify';
const timeoutMs = 10_000;

export type BotCheck = (token: string, ip: string) => Promise<void>;

export function createBotCheck(deps: {
  readonly options: OptionsService;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}): BotCheck {
  /** @throws AppError bot_check_missing, bot_check_failed. */
  return async (token, ip) => {
    if (!deps.options.get('TurnstileCheckEnabled')) return;
    if (token === '') throw new AppError('bot_check_missing');
    const secret = deps.options.get('TurnstileSecretKey');
    try {
      const response = await deps.fetch(address, {
        method: 'POST',
        body: new URLSearchParams({ secret, response: token, remoteip: ip }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        signal: AbortSignal.timeout(timeoutMs),
      });
      const { success } = (await response.json()) as { readonly success?: unknown };
      if (success === true) return;
    } catch (error) {
      throw new AppError('bot_check_failed', {}, error);
    }
    throw new AppError('bot_check_failed');
  };
}
