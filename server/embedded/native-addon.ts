/** Where the SQLite addon lies. In the executable it is unpacked once into the data directory: the temp folder may be mounted noexec. */
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @returns undefined when running from the sources. */
export function nativeBindingFor(dataDir: string, addon: string | null): string | undefined {
  if (addon === null) return undefined;
  const bytes = readFileSync(addon);
  const name = `sqlite-${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}.node`;
  const folder = join(dataDir, 'runtime');
  const file = join(folder, name);
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, bytes, { mode: 0o600 });
    chmodSync(draft, 0o700);
    renameSync(draft, file);
  }
  return file;
}
