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
import { foldLog } from '../../../db/maintenance.ts';
import { openDatabase, type SqliteDatabase } from '../../../db/open.ts';
import { keyMark, renewSealed } from '../../../db/sealed.ts';
import { createVault, masterKeyOf } from './vault.ts';

export interface KeyPlaces {
  readonly database: string;
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

export interface Rotated {
  /** Values sealed anew. */
  readonly values: number;
  /** Where the old key lies now, '' = nowhere. */
  readonly kept: string;
}

/** @param now epoch milliseconds. */
export const rotationStamp = (now: number): string => new Date(now).toISOString().replace(/[:.]/g, '-');

const nextFile = (file: string): string => `${file}.next`;
const fingerprint = (key: Buffer): string =>
  createHmac('sha256', key).update('gateway master key').digest('hex').slice(0, 32);

/** Nobody else may be using the folder. @param step told of each stage. @throws AppError secret_unreadable */
export function rotate(
  places: KeyPlaces,
  database: SqliteDatabase,
  order: RotationOrder,
  step: (name: 'written' | 'renewed' | 'copied' | 'replaced') => void = () => undefined,
): Rotated {
  const text = order.to === '' ? randomBytes(32).toString('base64url') : order.to.trim();
  const next = masterKeyOf(text);
  if (next.equals(order.from)) return { values: 0, kept: '' };
  if (order.inFile) writeDurably(nextFile(places.secretKey), `${text}\n`);
  step('written');
  const [before, after] = [createVault(order.from), createVault(next)];
  const values = renewSealed(database, fingerprint(next), (purpose, sealed) => {
    const plain = before.open(purpose, sealed);
    return { sealed: after.seal(purpose, plain), hmac: after.keyHmac(plain) };
  });
  foldLog(database);
  step('renewed');
  if (!order.inFile) return { values, kept: '' };
  const kept = replace(places.secretKey, order.stamp, step);
  if (order.keepOld) return { values, kept };
  rmSync(kept, { force: true });
  return { values, kept: '' };
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
export async function endRotation(places: KeyPlaces, nativeBinding: string | undefined, stamp: string): Promise<void> {
  const next = nextFile(places.secretKey);
  if (!existsSync(next)) return;
  const database = existsSync(places.database) ? openDatabase(places.database, { nativeBinding }) : null;
  try {
    const holds = database !== null && keyMark(database) === fingerprintOf(next);
    if (holds) replace(places.secretKey, stamp, () => undefined);
    else rmSync(next);
  } finally {
    await database?.close();
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
