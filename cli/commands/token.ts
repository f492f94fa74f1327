/** API tokens. */
import type { Token } from '../../server/contract/entities.ts';
import { AppError } from '../../server/contract/errors.ts';
import { type CommandRun, text } from '../command.ts';
import { quotaAmount, wholeNumber } from '../numbers.ts';
import { type Column, dollars, isoTime } from '../output.ts';

const statusWords = { 1: 'enabled', 2: 'disabled', 3: 'expired', 4: 'exhausted' } as const;
const masked = (key: string): string => (key.includes('…') ? key : `${key.slice(0, 7)}…${key.slice(-4)}`);

const columns: readonly Column<Token>[] = [
  { name: 'id', value: (row) => String(row.id), right: true },
  { name: 'name', value: (row) => row.name },
  { name: 'key', value: (row) => masked(row.key) },
  { name: 'status', value: (row) => statusWords[row.status as 1 | 2 | 3 | 4] ?? 'unknown' },
  { name: 'remaining', value: (row) => (row.unlimited_quota ? 'unlimited' : dollars(row.remain_quota)), right: true },
  { name: 'used', value: (row) => dollars(row.used_quota), right: true },
  { name: 'expires', value: (row) => (row.expired_time === -1 ? 'never' : isoTime(row.expired_time)) },
  { name: 'group', value: (row) => row.group },
];

/** `500000`, `5usd`, `unlimited`. */
function quotaOf(given: string | undefined): { unlimited_quota?: boolean; remain_quota?: number } {
  if (given === undefined) return {};
  if (given === 'unlimited') return { unlimited_quota: true, remain_quota: 0 };
  const usd = /^(\d+(?:\.\d+)?)usd$/i.exec(given);
  if (usd !== null) return { remain_quota: Math.round(Number(usd[1]) * 500_000) };
  if (/^\d+$/.test(given)) return { remain_quota: Number(given) };
  throw new AppError('usage', { detail: `--quota ${given}: 500000, 5usd, unlimited` });
}

const unitSeconds = { m: 60, h: 3600, d: 86_400 } as const;

/** `never`, `1h`, `30d`, `2027-01-01`. */
function expiryOf(given: string | undefined, now: number): number | undefined {
  if (given === undefined) return undefined;
  if (given === 'never') return -1;
  const span = /^(\d+)([mhd])$/.exec(given);
  if (span !== null) return Math.floor(now / 1000) + Number(span[1]) * unitSeconds[span[2] as 'm' | 'h' | 'd'];
  const at = Date.parse(given);
  if (Number.isNaN(at)) throw new AppError('usage', { detail: `--expires ${given}: never, 1h, 30d, 2027-01-01` });
  return Math.floor(at / 1000);
}

export const create: CommandRun = async (context, flags) => {
  const name = text(flags.name);
  if (name === undefined) throw new AppError('input_needed', { flags: '--name' });
  const models = text(flags.models);
  const client = await context.client();
  const token = await client.call('token.create', {
    name,
    ...quotaOf(text(flags.quota)),
    expired_time: expiryOf(text(flags.expires), Date.now()),
    ...(models === undefined ? {} : { model_limits_enabled: true, model_limits: models }),
    allow_ips: text(flags.allowIp)?.replaceAll(',', '\n'),
    group: text(flags.group),
    day_budget: quotaAmount(text(flags.dayBudget), '--day-budget'),
    month_budget: quotaAmount(text(flags.monthBudget), '--month-budget'),
    rpm_limit: wholeNumber(text(flags.rpm), '--rpm'),
    tpm_limit: wholeNumber(text(flags.tpm), '--tpm'),
    concurrency_limit: wholeNumber(text(flags.concurrency), '--concurrency'),
  });
  context.output.note(context.language === 'zh' ? '请妥善保存密钥。' : 'Keep this key safe.');
  context.output.object(token, [token.key], token.key);
};

export const list: CommandRun = async (context) => {
  const client = await context.client();
  const rows: Token[] = [];
  for (let page = 0; ; page++) {
    const some = await client.call('token.list', { p: page, size: 100 });
    rows.push(...some);
    if (some.length < 100) break;
  }
  const hidden = rows.map((row) => ({ ...row, key: masked(row.key) }));
  context.output.list(hidden, columns, (row) => String(row.id));
};

export const remove: CommandRun = async (context, _flags, ref) => {
  if (!/^\d+$/.test(ref)) throw new AppError('usage', { detail: `token id ${ref}` });
  const client = await context.client();
  await context.confirm(context.language === 'zh' ? `删除令牌 ${ref}？` : `Delete token ${ref}?`);
  await client.call('token.delete', { id: Number(ref) });
  context.output.object({ result: 'deleted', id: Number(ref) }, [`deleted ${ref}`], ref);
};
