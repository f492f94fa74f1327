/** The services in the caller's own process: how the CLI works when no server runs on the data directory. */

import { randomBytes } from 'node:crypto';
import { takeCleanEnd, writeCleanEnd } from '../../db/clean-end.ts';
import { encryptedSample } from '../../db/encrypted-columns.ts';
import { type JournalNotice, settleJournal } from '../../db/journal/replay.ts';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import { type MigrationStep, migrate } from '../../db/migrate.ts';
import { type Database, openDatabase } from '../../db/open.ts';
import type { Ledger } from '../billing/ledger/commands.ts';
import { pendingFiles, settlePending } from '../billing/ledger/pending.ts';
import { endpointById } from '../contract/endpoints/index.ts';
import type { Language } from '../contract/enum.ts';
import { AppError } from '../contract/errors.ts';
import { followShippedPrices } from '../domain/pricing/shipped.ts';
import { endRotation, rotationStamp } from '../domain/secrets/rotation.ts';
import { createVault, type Vault, vaultFor } from '../domain/secrets/vault.ts';
import { embeddedAddon } from '../embedded/embedded-addon.ts';
import { nativeBindingFor } from '../embedded/native-addon.ts';
import { version } from '../embedded/version.ts';
import { localOwner } from '../http/call.ts';
import { invoke, isMutation } from '../http/invoke.ts';
import { innerTargetsName, parseInnerTargets } from '../outbound/inner-targets.ts';
import { createDirectLedger } from '../threads/ledger/direct.ts';
import { startError } from '../threads/ledger/thread.ts';
import { acquireLock, type DataDirFiles, databasePlace, dataDirFiles, ensureDataDir } from './data-dir.ts';
import { openReading } from './read-only.ts';
import { createServices, type Services } from './services.ts';

export type { MigrationStep } from '../../db/migrate.ts';

export interface DirectGateway {
  call(id: string, input: unknown): Promise<unknown>;
  close(): Promise<void>;
}

/** What a call has that no browser made. */
export const callMeta = {
  ip: 'local',
  requestLanguage: null,
  userAgent: 'gateway',
  requestId: '',
  origin: '',
  basePath: '',
  bearer: '',
  stateCookie: '',
  deviceCookie: '',
  sessionHash: null,
  fresh: true,
} as const;
export const callReply = {
  setSession: () => undefined,
  clearSession: () => undefined,
  setDevice: () => undefined,
  setState: () => undefined,
  message: () => undefined,
  header: () => undefined,
  unchanged: () => undefined,
};

const asOwner = (services: Services, language: Language, id: string, input: unknown) =>
  invoke(id, input, { actor: localOwner, meta: { ...callMeta, language }, services, reply: callReply });

type Environment = Readonly<Record<string, string | undefined>>;

interface Parts {
  readonly database: Database;
  readonly vault: Vault;
  readonly ledger: Ledger;
  /** Ends what nodes that are gone have left; absent where there are no nodes. */
  collect?(): Promise<void>;
  close(): Promise<void>;
}

/** For whom the folder is opened. */
export interface DirectReader {
  readonly language?: Language;
  /** Called with the progress when the folder is upgraded. */
  readonly onMigration?: ((step: MigrationStep) => void) | undefined;
  /** Called with what was odd about the ledger's journal. */
  readonly onJournal?: ((notice: JournalNotice) => void) | undefined;
  /** Called with why what nodes that are gone have left could not be ended. */
  readonly onNotCollected?: ((error: unknown) => void) | undefined;
}

const noop = () => undefined;

async function openFileParts(
  files: DataDirFiles,
  env: Environment,
  { onMigration: report, onJournal = noop }: DirectReader,
): Promise<Parts> {
  const nativeBinding = nativeBindingFor(files.dir, embeddedAddon);
  const wasClean = takeCleanEnd(files.database);
  const database = openDatabase(files.database, { nativeBinding });
  await migrate(database, { version, report });
  const vault = vaultFor(files.secretKey, env, encryptedSample(database));
  settleJournal(database, onJournal);
  if (pendingFiles(files.pending).length > 0) settlePending(createLedgerStore(database.raw), files.pending);
  const ledger = createDirectLedger(database);
  return {
    database,
    vault,
    ledger,
    async close() {
      await ledger.drain();
      await database.close();
      if (wasClean && ledger.healthy().ok) writeCleanEnd(files.database);
    },
  };
}

async function openParts(files: DataDirFiles, env: Environment, reader: DirectReader): Promise<Parts> {
  const place = databasePlace(files, env);
  if (place.engine === 'sqlite') return openFileParts(files, env, reader);
  const { openCliNode } = await import('../cluster/cli-node.ts');
  return openCliNode(place, files, env, reader.onNotCollected ?? noop);
}

async function openWriting(dataDir: string, env: Environment, reader: DirectReader): Promise<DirectGateway> {
  const files = ensureDataDir(dataDir, env);
  const place = databasePlace(files, env);
  const release = acquireLock(files);
  try {
    const nativeBinding = nativeBindingFor(files.dir, embeddedAddon);
    await endRotation({ ...files, database: place }, nativeBinding, rotationStamp(Date.now()));
    const { database, vault, ledger, collect, close } = await openParts(files, env, reader);
    await followShippedPrices(database, Date.now());
    const services = await createServices({
      database,
      dataFolder: { folder: files.dir, nativeBinding },
      vault,
      ledger,
      ...(collect === undefined ? {} : { collect }),
      version,
      setupCode: null,
      innerTargets: parseInnerTargets(env[innerTargetsName] ?? ''),
      now: Date.now,
      // Most commands call no channel.
      relayTest: async (order) =>
        (await import('./relay-on.ts')).testChannel({ database, vault, ledger, tasks: services.tasks }, order),
    });
    return {
      call: (id, input) => asOwner(services, reader.language ?? 'en', id, input),
      async close() {
        await close();
        release();
      },
    };
  } catch (error) {
    release();
    throw asStartError(error, dataDir);
  }
}

function asStartError(error: unknown, dataDir: string): unknown {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' && code.startsWith('SQLITE_')
    ? startError({ code, message: (error as Error).message }, dataDir)
    : error;
}

/** Opens the site for reading where writing is impossible. @throws AppError data_dir_*, database_*, secret_*. */
export async function openDirect(dataDir: string, env: Environment, reader: DirectReader = {}): Promise<DirectGateway> {
  try {
    return await openWriting(dataDir, env, reader);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'data_dir_unreadable') throw error;
    const reading = openReading(dataDirFiles(dataDir), embeddedAddon, reader.onJournal ?? noop);
    if (reading === null) throw error;
    const { database, close } = reading;
    try {
      const sample = encryptedSample(database);
      const services = await createServices({
        database,
        vault: sample === null ? createVault(randomBytes(32)) : vaultFor(dataDirFiles(dataDir).secretKey, env, sample),
        ledger: { execute: () => Promise.reject(error), healthy: () => ({ ok: false, reason: error.message }) },
        version,
        setupCode: null,
        now: Date.now,
        relayTest: () => Promise.reject(error),
      });
      return {
        call(id, input) {
          const row = endpointById(id);
          return row !== undefined && isMutation(row)
            ? Promise.reject(error)
            : asOwner(services, reader.language ?? 'en', id, input);
        },
        close,
      };
    } catch (failure) {
      await close();
      throw asStartError(failure, dataDir);
    }
  }
}
