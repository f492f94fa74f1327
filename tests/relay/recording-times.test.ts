/** Twice as long a file of any hostile form takes a reader twice as long, not four times: in processor time of this thread. */
import { expect, test } from 'vitest';
import { audioSeconds } from '../../server/relay/shared/recordings/length.ts';
import { hostileRecordings as forms } from '../support/hostile-recordings.ts';

/** Microseconds of processor time at least, of a few tries: other threads of the process have tests of their own. */
function effort(file: Uint8Array): number {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 3; tries++) {
    const before = process.threadCpuUsage();
    audioSeconds(file, file.length);
    const { user, system } = process.threadCpuUsage(before);
    least = Math.min(least, user + system);
  }
  return least;
}

test.each(Object.entries(forms))('%s', (_name, made) => {
  const small = new Uint8Array(made(512));
  const large = new Uint8Array(made(4 * 1024));
  audioSeconds(small, small.length);
  // Eight times as much takes 64 times as long where it grows with the square; two milliseconds are for what the runtime does meanwhile.
  expect(effort(large)).toBeLessThan(24 * (effort(small) + 2000));
});

test('recordings of the findings take next to no time', () => {
  const worst = {
    'Matroska: tracks and blocks of none': 20_000,
    'MP4: tracks and runs': 20_000,
    'MP4: boxes in boxes': 100_000,
    'Ogg: one packet over all pages': 40_000,
  };
  const files = Object.entries(worst).map(([name, n]) => new Uint8Array(forms[name]?.(n) ?? Buffer.alloc(0)));
  const before = process.threadCpuUsage();
  for (const file of files) expect(audioSeconds(file, file.length)).toBeGreaterThanOrEqual(0);
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(1);
});
