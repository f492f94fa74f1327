/** One line for an agent that shows what a command prints: what its key has spent today, and what is left of its budgets. */
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { AppError, formatError } from '../../../server/contract/errors.ts';
import { formatQuota } from '../../../server/contract/pricing/format.ts';
import type { CommandRun } from '../../command.ts';
import type { Context } from '../../context.ts';
import { accessToken } from '../../sign-in.ts';
import { signedInSite } from './login.ts';

type Usage = OutputOf<EndpointOf<'token.usage'>>['data'];

const timeoutMs = 3000;
/** Of a budget, in percent. */
const almostUsed = 75;

/** Claude Code hands the settings of its file to what it starts: by key these are there, else the machine is signed in. @throws AppError signed_out, server_unreachable */
async function credentialOf(context: Context): Promise<{ readonly url: string; readonly key: string }> {
  const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: key } = context.env;
  if (url && key) return { url, key };
  const site = signedInSite(context);
  // Whether it was ended is seen by what it is for.
  return { url: site.url, key: await accessToken(context.env, site.name, site.url, 'unchecked') };
}

/** @throws AppError signed_out, server_unreachable */
async function usageOf(context: Context): Promise<Usage> {
  const { url, key } = await credentialOf(context);
  let response: Response;
  try {
    response = await fetch(`${url.replace(/\/+$/, '')}/api/usage/token/`, {
      headers: { authorization: `Bearer ${key}` },
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (cause) {
    throw new AppError('server_unreachable', { detail: url }, cause);
  }
  if (response.status === 401 || response.status === 403) throw new AppError('signed_out', { url });
  if (!response.ok) throw new AppError('server_unreachable', { detail: `${url}: HTTP ${response.status}` });
  return ((await response.json()) as { data: Usage }).data;
}

/** The tightest last, with its share where most of it is gone. */
export function lineOf(usage: Usage, say: Context['say']): string {
  const facts = { inCurrency: usage.display_in_currency, quotaPerUnit: usage.quota_per_unit };
  const money = (quota: number): string => formatQuota(quota, facts, 'cents');
  const spent = (used: number, limit: number): string => {
    if (limit === 0) return money(used);
    const percent = Math.floor((used / limit) * 100);
    const share = percent < almostUsed ? '' : say(`（${percent} %）`, ` (${percent} %)`);
    return `${say(`${money(used)} / ${money(limit)}`, `${money(used)} of ${money(limit)}`)}${share}`;
  };
  const { day, month } = usage;
  return [
    say(`今日 ${spent(day.used, day.limit)}`, `today ${spent(day.used, day.limit)}`),
    ...(month.limit === 0
      ? []
      : [say(`本月 ${spent(month.used, month.limit)}`, `this month ${spent(month.used, month.limit)}`)]),
    ...(usage.unlimited_quota
      ? []
      : [say(`令牌剩余 ${money(usage.total_available)}`, `key ${money(usage.total_available)} left`)]),
    say(`余额 ${money(usage.balance)}`, `balance ${money(usage.balance)}`),
  ].join(' · ');
}

/** An agent shows nothing of a command that fails, so that the reason is the line. */
export const statusline: CommandRun = async (context) => {
  try {
    const usage = await usageOf(context);
    const line = lineOf(usage, context.say);
    context.output.object(usage, [line], line);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const line = formatError(error.code, error.params, context.language);
    context.output.object({ error: error.code }, [line], line);
  }
};
