/** Rows of models that fail: found by their ids, in the order in which they failed, whatever was added and taken out before. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Pairs } from '../../server/relay/routing/pairs.ts';

const most = 300;
const idBase = 2 ** 32;
/** Few channels and hashes, near each other: places in the index collide, and rows come back after they left. */
const idOf = (n: number): number => (1 + (n % 40)) * idBase + ((n * 0x1000_0000) % idBase) + (n % 7);

const step = fc.record({ kind: fc.constantFrom('add', 'add', 'add', 'delete', 'again'), n: fc.nat(600) });

test('rows are those of a map that keeps its order, through growth, removal and return', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 900, size: 'max' }), (steps) => {
      const pairs = new Pairs(most);
      const model = new Map<number, number>();
      for (const [at, { kind, n }] of steps.entries()) {
        const id = idOf(n);
        if (kind === 'delete') {
          expect(pairs.delete(id)).toBe(model.delete(id));
          continue;
        }
        const known = model.get(id);
        const moved = pairs.moveToEnd(id);
        expect(moved?.waitUntil).toBe(known);
        if (known !== undefined) {
          model.delete(id);
          model.set(id, known);
          continue;
        }
        if (model.size === most) {
          const [oldest] = model.keys();
          expect(pairs.oldest()).toBe(oldest);
          if (oldest !== undefined) model.delete(oldest);
          pairs.delete(pairs.oldest() ?? 0);
        }
        const row = pairs.add(id);
        // Nothing is left of who had its place.
        expect(valuesOf(row)).toEqual(empty);
        Object.assign(row, { ...filled, waitUntil: at });
        model.set(id, at);
      }
      expect(pairs.size).toBe(model.size);
      expect([...pairs.order()]).toEqual([...model.keys()]);
      for (const [id, at] of model) {
        const row = pairs.get(id);
        expect(row === undefined ? null : valuesOf(row)).toEqual({ ...filled, waitUntil: at });
      }
      expect(pairs.get(idOf(601) + 1)).toBeUndefined();
    }),
    { numRuns: 25, seed: 43 },
  );
});

const empty = {
  ...{ failures: 0, ejections: 0, ejectedUntil: 0, probingUntil: 0, wasTried: false, share: 0, since: 0, waitUntil: 0 },
};
const filled = {
  ...{ failures: 3, ejections: 2, ejectedUntil: 1.5e12, probingUntil: 2.25, wasTried: true, share: 0.4, since: 7.5 },
  waitUntil: 0,
};
const valuesOf = ({
  failures,
  ejections,
  ejectedUntil,
  probingUntil,
  wasTried,
  share,
  since,
  waitUntil,
}: typeof filled) => ({
  ...{ failures, ejections, ejectedUntil, probingUntil, wasTried, share, since, waitUntil },
});

test('rows that are free again are taken before there are more of them', () => {
  const pairs = new Pairs(1000);
  for (let id = 1; pairs.failures.length === 0 || id <= pairs.failures.length; id++) pairs.add(id);
  const room = pairs.failures.length;
  for (let id = 1; id <= 3 * room; id++) {
    pairs.delete(id);
    pairs.add(id + room);
  }
  expect(pairs.failures).toHaveLength(room);
});
