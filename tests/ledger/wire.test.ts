import { afterEach, expect, test, vi } from 'vitest';
import { openWire } from '../../db/postgres/wire.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

test('a wire that is closed does nothing by the clock any more', () => {
  const started = vi.spyOn(globalThis, 'setInterval');
  const ended = vi.spyOn(globalThis, 'clearInterval');
  const quiet = () => undefined;
  // No server listens there.
  const wire = openWire(
    { engine: 'postgres', url: 'postgres://nobody@127.0.0.1:1/none' },
    { receive: quiet, notify: async () => undefined, changed: quiet, name: 'w' },
  );
  const timers = started.mock.results.map(({ value }) => value as unknown);
  expect(timers.length).toBeGreaterThan(0);
  wire.close();
  const stopped = ended.mock.calls.map(([timer]) => timer);
  expect(timers.filter((timer) => !stopped.some((one) => one === timer))).toEqual([]);
});
