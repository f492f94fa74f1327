/** The composition root of a running server: three threads, one front door. */
import { randomBytes } from 'node:crypto';
import { AppError } from './contract/errors.ts';
import type { FromControl, ToControl } from './control/messages.ts';
import { acquireLock, ensureDataDir } from './data-dir.ts';
import { endRotation, rotationStamp } from './domain/secrets/rotation.ts';
import { createVault, loadMasterKey } from './domain/secrets/vault.ts';
import { addonPath } from './embedded/addon-path.ts';
import { nativeBindingFor } from './embedded/native-addon.ts';
import { startThread } from './embedded/workers.ts';
import { createConsoleAssets } from './http/console-assets.ts';
import { createFindSession } from './http/find-session.ts';
import { type FrontDoor, openFrontDoor } from './http/front-door.ts';
import { createLedgerClient, type LedgerPort } from './ledger/client.ts';
import type { LedgerReport } from './ledger/worker.ts';
import { runChannelTest } from './relay/channel-test.ts';
import { type CountingThread, createTokenCounter } from './relay/counting/counter.ts';
import { createRelay, defaultLimits } from './relay/relay.ts';
import { createRelayState } from './relay/state.ts';
import type { Tier } from './relay/tiers.ts';
import { createWallets } from './relay/wallets.ts';
import { createWorkCalls } from './relay/works/calls.ts';

export interface GatewayOptions {
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Gateway {
  readonly url: string;
  /** Needed for setting up over HTTP; null once set up. */
  readonly setupCode: string | null;
  /** What an earlier crash left and how it was settled. */
  readonly recovered: { readonly settled: number; readonly voided: number };
  /** Lets open requests end, at most this long, then closes everything. */
  stop(graceMs: number): Promise<void>;
}

/** @throws AppError data_dir_*, database_corrupt, port_taken. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const files = ensureDataDir(options.dataDir);
  const unlock = acquireLock(files);
  const threads: Worker[] = [];
  try {
    const nativeBinding = nativeBindingFor(files.dir, addonPath);
    await endRotation(files, nativeBinding, rotationStamp(Date.now()));
    const setupCode = randomBytes(8).toString('hex');
    const ledgerThread = startThread('ledger');
    const controlThread = startThread('control');
    threads.push(ledgerThread, controlThread);
    const channel = new MessageChannel();

    const ledgerReady = Promise.withResolvers<LedgerReport & { kind: 'ready' }>();
    const ledgerClosed = Promise.withResolvers<void>();
    const ledger = createLedgerClient(ledgerThread as unknown as LedgerPort, (message) => {
      const report = message as LedgerReport | { readonly kind: 'closed' };
      if (report.kind === 'ready') ledgerReady.resolve(report);
      if (report.kind === 'closed') ledgerClosed.resolve();
      if (report.kind === 'failed') ledgerReady.reject(startError(report, files.dir));
    });
    ledgerThread.postMessage({ kind: 'start', file: files.database, nativeBinding, port: channel.port1 }, [
      channel.port1,
    ]);
    const { recovery } = await ledgerReady.promise;

    const wallets = createWallets();
    ledger.onBalance(wallets.credit);
    const state = createRelayState(wallets);
    const counter = createTokenCounter(() => startThread('counter') as unknown as CountingThread);
    const works = createWorkCalls((id, call) =>
      controlThread.postMessage({ kind: 'work', id, call } satisfies ToControl),
    );
    const relay = createRelay({
      state,
      wallets,
      ledger,
      counter,
      fetch,
      now: Date.now,
      random: Math.random,
      keyHmac: createVault(loadMasterKey(files.secretKey, options.env)).keyHmac,
      works: works.store,
      findSession: createFindSession(files.httpSocket),
      trouble: (trouble) => controlThread.postMessage({ kind: 'trouble', trouble } satisfies ToControl),
      limits: { ...defaultLimits, commitCeilingMs: ceilingOf(options.env.GATEWAY_COMMIT_CEILING_MS) },
      tier: tierOf(options.env.GATEWAY_BENCH_TIER),
    });

    const controlReady = Promise.withResolvers<boolean>();
    const controlClosed = Promise.withResolvers<void>();
    const tell = (message: ToControl) => controlThread.postMessage(message);
    controlThread.onmessage = ({ data }: MessageEvent<FromControl>) => {
      switch (data.kind) {
        case 'snapshot':
        case 'delta':
          return state.apply(data);
        case 'ready':
          return controlReady.resolve(data.setupDone);
        case 'failed':
          return controlReady.reject(new AppError('internal', {}, new Error(data.message)));
        case 'test':
          void runChannelTest(relay, state, data, Date.now).then((result) =>
            tell({ kind: 'tested', id: data.id, result }),
          );
          return;
        case 'standing':
          return tell({ kind: 'stood', id: data.id, standings: relay.standings(data.ids) });
        case 'worked':
          return works.answered(data);
        case 'closed':
          return controlClosed.resolve();
      }
    };
    controlThread.postMessage(
      { kind: 'start', dataDir: files.dir, nativeBinding, setupCode, ledger: channel.port2 } satisfies ToControl,
      [channel.port2],
    );
    const setupDone = await controlReady.promise;
    await state.ready;

    if (tierOf(options.env.GATEWAY_BENCH_TIER) < 3)
      console.error('WARNING: GATEWAY_BENCH_TIER is set, requests are not billed');
    const door = openDoor(options, () =>
      openFrontDoor({
        host: options.host,
        port: options.port,
        relay,
        controlSocket: files.httpSocket,
        trustsProxy: (address) => state.settings().trustsProxy(address),
        secureHost: () => state.settings().secureHost,
        consoleAsset: createConsoleAssets(() => state.settings().botCheck),
      }),
    );
    return {
      url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${door.port}`,
      setupCode: setupDone ? null : setupCode,
      recovered: recovery,
      async stop(graceMs) {
        await door.stop(graceMs);
        counter.close();
        tell({ kind: 'close' });
        await controlClosed.promise;
        ledgerThread.postMessage({ kind: 'close' });
        await ledgerClosed.promise;
        for (const thread of threads) thread.terminate();
        unlock();
      },
    };
  } catch (error) {
    for (const thread of threads) thread.terminate();
    unlock();
    throw error;
  }
}

/** Milliseconds an answer's end waits for its bill on a slow disk; longer = no charge lost even then. */
const ceilingOf = (text: string | undefined): number => {
  const given = Number(text);
  return Number.isFinite(given) && given > 0 ? given : defaultLimits.commitCeilingMs;
};

/** Set by the benchmark alone. */
const tierOf = (text: string | undefined): Tier => (text === '1' ? 1 : text === '2' ? 2 : 3);

function openDoor(options: GatewayOptions, open: () => FrontDoor): FrontDoor {
  try {
    return open();
  } catch (error) {
    if ((error as { code?: unknown }).code === 'EADDRINUSE')
      throw new AppError('port_taken', { port: options.port }, error);
    throw error;
  }
}

export function startError(report: { readonly code: string; readonly message: string }, dir: string): AppError {
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(report.code)) return new AppError('database_corrupt', { detail: report.message });
  return new AppError('data_dir_unreadable', { dir, detail: report.message });
}
