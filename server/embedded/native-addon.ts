/** Where the SQLite addon lies. In the executable it is unpacked once into the data directory: the temp folder may be mounted noexec. */
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import type { EmbeddedAddon } from './embedded-addon.ts';

/** Root runs no code from a folder that another user can write to, and leaves none there that they could not read. */
const rootFolder = '/var/cache/gateway';
const isForeignToRoot = (dir: string): boolean =>
  process.getuid?.() === 0 && (statSync(dir, { throwIfNoEntry: false })?.uid ?? 0) !== 0;

/** @returns undefined when running from the sources. */
export function nativeBindingFor(dataDir: string, addon: EmbeddedAddon | null): string | undefined {
  if (addon === null) return undefined;
  const name = `sqlite-${addon.sha256.slice(0, 16)}.node`;
  const usual = join(dataDir, 'runtime');
  if (!isForeignToRoot(dataDir)) return unpacked(addon, join(usual, name));
  try {
    return unpacked(addon, join(rootFolder, name));
  } catch {
    // A container's root file system may be read-only.
    return unpacked(addon, join(usual, name));
  }
}

function unpacked({ packed, size }: EmbeddedAddon, file: string): string {
  // A power cut may have left a part of it.
  if (statSync(file, { throwIfNoEntry: false })?.size === size) return file;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, zstdDecompressSync(readFileSync(packed)), { mode: 0o600, flush: true });
  chmodSync(draft, 0o700);
  renameSync(draft, file);
  return file;
}
