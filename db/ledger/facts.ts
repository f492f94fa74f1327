/** What `gateway ledger verify` looks at, on either engine. */
import type { LedgerFacts } from '../../server/billing/ports.ts';
import type { Database } from '../open.ts';
import { ledgerFacts } from './sqlite/facts.ts';

export async function factsOf(database: Database): Promise<LedgerFacts> {
  if (database.engine === 'sqlite') return ledgerFacts(database.raw);
  const { postgresFacts } = await import('./postgres/facts.ts');
  return postgresFacts(database);
}
