/** Everything that is sealed under the master key, renewed in one transaction. */
import { isOptionKey, optionRow } from '../server/contract/options.ts';
import type { SqliteDatabase } from './open.ts';

/** Names the key that a value is encrypted under after re-encryption. @throws when the value cannot be read. */
export type Rotate = (purpose: string, encrypted: string) => RotatedValue;

export interface RotatedValue {
  readonly encrypted: string;
  /** The column by which the value is looked up, where there is one. */
  readonly hmac: string;
}

export interface EncryptedSample {
  readonly purpose: string;
  readonly encrypted: string;
}

interface Place {
  readonly table: string;
  readonly id: string;
  readonly column: string;
  readonly purpose: string;
  /** The column `key_hmac` of the same row belongs to the value. */
  readonly hasHmac: boolean;
}

export const encryptedColumns: readonly Place[] = [
  { table: 'channels', id: 'id', column: 'key_sealed', purpose: 'channel-key', hasHmac: false },
  { table: 'tokens', id: 'id', column: 'key_sealed', purpose: 'token-key', hasHmac: true },
  { table: 'redemptions', id: 'id', column: 'key_sealed', purpose: 'redemption-key', hasHmac: true },
  { table: 'second_factors', id: 'user_id', column: 'secret_sealed', purpose: 'second-factor', hasHmac: false },
  { table: 'webhook_secrets', id: 'user_id', column: 'secret_sealed', purpose: 'webhook-secret', hasHmac: false },
];

/** Something every machine of a site has to be able to open; it is carried along when a site is moved. */
export const keyProof = { key: 'key_proof', purpose: 'key-proof' };

/** Rejects encrypted columns that are missing from the list here: with the old key their values would be lost. @param columns all with an encrypted column's name, with their tables. @throws */
export function rejectUnlisted(columns: readonly (readonly [table: string, column: string])[]): void {
  const [unknown] = columns.filter(
    ([table, column]) => !encryptedColumns.some((place) => place.table === table && place.column === column),
  );
  if (unknown !== undefined) throw new Error(`${unknown.join('.')} is sealed and not among those renewed`);
}

/** Purpose of an option's text, null where it is no secret. */
export const optionPurpose = (key: string, text: string): string | null =>
  isOptionKey(key) && optionRow(key).secret && text !== '' ? `option:${key}` : null;

function readEncryptedColumns(raw: SqliteDatabase['raw']): [string, string][] {
  return raw
    .prepare<[string, string]>(
      `SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name LIKE '%\\_sealed' ESCAPE '\\'`,
    )
    .raw()
    .all();
}

/** Something that is sealed, to see whether a key opens it; null = nothing is. */
export function encryptedSample({ raw }: SqliteDatabase): EncryptedSample | null {
  for (const { table, column, purpose } of encryptedColumns) {
    const there = raw.prepare<string>('SELECT name FROM sqlite_master WHERE name = ?').pluck().get(table);
    if (there === undefined) continue;
    const encrypted = raw.prepare<string>(`SELECT ${column} FROM ${table} WHERE ${column} <> '' LIMIT 1`).pluck().get();
    if (encrypted !== undefined) return { purpose, encrypted };
  }
  return null;
}

export const endOldKeys =
  "UPDATE tokens SET old_key_hmac = '', old_key_hint = '', old_key_until = 0 WHERE old_key_hmac <> ''";

/** Key of `meta`. */
export const markName = 'master_key';

/** Which master key the values are sealed under, as its fingerprint; '' = the one there has always been. */
export const keyMark = ({ raw }: SqliteDatabase): string =>
  raw.prepare<string>('SELECT value FROM meta WHERE key = ?').pluck().get(markName) ?? '';

/** All or nothing. @throws when a value cannot be read, or the schema has sealed columns unknown here. @returns how many values there were. */
export function rotateSecrets({ raw }: SqliteDatabase, mark: string, rotate: Rotate): number {
  rejectUnlisted(readEncryptedColumns(raw));
  // Values sealed under the former key must not stay in freed pages.
  raw.pragma('secure_delete = ON');
  return raw
    .transaction(() => {
      let count = 0;
      for (const { table, id, column, purpose, hasHmac } of encryptedColumns) {
        const rows = raw.prepare<[number, string]>(`SELECT ${id}, ${column} FROM ${table}`).raw().all();
        const set = hasHmac ? `${column} = ?, key_hmac = ?` : `${column} = ?`;
        const write = raw.prepare(`UPDATE ${table} SET ${set} WHERE ${id} = ?`);
        for (const [key, text] of rows) {
          const { encrypted, hmac } = rotate(purpose, text);
          write.run(...(hasHmac ? [encrypted, hmac, key] : [encrypted, key]));
        }
        count += rows.length;
      }
      const write = raw.prepare('UPDATE options SET value = ? WHERE key = ?');
      for (const [key, text] of raw.prepare<[string, string]>('SELECT key, value FROM options').raw().all()) {
        const purpose = optionPurpose(key, text);
        if (purpose === null) continue;
        write.run(rotate(purpose, text).encrypted, key);
        count += 1;
      }
      const proof = raw.prepare<string>('SELECT value FROM meta WHERE key = ?').pluck().get(keyProof.key);
      if (proof !== undefined)
        raw
          .prepare('UPDATE meta SET value = ? WHERE key = ?')
          .run(rotate(keyProof.purpose, proof).encrypted, keyProof.key);
      // Old keys are looked up under the former master key, so they can no longer be used.
      raw.exec(endOldKeys);
      raw.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)').run(markName, mark);
      return count;
    })
    .immediate();
}
