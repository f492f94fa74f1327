/** Steps keep their order, whichever of them wait. */
import { expect, test } from 'vitest';
import { createStepQueue } from '../../server/relay/endpoints/realtime/step-queue.ts';

test.each([[[]], [[0]], [[1, 2]], [[0, 3, 4]], [[0, 1, 2, 3, 4, 5]]])(
  'of six steps %j wait: all run once and in order',
  async (slow) => {
    const enter = createStepQueue(() => undefined);
    const ran: number[] = [];
    const gates = new Map(slow.map((n) => [n, Promise.withResolvers<void>()]));
    for (let n = 0; n < 6; n++)
      enter(() => {
        ran.push(n);
        return gates.get(n)?.promise;
      });
    for (const n of slow) {
      // Nothing behind one that waits has run.
      expect(ran.at(-1)).toBe(n);
      gates.get(n)?.resolve();
      await gates.get(n)?.promise;
      await Promise.resolve();
    }
    expect(ran).toEqual([0, 1, 2, 3, 4, 5]);
  },
);

test('a step added from within a step runs behind all earlier ones', async () => {
  const enter = createStepQueue(() => undefined);
  const ran: string[] = [];
  const gate = Promise.withResolvers<void>();
  enter(() => {
    enter(() => void ran.push('within the first'));
    return gate.promise;
  });
  enter(() => {
    ran.push('second');
    enter(() => void ran.push('within the second'));
    return undefined;
  });
  enter(() => void ran.push('third'));
  expect(ran).toEqual([]);
  gate.resolve();
  await gate.promise;
  await Promise.resolve();
  expect(ran).toEqual(['within the first', 'second', 'third', 'within the second']);
  enter(() => void ran.push('later'));
  expect(ran.at(-1)).toBe('later');
});

test('a job that fails is reported and stops no other', () => {
  const failed: unknown[] = [];
  const enter = createStepQueue((error) => failed.push(error));
  const ran: string[] = [];
  enter(() => {
    throw new Error('broken');
  });
  enter(() => void ran.push('next'));
  expect([failed, ran]).toEqual([[new Error('broken')], ['next']]);
});

test('a job whose promise rejects is reported and stops no other', async () => {
  const failed: unknown[] = [];
  const enter = createStepQueue((error) => failed.push(error));
  const ran: string[] = [];
  enter(() => Promise.reject(new Error('broken')));
  enter(() => void ran.push('next'));
  await Promise.resolve()
    .then(() => undefined)
    .then(() => undefined)
    .then(() => undefined);
  expect([failed, ran]).toEqual([[new Error('broken')], ['next']]);
});
