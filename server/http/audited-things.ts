/** Which things a call changes, for the trail: read before the call and after it, and compared. */
import type { Services } from '../app/services.ts';
import type { EndpointId } from '../contract/endpoints/index.ts';
import type { Channel, ThingKind } from '../contract/entities.ts';
import { AppError } from '../contract/errors.ts';
import { isOptionKey, optionRow } from '../contract/options.ts';
import { priceOptionKeys } from '../contract/pricing/tables.ts';
import type { AuditedThing } from '../domain/audit/changes.ts';

export interface ThingRef {
  readonly kind: ThingKind;
  readonly id: string;
}

type Find = (
  services: Services,
  input: Readonly<Record<string, unknown>>,
) => Promise<readonly ThingRef[]> | readonly ThingRef[];

const one =
  (kind: ThingKind, member: string): Find =>
  (_services, input) =>
    input[member] === undefined ? [] : [{ kind, id: String(input[member]) }];
const many: Find = (_services, { ids }) =>
  Array.isArray(ids) ? ids.map((id) => ({ kind: 'channel' as const, id: String(id) })) : [];
/** An empty tag is refused by the call: it must not read all channels that have none. */
const tagged: Find = async ({ channels }, { tag }) =>
  typeof tag !== 'string' || tag.trim() === ''
    ? []
    : (await channels.ofTag(tag.trim())).map(({ id }) => ({ kind: 'channel' as const, id: String(id) }));
const prices: Find = () => priceOptionKeys.map((key) => ({ kind: 'option' as const, id: key }));
/** Those of the entry that it puts back. */
const ofEntry: Find = async ({ audit }, { id }) => (await audit.find(Number(id))).changes;

const things: Readonly<Partial<Record<EndpointId, Find>>> = {
  'option.set': one('option', 'key'),
  'option.reset': one('option', 'key'),
  'option.reset_ratios': prices,
  'ratio.set': prices,
  'ratio.apply': prices,
  'ratio.rollback': prices,
  'ratio.apply_proposal': prices,
  'channel.update': one('channel', 'id'),
  'channel.delete': one('channel', 'id'),
  'channel.delete_many': many,
  'channel.status_many': many,
  'channel.tag_many': many,
  'channel.tag_edit': tagged,
  'channel.tag_enable': tagged,
  'channel.tag_disable': tagged,
  'virtual_model.update': one('virtual_model', 'id'),
  'virtual_model.delete': one('virtual_model', 'id'),
  'user.update': one('user', 'id'),
  'user.manage': one('user', 'id'),
  'user.delete': one('user', 'id'),
  'audit.undo': ofEntry,
};

/** @param input as the endpoint takes it. @returns nothing where the call's effect is not followed. */
export async function thingsOf(id: string, services: Services, input: unknown): Promise<readonly ThingRef[]> {
  const find = things[id as EndpointId];
  if (find === undefined) return [];
  const found = await find(services, (input ?? {}) as Readonly<Record<string, unknown>>);
  return [...new Map(found.map(({ kind, id: name }) => [`${kind} ${name}`, { kind, id: name }])).values()];
}

/** What a channel is, without what happens to it. */
const channelFields = [
  ...['name', 'type', 'base_url', 'models', 'group', 'tag', 'status', 'priority', 'weight', 'model_mapping', 'setting'],
  ...['status_code_mapping', 'param_override', 'test_model', 'auto_ban', 'openai_organization', 'other', 'keys_off'],
  'max_input_tokens',
] as const satisfies readonly (keyof Channel)[];

const textsOf = <Row extends object>(row: Row, names: readonly (keyof Row & string)[]): Record<string, string | null> =>
  Object.fromEntries(names.map((name) => [name, row[name] === undefined ? null : String(row[name])]));

/** Of more than so many channels only their ids stand in the entry. */
const maxChannels = 1000;

/** @returns those of them that are there. @throws what the database throws. */
export async function readThings(services: Services, refs: readonly ThingRef[]): Promise<readonly AuditedThing[]> {
  const isChannel = ({ kind }: ThingRef): boolean => kind === 'channel';
  const ids = refs.filter(isChannel).map(({ id }) => Number(id));
  const channels = ids.length === 0 || ids.length > maxChannels ? [] : await services.channels.sealed(ids);
  const others = refs.filter((ref) => !isChannel(ref));
  const found = await Promise.all(others.map((ref) => readOther(services, ref)));
  return [...channels.map(channelThing), ...found.flatMap((thing) => (thing === null ? [] : [thing]))];
}

const channelThing = ({ channel, key }: { readonly channel: Channel; readonly key: string }): AuditedThing => ({
  ...{ kind: 'channel', id: String(channel.id) },
  fields: { ...textsOf(channel, channelFields), key },
  secret: ['key'],
});

/** What is gone is none; another failure is not taken for that. */
async function readOther(services: Services, { kind, id }: ThingRef): Promise<AuditedThing | null> {
  try {
    return await readers[kind](services, id);
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
}

const readers: Readonly<Record<ThingKind, (services: Services, id: string) => Promise<AuditedThing | null>>> = {
  async option({ options }, id) {
    if (!isOptionKey(id)) return null;
    const { secret, fallback } = optionRow(id);
    // A map that is first stored begins with what holds without it: only what differs was changed.
    const value = options.stored(id) ?? (fallback.startsWith('{') ? fallback : null);
    return { kind: 'option', id, fields: { value }, secret: secret ? ['value'] : [] };
  },
  async channel({ channels }, id) {
    const [found] = await channels.sealed([Number(id)]);
    return found === undefined ? null : channelThing(found);
  },
  async virtual_model({ virtualModels }, id) {
    const { targets, ...model } = await virtualModels.get(Number(id));
    const fields = textsOf(model, ['name', 'enabled', 'boundary', 'description']);
    return { kind: 'virtual_model', id, fields: { ...fields, targets: JSON.stringify(targets) } };
  },
  async user({ users }, id) {
    const row = await users.find(Number(id));
    if (row === undefined) return null;
    const fields = textsOf(row, ['username', 'display_name', 'group_name', 'role', 'status', 'email']);
    // The trail outlives the account: whose address it was must not.
    return { kind: 'user', id, fields: { ...fields, password: row.password_hash }, secret: ['password', 'email'] };
  },
};
