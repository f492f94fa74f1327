/** Upstream channels: what they are, and whether they are in use. */

import type { Insertable, Updateable } from 'kysely';
import type { Database } from '../../../db/open.ts';
import { type ChannelFilter, type ChannelRow, createChannelsRepository } from '../../../db/repositories/channels.ts';
import { createVirtualModelsRepository } from '../../../db/repositories/virtual-models.ts';
import type { ChannelsTable } from '../../../db/schema/tables.ts';
import { isModelName } from '../../contract/address-part.ts';
import { isChannelAddress } from '../../contract/channel-address.ts';
import type { ChannelFailure } from '../../contract/channel-failure.ts';
import { channelFilter } from '../../contract/channel-filter.ts';
import { keysIn } from '../../contract/channel-keys.ts';
import { invalid, problemOf, type RuleProblem, rulesProblem } from '../../contract/channel-rules.ts';
import type { Channel } from '../../contract/entities.ts';
import { ChannelStatus } from '../../contract/enum.ts';
import { AppError, type ErrorCode, type ErrorParams } from '../../contract/errors.ts';
import { headersProblem } from '../../contract/header-override.ts';
import type { KeyHealth } from '../../contract/key-health.ts';
import { isChannelFactor, maxChannelFactor, minChannelFactor } from '../../contract/pricing/channel-factor.ts';
import { objectIn } from '../../contract/stored-object.ts';
import { storedText } from '../../contract/stored-texts.ts';
import { offeredOn, providerByType } from '../../providers/catalogue.ts';
import { probeModel } from '../../providers/probe.ts';
import { keyHint, type Vault } from '../secrets/vault.ts';
import { createBulk, type WriteWithModels } from './bulk.ts';
import { destinationChanges } from './destination.ts';
import { disableReason, type FailureRules, statusInfo, withTest } from './failures.ts';
import { createKeyCalls } from './key-calls.ts';
import { firstKey, keysOf, namesOf } from './keys.ts';
import { checkOlderNodes } from './older-nodes.ts';
import { PassedTests } from './passed-tests.ts';
import { fetchBalance, fetchModels } from './upstream.ts';

/** Fields a client may send; absent = unchanged (update) or default (create). */
export interface ChannelFields {
  readonly type?: number | undefined;
  readonly name?: string | undefined;
  /** One per line makes one channel each, or one channel that uses them all when `setting.key_mode` says how. */
  readonly key?: string | undefined;
  readonly openai_organization?: string | undefined;
  readonly test_model?: string | undefined;
  readonly status?: number | undefined;
  readonly weight?: number | undefined;
  readonly priority?: number | undefined;
  readonly base_url?: string | undefined;
  readonly other?: string | undefined;
  readonly models?: string | undefined;
  readonly group?: string | undefined;
  readonly groups?: string | undefined;
  readonly model_mapping?: string | undefined;
  readonly status_code_mapping?: string | undefined;
  readonly param_override?: string | undefined;
  readonly setting?: string | undefined;
  readonly auto_ban?: number | undefined;
  readonly tag?: string | undefined;
  readonly max_input_tokens?: number | undefined;
  /** Names or hints of keys that are switched off. */
  readonly keys_off?: string | undefined;
  /** Neither kept nor sent: see `actsLater`. */
  readonly header_override?: string | undefined;
  readonly settings?: string | undefined;
}

/** A request as it would go to an upstream. */
export interface PreviewedCall {
  /** `{api_key}` stands for the key, here and in the headers. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** null = it has none. */
  readonly body: string | null;
  readonly upstreamModel: string;
  /** The dialect in which it is written. */
  readonly dialect: string;
  /** It is not in the client's dialect. */
  readonly translated: boolean;
  /** The provider's own signature, or a token, is added when it is sent. */
  readonly signed: boolean;
  /** What the request says and the upstream is not told. */
  readonly dropped: readonly string[];
}

