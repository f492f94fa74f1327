/** Answers that are kept whole have an end: one byte more is too much. */
import { expect, test } from 'vitest';
import { emptyRun } from '../../server/protocols/shared/sse.ts';
import { Deadlines } from '../../server/relay/shared/deadline.ts';
import type { OpenStream } from '../../server/relay/upstream/open-stream.ts';
import { readToEnd } from '../../server/relay/upstream/open-stream.ts';
import { readWhole } from '../../server/relay/upstream/whole.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const million = new Uint8Array(1024 * 1024);
const patient = 60_000;
const deadlines = new Deadlines(new VirtualTime());

/** 64 MiB and so many bytes. */
function bodyOf(more: number): ReadableStream<Uint8Array> {
  let left = 64;
  return new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(million);
      else {
        if (more > 0) controller.enqueue(million.subarray(0, more));
        controller.close();
      }
    },
  });
}

test.each([
  [0, 64 * million.length],
  [1, undefined],
])('an answer in one piece of 64 MiB and %i bytes', async (more, bytes) => {
  const read = await readWhole(new Response(bodyOf(more)), patient, new AbortController(), deadlines);
  expect(read?.length).toBe(bytes);
});

test.each([
  [0, true],
  [1, false],
])('a stream of 64 MiB and %i bytes that is gathered for its client', async (more, isWhole) => {
  const stream = {
    reader: bodyOf(more).getReader(),
    framing: { advance: () => emptyRun, end: () => [] },
    frameRelay: { pass: () => [], close: () => [], isLast: false, error: null, finish: () => ({}) },
    early: emptyRun,
    done: false,
    deadlines,
  } as unknown as OpenStream;
  expect(await readToEnd(stream, patient)).toBe(isWhole);
});
