/** The composition root of a running server: three threads, one front door. */
import { randomBytes } from 'node:crypto';
import { benchTier } from './bench-tier.ts';
import { AppError } from './contract/errors.ts';
import { type ControlThread, createControlThread } from './control-thread.ts';
import { acquireLock, ensureDataDir } from './data-dir.ts';
import { endRotation, rotationStamp } from './domain/secrets/rotation.ts';
import { vaultFor } from './domain/secrets/vault.ts';
import { addonPath } from './embedded/addon-path.ts';
import { nativeBindingFor } from './embedded/native-addon.ts';
import { startThread } from './embedded/workers.ts';
import { type ConnectionLimits, createConnections, defaultConnectionLimits } from './http/connections.ts';
import { createConsoleAssets } from './http/console-assets.ts';
import { openDescriptors } from './http/descriptors.ts';
import { createFindSession } from './http/find-session.ts';
import { type FrontDoor, type FrontDoorOptions, openFrontDoor } from './http/front-door.ts';
import type { OwedReport } from './ledger/owed.ts';
import { type LedgerThread, startLedger } from './ledger-thread.ts';
import { createWallets } from './relay/admission/balances.ts';
import { type CountingThread, createTokenCounter } from './relay/admission/counting/counter.ts';
import { runChannelTest } from './relay/channel-test.ts';
import { createWorkCalls } from './relay/endpoints/tasks/calls.ts';
import { createRelay, defaultLimits, type Relay } from './relay/relay.ts';
import { createRelayState, type RelayState } from './relay/state/state.ts';
import { createStop, type Stop } from './stop.ts';
import { createStorageWatch } from './storage-watch.ts';

export interface GatewayOptions {
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** One line for the operator, apart from what is asked for. */
  readonly say: (line: string) => void;
}

export interface Gateway extends Stop {
  readonly url: string;
  /** Needed for setting up over HTTP; null once set up. */
  readonly setupCode: string | null;
  /** What an earlier crash left and how it was settled. */
  readonly recovered: { readonly settled: number; readonly voided: number };
  /** What an earlier end could not write to the database, settled now. */
  readonly owed: OwedReport;
  /** Files and connections that may be open at a time; null where the system cannot be asked. */
  readonly descriptors: number | null;
  /** Resolves when serving has ended by itself, with the reason. */
  readonly failed: Promise<AppError>;
}