/** A client's request, of which it is asked how it would go out. */
export interface PreviewedRequest {
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface ChannelTestResult {
  readonly ok: boolean;
  readonly ms: number;
  readonly message: string;
  /** Until the first byte of the answer; null when none came. */
  readonly firstTokenMs?: number | null;
  /** The status that the request was answered with. */
  readonly status?: number;
  /** The beginning of its answer. */
  readonly answer?: string;
  /** Instead of an answer, where a preview was wanted. */
  readonly previewed?: PreviewedCall | { readonly code: ErrorCode; readonly params: ErrorParams };
}

/** `owner`: of the data directory, who could read every key anyway. */
export type KeyOwner = 'owner' | 'other';

/** Runs one real request through the relay, pinned to the channel. */
export type RelayTest = (order: {
  readonly channelId: number;
  readonly model: string;
  readonly stream: boolean;
  /** Instead of the question that suits the model. */
  readonly request?: { readonly path: string; readonly body: Readonly<Record<string, unknown>> };
  /** Nothing is sent: how this would go out is given back. */
  readonly preview?: PreviewedRequest;
}) => Promise<ChannelTestResult>;

export function createChannels(deps: {
  readonly database: Database;
  readonly vault: Vault;
  readonly relayTest: RelayTest;
  readonly fetch: typeof fetch;
  readonly failureRules: () => FailureRules;
  /** Asks the relay how keys are doing; null where no server runs. */
  readonly keyHealth?: ((id: number) => Promise<readonly KeyHealth[]>) | null;
  /** Option AutomaticEnableChannelEnabled. */
  readonly automaticEnable: () => boolean;
  readonly now: () => number;
}) {
  const repository = createChannelsRepository(deps.database);
  const virtualModels = createVirtualModelsRepository(deps.database);
  const passed = new PassedTests(deps.vault);
  const seconds = () => Math.floor(deps.now() / 1000);

  /** Writes channels of these models, while nobody saves a virtual model of the same name. @throws AppError channel_model_virtual */
  const writing: WriteWithModels = (models, write) => {
    const names = new Set(members(models ?? ''));
    if (names.size === 0) return write(repository);
    return virtualModels.alone(async (inside) => {
      const taken = (await createVirtualModelsRepository(inside).all()).find(({ name }) => names.has(name));
      if (taken !== undefined) throw new AppError('channel_model_virtual', { model: taken.name });
      return write(createChannelsRepository(inside));
    });
  };
  const find = async (id: number): Promise<ChannelRow> => {
    const row = await repository.find(id);
    if (row === undefined) throw new AppError('not_found', { what: `channel ${id}` });
    return row;
  };

  const service = {
    list: async (filter: ChannelFilter, page: number, size: number): Promise<{ items: Channel[]; total: number }> => ({
      items: (await repository.list(filter, page * size, size)).map(channelView),
      total: await repository.count(filter),
    }),
    /** A page of tags: all channels of each. `total` counts tags. */
    async byTags(filter: ChannelFilter, page: number, size: number): Promise<{ items: Channel[]; total: number }> {
      const tags = await repository.tags(filter);
      const visible = tags.slice(page * size, (page + 1) * size);
      const rows = visible.length === 0 ? [] : await repository.ofTags(visible, filter);
      return { items: rows.map(channelView), total: tags.length };
    },
    /** Those that bulk work means: all of a tag, or that a filter finds. @throws AppError tag_required, params_invalid, input_needed */
    async selected({ tag, filter }: { readonly tag?: string | undefined; readonly filter?: string | undefined }) {
      if (tag === undefined && filter === undefined) throw new AppError('input_needed', { flags: 'tag | filter' });
      if (tag?.trim() === '') throw new AppError('tag_required');
      const matches = filter === undefined ? () => true : channelFilter(filter);
      const all = (await repository.all()).map(channelView);
      return all.filter((channel) => (tag === undefined || channel.tag === tag) && matches(channel));
    },
    /** Ids of the channels that a key belongs to. */
    async withKey(key: string): Promise<number[]> {
      if (key.length < minKeyLength) return [];
      return (await repository.all())
        .filter(({ key_sealed }) => deps.vault.open('channel-key', key_sealed).split('\n').includes(key))
        .map(({ id }) => id);
    },
    get: async (id: number): Promise<Channel> => channelView(await find(id)),
    count: repository.count,
    /** @param disabled those alone that are disabled, by hand or by themselves. */
    ids: async (disabled = false): Promise<number[]> =>
      (await repository.all())
        .filter(({ status }) => !disabled || status !== ChannelStatus.enabled)
        .map(({ id }) => id),
    /** What every channel serves, without its secrets. */
    all: async () =>
      (await repository.all()).map((row) => ({
        status: row.status,
        type: row.type,
        models: members(row.models),
        groups: members(row.group_name),
        setting: objectIn(row.setting),
      })),
    /** Distinct model names of enabled channels, sorted. */
    async enabledModels(): Promise<string[]> {
      const rows = await repository.all();
      return [
        ...new Set(rows.filter((row) => row.status === ChannelStatus.enabled).flatMap((row) => members(row.models))),
      ].sort();
    },
    /** The same models, in alphabetical order, with the types of the channels that serve each. */
    async enabledTypes(): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
      const types = new Map<string, Set<number>>();
      for (const row of await repository.all()) {
        if (row.status !== ChannelStatus.enabled) continue;
        for (const model of members(row.models)) types.set(model, (types.get(model) ?? new Set()).add(row.type));
      }
      return new Map([...types].sort(([a], [b]) => (a < b ? -1 : 1)));
    },
    /** @throws AppError channel_* */
    async create(given: ChannelFields): Promise<Channel[]> {
      const fields = withHeaders(given, null);
      const name = fields.name?.trim() ?? '';
      const keys = separateKeys(fields);
      if (name === '' || keys.length === 0) throw new AppError('channel_required');
      const type = fields.type ?? 1;
      if (!isSupported(type)) throw new AppError('channel_type_unknown', { type });
      if (members(fields.models ?? '').length === 0) throw new AppError('channel_models_required');
      checkFields(fields, null);
      const other = providerByType(type)?.other;
      const fallback = other === undefined || other === null || other.byOption ? '' : other.fallback;
      const shared = {
        type,
        status: fields.status ?? ChannelStatus.enabled,
        created_at: seconds(),
        models: '',
        group_name: 'default',
        ...columnsOf(fields),
        ...((fields.other ?? '').trim() === '' ? { other: fallback } : {}),
      };
      const rows = keys.map(
        (key, index): Insertable<ChannelsTable> =>
          ({
            ...defaults,
            ...shared,
            name: keys.length === 1 ? name : `${name}_${index + 1}`,
            key_sealed: deps.vault.encrypt('channel-key', key),
            key_hint: keyHint(key),
            ...passed.columnsOf({ ...fields, type, key }, seconds()),
            keys_off: offOf(fields, key),
          }) as Insertable<ChannelsTable>,
      );
      for (const row of rows) await checkOlderNodes(deps.database, row, undefined);
      return (await writing(fields.models, (inside) => inside.create(rows))).map(channelView);
    },
    /** @param keyOwner without the key in `fields`, who may send the stored one elsewhere. @throws AppError channel_*, not_found */
    async update(
      id: number,
      given: ChannelFields,
      keyOwner: KeyOwner = 'other',
    ): Promise<{ readonly channel: Channel; readonly changed: boolean }> {
      const stored = await find(id);
      const fields = withHeaders(given, stored);
      if (fields.type !== undefined && !isSupported(fields.type))
        throw new AppError('channel_type_unknown', { type: fields.type });
      if (fields.models !== undefined && members(fields.models).length === 0)
        throw new AppError('channel_models_required');
      const key = fields.key?.trim() ?? '';
      if (key === '' && keyOwner !== 'owner') stays(stored, columnsOf(fields));
      checkFields(fields, stored);
      const change: Updateable<ChannelsTable> = {
        ...columnsOf(fields),
        ...(key === '' ? {} : { key_sealed: deps.vault.encrypt('channel-key', key), key_hint: keyHint(key) }),
        ...(fields.status === undefined ? {} : { status: fields.status, other_info: '' }),
        ...(fields.keys_off === undefined
          ? {}
          : { keys_off: offOf(fields, key || deps.vault.open('channel-key', stored.key_sealed)) }),
      };
      const keeps = key === '' || deps.vault.open('channel-key', stored.key_sealed) === key;
      const present = new Map<string, unknown>(Object.entries(stored));
      const differs = ([name, value]: readonly [string, unknown]): boolean =>
        name === 'key_sealed' || name === 'key_hint' ? !keeps : present.get(name) !== value;
      const changed = Object.entries(change).some(differs);
      if (changed) await checkOlderNodes(deps.database, change, stored);
      if (changed) await writing(change.models, (inside) => inside.update(id, change));
      return { channel: changed ? channelView(await find(id)) : channelView(stored), changed };
    },
    /** With their keys as they are stored, to see whether they are others. @returns those that are there. */
    sealed: async (ids: readonly number[]): Promise<readonly { readonly channel: Channel; readonly key: string }[]> =>
      (await repository.byIds(ids)).map((row) => ({ channel: channelView(row), key: row.key_sealed })),
    ofTag: async (tag: string): Promise<Channel[]> => (await repository.byTag(tag)).map(channelView),
    async remove(id: number): Promise<void> {
      if (!(await repository.remove(id))) throw new AppError('not_found', { what: `channel ${id}` });
    },
    /** Under the name's suffix of the wire contract, key included. */
    async copy(id: number): Promise<Channel> {
      const { id: _, ...row } = await find(id);
      const [made] = await repository.create([
        {
          ...row,
          name: `${row.name}_复制`,
          created_at: seconds(),
          test_at: 0,
          response_time_ms: 0,
          used_quota: 0,
          balance: 0,
          balance_updated_at: 0,
        },
      ]);
      if (made === undefined) throw new AppError('not_found', { what: `channel ${id}` });
      return channelView(made);
    },
    ...createBulk(repository, { checkMapping: checkModels, writing }),
    /** There is nothing to rebuild: routes follow from the channels themselves. @returns how many were looked at. */
    fix: (): Promise<number> => repository.count(),
    modelsOf: async (id: number): Promise<string[]> => {
      const row = await find(id);
      return fetchModels(deps, row.type, row.base_url, firstKey(row, deps.vault));
    },
    /** @throws AppError fetch_models_key */
    async modelsFor(type: number, baseUrl: string, key: string): Promise<string[]> {
      if (key.trim() === '') throw new AppError('fetch_models_key');
      return fetchModels(deps, type, baseUrl, key);
    },
    /** @returns dollars. */
    async refreshBalance(id: number): Promise<number> {
      const row = await find(id);
      const balance = await fetchBalance(deps, row, firstKey(row, deps.vault));
      await repository.update(id, { balance, balance_updated_at: seconds() });
      return balance;
    },
    /** @param model '' = the channel's test model, else its first one. */
    async test(id: number, model: string, stream: boolean): Promise<ChannelTestResult> {
      const row = await find(id);
      const selected = model || row.test_model || cheapest(row.type, row.models, row.model_mapping);
      const result = selected === '' ? noTestModel : await deps.relayTest({ channelId: id, model: selected, stream });
      const recovered = result.ok && row.status === ChannelStatus.autoDisabled && deps.automaticEnable();
      await repository.update(id, {
        test_at: seconds(),
        // How fast a refusal came says nothing about the channel.
        ...(result.ok ? { response_time_ms: Math.round(result.ms) } : {}),
        other_info: recovered ? '' : withTest(row.other_info, result),
        ...(recovered ? { status: ChannelStatus.enabled } : {}),
      });
      return result;
    },
    /**
     * Asks a channel that is not stored: it exists, out of use, as long as the request takes.
     * @param id a stored channel that `fields` change; its own key where they bring none. null = a new one.
     * @param keyOwner as in `update`.
     * @throws AppError channel_*, not_found
     */
    async tryOut(
      id: number | null,
      fields: ChannelFields,
      { model, stream }: { readonly model: string; readonly stream: boolean },
      keyOwner: KeyOwner = 'other',
    ): Promise<ChannelTestResult> {
      const stored = id === null ? null : await find(id);
      const type = fields.type ?? stored?.type ?? 1;
      if (!isSupported(type)) throw new AppError('channel_type_unknown', { type });
      const typed = (fields.key ?? '').trim();
      if (typed === '' && stored === null) throw new AppError('fetch_models_key');
      if (typed === '' && stored !== null && keyOwner !== 'owner') stays(stored, columnsOf({ ...fields, type }));
      checkFields(fields, stored);
      const listed = fields.models ?? '';
      const selected = model || fields.test_model || cheapest(type, listed, fields.model_mapping ?? '');
      if (selected === '' && members(listed).length === 0) throw new AppError('channel_models_required');
      if (selected === '') return noTestModel;
      const { id: _, ...base } = stored ?? { id: 0 };
      const [row] = await repository.create([
        {
          ...defaults,
          created_at: seconds(),
          group_name: 'default',
          ...base,
          ...columnsOf(fields),
          type,
          models: selected,
          name: `${fields.name?.trim() || type}`,
          status: ChannelStatus.disabled,
          other_info: '',
          managed_by: '',
          ...(typed === ''
            ? {}
            : { key_sealed: deps.vault.encrypt('channel-key', typed), key_hint: keyHint(typed), keys_off: '' }),
        } as Insertable<ChannelsTable>,
      ]);
      if (row === undefined) throw new AppError('not_found', { what: 'channel' });
      try {
        const result = await deps.relayTest({ channelId: row.id, model: selected, stream });
        if (result.ok && stored === null) passed.keep({ ...fields, type, key: typed }, result.ms, seconds());
        return result;
      } finally {
        await repository.remove(row.id);
      }
    },
    /** The channels meant: by ids, by tag, all, or those in use. */
    async choose(requested: {
      readonly ids?: readonly number[] | undefined;
      readonly tag?: string | undefined;
      readonly all?: boolean;
    }): Promise<readonly Pick<ChannelRow, 'id' | 'name' | 'status' | 'auto_ban'>[]> {
      if (requested.ids !== undefined && requested.ids.length > 0) return repository.byIds(requested.ids);
      if (requested.tag !== undefined && requested.tag !== '') return repository.byTag(requested.tag);
      const rows = await repository.all();
      return requested.all === true ? rows : rows.filter(({ status }) => status === ChannelStatus.enabled);
    },
    disableFor: (id: number, otherInfo: string): Promise<boolean> =>
      repository.update(id, { status: ChannelStatus.autoDisabled, other_info: otherInfo }),
    /** Disables a channel whose trouble will not pass by itself. @returns the reason, null when it stays in use. */
    async troubled(failure: ChannelFailure): Promise<string | null> {
      const row = await repository.find(failure.channelId);
      const reason = row === undefined ? null : disableReason(row, failure, deps.failureRules());
      if (reason !== null) {
        const change = { status: ChannelStatus.autoDisabled, other_info: statusInfo(reason, seconds()) };
        await repository.update(failure.channelId, change);
      }
      return reason;
    },
    types: () => offeredOn(new Date(deps.now()).toISOString().slice(0, 10)),
  };
  const { tryOut } = service;
  const health = deps.keyHealth ?? null;
  return {
    ...service,
    ...createKeyCalls({ database: deps.database, repository, find, vault: deps.vault, health, tryOut }),
  };
}

