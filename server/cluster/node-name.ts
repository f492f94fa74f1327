/** What a node is called: for as long as its folder lives, whatever its process, machine or address is. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** @param file where the name is kept. A machine's name alone would be that of each node on it. */
export function nodeName(file: string): string {
  if (!existsSync(file))
    writeFileSync(file, `${hostname()}-${randomBytes(4).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  return readFileSync(file, 'utf8').trim();
}
