/** What all requests of one relay share: the configuration, money, limits, health of channels, time limits and figures, each under its name. */

import type { Balances } from '../billing/balances/money.ts';
import type { Ledger } from '../billing/ledger/commands.ts';
import type { AppError } from '../contract/errors.ts';
import type { ChannelSnapshot } from '../contract/snapshot.ts';
import type { Timers } from '../contract/timers.ts';
import type { AuthInput } from '../providers/adapter.ts';
import { CacheWatch } from './admission/cache-watch.ts';
import type { TokenCounter } from './admission/counting/counter.ts';
import { Evidence } from './admission/evidence.ts';
import { Gate } from './admission/gate.ts';
import { KeyBudgets } from './admission/key-budgets.ts';
import { createLeaseClient, type LeaseClient, type LeaseSource } from './admission/lease-client.ts';
import { Limits } from './admission/limits.ts';
import { MoneyQueue } from './admission/money-queue.ts';
import type { RequestObserver, RequestWatch } from './admission/observer.ts';
import type { PlanDeps } from './admission/plan.ts';
import type { SiteRates } from './admission/site-rates.ts';
import { createRejectionLog, type RejectionLog } from './delivery/rejection-log.ts';
import { createResponseItems, type ResponseItems } from './delivery/response-items.ts';
import { TokenCounts } from './endpoints/count-tokens.ts';
import type { TaskStore } from './endpoints/tasks/store.ts';
import { Authorize } from './intake/authorize.ts';
import type { BodyMemory } from './intake/body-memory.ts';
import type { EncryptedBlob } from './intake/parsed-request.ts';
import type { FindSession } from './intake/playground.ts';
import { RequestIds } from './intake/request-id.ts';
import type { RelayDeps } from './relay-deps.ts';
import { type Affinity, createAffinity } from './routing/affinity.ts';
import { FirstBytes } from './routing/first-bytes.ts';
import { Health } from './routing/health.ts';
import { createHealthReports } from './routing/health-report.ts';
import { KeyLog } from './routing/key-log.ts';
import { LearntMembers, newTrialCells } from './routing/learnt-members.ts';
import { ShortWaits } from './routing/short-waits.ts';
import { createBusyResponses } from './shared/busy-responses.ts';
import { Deadlines } from './shared/deadline.ts';
import { Defects, type Reporter } from './shared/defect.ts';
import { IntervalTimers } from './shared/interval-timers.ts';
import { createStats, type Stats } from './shared/stats.ts';
import type { RelayState } from './state/state.ts';
import { createAccessTokens } from './upstream/access-tokens.ts';
import type { Cuttable, Drains } from './upstream/client-disconnect.ts';
import { createNativeCompactions, type NativeCompactions } from './upstream/compact.ts';
import { type Dispatch, UpstreamHttp } from './upstream/http.ts';
import { type Connect, createConnect } from './upstream/line.ts';

/** A socket upstream is open by then. */
const connectMs = 15_000;

const ignored = (): void => undefined;

export class RelayCore implements Reporter {
  readonly state: RelayState;
  readonly timers: Timers;
  readonly now: () => number;
  readonly monoNow: () => number;
  readonly fetch: typeof fetch;

  // Callers.
  readonly authorize: Authorize;
  readonly findSession: FindSession;
  readonly encryptedBlob: EncryptedBlob;
  readonly requestIds: RequestIds;

  // Money and limits.
  readonly ledger: Ledger;
  readonly balances: Balances;
  readonly leaseSource: LeaseSource | null;
  readonly leaseClient: LeaseClient | null;
  readonly keyBudgets: KeyBudgets;
  readonly moneyQueue: MoneyQueue;
  readonly rates: SiteRates | null;
  readonly limits: Limits;
  readonly gate: Gate;
  readonly counter: TokenCounter;
  readonly evidence: Evidence;
  readonly cacheWatch: CacheWatch;

  // Channels.
  readonly health: Health;
  readonly keyLog: KeyLog;
  readonly shortWaits: ShortWaits;
  readonly firstBytes = new FirstBytes();
  readonly affinity: Affinity;
  readonly planDeps: PlanDeps;
  readonly compactions: NativeCompactions;
  readonly learnt: LearntMembers;
  readonly dispatch: Dispatch;
  readonly token: AuthInput['token'];
  readonly items: ResponseItems;
  readonly tasks: TaskStore;
  readonly connect: Connect;
  readonly counts: TokenCounts;

  // Sizes and times.
  readonly bodyLimit: number;
  /** null = nothing bounds the memory of bodies. */
  readonly bodies: BodyMemory | null;
  readonly checkpointMs: number;
  readonly billMs: number;
  readonly commitPingMs: number;
  readonly maxCommitWaitMs: number;
  readonly deadlines: Deadlines;
  readonly pulse: IntervalTimers;
  private readonly maxIdleMs: number;

  // What is watched and counted.
  /** Notes the request that is worked on from here on: a thread that stands still has a name for it. */
  readonly works: (requestId: string) => void;
  /** null = no observer. */
  readonly watch: RequestWatch | null;
  readonly observer: RequestObserver | null;
  readonly stats: Stats;
  private readonly defects: Defects;
  readonly rejectedRows: RejectionLog;
  readonly busy: ReturnType<typeof createBusyResponses>;
  readonly unbilled = { late: 0, rejected: 0 };

  // Requests under way.
  /** @returns until there is room for another request; null = there is. */
  readonly queue: (() => Promise<void> | null) | null;
  readonly running = new Set<Cuttable>();
  readonly drains: Drains = { open: 0 };
  open = 0;
  /** Why new requests are refused; null = they are not. */
  closed: AppError | null = null;

