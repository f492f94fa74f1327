/** An answer that is neither JSON nor events ends its request once, whatever becomes of its reader. */
import { expect, test } from 'vitest';
import { relayBytes } from '../../server/relay/delivery/bytes.ts';
import type { StreamEnd } from '../../server/relay/delivery/settle.ts';
import { Deadlines } from '../../server/relay/shared/deadline.ts';
import { UpstreamSide } from '../../server/relay/upstream/client-disconnect.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const opened = (body: BodyInit | null, now = () => 7) => {
  const ends: StreamEnd[] = [];
  const notes: string[] = [];
  const upstream = new UpstreamSide();
  const stream = relayBytes(new Response(body, { headers: { 'content-type': 'text/vtt' } }), {
    now,
    deadlines: new Deadlines(new VirtualTime()),
    abort: upstream,
    stopped: () => false,
    idleMs: 60_000,
    checkpointMs: 5000,
    checkpoint: ({ texts }) => void notes.push(texts.join('')),
    finish: async (end) => void ends.push(end),
    report: () => false,
    abandon: async () => undefined,
  });
  return { ends, notes, upstream, stream };
};

test('the amount owed is written down with the first bytes that a client gets, and every few seconds from then on', async () => {
  let clock = 7;
  const pieces = ['a', 'b', 'c', 'd', 'e'];
  const body = new ReadableStream({
    pull(controller) {
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(Buffer.from(piece));
    },
  });
  const { notes, stream } = opened(body, () => clock);
  const reader = stream?.getReader();
  // The last byte waits for the bill: the first piece is kept back.
  await reader?.read();
  expect(notes).toEqual(['ab']);
  clock += 4999;
  await reader?.read();
  expect(notes).toEqual(['ab']);
  clock++;
  await reader?.read();
  expect(notes.at(-1)).toMatch(/^abcde?$/);
  expect(notes).toHaveLength(2);
});

test('a client that left before it read a byte is charged all the same', () => {
  const { ends, upstream } = opened('sound');
  upstream.abort();
  expect(ends).toMatchObject([{ endReason: 'client_gone', firstByteMs: 7 }]);
});

test('an answer without a body is complete at once, and stays so when its client leaves', () => {
  const { ends, upstream, stream } = opened(null);
  upstream.abort();
  expect(stream).toBeNull();
  expect(ends).toMatchObject([{ endReason: 'completed', firstByteMs: null }]);
});

test('an answer that was read to its end is complete', async () => {
  const { ends, stream } = opened('sound');
  expect(await new Response(stream).text()).toBe('sound');
  expect(ends).toMatchObject([{ endReason: 'completed' }]);
});
