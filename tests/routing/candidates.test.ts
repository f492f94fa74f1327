import { expect, test } from 'vitest';
import {
  CandidateIndex,
  type Condition,
  candidateList,
  candidatesOf,
  mapModel,
  type Routable,
  shareOf,
  traceOf,
} from '../../server/routing/candidates.ts';
import { often } from '../support/often.ts';
import { randomOf } from '../support/random.ts';

const groups = ['default', 'vip', 'free'];
const models = ['a', 'b', 'c', 'd'];

function randomChannel(random: () => number, id: number): Routable {
  const some = (names: readonly string[]) => names.filter(() => random() < 0.5);
  const listed = some(models);
  return {
    id,
    status: random() < 0.7 ? 1 : 2,
    priority: Math.floor(random() * 3),
    weight: Math.floor(random() * 10),
    // A model may be written twice.
    models: random() < 0.2 ? [...listed, ...listed] : listed,
    groups: some(groups),
  };
}

/** As if it were read from the beginning. */
const serving = (channels: Iterable<Routable>, group: string, model: string): Routable[] =>
  [...channels]
    .filter((one) => one.status === 1 && one.groups.includes(group) && one.models.includes(model))
    .sort((a, b) => a.id - b.id);

test('after any changes the lists are those of the channels as they are', () => {
  const random = randomOf(20_261_124);
  for (let round = 0; round < often(6, 500); round++) {
    const index = new CandidateIndex<Routable>();
    const channels = new Map<number, Routable>();
    const served = (): string =>
      JSON.stringify(
        groups.map((group) => models.filter((model) => serving(channels.values(), group, model).length > 0)),
      );
    for (let step = 0; step < 40; step++) {
      const id = 1 + Math.floor(random() * 8);
      const before = served();
      let changed: boolean;
      if (random() < 0.25) {
        channels.delete(id);
        changed = index.delete(id);
      } else {
        const channel = randomChannel(random, id);
        channels.set(id, channel);
        changed = index.set(channel);
      }
      expect(changed).toBe(served() !== before);
      for (const group of groups) {
        expect(index.models(group).sort()).toEqual(
          models.filter((model) => serving(channels.values(), group, model).length > 0),
        );
        for (const model of models) {
          expect(index.list(group, model)).toEqual(candidateList(serving(channels.values(), group, model)));
          const among = [2, 3, 5, 9];
          expect(index.listAmong(group, model, among)).toEqual(
            candidateList(serving(channels.values(), group, model).filter(({ id }) => among.includes(id))),
          );
          expect(index.isConfigured(group, model)).toBe(
            [...channels.values()].some((one) => one.groups.includes(group) && one.models.includes(model)),
          );
        }
      }
    }
  }
});

test('a change leaves the lists of other models as they are', () => {
  const index = new CandidateIndex<Routable>();
  const one = { id: 1, status: 1, priority: 0, weight: 0, models: ['a', 'b'], groups: ['default'] };
  index.set(one);
  index.set({ ...one, id: 2, models: ['b'] });
  const a = index.list('default', 'a');
  const b = index.list('default', 'b');
  index.set({ ...one, id: 2, models: ['b'], weight: 5 });
  expect(index.list('default', 'a')).toBe(a);
  expect(index.list('default', 'b')).not.toBe(b);
  // What a request began with stays as it was.
  expect(b.flat().map(({ weight }) => weight)).toEqual([0, 0]);
});

const routable = (id: number, priority = 0, weight = 0): Routable => ({
  id,
  status: 1,
  priority,
  weight,
  models: ['a'],
  groups: ['default'],
});

test('every channel is drawn once: healthy ones tier by tier, then those in trouble by their wait', () => {
  const random = randomOf(7);
  for (let round = 0; round < often(300, 10_000); round++) {
    const channels = Array.from({ length: 1 + Math.floor(random() * 9) }, (_, at) =>
      routable(at + 1, Math.floor(random() * 3), Math.floor(random() * 50)),
    );
    const waits = new Map(channels.map(({ id }) => [id, random() < 0.4 ? Math.ceil(random() * 90) : 0]));
    const waitMs = ({ id }: Routable) => waits.get(id) ?? 0;
    const health = { waitMs, condition: (one: Routable): Condition => (waitMs(one) > 0 ? 'cooling' : 'up') };
    const candidates = candidatesOf(candidateList(channels), 'm', random, health, null);
    const order = Array.from({ length: candidates.length }, (_, at) => candidates.at(at) as Routable);
    expect(candidates.at(candidates.length)).toBeUndefined();
    expect(order.map(({ id }) => id).sort((a, b) => a - b)).toEqual(channels.map(({ id }) => id));
    const rank = (one: Routable) => (waitMs(one) > 0 ? 1000 + waitMs(one) : -one.priority);
    expect(order.map(rank)).toEqual(order.map(rank).sort((a, b) => a - b));
    const reportFailure = order.filter((one) => waitMs(one) > 0);
    const places = ({ id }: Routable) =>
      candidateList(channels)
        .flat()
        .findIndex((one) => one.id === id);
    expect(reportFailure).toEqual([...reportFailure].sort((a, b) => waitMs(a) - waitMs(b) || places(a) - places(b)));
    // What was drawn stays where it is.
    expect(candidates.at(0)).toBe(order[0]);
  }
});

