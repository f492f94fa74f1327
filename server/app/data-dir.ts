/** The data directory: where it is, who uses it now, and the sockets in it. */
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type DatabasePlace, placeName, placeOf } from '../../db/place.ts';
import { processStart } from '../../db/process-start.ts';
import type { PendingOutbox } from '../billing/ledger/pending.ts';
import { AppError } from '../contract/errors.ts';

export interface DataDirFiles {
  readonly dir: string;
  readonly database: string;
  readonly secretKey: string;
  /** How upstreams were doing. */
  readonly health: string;
  readonly lock: string;
  /** Folders and file name prefixes for settlements that could not be written to the database, the likeliest first. */
  readonly pending: readonly PendingOutbox[];
  /** The data directory among them, with room that is set aside. */
  readonly ownPending: PendingOutbox & { readonly reserve: string };
  /** The data directory, or a folder of its own where its path is too long for sockets. */
  readonly socketDir: string;
  /** Requests the front door hands over. */
  readonly httpSocket: string;
  /** The owner's own commands. */
  readonly localSocket: string;
  /** Another server requests to take over. */
  readonly nextSocket: string;
  /** Socket on which a process receives requests that still reach the server before it. */
  handoverSocket(pid: number): string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the packages' service keeps its data. */
export const serviceFolder = '/var/lib/gateway';

/**
 * Flag, then GATEWAY_DATA_DIR, then ./data when it holds our database, then the platform's data folder. For root and the
 * service's own user that is the service's folder, unless they have a database of their own.
 * @param service replaces `/var/lib/gateway`.
 */
export function resolveDataDir(
  flag: string | undefined,
  env: Environment,
  cwd: string,
  service: string = serviceFolder,
): string {
  if (flag !== undefined && flag !== '') return resolve(cwd, flag);
  if (env.GATEWAY_DATA_DIR) return resolve(cwd, env.GATEWAY_DATA_DIR);
  if (existsSync(join(cwd, 'data', 'gateway.db'))) return join(cwd, 'data');
  const own = ownFolder(env, cwd);
  return !existsSync(join(own, 'gateway.db')) && isWritable(service) ? service : own;
}

function isWritable(dir: string): boolean {
  try {
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function ownFolder(env: Environment, cwd: string): string {
  if (env.XDG_DATA_HOME) return join(env.XDG_DATA_HOME, 'gateway');
  const home = env.HOME ?? '';
  // Without a home (containers, init scripts) the working directory is the only place that is certainly meant.
  if (home === '') return join(cwd, 'data');
  return process.platform === 'darwin'
    ? join(home, 'Library', 'Application Support', 'gateway')
    : join(home, '.local', 'share', 'gateway');
}

/** A container's user may have neither HOME nor an entry in passwd: then there is no home. */
export function homeOf(env: Environment): string {
  if (env.HOME) return env.HOME;
  try {
    return homedir();
  } catch {
    return '';
  }
}

/** Where settlements go when the data directory takes none: a folder that the operator names, or the home where it lasts. */
const otherPlaces = (hash: string, env: Environment): readonly PendingOutbox[] => {
  const named = env.GATEWAY_OWED_DIR ?? '';
  const home = homeOf(env);
  return [
    ...(named === '' ? [] : [{ dir: resolve(named), name: `gateway-${hash}.owed-` }]),
    ...(home === '' ? [] : [{ dir: home, name: `.gateway-${hash}.owed-`, writes: 'persistent' as const }]),
    { dir: tmpdir(), name: `gateway-${hash}.owed-`, writes: 'never' },
  ];
};

/** Unix socket paths end at 107 bytes. */
const maxSocketPathLength = 100;

export function dataDirFiles(dir: string, env: Environment = process.env): DataDirFiles {
  const hash = createHash('sha256').update(dir).digest('hex').slice(0, 16);
  const fits = join(dir, 'local.sock').length <= maxSocketPathLength;
  const sockets = fits ? dir : join(tmpdir(), `gateway-${process.getuid?.() ?? 0}-${hash}`);
  const ownPending = { dir, name: 'gateway.owed-', reserve: 'gateway.reserve-' };
  return {
    dir,
    database: join(dir, 'gateway.db'),
    secretKey: join(dir, 'secret.key'),
    health: join(dir, 'health.json'),
    lock: join(dir, 'gateway.lock'),
    pending: [ownPending, ...otherPlaces(hash, env)],
    ownPending,
    socketDir: sockets,
    httpSocket: join(sockets, 'http.sock'),
    localSocket: join(sockets, 'local.sock'),
    nextSocket: join(sockets, 'next.sock'),
    handoverSocket: (pid) => join(sockets, `${pid}.sock`),
  };
}

/** The file in the folder, or the server that the environment names. @throws AppError database_address */
export function databasePlace(files: Pick<DataDirFiles, 'database'>, env: Environment): DatabasePlace {
  const url = (env.DATABASE_URL ?? '').trim();
  if (url === '') return { engine: 'sqlite', file: files.database };
  const place = placeOf(url, (env.DATABASE_DIRECT_URL ?? '').trim());
  // Of a database that we do not speak with, and it shall not be taken for a file's name.
  if (place.engine === 'sqlite') throw new AppError('database_address', { detail: url.split(':')[0] ?? '' });
  return place;
}

/** The data directory as people see it: never with the password. @throws AppError database_address */
export const databaseName = (files: Pick<DataDirFiles, 'database'>, env: Environment): string =>
  placeName(databasePlace(files, env));

const unreadable = (dir: string, error: unknown): AppError =>
  new AppError('data_dir_unreadable', { dir, detail: error instanceof Error ? error.message : String(error) }, error);

/** Creates the folder for its owner alone. @throws AppError data_dir_unreadable, socket_dir_foreign */
export function ensureDataDir(dir: string, env: Environment = process.env): DataDirFiles {
  const files = dataDirFiles(dir, env);
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unreadable(dir, error);
  }
  const owedDir = env.GATEWAY_OWED_DIR ?? '';
  try {
    if (owedDir !== '') mkdirSync(owedDir, { recursive: true, mode: 0o700 });
    if (owedDir !== '') accessSync(owedDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unreadable(owedDir, error);
  }
  try {
    if (files.socketDir !== dir) mkdirSync(files.socketDir, { mode: 0o700 });
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw unreadable(files.socketDir, error);
  }
  checkSocketDir(files);
  return files;
}

/**
 * The folder for sockets outside of the data directory has a name that any user of the machine can foresee: another user
 * could create it first, put a socket in place of ours and read what is sent there.
 * @throws AppError socket_dir_foreign where it is not a real folder of this user alone.
 */
export function checkSocketDir({ dir, socketDir }: DataDirFiles): void {
  if (socketDir === dir || process.getuid === undefined) return;
  const found = lstatSync(socketDir, { throwIfNoEntry: false });
  if (found === undefined) return;
  const isPrivate = found.isDirectory() && found.uid === process.getuid() && (found.mode & 0o077) === 0;
  const parent = lstatSync(resolve(socketDir, '..'));
  const movable = (parent.mode & 0o002) !== 0 && (parent.mode & 0o1000) === 0;
  if (!isPrivate || movable) throw new AppError('socket_dir_foreign', { dir: socketDir });
}

interface LockOwner {
  readonly pid: number;
  /** Start time of the process, so that a reused pid is not taken for the owner. */
  readonly started: string;
}

function isAlive(owner: LockOwner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if ((error as { code?: string }).code === 'ESRCH') return false;
  }
  return owner.started === '' || processStart(owner.pid) === owner.started;
}

/** The process that uses the folder now, or null. */
export function lockOwner(files: DataDirFiles): number | null {
  const found = ownerIn(files.lock);
  return typeof found === 'number' ? found : null;
}

/** The living process named in a lock, or why there is none. */
function ownerIn(file: string): number | 'absent' | 'dead' {
  try {
    const owner = JSON.parse(readFileSync(file, 'utf8')) as LockOwner;
    return isAlive(owner) ? owner.pid : 'dead';
  } catch (error) {
    return (error as { code?: string }).code === 'ENOENT' ? 'absent' : 'dead';
  }
}

/** A file with all its content at once, or not at all. @returns false when there is one already. */
function createWhole(file: string, text: string): boolean {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600 });
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Takes the lock of an owner that is gone. Only one process at a time may: a second one finds the first alive. */
function takeOver(files: DataDirFiles, text: string): boolean {
  const turn = `${files.lock}.turn`;
  if (!createWhole(turn, text)) {
    // The process that was taking over has died.
    if (ownerIn(turn) === 'dead') rmSync(turn, { force: true });
    return false;
  }
  try {
    // A lock that was released meanwhile goes to the next process that creates it.
    if (ownerIn(files.lock) !== 'dead') return false;
    const draft = `${files.lock}.${process.pid}`;
    writeFileSync(draft, text, { mode: 0o600 });
    renameSync(draft, files.lock);
    return true;
  } finally {
    rmSync(turn, { force: true });
  }
}

const lockText = (pid: number): string => JSON.stringify({ pid, started: processStart(pid) } satisfies LockOwner);

/** Hands the folder to another process: there is no moment without an owner. */
export function releaseLock(files: DataDirFiles, pid: number): void {
  const draft = `${files.lock}.${process.pid}`;
  writeFileSync(draft, lockText(pid), { mode: 0o600 });
  renameSync(draft, files.lock);
}

const attempts = 4;

/** @returns a function that gives the lock back. @throws AppError data_dir_locked, data_dir_unreadable */
export function acquireLock(files: DataDirFiles): () => void {
  try {
    const text = lockText(process.pid);
    for (let attempt = 1; !createWhole(files.lock, text); attempt++) {
      const pid = lockOwner(files);
      if (pid !== null && pid !== process.pid) throw new AppError('data_dir_locked', { dir: files.dir, pid });
      if (takeOver(files, text)) break;
      if (attempt === attempts) throw new AppError('data_dir_locked', { dir: files.dir, pid: lockOwner(files) ?? 0 });
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('data_dir_unreadable', { dir: files.dir, detail: String((error as Error).message) }, error);
  }
  return lockReleaser(files);
}

/** @returns a function that gives the lock back, if it is this process's. */
export function lockReleaser(files: DataDirFiles): () => void {
  const text = lockText(process.pid);
  return () => {
    try {
      if (readFileSync(files.lock, 'utf8') !== text) return;
      rmSync(files.lock, { force: true });
      leaveToOwner(files.dir);
    } catch {
      // Already gone, or root without its rights.
    }
  };
}

/** Files that root wrote into another user's folder: the service that uses it has to read them. Below the folder nothing is changed: its owner could put a link there meanwhile. */
function leaveToOwner(dir: string): void {
  const owner = statSync(dir);
  if (process.getuid?.() !== 0 || owner.uid === 0) return;
  for (const entry of readdirSync(dir)) {
    const path = join(dir, entry);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.uid === 0 && (found.isDirectory() || (found.isFile() && found.nlink === 1)))
      lchownSync(path, owner.uid, owner.gid);
  }
}
