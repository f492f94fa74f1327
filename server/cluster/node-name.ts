/** What a node is called: for as long as its folder lives, whatever its process, machine or address is. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../contract/errors.ts';

export interface NodeFolder {
  readonly dir: string;
  /** It is what GATEWAY_OUTBOX names, and outlives the machine's crash. */
  readonly durable: boolean;
}

/** Holds the name. */
export const nodeFile = 'node';

/** A machine's name alone would be that of each node on it. @throws AppError data_dir_unreadable, outbox_unusable */
export function nodeName({ dir, durable }: NodeFolder): string {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const file = join(dir, nodeFile);
    if (!existsSync(file))
      writeFileSync(file, `${hostname()}-${randomBytes(4).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw folderError({ dir, durable }, error);
  }
}

/** Names the setting that says which folder it is. */
export function folderError({ dir, durable }: NodeFolder, error: unknown): AppError {
  if (error instanceof AppError) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new AppError(durable ? 'outbox_unusable' : 'data_dir_unreadable', { dir, detail }, error);
}
