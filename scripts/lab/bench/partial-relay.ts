/**
 * Serves one reduced relay, assembled from the product's own parts: `partial-relay.ts LEVEL PORT DATA_DIR`.
 * 1 = what is read from a client and an upstream passes through, with its parsing and its aborts; 2 = also keys and routing.
 * No limits, no reservation, no bill: only for practice upstreams on this machine.
 */
import { encryptedSample } from '../../../db/encrypted-columns.ts';
import { dataDirFiles } from '../../../server/app/data-dir.ts';
import { openReading } from '../../../server/app/read-only.ts';
import { Balances } from '../../../server/billing/balances/money.ts';
import { userAt } from '../../../server/contract/packed-rows.ts';
import { systemTimers } from '../../../server/contract/timers.ts';
import { sealedBlobOf, vaultFor } from '../../../server/domain/secrets/vault.ts';
import { createSnapshotSource } from '../../../server/domain/snapshot/load.ts';
import { embeddedAddon } from '../../../server/embedded/embedded-addon.ts';
import { createConnections, defaultConnectionLimits } from '../../../server/http/connections.ts';
import { openHttpServer } from '../../../server/http/http-server.ts';
import { unlimited } from '../../../server/relay/admission/limits.ts';
import { makePlan, type Plan } from '../../../server/relay/admission/plan.ts';
import { Reservation } from '../../../server/relay/admission/reservation.ts';
import { RelayCore } from '../../../server/relay/core.ts';
import { deliver } from '../../../server/relay/delivery/respond.ts';
import { parse } from '../../../server/relay/intake/parse.ts';
import type { Peer, Principal } from '../../../server/relay/intake/parsed-request.ts';
import { relayRouteFor } from '../../../server/relay/intake/routes.ts';
import type { Relay } from '../../../server/relay/relay.ts';
import { defaultLimits } from '../../../server/relay/relay-deps.ts';
import { createRelayState } from '../../../server/relay/state/state.ts';
import { RequestSender } from '../../../server/relay/upstream/attempt.ts';
import { ClientDisconnect } from '../../../server/relay/upstream/client-disconnect.ts';

/** Nothing is reserved and nothing is written. */
class FreeReservation extends Reservation {
  override get isFinished(): boolean {
    return true;
  }
  override extendTo(): boolean {
    return true;
  }
  override cover(): boolean {
    return true;
  }
  override delivered(): void {}
  override checkpoint(): void {}
  override finish(): Promise<void> {
    return Promise.resolve();
  }
}

const [level = '1', port = '0', dataDir = ''] = process.argv.slice(2);
const files = dataDirFiles(dataDir);
const reading = openReading(files, embeddedAddon, ({ en }) => console.error(en));
const sample = reading === null ? null : encryptedSample(reading.database);
if (reading === null || sample === null) throw new Error(`no gateway at ${dataDir}`);
const vault = vaultFor(files.secretKey, process.env, sample);
const balances = new Balances();
const state = createRelayState(balances.money.accounts, Date.now);
state.apply(await createSnapshotSource({ database: reading.database, vault }).load());

const reject = () => Promise.reject(new Error('a reduced relay keeps nothing'));
const core = new RelayCore({
  state,
  balances,
  ledger: { execute: reject, healthy: () => ({ ok: true }) },
  counter: { count: reject, close: () => undefined },
  fetch,
  timers: systemTimers,
  random: Math.random,
  keyHmac: vault.keyHmac,
  encryptedBlob: sealedBlobOf(vault),
  findSession: reject,
  tasks: {
    addDrawing: reject,
    drawing: reject,
    drawings: reject,
    mjImage: reject,
    noteDrawing: reject,
    addSong: reject,
    song: reject,
    songs: reject,
    keepItems: reject,
    keptItems: reject,
    keepOwners: reject,
    ownersOf: reject,
  },
  failure: () => undefined,
  report: (error) => console.error(error),
  limits: defaultLimits,
});

const [page] = state.part().users;
const someone = page === undefined ? undefined : userAt(page, 0);
if (someone === undefined) throw new Error('the gateway has no user');
const testPrincipal: Principal = { user: someone, token: null, keyHmac: '', group: someone.group, pinnedChannel: null };
/** By model: pricing is what these leave out, so one request's prices do for all. */
const plans = new Map<string, Plan>();

async function pass(request: Request, path: string, peer: Peer): Promise<Response> {
  const matched = relayRouteFor(path);
  if (matched === undefined) return new Response(null, { status: 404 });
  const principal = level === '1' ? testPrincipal : core.authorize.identify(request, peer);
  const parsed = await parse(request, matched, {
    requestId: core.requestIds.next(),
    startedMs: core.now(),
    bodyLimit: core.bodyLimit,
    encryptedBlob: core.encryptedBlob,
  });
  const known = plans.get(parsed.model) ?? makePlan(core.planDeps, parsed, principal, true);
  plans.set(parsed.model, known);
  const plan = level === '1' ? known : { ...known, candidates: state.candidates(principal.group, parsed.model).flat() };
  const details = { parsed, principal, plan, admission: unlimited, free: true, owner: null };
  const reservation = new FreeReservation(core, details);
  const disconnect = new ClientDisconnect(request.signal, core.billMs, core.timers, core.drains);
  return deliver(core, reservation, new RequestSender(core, reservation, disconnect).send(), disconnect);
}

const relay: Relay = {
  reject: () => null,
  refusal: () => new Response(null, { status: 503 }),
  handle: (request, path, peer) =>
    pass(request, path, peer).catch((error: unknown) => new Response(String(error), { status: 500 })),
  test: reject,
  preview: reject,
  realtime: reject,
  responsesSocket: reject,
  endSockets: () => undefined,
  report: (error) => console.error(error),
  channelStatuses: () => [],
  keyHealth: () => [],
  receive: () => undefined,
  open: () => 0,
  isOutOfLeases: () => false,
  unbilled: () => core.unbilled,
  stats: () => ({
    ...core.stats.read(),
    open: 0,
    defects: 0,
    withoutMember: { tried: 0, answered: 0 },
    sockets: { open: 0, keptBytes: 0 },
  }),
  healthToKeep: () => null,
  takeTraffic: core.stats.takeTraffic,
  close: () => undefined,
  cut: () => undefined,
};

openHttpServer({
  host: '127.0.0.1',
  port: Number(port),
  relay,
  connections: createConnections(defaultConnectionLimits, null, () => performance.now()),
  mayServe: () => true,
  controlSocket: files.httpSocket,
  isTrustedProxy: () => false,
  consoleAsset: () => null,
});