export type ChannelsService = ReturnType<typeof createChannels>;

/** @returns column `keys_off`. @param text keys of the channel. */
const offOf = ({ keys_off: list = '' }: ChannelFields, text: string): string =>
  list === '' ? '' : namesOf(list, keysOf(text));

/** A shorter text is a search word. */
const minKeyLength = 8;

const defaults = {
  organization: '',
  test_model: '',
  weight: 0,
  priority: 0,
  test_at: 0,
  response_time_ms: 0,
  base_url: '',
  other: '',
  balance: 0,
  balance_updated_at: 0,
  used_quota: 0,
  model_mapping: '',
  status_code_mapping: '',
  param_override: '',
  setting: '',
  auto_ban: 1,
  other_info: '',
  tag: '',
  max_input_tokens: 0,
  managed_by: '',
  keys_off: '',
};

export const members = (list: string): string[] =>
  list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

const noTestModel: ChannelTestResult = { ok: false, ms: 0, message: storedText('nothingCheap') };

/** The model to test with where none is named: a test buys no picture, film or research run. */
function cheapest(type: number, models: string, mapping: string): string {
  const provider = providerByType(type);
  const names = members(models);
  if (provider === undefined) return '';
  const table = isObject(mapping) ? (JSON.parse(mapping) as Readonly<Record<string, unknown>>) : {};
  const upstreamName = (name: string): string => (typeof table[name] === 'string' ? table[name] : name);
  const isChosenByWork = provider.operations.some((operation) => operation === 'drawing' || operation === 'music');
  return isChosenByWork ? (names[0] ?? '') : (probeModel(provider, names, upstreamName) ?? '');
}

