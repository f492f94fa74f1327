/** Backups by the clock: made, looked through, brought where they belong, looked through there, and the oldest removed. */
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BackupHeader } from '../../../db/backup-file.ts';
import type { Database } from '../../../db/open.ts';
import { createBackupsRepository } from '../../../db/repositories/backups.ts';
import { AppError } from '../../contract/errors.ts';
import { storedIn } from '../../contract/stored-texts.ts';
import type { OptionsService } from '../options/service.ts';
import { backupPlace } from './destination.ts';
import { backupFiles } from './files.ts';
import { backupHome, type DataFolder } from './home.ts';
import { backupReason } from './reasons.ts';
import type { BackupOrder } from './verified.ts';

export interface BackupState {
  /** Epoch seconds of the last good one; 0 = there was none. */
  readonly made_at: number;
  readonly file: string;
  readonly place: string;
  readonly bytes: number;
  /** Epoch seconds of the last try. */
  readonly tried_at: number;
  /** Why that one failed, in both languages (`storedIn`); '' = it did not. */
  readonly error: string;
}

export interface ScheduledDeps {
  readonly database: Database;
  readonly dataFolder?: DataFolder;
  readonly options: OptionsService;
  readonly version: string;
  /** Makes a backup and verifies it, on a thread where that delays no request. */
  readonly verified: (order: BackupOrder) => Promise<BackupHeader>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export type ScheduledBackups = Awaited<ReturnType<typeof createScheduledBackups>>;

const none: BackupState = { made_at: 0, file: '', place: '', bytes: 0, tried_at: 0, error: '' };
const prefix = 'gateway-scheduled-';
const hourSeconds = 3600;
/** One that failed is tried again after so long. */
const againSeconds = 600;
/** Late by this part of the interval is missed. */
const maxPeriods = 1.5;

export async function createScheduledBackups(deps: ScheduledDeps) {
  const { options, database } = deps;
  const repository = createBackupsRepository(database);
  let state = stateOf(await repository.state());
  let running: Promise<BackupState> | null = null;

  const seconds = () => Math.floor(deps.now() / 1000);
  const every = () => options.get('backup_setting.every_hours') * hourSeconds;

  const make = async (at: number): Promise<Omit<BackupState, 'tried_at' | 'error'>> => {
    const { backups: home, nativeBinding } = backupHome(database, deps.dataFolder);
    const place = backupPlace(options, join(home, 'scheduled'));
    const name = `${prefix}${new Date(at * 1000).toISOString().replace(/[:.]/g, '-')}.backup`;
    const file = join(home, `.${name}`);
    const order = { target: file, nativeBinding, version: deps.version, at };
    try {
      const { bytes } = await deps.verified({ ...order, source: database.place });
      await place.put(file, name);
      await place.fetch(name, `${file}.back`);
      // What cannot be read back is no backup.
      await deps.verified({ ...order, target: `${file}.back`, source: null }).catch(async (error: unknown) => {
        await place.remove(name);
        throw error;
      });
      const names = (await place.list(prefix)).filter((one) => one.endsWith('.backup')).sort();
      for (const old of names.slice(0, -options.get('backup_setting.keep'))) await place.remove(old);
      return { made_at: at, file: name, place: place.name, bytes };
    } finally {
      for (const end of ['', '.back']) rmSync(file + end, { force: true });
    }
  };
  const placeName = (): string => {
    try {
      return backupPlace(options, join(backupHome(database, deps.dataFolder).backups, 'scheduled')).name;
    } catch {
      return '';
    }
  };
  const attempt = async (): Promise<BackupState> => {
    const at = seconds();
    try {
      state = { ...(await make(at)), tried_at: at, error: '' };
    } catch (error) {
      state = { ...state, tried_at: at, error: backupReason(error, placeName()) };
    }
    await repository.keep(JSON.stringify(state));
    return state;
  };
  /** Another machine may have made one. */
  const refresh = async (): Promise<void> => {
    if (running === null && database.engine === 'postgres') state = stateOf(await repository.state());
  };
  const run = (): Promise<BackupState> => {
    running ??= attempt().finally(() => {
      running = null;
    });
    return running;
  };
  const missing = (): string | null => {
    if (every() === 0) return null;
    if (state.error !== '') return state.error;
    const isOverdue = state.made_at > 0 && seconds() - state.made_at > every() * maxPeriods;
    return isOverdue ? new Date(state.made_at * 1000).toISOString() : null;
  };

  return {
    /** Makes one when its time has come. */
    async tick(): Promise<void> {
      const interval = every();
      if (interval === 0) return;
      await refresh();
      const wait = state.error === '' ? interval : Math.min(interval, againSeconds);
      if (seconds() - state.tried_at >= wait) await run();
    },
    /** Now, whatever the clock says. @throws AppError backup_failed */
    async run(): Promise<BackupState> {
      const made = await run();
      if (made.error !== '')
        throw new AppError('backup_failed', {
          reason: storedIn(made.error, 'en'),
          reason_zh: storedIn(made.error, 'zh'),
        });
      return made;
    },
    async status() {
      await refresh();
      return { ...state, every_hours: options.get('backup_setting.every_hours'), missing: missing() ?? '' };
    },
    /** All in the data directory, also those made by hand or before an upgrade. @throws AppError sqlite_alone, backup_damaged */
    files: () => backupFiles(dirname(backupHome(database, deps.dataFolder).backups)),
    /** Why there is none although there should be; null = there is, or none is wanted. */
    missing,
  };
}

function stateOf(text: string): BackupState {
  try {
    return text === '' ? none : { ...none, ...(JSON.parse(text) as Partial<BackupState>) };
  } catch {
    return none;
  }
}
