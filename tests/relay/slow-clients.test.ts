import { expect, test } from 'vitest';
import { joining, type Piece } from '../../server/relay/shared/sink.ts';

const sizes = (pieces: readonly Piece[]) => pieces.map((piece) => piece.length);

test.each([
  ['bytes', (at: number, whole: Uint8Array): Piece => whole.subarray(at * 250, at * 250 + 250)],
  ['texts', (): Piece => 'x'.repeat(250)],
] as const)(
  'R11: %s that lie side by side go out in parts, so that whoever takes nothing has been given one',
  (_name, piece) => {
    const whole = new Uint8Array(640_000);
    const written: Piece[] = [];
    let full = false;
    const out = joining((given) => {
      written.push(given);
      full = true;
    });
    let added = 0;
    while (added < 2560 && !full) out.add(piece(added++, whole));
    expect(sizes(written)).toHaveLength(1);
    expect(sizes(written)[0]).toBeLessThanOrEqual(32 * 1024 + 250);
    while (added < 2560) out.add(piece(added++, whole));
    out.put();
    expect(sizes(written).reduce((sum, size) => sum + size, 0)).toBe(640_000);
    expect(Math.max(...sizes(written))).toBeLessThanOrEqual(32 * 1024 + 250);
  },
);
