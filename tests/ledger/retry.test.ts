/** How long the money engine waits between two tries of a write that failed. */
import { afterEach, expect, test, vi } from 'vitest';
import { createEngine } from '../../server/billing/ledger/engine.ts';

afterEach(() => vi.restoreAllMocks());

test('each try of an outage waits longer, and the next outage begins again with the shortest', async () => {
  let broken = 0;
  const store = {
    apply(commands: readonly { readonly ref: string }[]) {
      if (broken-- > 0) throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' });
      return { results: commands.map(() => ({ status: 'done' })), events: [] };
    },
    isInvalidCommand: () => false,
    probe: () => undefined,
    checkpoint: () => undefined,
  };
  const waits: number[] = [];
  const own = globalThis.setTimeout;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms = 0) => {
    // The checkpoint of a quiet moment is no try.
    if (ms < 1000) waits.push(ms);
    return own(work, ms < 1000 ? 0 : ms);
  }) as typeof setTimeout);
  const engine = createEngine({ store: store as never, onBalance: () => undefined, onHealth: () => undefined });
  const outage = async (failures: number): Promise<readonly number[]> => {
    broken = failures;
    waits.length = 0;
    await new Promise<void>((resolve) => engine.submit({ type: 'settle', ref: 'r' } as never, () => resolve()));
    await engine.drain();
    return [...waits];
  };
  expect(await outage(3)).toEqual([10, 20, 40]);
  expect(await outage(2)).toEqual([10, 20]);
});
