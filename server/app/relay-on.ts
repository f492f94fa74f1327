/** A relay in the caller's own process, for commands that call a channel. */
import type { Database } from '../../db/open.ts';
import { Balances } from '../billing/balances/money.ts';
import type { Ledger } from '../billing/ledger/commands.ts';
import { AppError } from '../contract/errors.ts';
import { systemTimers } from '../contract/timers.ts';
import { sealedBlobOf, type Vault } from '../domain/secrets/vault.ts';
import { createSnapshotSource } from '../domain/snapshot/load.ts';
import { startThread } from '../embedded/workers.ts';
import { countingThreadOf, createTokenCounter } from '../relay/admission/counting/counter.ts';
import { runChannelTest } from '../relay/channel-test.ts';
import { createRelay } from '../relay/relay.ts';
import { defaultLimits, type RelayDeps } from '../relay/relay-deps.ts';
import { createRelayState } from '../relay/state/state.ts';
import type { ServiceDeps, Services } from './services.ts';

interface Site {
  readonly database: Database;
  readonly vault: Vault;
  readonly ledger: Ledger;
}

/** A relay on this database, without threads beside it. @param overrides instead of the usual ones. */
export async function relayOn(
  { database, vault, ledger }: Site,
  overrides: Pick<RelayDeps, 'balances' | 'counter' | 'tasks' | 'failure' | 'findSession'> & Partial<RelayDeps>,
) {
  const state = createRelayState(overrides.balances.watcher, Date.now);
  const source = createSnapshotSource({ database, vault });
  state.apply(await source.load());
  const relay = createRelay({
    state,
    ledger,
    fetch,
    timers: systemTimers,
    random: Math.random,
    keyHmac: vault.keyHmac,
    encryptedBlob: sealedBlobOf(vault),
    limits: defaultLimits,
    report: (error, requestId) =>
      process.stderr.write(`${requestId} ${error instanceof Error ? error.stack : error}\n`),
    ...overrides,
  });
  return { relay, state, source };
}

type RelayTest = ServiceDeps['relayTest'];

/** Calls a channel without a server, and without traffic: no channel can fail by it. */
export async function testChannel(
  { tasks, ...site }: Site & Pick<Services, 'tasks'>,
  order: Parameters<RelayTest>[0],
): ReturnType<RelayTest> {
  const counter = createTokenCounter(() => countingThreadOf(startThread('counter')));
  try {
    const { relay, state } = await relayOn(site, {
      balances: new Balances(),
      counter,
      failure: () => undefined,
      tasks,
      findSession: () => Promise.reject(new AppError('login_required')),
    });
    return await runChannelTest(relay, state, order, Date.now);
  } finally {
    counter.close();
  }
}
