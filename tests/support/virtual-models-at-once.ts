/** Pairs of saves of virtual models of which either is sound by itself and the second is not once the first one is stored. */
import type { ChannelFields, ChannelsService } from '../../server/domain/channels/service.ts';
import type { VirtualModelsService } from '../../server/domain/virtual-models/service.ts';

export interface Saver {
  readonly models: Pick<VirtualModelsService, 'create' | 'update' | 'named' | 'remove' | 'list'>;
  readonly channels: Pick<ChannelsService, 'create' | 'update' | 'editTag'>;
}

export interface Pair {
  readonly what: string;
  /** Targets of those that are there before. */
  readonly before: Readonly<Record<string, readonly string[]>>;
  readonly one: (saver: Saver) => Promise<unknown>;
  readonly other: (saver: Saver) => Promise<unknown>;
  /** What the second of them is refused with, whichever that is. */
  readonly codes: readonly string[];
}

const served = 'gpt-4o';
const targets = (models: readonly string[]) => models.map((model) => ({ model }));
const create =
  (name: string, models: readonly string[], fields: object = {}) =>
  ({ models: service }: Saver) =>
    service.create({ name, targets: targets(models), ...fields });
const update =
  (name: string, change: (id: number, models: Saver['models']) => Promise<unknown>) =>
  async ({ models }: Saver) =>
    change((await models.named(name)).id, models);
const lead = (name: string, to: readonly string[]) =>
  update(name, (id, models) => models.update(id, { targets: targets(to) }));

const channel: ChannelFields = { type: 1, name: 'made', key: 'k', base_url: 'http://127.0.0.1:9', tag: 'made' };
const clash = ['virtual_model_of_channel', 'channel_model_virtual'];

/** @param channelId of a channel of the tag `there` that serves nothing named here. */
export const pairs = (channelId: () => number): readonly Pair[] => [
  {
    what: 'a cycle of a new one and a changed one',
    before: { a: [served] },
    one: create('b', ['a']),
    other: lead('a', ['b']),
    codes: ['virtual_model_cycle'],
  },
  {
    what: 'a cycle of two that are changed',
    before: { a: [served], b: [served] },
    one: lead('a', ['b']),
    other: lead('b', ['a']),
    codes: ['virtual_model_cycle'],
  },
  {
    what: 'a sixth within each other',
    before: { p1: [served], p2: ['p1'], p3: ['p2'], q1: [served], q2: ['q1'] },
    one: create('r', ['p3']),
    other: lead('p1', ['q2']),
    codes: ['virtual_model_depth'],
  },
  {
    what: 'more than 64 targets in all',
    before: { inner: Array(4).fill(served) },
    one: create('outer', Array(16).fill('inner')),
    other: lead('inner', Array(5).fill(served)),
    codes: ['virtual_model_leaves'],
  },
  {
    what: 'a target beyond the boundary',
    before: { inner: [served] },
    one: create('outer', ['inner'], { boundary: 'default' }),
    other: update('inner', (id, models) => models.update(id, { targets: [{ model: served, group: 'vip' }] })),
    codes: ['virtual_model_boundary'],
  },
  {
    what: 'one name for two',
    before: {},
    one: create('a', [served]),
    other: create('a', [served, served]),
    codes: ['virtual_model_taken'],
  },
  {
    what: 'the name of a new channel’s model',
    before: {},
    one: create('a', [served]),
    other: ({ channels }) => channels.create({ ...channel, models: 'a' }),
    codes: clash,
  },
  {
    what: 'the name of a model that a channel gets',
    before: {},
    one: create('a', [served]),
    other: ({ channels }) => channels.update(channelId(), { models: 'gpt-4.1,a' }),
    codes: clash,
  },
  {
    what: 'the name of a model that all channels of a tag get',
    before: {},
    one: create('a', [served]),
    other: ({ channels }) => channels.editTag('there', { models: 'gpt-4.1,a' }),
    codes: clash,
  },
];

/** Runs a pair on two sides. @param meeting holds both up until they have met. @returns codes of the refusals, `''` for what was saved. */
export async function runPair(
  { before, one, other }: Pair,
  here: Saver,
  there: Saver,
  meeting = <Of>(work: () => Promise<Of>): Promise<Of> => work(),
): Promise<readonly string[]> {
  for (const [name, models] of Object.entries(before)) await create(name, models)(here);
  const results = await meeting(() => Promise.allSettled([one(here), other(there)]));
  return results.map((result) =>
    result.status === 'fulfilled' ? '' : ((result.reason as { code?: string }).code ?? String(result.reason)),
  );
}

/** Takes away what a pair stored. */
export async function clear({ models, channels }: Saver, channelId: number): Promise<void> {
  for (const { id } of await models.list()) await models.update(id, { targets: targets([served]), boundary: '' });
  for (const { id } of await models.list()) await models.remove(id);
  await channels.update(channelId, { models: 'gpt-4.1' });
}
