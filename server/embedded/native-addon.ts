/** Where the SQLite addon lies. In the executable it is unpacked once into the data directory: the temp folder may be mounted noexec. */
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Root runs no code from a folder that another user can write to, and leaves none there that they could not read. */
const rootFolder = '/var/cache/gateway';
const isForeignToRoot = (dir: string): boolean =>
  process.getuid?.() === 0 && (statSync(dir, { throwIfNoEntry: false })?.uid ?? 0) !== 0;

/** @returns undefined when running from the sources. */
export function nativeBindingFor(dataDir: string, addon: string | null): string | undefined {
  if (addon === null) return undefined;
  const bytes = readFileSync(addon);
  const name = `sqlite-${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}.node`;
  const usual = join(dataDir, 'runtime');
  if (!isForeignToRoot(dataDir)) return unpacked(bytes, join(usual, name));
  try {
    return unpacked(bytes, join(rootFolder, name));
  } catch {
    // A container's root file system may be read-only.
    return unpacked(bytes, join(usual, name));
  }
}

function unpacked(bytes: Uint8Array, file: string): string {
  if (existsSync(file)) return file;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, bytes, { mode: 0o600 });
  chmodSync(draft, 0o700);
  renameSync(draft, file);
  return file;
}
