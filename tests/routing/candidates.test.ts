import { expect, test } from 'vitest';
import { CandidateIndex, candidateList, type Routable } from '../../server/routing/candidates.ts';
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
