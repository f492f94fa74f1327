/** The services in the caller's own process: how the CLI works when no server runs on the data directory. */
import { migrate } from '../db/migrate.ts';
import { openDatabase } from '../db/open.ts';
import { AppError } from './contract/errors.ts';
import { acquireLock, ensureDataDir } from './data-dir.ts';
import { endRotation, rotationStamp } from './domain/secrets/rotation.ts';
import { createVault, loadMasterKey } from './domain/secrets/vault.ts';
import { createSnapshotSource } from './domain/snapshot/load.ts';
import { addonPath } from './embedded/addon-path.ts';
import { nativeBindingFor } from './embedded/native-addon.ts';
import { version } from './embedded/version.ts';
import { startThread } from './embedded/workers.ts';
import { startError } from './gateway.ts';
import { localOwner } from './http/call.ts';
import { invoke } from './http/invoke.ts';
import { createDirectLedger } from './ledger/direct.ts';
import { runChannelTest } from './relay/channel-test.ts';
import { type CountingThread, createTokenCounter } from './relay/counting/counter.ts';
import { createRelay, defaultLimits } from './relay/relay.ts';
import { createRelayState } from './relay/state.ts';
import { createWallets } from './relay/wallets.ts';
import { createServices } from './services.ts';

export interface DirectGateway {
  call(id: string, input: unknown): Promise<unknown>;
  close(): Promise<void>;
}

/** @throws AppError data_dir_*, database_corrupt. */
export async function openDirect(
  dataDir: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<DirectGateway> {
  const files = ensureDataDir(dataDir);
  const unlock = acquireLock(files);
  try {
    const nativeBinding = nativeBindingFor(files.dir, addonPath);
    await endRotation(files, nativeBinding, rotationStamp(Date.now()));
    const database = openDatabase(files.database, { nativeBinding });
    await migrate(database);
    const vault = createVault(loadMasterKey(files.secretKey, env));
    const ledger = createDirectLedger(database);
    const services = await createServices({
      database,
      vault,
      ledger,
      version,
      setupCode: null,
      now: Date.now,
      relayTest: async (order) => {
        const wallets = createWallets();
        const state = createRelayState(wallets);
        state.apply(await createSnapshotSource({ database, vault }).load());
        const counter = createTokenCounter(() => startThread('counter') as unknown as CountingThread);
        const relay = createRelay({
          state,
          wallets,
          ledger,
          counter,
          fetch,
          now: Date.now,
          random: Math.random,
          keyHmac: vault.keyHmac,
          // No server, no traffic: nobody's channel gets into trouble here.
          trouble: () => undefined,
          works: services.works,
          findSession: () => Promise.reject(new AppError('login_required')),
          limits: defaultLimits,
        });
        const result = await runChannelTest(relay, state, order, Date.now);
        counter.close();
        return result;
      },
    });
    const meta = {
      ip: 'local',
      language: 'en',
      userAgent: 'gateway',
      requestId: '',
      origin: '',
      stateCookie: '',
      deviceCookie: '',
      sessionHash: null,
      fresh: true,
    } as const;
    const reply = {
      setSession: () => undefined,
      clearSession: () => undefined,
      setDevice: () => undefined,
      setState: () => undefined,
      say: () => undefined,
      header: () => undefined,
    };
    return {
      call: (id, input) => invoke(id, input, { actor: localOwner, meta, services, reply }),
      async close() {
        await ledger.drain();
        await database.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    const code = (error as { code?: unknown }).code;
    if (typeof code === 'string' && code.startsWith('SQLITE_'))
      throw startError({ code, message: (error as Error).message }, dataDir);
    throw error;
  }
}
