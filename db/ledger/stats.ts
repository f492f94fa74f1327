/** Facts that `gateway ledger verify` looks at, on either engine. */
import type { LedgerStats } from '../../server/billing/ports.ts';
import type { Database } from '../open.ts';
import { ledgerStats } from './sqlite/stats.ts';

export async function statsOf(database: Database): Promise<LedgerStats> {
  if (database.engine === 'sqlite') return ledgerStats(database.raw);
  const { postgresStats } = await import('./postgres/stats.ts');
  return postgresStats(database);
}
