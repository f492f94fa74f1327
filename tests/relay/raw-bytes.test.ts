/** An answer that is neither JSON nor events ends its request once, whatever becomes of its reader. */
import { expect, test } from 'vitest';
import { relayBytes } from '../../server/relay/delivery/bytes.ts';
import type { StreamEnd } from '../../server/relay/delivery/settle.ts';
import { Deadlines } from '../../server/relay/shared/deadline.ts';
import { UpstreamSide } from '../../server/relay/upstream/client-disconnect.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const opened = (body: BodyInit | null) => {
  const ends: StreamEnd[] = [];
  const upstream = new UpstreamSide();
  const stream = relayBytes(new Response(body), {
    now: () => 7,
    deadlines: new Deadlines(new VirtualTime()),
    abort: upstream,
    stopped: () => false,
    idleMs: 60_000,
    finish: async (end) => void ends.push(end),
    report: () => false,
    abandon: async () => undefined,
  });
  return { ends, upstream, stream };
};

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

test('what was read to its end is complete', async () => {
  const { ends, stream } = opened('sound');
  expect(await new Response(stream).text()).toBe('sound');
  expect(ends).toMatchObject([{ endReason: 'completed' }]);
});
