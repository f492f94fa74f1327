/** What a node's ledger is told at its start. */
import type { DatabasePlace } from '../../db/place.ts';
import type { DataDirFiles } from '../data-dir.ts';
import { version } from '../embedded/version.ts';
import type { NodeOrder } from './books.ts';
import { nodeName } from './node-name.ts';
import type { SharedMemory } from './reach.ts';

/** @returns null where the database is a file that nobody else has. */
export function nodeOrder(
  place: DatabasePlace,
  files: DataDirFiles,
  env: Readonly<Record<string, string | undefined>>,
  more: { readonly nativeBinding: string | undefined; readonly memory: SharedMemory | null },
): NodeOrder | null {
  if (place.engine === 'sqlite') return null;
  const outbox = env.GATEWAY_OUTBOX ?? '';
  const dir = outbox === '' ? files.dir : outbox;
  return {
    place,
    // Whoever finds what a node owes goes by its name.
    name: nodeName(dir),
    version,
    ...more,
    owed: files.owed,
    dir,
    durable: outbox !== '',
  };
}
