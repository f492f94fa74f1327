/** Redemption codes. */
import type { Redemption } from '../../../server/contract/entities.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, needed, text } from '../../command.ts';
import { type Column, isoTime } from '../../output.ts';
import { eachOf } from '../../parts/bulk.ts';
import { expiryFlag } from '../../parts/expiry.ts';
import { type Money, moneyOf } from '../../parts/money.ts';
import { idOf, quotaOf, wholeNumber } from '../../parts/numbers.ts';

const statusWords = { 1: 'unused', 2: 'disabled', 3: 'used' } as const;

const isExpired = (row: Redemption): boolean =>
  row.status === 1 && row.expired_time > 0 && row.expired_time * 1000 <= Date.now();
const statusWord = (row: Redemption): string =>
  isExpired(row) ? 'expired' : (statusWords[row.status as 1 | 2 | 3] ?? 'unknown');

/** A code that never expires has 0, a token -1. */
const expiresOf = (given: string | undefined): number | undefined => {
  const at = expiryFlag(given, Date.now());
  return at === undefined ? undefined : Math.max(0, at);
};

const columns = (money: Money): readonly Column<Redemption>[] => [
  { name: 'id', value: (row) => String(row.id), right: true },
  { name: 'name', value: (row) => row.name },
  { name: 'code', value: (row) => row.key },
  { name: 'status', value: statusWord },
  money.column('quota', (row) => row.quota),
  { name: 'created', value: (row) => isoTime(row.created_time) },
  { name: 'expires', value: (row) => (row.expired_time === 0 ? 'never' : isoTime(row.expired_time)), spare: 1 },
  { name: 'redeemed', value: (row) => isoTime(row.redeemed_time) },
  { name: 'user', value: (row) => (row.used_user_id === 0 ? '' : String(row.used_user_id)), right: true },
];

const pageRows = 100;

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

async function rowsOf(client: Client, keyword: string | undefined, limit: number): Promise<Redemption[]> {
  const rows: Redemption[] = [];
  for (let page = 1; rows.length < limit; page++) {
    const { items } = await client.call('redemption.search', { keyword, p: page, page_size: pageRows });
    rows.push(...items.slice(0, limit - rows.length));
    if (items.length < pageRows) break;
  }
  return rows;
}

/** @throws AppError not_found, usage. */
const named = (client: Client, refs: readonly string[]): Promise<Redemption[]> =>
  Promise.all(refs.map((ref) => client.call('redemption.get', { id: idOf(ref, 'redemption id') })));

export const list: CommandRun = async (context, flags) => {
  const limit = wholeNumber(text(flags.limit), '--limit') ?? pageRows;
  const rows = await rowsOf(await context.client(), text(flags.search), limit);
  context.output.list(rows, columns(await moneyOf(context)), (row) => String(row.id));
};

export const get: CommandRun = async (context, _flags, ref) => {
  const row = await (await context.client()).call('redemption.get', { id: idOf(ref, 'redemption id') });
  context.output.object(
    row,
    columns(await moneyOf(context)).map((column) => `${column.name}: ${column.value(row, [row])}`),
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

const setStatus =
  (status: number): CommandRun =>
  async (context, flags, _ref, refs) => {
    const client = await context.client();
    await eachOf(
      context,
      await named(client, refs),
      async ({ id }) => {
        const row = await client.call('redemption.update', { id, status, status_only: true });
        return statusWords[row.status as 1 | 2 | 3];
      },
      flags.dryRun === true,
    );
  };
export const enable = setStatus(1);
export const disable = setStatus(2);

export const remove: CommandRun = async (context, flags, _ref, refs) => {
  const client = await context.client();
  const codes = await named(client, refs);
  const dry = flags.dryRun === true;
  const ids = codes.map(({ id }) => id).join(', ');
  if (!dry) await context.confirm(context.say(`删除兑换码 ${ids}？`, `Delete redemption code ${ids}?`));
  await eachOf(
    context,
    codes,
    async ({ id }) => {
      await client.call('redemption.delete', { id });
      return 'deleted';
    },
    dry,
  );
};

export const prune: CommandRun = async (context, flags) => {
  if (flags.dryRun === true) {
    const rows = await rowsOf(await context.client(), undefined, Number.POSITIVE_INFINITY);
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
export const exportAll: CommandRun = async (context) => {
  const rows = await rowsOf(await context.client(), undefined, Number.POSITIVE_INFINITY);
  context.output.list(rows, columns(await moneyOf(context)), (row) => row.key);
};
