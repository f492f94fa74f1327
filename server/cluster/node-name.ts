/** What a node is called: for as long as its folder lives, whatever its process, machine or address is. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** @param dir where the name is kept. A machine's name alone would be that of each node on it. */
export function nodeName(dir: string): string {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const file = join(dir, 'node');
  if (!existsSync(file))
    writeFileSync(file, `${hostname()}-${randomBytes(4).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  return readFileSync(file, 'utf8').trim();
}