  constructor(private readonly deps: RelayDeps) {
    const { state, limits, leaseSource, rates, observer, timers, broadcast } = deps;
    const { now, monoNow } = timers;
    this.state = state;
    this.timers = timers;
    this.defects = new Defects(deps.report);
    this.now = now;
    this.monoNow = monoNow;
    this.deadlines = new Deadlines(timers);
    this.pulse = new IntervalTimers(timers);
    this.fetch = deps.fetch;
    this.authorize = new Authorize({ state, keyHmac: deps.keyHmac, now });
    this.findSession = deps.findSession;
    this.encryptedBlob = deps.encryptedBlob;
    this.requestIds = new RequestIds(now);
    this.ledger = deps.ledger;
    this.balances = deps.balances;
    this.leaseSource = leaseSource ?? null;
    const noteLost = (error: unknown) => void this.report(error, '');
    this.leaseClient = leaseSource === undefined ? null : createLeaseClient(leaseSource, noteLost, monoNow);
    this.keyBudgets = new KeyBudgets({ leaseSource: this.leaseSource, now, monoNow });
    this.moneyQueue = new MoneyQueue(timers);
    this.rates = rates ?? null;
    const { money } = deps.balances;
    this.limits = new Limits({ monoNow, state, money, nodes: state.nodes });
    this.gate = new Gate(this);
    this.counter = deps.counter;
    this.evidence = new Evidence(monoNow);
    this.cacheWatch = new CacheWatch();
    const wait = (ms: number, done: () => void) =>
      timers
        .set(() => {
          try {
            done();
          } catch (error) {
            this.report(error, '');
          }
        }, ms)
        .unref();
    const reports = broadcast === undefined ? null : createHealthReports(broadcast, wait);
    this.keyLog = new KeyLog(now, reports?.key);
    this.health = new Health({
      keys: this.keyLog,
      now: monoNow,
      random: deps.random,
      failure: deps.failure,
      ...(reports === null ? {} : { changed: reports.channel, pairChanged: reports.pair }),
    });
    this.shortWaits = new ShortWaits(this.deadlines);
    this.affinity = createAffinity(monoNow, reports, { store: deps.tasks, wait, noteLost });
    this.planDeps = { state, health: this.health, affinity: this.affinity, random: deps.random };
    this.compactions = createNativeCompactions();
    state.onChannel((id) => {
      this.health.reset(id);
      this.keyLog.reset(id);
    });
    state.onChannel(this.compactions.clear);
    this.learnt = new LearntMembers({
      now: monoNow,
      trialCells: deps.trialCells ?? newTrialCells(),
      share: (limit) => this.limits.share(limit, 'recent'),
      known: state.unsupportedOf,
      report: deps.learnt ?? ignored,
    });
    state.onChannel((id) => this.learnt.forget(id));
    const { dispatch } = new UpstreamHttp({
      fetch: deps.fetch,
      now,
      deadlines: this.deadlines,
      headersTimeoutMs: limits.headersTimeoutMs,
      exhausted: deps.exhausted,
      isLeaseValid: money.nodeLease?.isValid,
    });
    this.dispatch = deps.wrap?.(dispatch) ?? dispatch;
    this.token = createAccessTokens({ fetch: deps.fetch, now, exhausted: deps.exhausted });
    this.items = createResponseItems({
      store: deps.tasks,
      encryptedBlob: deps.encryptedBlob,
      days: () => state.settings.itemDays,
      noteLost,
    });
    this.tasks = deps.tasks;
    this.connect = createConnect({ fetch: deps.fetch, timers, connectMs, exhausted: deps.exhausted });
    this.counts = new TokenCounts(this);
    this.bodies = deps.bodies ?? null;
    this.bodyLimit = Math.min(limits.bodyLimit, this.bodies?.largest ?? limits.bodyLimit);
    this.checkpointMs = limits.checkpointMs;
    this.billMs = limits.billMs;
    this.commitPingMs = limits.commitPingMs;
    this.maxCommitWaitMs = limits.maxCommitWaitMs;
    this.maxIdleMs = limits.idleMs;
    this.observer = observer ?? null;
    this.watch = deps.watch ?? null;
    this.works = deps.works ?? ignored;
    this.queue = deps.wait ?? null;
    this.stats = createStats();
    this.rejectedRows = createRejectionLog({ ledger: deps.ledger, authorize: this.authorize, now, monoNow, noteLost });
    this.busy = createBusyResponses(() => this.requestIds.next());
  }

  /** Milliseconds that an upstream may be silent. @param channel absent = it is not known yet. */
  idleMs(channel?: ChannelSnapshot): number {
    const own = channel?.setting.upstream_idle_seconds;
    const ms = typeof own === 'number' && own > 0 ? own * 1000 : this.state.settings.idleMs;
    return Math.min(this.maxIdleMs, ms);
  }

  /** @throws AppError once the relay was closed. */
  stayOpen(): void {
    if (this.closed !== null) throw this.closed;
  }

  /** Whether so many requests more than are open cannot be served in time. */
  isOverloaded(more: number): boolean {
    return this.deps.isOverloaded?.(this.open + more) === true;
  }

  /** For requests that cannot be distinguished by their path alone; they are counted as open by then. @throws AppError overloaded, or why the relay was closed. */
  letIn(): void {
    this.stayOpen();
    if (this.isOverloaded(0)) throw this.busy.error();
  }

  report(error: unknown, requestId: string): boolean {
    return this.defects.report(error, requestId);
  }

  /** Defects of ours that requests met. */
  get defectsMet(): number {
    return this.defects.count;
  }

  settledAfterwards(): void {
    this.unbilled.late++;
  }

  settlementRejected(ref: string, reason: string): void {
    this.unbilled.rejected++;
    this.deps.rejected?.(ref, reason);
  }
}
