/**
 * A new master key. The new one is written beside the old one, everything sealed is renewed in one transaction that
 * also marks which key holds now, then the files change places. A run that died is ended or undone at the next start.
 */
import { createHmac, randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { foldLog } from '../../../db/database-file.ts';
import { keyMark, type Rotate, rotateSecrets } from '../../../db/encrypted-columns.ts';
import { type Database, openDatabase } from '../../../db/open.ts';
import type { DatabasePlace } from '../../../db/place.ts';
import { AppError } from '../../contract/errors.ts';
import { createVault, masterKeyOf } from './vault.ts';

export interface KeyPaths {
  readonly database: DatabasePlace;
  readonly secretKey: string;
}

export interface RotationOrder {
  readonly from: Buffer;
  /** Text of the new key, '' = made up here. */
  readonly to: string;
  /** False when the key comes from the environment: then no file changes. */
  readonly inFile: boolean;
  /** The old key's file stays, for backups made under it. */
  readonly keepOld: boolean;
  /** Makes the name of the kept file unique. */
  readonly stamp: string;
}

export interface RotateResult {
  /** Values that were encrypted again. */
  readonly values: number;
  /** Where the old key lies now, '' = nowhere. */
  readonly kept: string;
}

/** @param now epoch milliseconds. */
export const rotationStamp = (now: number): string => new Date(now).toISOString().replace(/[:.]/g, '-');

const nextFile = (file: string): string => `${file}.next`;
const fingerprint = (key: Buffer): string =>
  createHmac('sha256', key).update('gateway master key').digest('hex').slice(0, 32);

/** No other process may be using the folder. @param step called at each stage. @throws AppError secret_unreadable, nodes_live */
export async function rotate(
  secretKey: string,
  database: Database,
  order: RotationOrder,
  step: (name: 'written' | 'renewed' | 'copied' | 'replaced') => void = () => undefined,
): Promise<RotateResult> {
  const text = order.to === '' ? randomBytes(32).toString('base64url') : order.to.trim();
  const next = masterKeyOf(text);
  if (next.equals(order.from)) return { values: 0, kept: '' };
  if (order.inFile) writeDurably(nextFile(secretKey), `${text}\n`);
  step('written');
  const [before, after] = [createVault(order.from), createVault(next)];
  const values = await rotateIn(database, fingerprint(next), (purpose, sealed) => {
    const plain = before.open(purpose, sealed);
    return { encrypted: after.encrypt(purpose, plain), hmac: after.keyHmac(plain) };
  }).catch((error: unknown) => {
    // Refused before anything was written. Any other error leaves the outcome unknown, and the next start finds out.
    if (error instanceof AppError) rmSync(nextFile(secretKey), { force: true });
    throw error;
  });
  step('renewed');
  if (!order.inFile) return { values, kept: '' };
  const kept = replace(secretKey, order.stamp, step);
  if (order.keepOld) return { values, kept };
  rmSync(kept, { force: true });
  return { values, kept: '' };
}

async function rotateIn(database: Database, mark: string, encrypt: Rotate): Promise<number> {
  if (database.engine === 'postgres')
    return (await import('../../../db/postgres/encrypted-columns.ts')).rotateSecretsOn(database, mark, encrypt);
  const values = rotateSecrets(database, mark, encrypt);
  foldLog(database);
  return values;
}

function replace(file: string, stamp: string, step: (name: 'copied' | 'replaced') => void): string {
  const kept = `${file}.old-${stamp}`;
  copyFileSync(file, kept);
  step('copied');
  renameSync(nextFile(file), file);
  syncFolder(file);
  step('replaced');
  return kept;
}

/** What a run that died left: ended when its transaction holds, undone otherwise. The old key stays beside the new one. */
export async function endRotation(places: KeyPaths, nativeBinding: string | undefined, stamp: string): Promise<void> {
  const next = nextFile(places.secretKey);
  if (!existsSync(next)) return;
  const mark = await markIn(places.database, nativeBinding);
  if (mark !== null && mark === fingerprintOf(next)) replace(places.secretKey, stamp, () => undefined);
  else rmSync(next);
}

/** @returns null where nothing is. */
async function markIn(place: DatabasePlace, nativeBinding: string | undefined): Promise<string | null> {
  if (place.engine === 'sqlite' && !existsSync(place.file)) return null;
  const database = await openDatabase(place, { nativeBinding, connections: 1 });
  try {
    if (database.engine === 'sqlite') return keyMark(database);
    return await (await import('../../../db/postgres/encrypted-columns.ts')).keyMarkOn(database);
  } finally {
    await database.close();
  }
}

/** A file cut off while it was written belongs to nothing. */
function fingerprintOf(file: string): string | null {
  const text = readFileSync(file, 'utf8').trim();
  return text === '' ? null : fingerprint(Buffer.from(text, 'utf8'));
}

function writeDurably(file: string, text: string): void {
  const descriptor = openSync(file, 'w', 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  syncFolder(file);
}

function syncFolder(file: string): void {
  // Windows cannot open folders; its renames are journalled.
  if (process.platform === 'win32') return;
  const descriptor = openSync(dirname(file), 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
