/** Replaces the executable by one of a signed release, keeps the former, and puts it back. */
import { createHash, verify } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError } from '../../server/contract/errors.ts';

const checksumsName = 'SHA256SUMS';

interface Manager {
  readonly where: RegExp;
  readonly name: string;
  readonly command: string;
}

/** A package manager's next upgrade would overwrite a file that was replaced here, or refuse to run. */
const managers: readonly Manager[] = [
  { where: /^\/usr\/bin\//, name: 'apt, dnf', command: 'apt install ./gateway_VERSION_ARCH.deb' },
  { where: /[\\/]node_modules[\\/]/, name: 'npm', command: 'npm install --global gateway@latest' },
  { where: /\/Cellar\//, name: 'Homebrew', command: 'brew upgrade gateway' },
  { where: /[\\/]scoop[\\/]apps[\\/]/, name: 'Scoop', command: 'scoop update gateway' },
];

/** @throws AppError upgrade_managed where a package manager owns the executable. */
export function rejectManaged(program: string): void {
  const manager = managers.find(({ where }) => where.test(program));
  if (manager !== undefined)
    throw new AppError('upgrade_managed', { program, manager: manager.name, command: manager.command });
}

/**
 * Looks for the file's hash in the signed list beside it; names do not count.
 * @param key PEM of the release's public key. @returns the file. @throws AppError release_*
 */
export function verifiedRelease(file: string, key: string): Buffer {
  if (key === '') throw new AppError('release_key_missing');
  const sums = join(dirname(file), checksumsName);
  for (const needed of [file, sums, `${sums}.sig`])
    if (!existsSync(needed)) throw new AppError('not_found', { what: needed });
  const list = readFileSync(sums);
  if (!isSignedBy(key, list, readFileSync(`${sums}.sig`))) throw new AppError('release_unsigned', { file: sums });
  const bytes = readFileSync(file);
  const hash = createHash('sha256').update(bytes).digest('hex');
  const listed = list.toString('utf8').split('\n');
  if (!listed.some((line) => line.startsWith(`${hash}  `))) throw new AppError('release_unlisted', { file, hash });
  return bytes;
}

function isSignedBy(key: string, list: Buffer, signature: Buffer): boolean {
  try {
    return verify(null, list, key, signature);
  } catch (error) {
    throw new AppError('release_key_unusable', { detail: error instanceof Error ? error.message : String(error) });
  }
}

/** @param bytes an executable, or the archive of a release. @returns the executable. @throws AppError release_unusable */
async function executableIn(file: string, bytes: Buffer): Promise<Uint8Array> {
  if (!/\.(tar\.gz|tgz)$/.test(file)) return bytes;
  const files = await new Bun.Archive(bytes).files();
  const found = [...files].find(([path]) => /(^|\/)gateway(\.exe)?$/.test(path))?.[1];
  if (found === undefined) throw new AppError('release_unusable', { file, detail: 'gateway' });
  return found.bytes();
}

export interface ProgramInfo {
  readonly version: string;
  /** The schema of the database of the data directory, '' = there is none. */
  readonly schema: string;
  /** The newest schema that the executable knows. */
  readonly newest: string;
}

/** What an executable says of itself and of the data directory, which it only reads. @throws AppError release_unusable where it does not run. */
export function infoOf(program: string, dataDir: string): ProgramInfo {
  const asked = (args: readonly string[]): Record<string, unknown> => {
    try {
      const { exitCode, stdout, stderr } = Bun.spawnSync([program, ...args, '--json'], {
        env: { ...process.env, GATEWAY_DATA_DIR: dataDir, GATEWAY_URL: '' },
      });
      if (exitCode === 0) return JSON.parse(stdout.toString()) as Record<string, unknown>;
      throw new Error(stderr.toString().trim().split('\n')[0] || `exit ${exitCode}`);
    } catch (error) {
      throw new AppError('release_unusable', {
        file: program,
        detail: error instanceof Error ? error.message : String(error),
      });
    }
  };
  const { version } = asked(['version']);
  const { schema, newest } = asked(['db', 'status']);
  return { version: String(version), schema: String(schema), newest: String(newest) };
}

/** Schemas are numbered in their order. */
export const hasSchema = ({ schema, newest }: ProgramInfo): boolean => schema <= newest;

export const previousOf = (program: string): string => `${program}.former`;

/** A file takes the executable's place in one step, so that there always is one. Windows renames a running program and does not replace it. */
function swapIn(next: string, program: string, kept: string): void {
  rmSync(kept, { force: true });
  if (process.platform === 'win32') renameSync(program, kept);
  else copyFileSync(program, kept);
  renameSync(next, program);
}

/** The executable of a verified file, beside the one there is. @returns its path. */
export async function unpackNextTo(file: string, bytes: Buffer, program: string): Promise<string> {
  const next = `${program}.next`;
  rmSync(next, { force: true });
  try {
    writeFileSync(next, await executableIn(file, bytes), { mode: 0o700 });
    chmodSync(next, 0o755);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('upgrade_unwritable', { program, detail: (error as Error).message }, error);
  }
  return next;
}

export const install = (next: string, program: string): void => swapIn(next, program, previousOf(program));
export const putBack = (program: string): void => swapIn(previousOf(program), program, `${program}.newer`);
