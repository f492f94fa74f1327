/** A backup file: one header line, then the database as it was. Encrypted secrets stay encrypted; the master key is never in it. */
import { createHash } from 'node:crypto';
import { closeSync, createReadStream, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { AppError } from '../server/contract/errors.ts';

export interface BackupHeader {
  readonly format: 1;
  /** Newest migration of the database inside. */
  readonly schema: string;
  /** Version of the executable that wrote it. */
  readonly version: string;
  /** Epoch seconds. */
  readonly created_at: number;
  readonly bytes: number;
  /** Lower-case hex, of the database alone; '' = the file is a plain database. */
  readonly sha256: string;
}

const mark = 'GATEWAY-BACKUP ';
const maxHeaderBytes = 4096;
const chunkBytes = 1 << 20;

async function digestOf(file: string, start: number): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { start })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

function append(target: number, file: string, start: number): void {
  const source = openSync(file, 'r');
  const chunk = Buffer.alloc(chunkBytes);
  let at = start;
  for (
    let read = readSync(source, chunk, 0, chunkBytes, at);
    read > 0;
    read = readSync(source, chunk, 0, chunkBytes, at)
  ) {
    writeSync(target, chunk, 0, read);
    at += read;
  }
  closeSync(source);
}

/** @param database a file that no process writes to. @throws the system's error when `target` exists or cannot be written. */
export async function writeBackup(
  target: string,
  database: string,
  meta: Pick<BackupHeader, 'schema' | 'version' | 'created_at'>,
): Promise<BackupHeader> {
  const header: BackupHeader = {
    format: 1,
    ...meta,
    bytes: statSync(database).size,
    sha256: await digestOf(database, 0),
  };
  const out = openSync(target, 'wx', 0o600);
  writeSync(out, `${mark}${JSON.stringify(header)}\n`);
  append(out, database, 0);
  fsyncSync(out);
  closeSync(out);
  return header;
}

/** A database as it is, such as the copy that earlier builds made before a migration. */
const sqliteHeader = 'SQLite format 3\0';
const plainHeader = (file: string): BackupHeader => {
  const { size, mtimeMs } = statSync(file);
  return { format: 1, schema: '', version: '', created_at: Math.floor(mtimeMs / 1000), bytes: size, sha256: '' };
};

const damaged = (detail: string): AppError => new AppError('backup_damaged', { detail });

/** @throws AppError backup_damaged */
export function readHeader(file: string): { readonly header: BackupHeader; readonly start: number } {
  const source = openSync(file, 'r');
  const chunk = Buffer.alloc(maxHeaderBytes);
  const text = chunk.toString('utf8', 0, readSync(source, chunk, 0, maxHeaderBytes, 0));
  closeSync(source);
  if (text.startsWith(sqliteHeader)) return { header: plainHeader(file), start: 0 };
  const end = text.indexOf('\n');
  if (!text.startsWith(mark) || end < 0) throw damaged('no header');
  try {
    return { header: JSON.parse(text.slice(mark.length, end)) as BackupHeader, start: end + 1 };
  } catch (error) {
    throw new AppError('backup_damaged', { detail: 'header' }, error);
  }
}

/** Writes the database out of a backup. @throws AppError backup_damaged when a byte is missing or wrong. */
export async function extractBackup(file: string, target: string): Promise<BackupHeader> {
  const { header, start } = readHeader(file);
  const bytes = statSync(file).size - start;
  if (bytes !== header.bytes) throw damaged(`${bytes} bytes instead of ${header.bytes}`);
  if (header.sha256 !== '' && (await digestOf(file, start)) !== header.sha256) throw damaged('checksum');
  const out = openSync(target, 'w', 0o600);
  append(out, file, start);
  fsyncSync(out);
  closeSync(out);
  return header;
}
