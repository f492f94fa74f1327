/** Looking at channels, switching them, deleting them, carrying them elsewhere. */
import { readFileSync } from 'node:fs';
import { statusWord } from '../../../server/contract/channel-filter.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { safeJson } from '../../../server/contract/safe-text.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, text } from '../../command.ts';
import { eachOf, onEach, removal } from '../../parts/bulk.ts';
import { columnsOf } from '../../parts/list-output.ts';
import { moneyOf } from '../../parts/money.ts';
import { allChannels, columns, findChannel, selectedChannels, showChannel, typeNames } from './fields.ts';

/** Keys that a question names. */
const maxNamed = 5;

export const list: CommandRun = async (context, flags) => {
  const filter = text(flags.filter);
  const client = await context.client();
  const channels =
    filter === undefined ? await allChannels(client) : await client.call('channel.selection', { filter });
  const money = await moneyOf(context);
  context.output.list(channels, columnsOf('channel.list', columns(await typeNames(client)), money), (row) =>
    String(row.id),
  );
};

export const get: CommandRun = async (context, _flags, ref) => {
  const channel = await findChannel(await context.client(), ref);
  await showChannel(context, channel);
};

const setStatus = (status: number): CommandRun =>
  onEach(selectedChannels, async (client, { id }) =>
    statusWord((await client.call('channel.update', { id, status })).status),
  );

export const enable = setStatus(1);
export const disable = setStatus(2);
/** Keys that are bound to the channels never fall back to others. */
const boundKeys = async (channels: readonly { readonly id: number }[], client: Client) => {
  if (channels.length === 0) return undefined;
  const keys = await client.call('token.bound', { channels: channels.map(({ id }) => id).join(',') });
  if (keys.length === 0) return undefined;
  const names = keys.slice(0, maxNamed).map(({ name }) => name);
  const list = keys.length > maxNamed ? [...names, '…'] : names;
  const stopped = keys.filter(({ others }) => others.length === 0).length;
  const limited = keys.length === 1 ? '1 key is' : `${keys.length} keys are`;
  return [
    `${keys.length} 个令牌绑定了这些渠道（${list.join('、')}），其中 ${stopped} 个将无可用渠道。`,
    `${limited} limited to them (${list.join(', ')}); without another channel: ${stopped}. `,
  ] as const;
};
export const rm = removal('channel.delete', selectedChannels, ['渠道', 'channel'], ({ name }) => name, boundKeys);

/** What the channel serves; with `--fetch` what its upstream offers, which `--set` makes what it serves. */
export const models: CommandRun = async (context, flags, ref) => {
  const client = await context.client();
  const channel = await findChannel(client, ref);
  const offered = flags.fetch === true || flags.set === true;
  const found = offered ? await client.call('channel.fetch_models', { id: channel.id }) : channel.models.split(',');
  if (flags.set === true) {
    if (found.length === 0) throw new AppError('not_found', { what: context.say('模型', 'models of the upstream') });
    await client.call('channel.update', { id: channel.id, models: found.join(',') });
  }
  context.output.list(found, [{ name: 'model', value: (row) => row }], (row) => row);
};

/** Asks the upstreams what is left. */
export const balance = onEach(
  selectedChannels,
  async (client, { id }) => `$${(await client.call('channel.balance', { id })).balance.toFixed(2)}`,
);

/** Keys stay where they are: they are write-only. */
export const exportAll: CommandRun = async (context) => {
  const channels = await allChannels(await context.client());
  const rows = channels.map(({ key: _key, key_hint: _hint, id: _id, ...fields }) => fields);
  context.output.line(safeJson(rows, 2));
};

/** JSON array of channels, as `export` writes it, each with its `key`. */
export const importAll: CommandRun = async (context, flags, file) => {
  const text = file === '-' ? await context.readSecret('FILE') : readFileSync(file, 'utf8');
  const rows: unknown = JSON.parse(text);
  if (!Array.isArray(rows)) throw new AppError('usage', { detail: `${file}: a JSON array of channels` });
  const client = await context.client();
  const things = rows.map((row: Record<string, unknown>, index) => ({
    row,
    id: index + 1,
    name: String(row.name ?? ''),
  }));
  await eachOf(
    context,
    things,
    async ({ row }) => {
      const made = await client.call('channel.create', row);
      return `created ${made.map((channel) => channel.id).join(', ')}`;
    },
    flags.dryRun === true,
  );
};