/** @throws AppError data_dir_*, database_*, secret_missing, port_taken. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const files = ensureDataDir(options.dataDir);
  const unlock = acquireLock(files);
  const threads: { terminate(): void }[] = [];
  try {
    const nativeBinding = nativeBindingFor(files.dir, addonPath);
    await endRotation(files, nativeBinding, rotationStamp(Date.now()));
    const setupCode = randomBytes(8).toString('hex');
    const failed = Promise.withResolvers<AppError>();
    const ledgerThread = await startLedger({ files, nativeBinding });
    threads.push(ledgerThread);
    const { client: ledger } = ledgerThread;

    const wallets = createWallets();
    ledger.onBalance(wallets.credit);
    const state = createRelayState(wallets);
    const counter = createTokenCounter(() => startThread('counter') as unknown as CountingThread);
    const works = createWorkCalls((id, call) => control.tell({ kind: 'work', id, call }));
    const bench = benchTier(options.env.GATEWAY_BENCH_TIER, { fetch, nonce: () => randomBytes(16).toString('hex') });
    const descriptors = openDescriptors();
    const connections = createConnections(connectionLimits(options.env), descriptors, () => performance.now());
    const relay = createRelay({
      state,
      wallets,
      ledger,
      counter,
      fetch,
      now: Date.now,
      steady: () => performance.now(),
      random: Math.random,
      keyHmac: vaultFor(files.secretKey, options.env, ledgerThread.sample).keyHmac,
      works: works.store,
      findSession: createFindSession(files.httpSocket),
      trouble: (trouble) => control.tell({ kind: 'trouble', trouble }),
      refused: (ref, reason) => options.say(`settlement of ${ref} was turned down: ${reason}`),
      limits: { ...defaultLimits, commitCeilingMs: ceilingOf(options.env.GATEWAY_COMMIT_CEILING_MS) },
      watch: connections,
      bench,
    });
    const control = createControlThread({
      spawn: () => startThread('control'),
      order: { dataDir: files.dir, nativeBinding, setupCode },
      ledgerPort: ledgerThread.newPort,
      receive(data) {
        switch (data.kind) {
          case 'snapshot':
          case 'delta':
            return state.apply(data);
          case 'test':
            void runChannelTest(relay, state, data, Date.now).then((result) =>
              control.tell({ kind: 'tested', id: data.id, result }),
            );
            return;
          case 'standing':
            return control.tell({ kind: 'stood', id: data.id, standings: relay.standings(data.ids) });
          case 'worked':
            return works.answered(data);
        }
      },
      lost(why) {
        options.say(`the control thread died and is started again: ${why}`);
        works.giveUp();
      },
      replaced: () => control.tell({ kind: 'storage', standing: watch.standing() }),
      hopeless: (why) => fail(new AppError('thread_died', { thread: 'control', reason: why })),
    });
    const watch = watchStorage(ledgerThread, relay, control, options.say);
    threads.push({ terminate: watch.stop });
    const setupDone = await control.start().catch((error: unknown) => {
      throw error instanceof AppError ? error : new AppError('internal', {}, error);
    });
    await state.ready;

    await bench.prove(state.channels());
    if (bench.tier < 3) options.say('WARNING: GATEWAY_BENCH_TIER is set, requests are not billed');
    const door = openDoor(options, state, { relay, controlSocket: files.httpSocket, connections });
    const stop = createStop({
      door,
      relay,
      ledger: ledgerThread,
      control,
      counter,
      owed: files.owed,
      say: options.say,
      now: Date.now,
      end() {
        watch.stop();
        counter.close();
        unlock();
      },
    });
    const fail = (error: AppError) => {
      options.say(error.message);
      void stop.fail(error).then(() => failed.resolve(error));
    };
    ledgerThread.onDeath((why) => fail(new AppError('thread_died', { thread: 'ledger', reason: why })));
    return {
      url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${door.port}`,
      setupCode: setupDone ? null : setupCode,
      recovered: ledgerThread.recovery,
      owed: ledgerThread.owed,
      descriptors: descriptors?.limit ?? null,
      failed: failed.promise,
      stop: stop.stop,
      hurry: stop.hurry,
    };
  } catch (error) {
    for (const thread of threads) thread.terminate();
    unlock();
    throw error;
  }
}

/** Milliseconds an answer's end waits for its bill before it goes out all the same; without an order it waits as long as that takes. */
const ceilingOf = (text: string | undefined): number => {
  const given = Number(text);
  return Number.isFinite(given) && given > 0 ? given : defaultLimits.commitCeilingMs;
};

/** A number of the environment within its bounds, else what holds without it. */
const within = (text: string | undefined, least: number, most: number, otherwise: number): number => {
  const given = Number(text);
  return text !== undefined && text !== '' && Number.isInteger(given) && given >= least && given <= most
    ? given
    : otherwise;
};

function connectionLimits(env: GatewayOptions['env']): ConnectionLimits {
  const { idleSeconds, bodyMs } = defaultConnectionLimits;
  return {
    idleSeconds: within(env.GATEWAY_IDLE_SECONDS, 8, 255, idleSeconds),
    bodyMs: within(env.GATEWAY_BODY_SECONDS, 1, 3600, bodyMs / 1000) * 1000,
    perAddress: within(env.GATEWAY_CONNECTIONS_PER_ADDRESS, 1, 1_000_000, 0) || null,
  };
}

function watchStorage(thread: LedgerThread, relay: Relay, control: ControlThread, say: GatewayOptions['say']) {
  const watch = createStorageWatch({
    ledger: thread.client,
    unbilled: relay.unbilled,
    publish: (standing) => control.tell({ kind: 'storage', standing }),
    say,
    now: Date.now,
  });
  void thread.damage.then((found) => {
    if (found !== '') watch.warn(`the database is damaged: ${found}`);
  });
  return watch;
}

/** @throws AppError port_taken. */
function openDoor(
  options: GatewayOptions,
  state: RelayState,
  inside: Pick<FrontDoorOptions, 'relay' | 'controlSocket' | 'connections'>,
): FrontDoor {
  try {
    return openFrontDoor({
      ...inside,
      host: options.host,
      port: options.port,
      trustsProxy: (address) => state.settings().trustsProxy(address),
      secureHost: () => state.settings().secureHost,
      consoleAsset: createConsoleAssets(() => state.settings().botCheck),
    });
  } catch (error) {
    if ((error as { code?: unknown }).code === 'EADDRINUSE')
      throw new AppError('port_taken', { port: options.port }, error);
    throw error;
  }
}
