/** Who waits for money that lies elsewhere believes what was said after its own question, and nothing older. */
import { expect, test } from 'vitest';
import type { Grant } from '../../db/postgres/leases.ts';
import { createTelling, heard } from '../../server/cluster/telling.ts';
import { createLeases, type LeaseAnswer } from '../../server/ledger/leases.ts';

const [account, asker, holder] = [7, 1, 2];

/** A node whose need another node could carry: the books have nothing free. */
function asking(holders: readonly number[] = [holder]) {
  const marks: number[] = [];
  const books = { free: 0, asked: 0 };
  let here = 0;
  const leases = createLeases({
    reach: {
      raise: (_kind, _subject, amount) => {
        here += amount;
      },
      takeIdle: () => 0,
      drop: () => undefined,
    },
    async move(moves) {
      books.asked++;
      const grants = moves.map((): Grant => {
        const granted = books.free;
        books.free = 0;
        return {
          ...{ account, token: 0, granted, tokenGranted: 0, most: 1000 },
          ...{ tokenMost: 0, tokenBound: 'limit', holders },
        };
      });
      // What is read is read before it is told.
      await new Promise((resolve) => setTimeout(resolve, 5));
      return { grants };
    },
    isUnresolved: () => false,
    recall: (_account, _token, _holders, mark) => void marks.push(mark),
    answer: () => undefined,
    nodes: () => 2,
    now: () => performance.now(),
    after: (ms, work) => void setTimeout(work, ms),
  });
  leases.begin(asker);
  const hold = (): boolean => {
    if (here < 10) return false;
    here -= 10;
    return true;
  };
  const ask = () =>
    leases.request({ account, token: 0, need: 10, missing: () => ({ account: 10, token: 0 }), hold, partial: true });
  return { leases, marks, books, ask };
}

test('an answer to an earlier recall does not make a balance used up', async () => {
  const { leases, marks, ask } = asking();
  const first = ask();
  await expect.poll(() => marks).toHaveLength(1);
  leases.answered(account, holder, marks[0] ?? 0);
  expect(await first).toBe('exhausted');
  let told: LeaseAnswer | null = null;
  const second = ask().then((answer) => {
    told = answer;
  });
  await expect.poll(() => marks).toHaveLength(2);
  // Told late, or read again where NOTIFY does not arrive.
  leases.answered(account, holder, marks[0] ?? 0);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(told).toBeNull();
  leases.answered(account, holder, marks.at(-1) ?? 0);
  await second;
  expect(told).toBe('exhausted');
});

test('what is given after a refusal serves whoever asks after it, at once', async () => {
  const { books, ask } = asking([]);
  for (let n = 0; n < 5; n++) {
    expect(await ask()).toBe('exhausted');
    books.free = 10;
    expect(await ask()).toBe('granted');
  }
});

test('a crowd that comes together costs the books no more than one', async () => {
  const { books, ask } = asking([]);
  await ask();
  const before = books.asked;
  const answers = await Promise.all(Array.from({ length: 500 }, ask));
  expect(new Set(answers)).toEqual(new Set(['exhausted']));
  expect(books.asked - before).toBeLessThanOrEqual(4);
});

test('an answer is for the node that asked', () => {
  const sent: string[] = [];
  const works: (() => void)[] = [];
  const telling = createTelling({
    wire: { tell: (text) => void sent.push(text) },
    epoch: () => holder,
    later: (work) => void works.push(work),
  });
  telling.answer(account, asker, 5);
  telling.answer(account, 3, 9);
  works[0]?.();
  const at = (own: number) => {
    const answers: (readonly number[])[] = [];
    for (const text of sent)
      heard(text, own, { recalled: () => undefined, answered: (...told) => void answers.push(told) });
    return answers;
  };
  expect(at(asker)).toEqual([[account, holder, 5]]);
  expect(at(3)).toEqual([[account, holder, 9]]);
  expect(at(4)).toEqual([]);
});
