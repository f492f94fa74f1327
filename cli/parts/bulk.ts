/** The same work on several things: all are tried, one line each, a failure at the end when any failed. */
import { AppError, formatError } from '../../server/contract/errors.ts';
import type { Context } from '../context.ts';

export interface BulkResult {
  readonly id: number;
  readonly name: string;
  readonly result: string;
}

/** @param dryRun nothing is done, only said. @throws the failure itself when there was but one thing, AppError check_failed when some of several failed. */
export async function eachOf<Thing extends { readonly id: number; readonly name: string }>(
  context: Context,
  things: readonly Thing[],
  work: (thing: Thing) => Promise<string>,
  dryRun = false,
): Promise<void> {
  const outcomes: BulkResult[] = [];
  let failed = 0;
  for (const thing of things) {
    try {
      const result = dryRun ? context.say('未改动（预演）', 'unchanged (dry run)') : await work(thing);
      outcomes.push({ id: thing.id, name: thing.name, result });
    } catch (error) {
      if (things.length === 1 || !(error instanceof AppError)) throw error;
      failed++;
      outcomes.push({
        id: thing.id,
        name: thing.name,
        result: formatError(error.code, error.params, context.language),
      });
    }
  }
  context.output.list(
    outcomes,
    [
      { name: 'id', value: (row) => String(row.id), right: true },
      { name: 'name', value: (row) => row.name },
      { name: 'result', value: (row) => row.result },
    ],
    (row) => String(row.id),
  );
  if (failed > 0) throw new AppError('check_failed', { detail: `${failed}/${outcomes.length}` });
}
