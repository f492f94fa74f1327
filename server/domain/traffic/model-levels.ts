/** How each model did lately, for people who want to know whether it can be used: a word, and no figures. */
import type { Database } from '../../../db/open.ts';
import { createTrafficRepository } from '../../../db/repositories/traffic.ts';
import type { PeriodLevel } from '../../contract/traffic.ts';
import { levelOf } from './period.ts';

const hourSeconds = 3600;
/** The hour under way and the one before. */
const windowSeconds = 2 * hourSeconds;
/** Anonymous clients may call this, so the result is cached instead of asking the database each time. */
const keepMs = 30_000;

export type ModelLevels = ReturnType<typeof createModelLevels>;

/** @param deps.now epoch milliseconds. */
export function createModelLevels(deps: { readonly database: Database; readonly now: () => number }) {
  const repository = createTrafficRepository(deps.database);
  let known: { readonly at: number; readonly levels: Promise<ReadonlyMap<string, PeriodLevel>> } | null = null;
  const read = async (): Promise<ReadonlyMap<string, PeriodLevel>> => {
    const now = Math.floor(deps.now() / 1000);
    const to = now - (now % hourSeconds) + hourSeconds;
    const rows = await repository.parts('model', { from: to - windowSeconds, to, width: windowSeconds });
    return new Map(rows.map((row) => [row.part, levelOf(row, null)]));
  };
  return (): Promise<ReadonlyMap<string, PeriodLevel>> => {
    if (known === null || deps.now() - known.at >= keepMs) {
      const levels = read();
      known = { at: deps.now(), levels };
      levels.catch(() => {
        known = null;
      });
    }
    return known.levels;
  };
}
