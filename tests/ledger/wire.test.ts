import { afterEach, expect, test, vi } from 'vitest';
import { openWire } from '../../db/postgres/wire.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

test('a wire that is closed does nothing by the clock any more', () => {
  const startedOf = vi.spyOn(globalThis, 'setInterval');
  const ended = vi.spyOn(globalThis, 'clearInterval');
  const quiet = () => undefined;
  // Nobody listens there.
  const wire = openWire(
    { engine: 'postgres', url: 'postgres://nobody@127.0.0.1:1/none' },
    { receive: quiet, print: async () => undefined, changed: quiet, name: 'w' },
  );
  const timers = startedOf.mock.results.map(({ value }) => value as unknown);
  expect(timers.length).toBeGreaterThan(0);
  wire.close();
  const stopped = ended.mock.calls.map(([timer]) => timer);
  expect(timers.filter((timer) => !stopped.some((one) => one === timer))).toEqual([]);
});