test('among the healthy channels of a tier the probability follows the weights, whatever happens to the others', () => {
  const random = randomOf(11);
  const tier = [routable(1, 0, 0), routable(2, 0, 1000), routable(3, 0, 20), routable(4, 0, 50)];
  const health = {
    waitMs: () => 1,
    condition: ({ id }: Routable): Condition => (id === 2 ? 'ejected' : 'up'),
  };
  const seen = new Map<string, number>();
  const draws = 20_000;
  for (let n = 0; n < draws; n++) {
    const candidates = candidatesOf(candidateList(tier), 'm', random, health, null);
    const key = `${candidates.at(0)?.id} ${candidates.at(1)?.id}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  // Weights 10, 30 and 60 of those that are up: the first by its share of all, the second by its share of the rest.
  for (const [key, share] of [
    ['1 3', (10 / 100) * (30 / 90)],
    ['1 4', (10 / 100) * (60 / 90)],
    ['3 1', (30 / 100) * (10 / 70)],
    ['3 4', (30 / 100) * (60 / 70)],
    ['4 1', (60 / 100) * (10 / 40)],
    ['4 3', (60 / 100) * (30 / 40)],
  ] as const)
    expect(Math.abs((seen.get(key) ?? 0) / draws - share)).toBeLessThan(0.015);
});

test('a conversation is no reason to try its channel early in a lower tier', () => {
  const health = { waitMs: () => 0, condition: (): Condition => 'up' };
  const list = candidateList([routable(1, 5), routable(2), routable(3), routable(4)]);
  const candidates = candidatesOf(list, 'm', () => 0, health, 4);
  expect([0, 1, 2, 3].map((at) => candidates.at(at)?.id)).toEqual([1, 2, 3, 4]);
});

test('the first of thousands of channels is drawn without a look at the others', () => {
  const tier = Array.from({ length: 5000 }, (_, at) => routable(at + 1, 0, at % 7));
  let requested = 0;
  let drawn = 0;
  const health = {
    waitMs: () => 0,
    condition: (): Condition => {
      requested++;
      return 'up';
    },
  };
  const random = () => {
    drawn++;
    return 0.5;
  };
  const list = candidateList(tier);
  const first = candidatesOf(list, 'm', random, health, null).at(0);
  expect([requested, drawn]).toEqual([1, 1]);
  expect(Math.abs((first?.id ?? 0) - 2500)).toBeLessThan(10);
  // The channel that served the conversation is asked itself, and nothing is drawn.
  expect(candidatesOf(list, 'm', random, health, 4711).at(0)?.id).toBe(4711);
  expect([requested, drawn]).toEqual([2, 1]);
});

test('a trace names the first hundred channels', () => {
  const tier = Array.from({ length: 130 }, (_, at) => routable(at + 1));
  const health = { waitMs: () => 0, condition: ({ id }: Routable): Condition => (id === 7 ? 'cooling' : 'up') };
  const list = candidateList(tier);
  const trace = traceOf(list, 'm', candidatesOf(list, 'm', randomOf(3), health, 9), health, 9);
  expect(trace).toMatch(/^order=9 p0 1% same-conversation > \d+ p0 1% > .* > and 30 more$/);
  expect(trace.split(' > ')).toHaveLength(101);
});

test('a mapping to nothing, or to what is no name, ends where it stands', () => {
  expect(mapModel({ a: '' }, 'a')).toBe('a');
  expect(mapModel({ a: 'b', b: '' }, 'a')).toBe('b');
  expect(mapModel({ a: 'b', b: 7 }, 'a')).toBe('b');
  expect(mapModel({ a: 'b', b: 'c' }, 'a')).toBe('c');
});

const up = { waitMs: () => 0, condition: (): Condition => 'up' };
const plain = { plainWeights: true };

test('with plain weights one of 0 gets nothing beside others, is their reserve, and keeps no conversation', () => {
  const random = randomOf(20_261_129);
  const tier = [routable(1, 0, 0), routable(2, 0, 1), routable(3, 0, 3)];
  const list = candidateList(tier);
  const firsts = Array.from({ length: 200 }, () => candidatesOf(list, 'm', random, up, 1, plain).at(0)?.id);
  expect(firsts.filter((id) => id === 1)).toEqual([]);
  expect(firsts.filter((id) => id === 2).length).toBeLessThan(firsts.filter((id) => id === 3).length);
  expect(tier.map((one) => shareOf(one, tier, plain))).toEqual([0, 0.25, 0.75]);
  // Before a lower priority, and first where the others are in trouble.
  const both = candidateList([...tier, routable(9, -1, 50)]);
  const order = candidatesOf(both, 'm', random, up, null, plain);
  expect([order.at(2)?.id, order.at(3)?.id]).toEqual([1, 9]);
  const troubled = { ...up, condition: ({ id }: Routable): Condition => (id === 2 || id === 3 ? 'ejected' : 'up') };
  expect(candidatesOf(list, 'm', random, troubled, 1, plain).at(0)?.id).toBe(1);
});

test('with plain weights those of 0 share alike where there are no others, and as it is shipped 10 is added to each', () => {
  const random = randomOf(4);
  const weighted = [routable(1, 0, 0), routable(2, 0, 0), routable(3, 0, 90)];
  const zero = weighted.slice(0, 2);
  const troubled = { ...up, condition: ({ id }: Routable): Condition => (id === 3 ? 'cooling' : 'up') };
  for (const [tier, health] of [
    [zero, up],
    [weighted, troubled],
  ] as const) {
    const firsts = Array.from({ length: 400 }, () => candidatesOf([tier], 'm', random, health, null, plain).at(0)?.id);
    expect(Math.abs(firsts.filter((id) => id === 1).length - 200)).toBeLessThan(60);
    expect(firsts).not.toContain(3);
  }
  expect(shareOf(zero[0] as Routable, zero, plain)).toBe(0.5);
  expect(weighted.map((one) => shareOf(one, weighted))).toEqual([10 / 120, 10 / 120, 100 / 120]);
});
