import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { often } from '../support/often.ts';
import { playCuts } from './journal-cuts.ts';
import { playRecoveries } from './journal-recoveries.ts';

test('whatever a power cut takes of the unsynced writes, what was confirmed is read back, once and in order', () => {
  const counts = { cuts: 0, flips: 0, turns: 0, failures: 0 };
  for (let seed = 1; seed <= often(5, 200, 'JOURNAL_SEQUENCES'); seed++) playCuts(seed, 4, counts);
  expect(counts.cuts).toBeGreaterThan(1000);
  expect(counts.turns).toBeGreaterThan(3);
  expect(counts.failures).toBeGreaterThan(5);
});

test('a machine whose power fails comes back with everything that was acknowledged, once, whatever its disk had kept', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-recoveries-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (let seed = 1; seed <= often(2, 400, 'JOURNAL_RECOVERIES'); seed++) {
    const own = join(folder, String(seed));
    mkdirSync(own);
    expect(await playRecoveries(seed, 5, own)).toBe(5);
    rmSync(own, { recursive: true });
  }
});
