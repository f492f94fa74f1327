import { expect, test } from 'vitest';
import { relayThreadCount } from '../../server/threads/relay/environment.ts';

test.each([
  [undefined, 1, 1],
  ['auto', 2, 1],
  ['auto', 3, 2],
  ['', 8, 7],
  ['auto', 64, 8],
  ['4', 1, 4],
  ['1', 16, 1],
] as const)('--relays %s on %i cores: %i', (wanted, cores, relayThreads) => {
  expect(relayThreadCount(wanted, cores, 'linux')).toBe(relayThreads);
});

test('one where listeners do not share a port', () => {
  expect([relayThreadCount('auto', 16, 'darwin'), relayThreadCount('4', 16, 'win32')]).toEqual([1, 1]);
});

test.each(['0', '9', '1.5', 'x', '-1'])('--relays %s is refused', (wanted) => {
  expect(() => relayThreadCount(wanted, 4, 'linux')).toThrow('--relays');
});
