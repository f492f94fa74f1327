/** Blanks before an answer in one piece: none follows once the answer has come or broken. */
import { expect, test } from 'vitest';
import { withBlanks } from '../../server/relay/delivery/await-answer.ts';
import { Deadlines } from '../../server/relay/shared/deadline.ts';

/** A clock that a test moves. */
function handClock() {
  let now = 0;
  let look: (() => void) | null = null;
  const deadlines = new Deadlines({
    monoNow: () => now,
    every(callback) {
      look = callback;
      return {
        close() {
          look = null;
        },
      };
    },
  });
  const pass = (ms: number): void => {
    now += ms;
    look?.();
  };
  return { deadlines, pass, isWaiting: () => look !== null };
}

test.each(['whole', 'broken'])('no blank follows an answer that came %s', async (how) => {
  const { deadlines, pass, isWaiting } = handClock();
  const answered = Promise.withResolvers<Response>();
  const waiting = withBlanks(answered.promise, 1000, deadlines, {});
  pass(1000);
  const body = (await waiting).text().catch((error: Error) => error.message);
  await Promise.resolve();
  answered.resolve(
    how === 'whole'
      ? new Response('{}')
      : new Response(new ReadableStream({ start: (controller) => controller.error(new Error('it broke')) })),
  );
  expect(await Promise.race([body, Bun.sleep(2000).then(() => 'nothing ends')])).toMatch(
    how === 'whole' ? /^ +\{\}$/ : /it broke/,
  );
  pass(1000);
  expect(isWaiting()).toBe(false);
});