/** @returns one secret per channel to be made. */
function separateKeys({ key = '', setting = '' }: ChannelFields): string[] {
  const keys = keysIn(key);
  const together = isObject(setting) && typeof (JSON.parse(setting) as { key_mode?: unknown }).key_mode === 'string';
  return together && keys.length > 1 ? [keys.join('\n')] : keys;
}

/** A channel that could never answer is refused when it is made. */
const isSupported = (type: number): boolean => (providerByType(type)?.operations.length ?? 0) > 0;

/** @throws AppError channel_key_again */
function stays(stored: ChannelRow, requested: Updateable<ChannelsTable>): void {
  const fields = destinationChanges(stored, requested as Partial<ChannelRow>);
  if (fields.length > 0) throw new AppError('channel_key_again', { fields: fields.join(', ') });
}

function columnsOf(fields: ChannelFields): Updateable<ChannelsTable> {
  const groups = fields.group ?? fields.groups;
  const all: Updateable<ChannelsTable> = {
    type: fields.type,
    name: fields.name?.trim(),
    organization: fields.openai_organization,
    test_model: fields.test_model,
    weight: fields.weight === undefined ? undefined : Math.max(0, fields.weight),
    priority: fields.priority,
    base_url: fields.base_url?.trim().replace(/\/+$/, ''),
    other: fields.other,
    models: fields.models === undefined ? undefined : [...new Set(members(fields.models))].join(','),
    group_name: groups === undefined ? undefined : members(groups).join(',') || 'default',
    model_mapping: fields.model_mapping,
    status_code_mapping: fields.status_code_mapping,
    param_override: fields.param_override,
    setting: fields.setting,
    auto_ban: fields.auto_ban,
    tag: fields.tag,
    max_input_tokens: fields.max_input_tokens,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function checkMapping(text: string): void {
  if (text.trim() !== '' && !isObject(text)) throw new AppError('channel_mapping_json');
}

/** Mapped names become part of addresses. */
function checkModels(text: string): void {
  checkMapping(text);
  const names = text.trim() === '' ? [] : Object.values(JSON.parse(text) as object);
  const bad = names.find((name) => typeof name !== 'string' || !isModelName(name));
  if (bad !== undefined) throw new AppError('params_invalid', { detail: `model_mapping: ${JSON.stringify(bad)}` });
}

/** The family has its headers beside the setting, of which they are a member here. @throws AppError channel_json */
function withHeaders(fields: ChannelFields, stored: Pick<ChannelRow, 'setting'> | null): ChannelFields {
  const { header_override: text, ...rest } = fields;
  // Clients that know none send it empty.
  if (text === undefined || text.trim() === '') return rest;
  const setting = (rest.setting ?? stored?.setting ?? '').trim();
  if (setting !== '' && !isObject(setting)) return rest;
  if (!isObject(text)) throw new AppError('channel_json', { field: 'header_override' });
  const { header_override: _, ...others } = JSON.parse(setting || '{}') as Record<string, unknown>;
  const headers = JSON.parse(text) as Record<string, unknown>;
  const all = Object.keys(headers).length === 0 ? others : { ...others, header_override: headers };
  return { ...rest, setting: Object.keys(all).length === 0 ? '' : JSON.stringify(all) };
}

const jsonFields = ['status_code_mapping', 'param_override', 'setting'] as const;

/** @param stored what was accepted once may be sent back unchanged. */
function checkFields(fields: ChannelFields, stored: Pick<ChannelRow, 'base_url'> | null): void {
  const address = fields.base_url?.trim() ?? '';
  if (address !== '' && address !== stored?.base_url && !isChannelAddress(address))
    throw new AppError('channel_address', { address });
  for (const field of jsonFields) {
    const text = fields[field] ?? '';
    if (text.trim() === '') continue;
    if (!isObject(text)) throw new AppError('channel_json', { field });
    const problem = field === 'param_override' ? rulesProblem(text) : field === 'setting' ? settingProblem(text) : null;
    if (problem !== null) throw new AppError('channel_rule_invalid', { ...problem });
  }
  checkModels(fields.model_mapping ?? '');
  const other = (fields.other ?? '').trim();
  // A version, a region or an id becomes part of an address; a table of them or a plug-in's parameter is JSON.
  if (!isObject(other) && (!isModelName(other) || /[?#]/.test(other)))
    throw new AppError('params_invalid', { detail: `other: ${other}` });
}

/** @param text JSON of an object. */
function settingProblem(text: string): RuleProblem | null {
  const { channel_factor: factor } = JSON.parse(text) as Readonly<Record<string, unknown>>;
  if (factor === undefined || factor === null || factor === '' || isChannelFactor(factor)) return headersProblem(text);
  return problemOf(() =>
    invalid(
      'channel_factor',
      `${minChannelFactor} 到 ${maxChannelFactor} 的数字，最多四位小数`,
      `a number from ${minChannelFactor} to ${maxChannelFactor} with at most four decimals`,
    ),
  );
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

export function channelView(row: ChannelRow): Channel {
  return {
    id: row.id,
    type: row.type,
    key: '',
    key_hint: row.key_hint,
    openai_organization: row.organization,
    test_model: row.test_model,
    status: row.status,
    name: row.name,
    weight: row.weight,
    created_time: row.created_at,
    test_time: row.test_at,
    response_time: row.response_time_ms,
    base_url: row.base_url,
    other: row.other,
    balance: row.balance,
    balance_updated_time: row.balance_updated_at,
    models: row.models,
    group: row.group_name,
    used_quota: row.used_quota,
    model_mapping: row.model_mapping,
    status_code_mapping: row.status_code_mapping,
    priority: row.priority,
    auto_ban: row.auto_ban,
    other_info: row.other_info,
    tag: row.tag,
    setting: row.setting,
    param_override: row.param_override,
    max_input_tokens: row.max_input_tokens,
    ...(row.keys_off === '' ? {} : { keys_off: row.keys_off }),
  };
}
