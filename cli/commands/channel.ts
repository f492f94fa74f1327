/** Upstream channels. */
import { readFileSync } from 'node:fs';
import type { Channel } from '../../server/contract/entities.ts';
import { AppError } from '../../server/contract/errors.ts';
import type { Client } from '../client.ts';
import { type CommandRun, type FlagValues, text } from '../command.ts';
import type { Context } from '../context.ts';
import { type Column, dollars } from '../output.ts';

const statusWords = { 1: 'enabled', 2: 'disabled', 3: 'auto-disabled' } as const;
const statusWord = (status: number): string => statusWords[status as 1 | 2 | 3] ?? 'unknown';

const columns: readonly Column<Channel>[] = [
  { name: 'id', value: (row) => String(row.id), right: true },
  { name: 'name', value: (row) => row.name },
  { name: 'type', value: (row) => String(row.type), right: true },
  { name: 'status', value: (row) => statusWord(row.status) },
  { name: 'group', value: (row) => row.group },
  { name: 'priority', value: (row) => String(row.priority), right: true },
  { name: 'weight', value: (row) => String(row.weight), right: true },
  { name: 'ms', value: (row) => (row.response_time === 0 ? '' : String(row.response_time)), right: true },
  { name: 'used', value: (row) => dollars(row.used_quota), right: true },
  { name: 'models', value: (row) => row.models },
];

const all = (client: Client): Promise<Channel[]> =>
  client.call('channel.list', { p: 0, page_size: 1000, id_sort: true });

/** By id or by name. @throws AppError not_found, name_ambiguous. */
async function find(client: Client, ref: string): Promise<Channel> {
  if (/^\d+$/.test(ref)) return client.call('channel.get', { id: Number(ref) });
  const found = (await all(client)).filter((channel) => channel.name === ref);
  const [only] = found;
  if (only === undefined) throw new AppError('not_found', { what: `channel ${ref}` });
  if (found.length > 1)
    throw new AppError('name_ambiguous', { what: ref, candidates: found.map((one) => one.id).join(', ') });
  return only;
}

async function typeOf(client: Client, given: string | undefined): Promise<{ type: number; models: readonly string[] }> {
  const types = await client.call('channel.types');
  const wanted = given ?? 'openai';
  const found = types.find((one) => one.slug === wanted || String(one.type) === wanted);
  if (found === undefined)
    throw new AppError('usage', { detail: `--type ${wanted}: ${types.map((one) => one.slug).join(', ')}` });
  return found;
}

async function keyOf(context: Context, flags: FlagValues): Promise<string | undefined> {
  if (flags.keyStdin === true) return context.readSecret('--key-stdin');
  const file = text(flags.keyFile);
  return file === undefined ? context.env.GATEWAY_CHANNEL_KEY : readFileSync(file, 'utf8').trim();
}

const integer = (value: string | undefined, flag: string): number | undefined => {
  if (value === undefined) return undefined;
  if (!/^-?\d+$/.test(value)) throw new AppError('usage', { detail: `${flag} ${value}` });
  return Number(value);
};

const fieldsOf = (flags: FlagValues) => ({
  name: text(flags.name),
  models: text(flags.models),
  group: text(flags.group),
  base_url: text(flags.baseUrl),
  priority: integer(text(flags.priority), '--priority'),
  weight: integer(text(flags.weight), '--weight'),
  tag: text(flags.tag),
  model_mapping: text(flags.mapping),
});

const detail = (channel: Channel): string[] =>
  Object.entries({ ...channel, key: channel.key_hint, status: statusWord(channel.status) })
    .filter(([name, value]) => name !== 'key_hint' && value !== '')
    .map(([name, value]) => `${name.padEnd(22)} ${value}`);

export const add: CommandRun = async (context, flags) => {
  const name = text(flags.name);
  const key = await keyOf(context, flags);
  const missing = [...(name === undefined ? ['--name'] : []), ...(key === undefined ? ['--key-stdin'] : [])];
  if (missing.length > 0) throw new AppError('input_needed', { flags: missing.join(', ') });
  const client = await context.client();
  const { type, models } = await typeOf(client, text(flags.type));
  const made = await client.call('channel.create', {
    ...fieldsOf(flags),
    type,
    key,
    models: text(flags.models) ?? models.join(','),
  });
  for (const channel of made) context.output.object(channel, [`${channel.id}  ${channel.name}`], String(channel.id));
};

export const list: CommandRun = async (context) => {
  context.output.list(await all(await context.client()), columns, (row) => String(row.id));
};

export const get: CommandRun = async (context, _flags, ref) => {
  const channel = await find(await context.client(), ref);
  context.output.object(channel, detail(channel), String(channel.id));
};

export const edit: CommandRun = async (context, flags, ref) => {
  const client = await context.client();
  const { id } = await find(client, ref);
  const type = text(flags.type) === undefined ? undefined : (await typeOf(client, text(flags.type))).type;
  const channel = await client.call('channel.update', {
    id,
    ...fieldsOf(flags),
    type,
    key: await keyOf(context, flags),
  });
  context.output.object(channel, detail(channel), String(id));
};

const setStatus =
  (status: number): CommandRun =>
  async (context, _flags, ref) => {
    const client = await context.client();
    const { id } = await find(client, ref);
    const channel = await client.call('channel.update', { id, status });
    context.output.object(channel, [`${channel.id}  ${channel.name}  ${statusWord(channel.status)}`], String(id));
  };

export const enable = setStatus(1);
export const disable = setStatus(2);

export const remove: CommandRun = async (context, _flags, ref) => {
  const client = await context.client();
  const channel = await find(client, ref);
  await context.confirm(context.language === 'zh' ? `删除渠道 ${channel.name}？` : `Delete channel ${channel.name}?`);
  await client.call('channel.delete', { id: channel.id });
  context.output.object({ result: 'deleted', id: channel.id }, [`deleted ${channel.id}`], String(channel.id));
};

export const test: CommandRun = async (context, flags, ref) => {
  const client = await context.client();
  if (flags.all !== true && ref === '') throw new AppError('input_needed', { flags: 'ID, --all' });
  const channels = flags.all === true ? await all(client) : [await find(client, ref)];
  const results: { id: number; name: string; success: boolean; message: string; time: number }[] = [];
  for (const { id, name } of channels) {
    results.push({
      id,
      name,
      ...(await client.call('channel.test', { id, model: text(flags.model), stream: flags.stream === true })),
    });
  }
  context.output.list(
    results,
    [
      { name: 'id', value: (row) => String(row.id), right: true },
      { name: 'name', value: (row) => row.name },
      { name: 'result', value: (row) => (row.success ? 'ok' : 'FAILED') },
      { name: 'seconds', value: (row) => row.time.toFixed(3), right: true },
      { name: 'message', value: (row) => row.message },
    ],
    (row) => String(row.id),
  );
  const failed = results.filter((result) => !result.success);
  if (failed.length > 0) throw new AppError('check_failed', { detail: `${failed.length}/${results.length}` });
};
