/** Channels as the flags describe them and as tables show them. */
import { readFileSync } from 'node:fs';
import { statusWord } from '../../../server/contract/channel-filter.ts';
import type { Channel } from '../../../server/contract/entities.ts';
import { AppError } from '../../../server/contract/errors.ts';
import type { Client } from '../../client.ts';
import { type FlagValues, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { cardOf } from '../../parts/card.ts';
import { type Columns, isId, only, rowsOf } from '../../parts/list-output.ts';
import { moneyOf } from '../../parts/money.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { bestMatch } from '../../parts/suggest.ts';

/** Milliseconds of a good test. */
function testWord(row: Channel): string {
  if (testErrorOf(row) !== '') return 'failed';
  return row.response_time === 0 ? '' : `${row.response_time} ms`;
}

/** @returns '' = the last test went well, or there was none. */
export function testErrorOf({ other_info: info }: Channel): string {
  try {
    return String((JSON.parse(info || '{}') as { test_error?: unknown }).test_error ?? '');
  } catch {
    return '';
  }
}

/** @param nameOf what a type is called. */
export const columns = (nameOf: (type: number) => string): Columns<Channel> => ({
  id: 'id',
  name: 'name',
  status: (row) => statusWord(row.status),
  type: (row) => nameOf(row.type),
  group: ['group', 2],
  priority: ['priority', 3],
  weight: ['weight', 4],
  test: { value: testWord, right: true },
  used: 'used_quota',
  tag: ['tag', 5],
  models: ['models', 1],
});

export const allChannels = (client: Client): Promise<Channel[]> => rowsOf(client, 'channel.list', { id_sort: true });

/** By id or by name. @throws AppError not_found, name_ambiguous. */
export async function findChannel(client: Client, ref: string): Promise<Channel> {
  if (isId(ref)) return client.call('channel.get', { id: Number(ref) });
  return only(
    (await allChannels(client)).filter((channel) => channel.name === ref),
    'channel',
    ref,
  );
}

/** The named ones, or with `--all`, `--tag`, `--filter` those that the server finds. @throws AppError input_needed */
export async function selectedChannels(client: Client, flags: FlagValues, refs: readonly string[]): Promise<Channel[]> {
  const tag = text(flags.tag);
  const filter = text(flags.filter);
  if (refs.length > 0) return Promise.all(refs.map((ref) => findChannel(client, ref)));
  if (tag !== undefined || filter !== undefined) return client.call('channel.selection', { tag, filter });
  if (flags.all !== true) throw new AppError('input_needed', { flags: 'ID | --all | --tag | --filter' });
  return allChannels(client);
}

/** Types as commands take them. */
export async function typeNames(client: Client): Promise<(type: number) => string> {
  const types = new Map((await client.call('channel.types')).map(({ type, slug }) => [type, slug]));
  return (type) => types.get(type) ?? String(type);
}

/** @throws AppError usage */
export async function typeOf(
  client: Client,
  value: string | undefined,
): Promise<{ readonly type: number; readonly models: readonly string[] }> {
  const types = await client.call('channel.types');
  const name = value ?? 'openai';
  const found = types.find((one) => one.slug === name || String(one.type) === name);
  if (found === undefined) {
    const slugs = types.map((one) => one.slug);
    const meant = bestMatch(name, slugs);
    const all = slugs.join(', ');
    throw new AppError('usage', {
      detail: `--type ${name}`,
      detail_zh: `--type ${name}：${meant === null ? all : `是否指 ${meant}？可用：${all}`}`,
      detail_en: `--type ${name}: ${meant === null ? all : `did you mean ${meant}? There are: ${all}`}`,
    });
  }
  return found;
}

/** The text itself, or with `@` the file it names. @throws AppError usage */
function jsonOf(value: string | undefined, flag: string): string | undefined {
  if (value === undefined || !value.startsWith('@')) return value;
  try {
    return readFileSync(value.slice(1), 'utf8').trim();
  } catch (error) {
    throw new AppError('usage', { detail: `${flag} ${value}: ${error instanceof Error ? error.message : ''}` }, error);
  }
}

/** What an edit may change; only flags that were given. @throws AppError usage */
export const fieldsOf = (flags: FlagValues) => ({
  name: text(flags.name),
  models: text(flags.models),
  group: text(flags.group),
  base_url: text(flags.baseUrl)?.replace(/^default$/, ''),
  priority: wholeNumber(text(flags.priority), '--priority', { min: Number.MIN_SAFE_INTEGER }),
  weight: wholeNumber(text(flags.weight), '--weight'),
  tag: text(flags.tag),
  model_mapping: jsonOf(text(flags.mapping), '--mapping'),
  test_model: text(flags.testModel),
  param_override: jsonOf(text(flags.override), '--override'),
});

/** Whether channels of this type can speak the dialect that a flag names. @throws AppError usage */
export async function checkDialect(client: Client, flags: FlagValues, types: readonly number[]): Promise<void> {
  const dialect = text(flags.dialect);
  if (dialect === undefined || dialect === 'auto') return;
  const offered = (await client.call('channel.types')).filter(({ type }) => types.includes(type));
  for (const { dialects } of offered)
    if (!dialects.includes(dialect))
      throw new AppError('usage', { detail: `--dialect ${dialect}: ${['auto', ...dialects].join(', ')}` });
}

/** A flag that is one of some words. @throws AppError usage */
function wordOf(flags: FlagValues, name: string, flag: string, words: readonly string[]): string | undefined {
  const setting = text(flags[name]);
  if (setting !== undefined && !words.includes(setting))
    throw new AppError('usage', { detail: `--${flag} ${setting}: ${words.join(', ')}` });
  return setting;
}

/** @returns the member of the settings; undefined = the general rule. @throws AppError usage */
function offRuleOf(rule: string): object | undefined {
  if (rule === 'default') return undefined;
  const [errors = 0, minutes = 0, half_open_minutes = 0, ...more] = rule.split('/').map(Number);
  const amounts = [errors, minutes, half_open_minutes];
  if (more.length > 0 || !amounts.every((amount) => Number.isInteger(amount) && amount > 0))
    throw new AppError('usage', { detail: `--off-after ${rule}: ERRORS/MINUTES/MINUTES, default` });
  return { errors, minutes, half_open_minutes };
}

/** The channel's settings with what the flags change; undefined = nothing. @param before as stored. @throws AppError usage */
export function settingOf(flags: FlagValues, before: string): string | undefined {
  const tiers = wordOf(flags, 'allowTiers', 'allow-tiers', ['on', 'off']);
  const marks = wordOf(flags, 'cacheMarks', 'cache-marks', ['on', 'off']);
  const order = wordOf(flags, 'systemMessages', 'system-messages', ['first', 'anywhere', 'default']);
  const streams = wordOf(flags, 'streams', 'streams', ['always', 'never', 'default']);
  const ids = wordOf(flags, 'unknownIds', 'unknown-ids', ['allow', 'refuse', 'default']);
  const trusted = wordOf(flags, 'trustedUsage', 'trusted-usage', ['on', 'off', 'default']);
  const answered = wordOf(flags, 'billAnswered', 'bill-answered', ['on', 'off']);
  const diagnosis = wordOf(flags, 'cacheDiagnosis', 'cache-diagnosis', ['on', 'off']);
  const keys = wordOf(flags, 'keyMode', 'key-mode', ['turn', 'random']);
  const first = wholeNumber(text(flags.firstByteSeconds), '--first-byte-seconds');
  const idle = wholeNumber(text(flags.idleSeconds), '--idle-seconds');
  const off = text(flags.offAfter);
  const region = typeof flags.region === 'string' ? flags.region.trim() : undefined;
  const spoken = text(flags.dialect);
  if (
    [tiers, marks, order, streams, ids, trusted, answered, diagnosis, keys, first, idle, off, region, spoken].every(
      (setting) => setting === undefined,
    )
  )
    return undefined;
  const next = JSON.parse(before || '{}') as Record<string, unknown>;
  const put = (name: string, setting: string | number | undefined, value: unknown) => {
    if (setting === undefined) return;
    delete next[name];
    if (value !== undefined) next[name] = value;
  };
  put('dialect', spoken, spoken === 'auto' ? undefined : spoken);
  put('allow_tiers', tiers, tiers === 'on' ? true : undefined);
  put('cache_marks', marks, marks === 'on' ? true : undefined);
  put('system_messages', order, order === 'default' ? undefined : order);
  put('upstream_streams', streams, streams === 'default' ? undefined : streams);
  put('unknown_ids', ids, ids === 'default' ? undefined : ids);
  put('trusted_usage', trusted, trusted === 'default' ? undefined : trusted === 'on');
  put('bill_answered', answered, answered === 'on' ? true : undefined);
  put('cache_diagnosis', diagnosis, diagnosis === 'on' ? true : undefined);
  put('key_mode', keys, keys);
  put('first_byte_seconds', first, first || undefined);
  put('upstream_idle_seconds', idle, idle || undefined);
  put('off_after', off, off === undefined ? undefined : offRuleOf(off));
  put('region', region, region === '' ? undefined : region);
  return Object.keys(next).length === 0 ? '' : JSON.stringify(next);
}

/** A channel in words. */
export async function showChannel(context: Context, channel: Channel): Promise<void> {
  const { key_hint, ...rest } = channel;
  const nameOf = await typeNames(await context.client());
  const words = {
    ...rest,
    key: key_hint,
    type: nameOf(channel.type),
    status: statusWord(channel.status),
    auto_ban: channel.auto_ban === 1,
    balance: channel.balance === 0 ? null : channel.balance,
  };
  context.output.object(channel, cardOf(context, words, await moneyOf(context)), String(channel.id));
}
