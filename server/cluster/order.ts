/** What a node's ledger is told at its start. */
import type { DatabasePlace } from '../../db/place.ts';
import type { DataDirFiles } from '../data-dir.ts';
import { version } from '../embedded/version.ts';
import type { NodeOrder } from './books.ts';
import { nodeName } from './node-name.ts';
import type { SharedMemory } from './reach.ts';

/** What a node owes lies there, and so does its name: whoever finds the one goes by the other. */
export const nodeFolder = (
  files: DataDirFiles,
  env: Readonly<Record<string, string | undefined>>,
): { readonly dir: string; readonly durable: boolean } => {
  const outbox = env.GATEWAY_OUTBOX ?? '';
  return { dir: outbox === '' ? files.dir : outbox, durable: outbox !== '' };
};

/** @returns null where the database is a file that nobody else has. */
export function nodeOrder(
  place: DatabasePlace,
  files: DataDirFiles,
  env: Readonly<Record<string, string | undefined>>,
  more: { readonly nativeBinding: string | undefined; readonly memory: SharedMemory | null },
): NodeOrder | null {
  if (place.engine === 'sqlite') return null;
  const { dir, durable } = nodeFolder(files, env);
  return {
    place,
    name: nodeName(dir),
    version,
    ...more,
    owed: files.owed,
    dir,
    durable,
  };
}
