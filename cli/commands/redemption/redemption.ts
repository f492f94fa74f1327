/** Redemption codes. */
import type { Redemption } from '../../../server/contract/entities.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, type FlagValues, needed, text } from '../../command.ts';
import { onEach, removal } from '../../parts/bulk.ts';
import { expiryFlag } from '../../parts/expiry.ts';
import { type Columns, columnsOf, listOf, rowsOf } from '../../parts/list-output.ts';
import { moneyOf } from '../../parts/money.ts';
import { idOf, quotaOf, wholeNumber } from '../../parts/numbers.ts';

const statusWords = { 1: 'unused', 2: 'disabled', 3: 'used' } as const;

const isExpired = (row: Redemption): boolean =>
  row.status === 1 && row.expired_time > 0 && row.expired_time * 1000 <= Date.now();
const statusWord = (row: Redemption): string =>
  isExpired(row) ? 'expired' : (statusWords[row.status as 1 | 2 | 3] ?? 'unknown');

/** A code that never expires has 0, a token -1. */
const expiresOf = (input: string | undefined): number | undefined => {
  const at = expiryFlag(input, Date.now());
  return at === undefined ? undefined : Math.max(0, at);
};

const columns: Columns<Redemption> = {
  id: 'id',
  name: 'name',
  code: 'key',
  status: statusWord,
  quota: 'quota',
  created: 'created_time',
  expires: ['expired_time', 1],
  redeemed: 'redeemed_time',
  user: { value: (row) => (row.used_user_id === 0 ? '' : String(row.used_user_id)), right: true },
};

export const create: CommandRun = async (context, flags) => {
  const { '--quota': amount } = needed({ '--quota': text(flags.quota) });
  const quota = quotaOf(amount, '--quota', { ...(await moneyOf(context)), min: 1 });
  const codes = await (await context.client()).call('redemption.create', {
    name: text(flags.name),
    quota,
    count: wholeNumber(text(flags.count), '--count') ?? 1,
    expired_time: expiresOf(text(flags.expires)),
  });
  context.output.list(codes, [{ name: 'code', value: (code) => code }], (code) => code);
};

/** @throws AppError not_found, usage. */
const namedCodes = (client: Client, _flags: FlagValues, refs: readonly string[]): Promise<Redemption[]> =>
  Promise.all(refs.map((ref) => client.call('redemption.get', { id: idOf(ref, 'redemption id') })));

export const list = listOf('redemption.search', {
  columns: () => columns,
  input: (flags) => ({ keyword: text(flags.search) }),
  limit: 100,
});

export const get: CommandRun = async (context, _flags, ref) => {
  const row = await (await context.client()).call('redemption.get', { id: idOf(ref, 'redemption id') });
  context.output.object(
    row,
    columnsOf('redemption.search', columns, await moneyOf(context)).map(
      ({ name, value }) => `${name}: ${value(row, [row])}`,
    ),
    row.key,
  );
};

export const edit: CommandRun = async (context, flags, ref) => {
  const amount = text(flags.quota);
  const row = await (await context.client()).call('redemption.update', {
    id: idOf(ref, 'redemption id'),
    name: text(flags.name),
    quota: amount === undefined ? undefined : quotaOf(amount, '--quota', { ...(await moneyOf(context)), min: 1 }),
    expired_time: expiresOf(text(flags.expires)),
  });
  context.output.object(row, [`${row.id} updated`], String(row.id));
};

const setStatus = (status: number): CommandRun =>
  onEach(namedCodes, async (client, { id }) => {
    const row = await client.call('redemption.update', { id, status, status_only: true });
    return statusWords[row.status as 1 | 2 | 3];
  });
export const enable = setStatus(1);
export const disable = setStatus(2);
export const rm = removal('redemption.delete', namedCodes, ['兑换码', 'redemption code'], ({ id }) => id);

export const prune: CommandRun = async (context, flags) => {
  if (flags.dryRun === true) {
    const rows = await rowsOf(await context.client(), 'redemption.search');
    const removed = rows.filter((row) => row.status !== 1 || isExpired(row)).length;
    return context.output.object({ removed: 0, would_remove: removed }, [`${removed}`], String(removed));
  }
  await context.confirm(
    context.say('删除所有已使用、已禁用和已过期的兑换码？', 'Delete all used, disabled and expired redemption codes?'),
  );
  const removed = await (await context.client()).call('redemption.delete_invalid');
  context.output.object({ removed }, [`deleted ${removed}`], String(removed));
};

/** Whole codes of everything that is listed: one per line with `-q`. */
export const exportAll = listOf('redemption.search', { columns: () => columns, key: 'key' });
