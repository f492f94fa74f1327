/** Several machines of one site need one master key: what the first seals in an empty database, the others have to open. */

import { keyProof } from '../../../db/encrypted-columns.ts';
import type { Database } from '../../../db/open.ts';
import { createOptionsRepository } from '../../../db/repositories/options.ts';
import type { Vault } from './vault.ts';

/** @throws AppError secret_unreadable */
export async function verifyKey(database: Database, vault: Vault): Promise<void> {
  if (database.engine === 'sqlite') return;
  const options = createOptionsRepository(database);
  const { key, purpose } = keyProof;
  // Called again and again while a node lives: only the first node writes, the others read.
  vault.open(purpose, (await options.meta(key)) ?? (await options.firstMeta(key, vault.encrypt(purpose, key))));
}
