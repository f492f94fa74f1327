/** Blanks before an answer in one piece: none follows once the answer has come or broken. */
import { expect, test } from 'vitest';
import { withBlanks } from '../../server/relay/delivery/await-answer.ts';
import { Deadlines } from '../../server/relay/shared/deadline.ts';
import { VirtualTime } from '../support/virtual-time.ts';

test.each(['whole', 'broken'])('no blank follows an answer that came %s', async (how) => {
  const time = new VirtualTime();
  const answered = Promise.withResolvers<Response>();
  const waiting = withBlanks(answered.promise, 1000, new Deadlines(time), {});
  time.jump(1050);
  const body = (await waiting).text().catch((error: Error) => error.message);
  await Promise.resolve();
  answered.resolve(
    how === 'whole'
      ? new Response('{}')
      : new Response(new ReadableStream({ start: (controller) => controller.error(new Error('it broke')) })),
  );
  expect(await body).toMatch(how === 'whole' ? /^ +\{\}$/ : /it broke/);
  time.jump(1050);
  expect(time.waiting).toBe(0);
});
