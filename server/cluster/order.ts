/** Settings that a node's ledger starts with. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabasePlace } from '../../db/place.ts';
import type { DataDirFiles } from '../app/data-dir.ts';
import { AppError } from '../contract/errors.ts';
import { version } from '../embedded/version.ts';
import type { SharedMemory } from './lease-store-shared.ts';
import type { NodeOrder } from './node-ledger.ts';
import { type NodeFolder, nodeFile, nodeName } from './node-name.ts';

/** Holds what a node has not committed yet, and its name: both belong together. */
const nodeFolder = (files: DataDirFiles, env: Readonly<Record<string, string | undefined>>): NodeFolder => {
  const outbox = env.GATEWAY_OUTBOX ?? '';
  return { dir: outbox === '' ? files.dir : outbox, durable: outbox !== '' };
};

/** Whether a node has had its files here. */
export const hasNode = (files: DataDirFiles, env: Readonly<Record<string, string | undefined>>): boolean =>
  existsSync(join(nodeFolder(files, env).dir, nodeFile));

/** How long a node serves on without the database, at most; and when others have what it had leased, should it be dead. */
const defaultLease = 30;
const [minLease, maxLease] = [10, 600];
/** Less would be any slow moment of the database. */
const minAlone = 2;

/** @throws AppError usage */
export function leaseSecondsIn({
  GATEWAY_LEASE_SECONDS: setting = '',
}: Readonly<Record<string, string | undefined>>): number {
  const seconds = setting === '' ? defaultLease : Number(setting);
  if (Number.isInteger(seconds) && seconds >= minLease && seconds <= maxLease) return seconds;
  throw new AppError('usage', { detail: `GATEWAY_LEASE_SECONDS ${setting}: ${minLease}-${maxLease}` });
}

/**
 * How long a node serves that reaches neither the database nor the Redis of the site: what was revoked does not reach it.
 * @throws AppError usage
 */
export function aloneSecondsIn(
  { GATEWAY_ALONE_SECONDS: setting = '' }: Readonly<Record<string, string | undefined>>,
  leaseSeconds: number,
): number {
  const seconds = setting === '' ? leaseSeconds : Number(setting);
  if (Number.isInteger(seconds) && seconds >= minAlone && seconds <= leaseSeconds) return seconds;
  throw new AppError('usage', { detail: `GATEWAY_ALONE_SECONDS ${setting}: ${minAlone}-${leaseSeconds}` });
}

/** @returns null where the database is a file, which no other node uses. @throws AppError data_dir_unreadable, outbox_unusable */
export function nodeOrder(
  place: DatabasePlace,
  files: DataDirFiles,
  env: Readonly<Record<string, string | undefined>>,
  more: { readonly nativeBinding: string | undefined; readonly memory: SharedMemory | null },
): NodeOrder | null {
  if (place.engine === 'sqlite') return null;
  const folder = nodeFolder(files, env);
  const leaseSeconds = leaseSecondsIn(env);
  // The thread that needs it comes later: a wrong one stops the start.
  aloneSecondsIn(env, leaseSeconds);
  return {
    place,
    name: nodeName(folder),
    version,
    ...more,
    pending: files.pending,
    ...folder,
    leaseSeconds,
  };
}
