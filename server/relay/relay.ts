/** The conductor: one request through its stages. Each stage lives in a file of its own name. */
import { AppError } from '../contract/errors.ts';
import type { ProtocolId } from '../protocols/canonical.ts';
import { createAdmit } from './admission/admit.ts';
import type { ChargeDeps } from './admission/charge.ts';
import { createGates, type Gate } from './admission/gate.ts';
import { createBorrowing } from './admission/lender.ts';
import { type Admission, createLimits } from './admission/limits.ts';
import type { Seen } from './admission/observer.ts';
import type { Plan } from './admission/plan.ts';
import { makePlan, type PlanDeps } from './admission/plan.ts';
import { noCharge } from './admission/tiers.ts';
import { type AnswerDeps, answer } from './delivery/answer.ts';
import type { Refusal } from './delivery/finish-request.ts';
import { createItemKeeping } from './delivery/items.ts';
import { createRefusedRows } from './delivery/refused-rows.ts';
import { answerBilling, isBillingPath } from './endpoints/billing.ts';
import { createTokenCount } from './endpoints/count-tokens.ts';
import { answerFact, askerOf, isFactPath, isModelsPath, listModels } from './endpoints/models.ts';
import type { Conversation } from './endpoints/realtime/conversation.ts';
import { createRealtime } from './endpoints/realtime/realtime.ts';
import { type TaskRoute, taskFor } from './endpoints/tasks/routes.ts';
import { createTasks } from './endpoints/tasks/tasks.ts';
import { type Authorise, createAuthorise } from './intake/authorise.ts';
import type { Inquiry, Peer, Principal } from './intake/inquiry.ts';
import { parse } from './intake/parse.ts';
import { identifyPlayer, inChosenGroup, withoutEmptyLimit } from './intake/playground.ts';
import { createRequestIds } from './intake/request-id.ts';
import { isUnimplemented, plainPath, type RelayRoute, relayRouteFor } from './intake/routes.ts';
import type { RelayDeps } from './relay-deps.ts';
import { createAffinity, keptIds, recalledIds } from './routing/affinity.ts';
import { createHealth } from './routing/health.ts';
import { createHearsay, type Hearsay } from './routing/hearsay.ts';
import { createBusyAnswers } from './shared/busy-answers.ts';
import { createDeadlines } from './shared/deadlines.ts';
import { createFigures, type Figures, type RelayFigures } from './shared/figures.ts';
import { clientError, listedError, refusalFor, retryAfterOf } from './shared/render-error.ts';
import { sealed } from './shared/sealed.ts';
import { createAccessTokens } from './upstream/access-tokens.ts';
import type { Cuttable } from './upstream/client-disconnect.ts';
import { createNativeCompactions } from './upstream/condense.ts';
import { createDispatch } from './upstream/http.ts';
import { createConnect } from './upstream/line.ts';

export interface TestOrder {
  readonly channelId: number;
  readonly path: string;
  readonly body: string;
}

export interface Relay {
  /**
   * To be asked before anything of a newcomer's is read, looked up or kept. @returns what they are told who cannot be served
   * in time; null = `handle` them.
   */
  turnAway(request: Request, path: string, peer: Peer): Response | null;
  /** Never rejects: every failure becomes an answer in the caller's dialect. */
  handle(request: Request, path: string, peer: Peer): Promise<Response>;
  /** The same pipeline for a channel test: pinned to one channel, logged, charged to nobody. @throws nothing */
  test(order: TestOrder): Promise<Response>;
  /** A socket for a realtime conversation, or the answer that refuses it. */
  realtime(request: Request, peer: Peer): Promise<Conversation | Response>;
  /** How channels stand: in use, cooling down, ejected. In the order of the ids. */
  standings(ids: readonly number[]): { readonly condition: string; readonly waitMs: number }[];
  /** Takes over what another relay thread knows. */
  hear(news: Hearsay): void;
  /** Requests under way. */
  open(): number;
  /** Answers whose bill was not durable within the ceiling, and settlements that the ledger's rules turned down. */
  unbilled(): { readonly late: number; readonly refused: number };
  /** What came of requests so far. */
  figures(): RelayFigures;
  /** From here on every new request is answered with this. */
  close(reason: AppError): void;
  /** Ends what is under way: streams with an error frame, all settled for what was delivered. */
  cut(reason: AppError): void;
}

const isRefusal = (reached: unknown): reached is Refusal =>
  typeof reached === 'object' && reached !== null && 'shown' in reached;

/** What is remembered about channels and conversations, here and in other threads. */
function createMemories({ steady: now, random, trouble, tell, state, tasks }: RelayDeps) {
  const wait = (ms: number, done: () => void) => setTimeout(done, ms).unref();
  const hearsay = tell === undefined ? null : createHearsay(tell, wait);
  const health = createHealth({ now, random, trouble, ...(hearsay === null ? {} : { changed: hearsay.channel }) });
  state.onChannel(health.reset);
  return { health, affinity: createAffinity(now, hearsay, { store: tasks, wait }) };
}

/** @param missed counted up where an answer went out without its bill. */
const chargingOf = (
  { ledger, balances, lender, now, state, limits, refused, observer }: RelayDeps,
  figures: Figures,
  missed: { late: number; refused: number },
): ChargeDeps => ({
  ledger,
  balances,
  borrowing: lender === undefined ? null : createBorrowing(lender),
  now,
  logConsumption: () => state.settings().logConsumption,
  commitCeilingMs: limits.commitCeilingMs,
  commitLimits: createDeadlines(10),
  late: () => missed.late++,
  refused: (ref, reason) => {
    missed.refused++;
    refused?.(ref, reason);
  },
  figures,
  observe: observer?.ended ?? null,
});

/** One request before it has an answer. */
interface Begun {
  readonly requestId: string;
  readonly startedMs: number;
  readonly seen: Seen;
}

interface Asked {
  readonly request: Request;
  readonly path: string;
  /** null = the operator's own test. */
  readonly peer: Peer | null;
  /** Dialect of the answer, where the path does not say it. */
  readonly asker?: ProtocolId | undefined;
}

interface Identified {
  readonly principal: Principal;
  /** Nobody pays. */
  readonly free: boolean;
}
/** At once, but for whoever is known by a session of the console. */
type Identify = (route: RelayRoute) => Identified | Promise<Identified>;

/** Agents ask before they begin; an estimate now is better than a count later. */
const countPatienceMs = 5_000;
/** A count is free: what is larger than any model reads is not read for one. A million tokens of plain words are some 4 MB. */
const countedBodyLimit = 8 * 1024 * 1024;

export function createRelay(deps: RelayDeps): Relay {
  const { state } = deps;
  const authorise: Authorise = createAuthorise({ state, keyHmac: deps.keyHmac, now: deps.now });
  const nextId = createRequestIds(deps.now);
  const { health, affinity } = createMemories(deps);
  const planDeps: PlanDeps = { state, health, affinity, random: deps.random };
  const called = createDispatch({ ...deps, ...deps.limits, tenured: deps.balances.money.tenure?.lasts });
  const dispatch = deps.around?.(called) ?? called;
  const tier = deps.bench?.tier ?? 3;
  let open = 0;
  // Prices of the benchmark's first request, for the tiers that do not price.
  let measured: Plan | null = null;
  let closed: AppError | null = null;
  const answering = new Map<Request, Cuttable>();
  const running = new Set<Cuttable>();
  const figures = createFigures();
  const missed = { late: 0, refused: 0 };
  const refusedRows = createRefusedRows({ ...deps, ownerOf: authorise.ownerOf });
  const chargeDeps = chargingOf(deps, figures, missed);
  const limits = createLimits({ ...deps, settings: state.settings, money: deps.balances.money, nodes: state.nodes });
  const gates = createGates({ ...deps, limits, borrowing: chargeDeps.borrowing });
  const admit = createAdmit({
    ...deps,
    plan: planDeps,
    charge: chargeDeps,
    limits,
    gates,
    allowModel: authorise.allowModel,
  });
  /** @throws AppError why the caller is refused before anything of the request was read. */
  const pass = (gate: Gate, principal: Principal, { requestId, startedMs, seen }: Begun): ReturnType<Gate> => {
    const refused = (error: unknown): never => {
      seen.unread = true;
      throw error;
    };
    try {
      const admission = gate(principal, { requestId, startedMs });
      return admission instanceof Promise ? admission.catch(refused) : admission;
    } catch (error) {
      return refused(error);
    }
  };
  /** What all stages after admission share. */
  const compactions = createNativeCompactions();
  state.onChannel(compactions.forget);
  const pipeline: AnswerDeps = {
    compactions,
    dispatch,
    now: deps.now,
    settings: state.settings,
    counter: deps.counter,
    health,
    affinity,
    token: createAccessTokens({ fetch: deps.fetch, now: deps.now }),
    idleMs: () => Math.min(deps.limits.idleMs, state.settings().idleMs),
    checkpointMs: deps.limits.checkpointMs,
    billMs: deps.limits.billMs,
    items: createItemKeeping({ ...deps, store: deps.tasks, days: () => state.settings().itemDays }),
    commitPingMs: deps.limits.commitPingMs,
    running: answering,
    drains: { open: 0 },
    lasting: (request) => deps.watch?.lasting(request),
    ended: (request) => {
      answering.get(request)?.over?.();
      answering.delete(request);
      open--;
      deps.watch?.over(request);
    },
  };

  const countTokens = createTokenCount({ ...pipeline, state, patienceMs: countPatienceMs });

  const run = async (request: Request, path: string, begun: Begun, identify: Identify) => {
    const { requestId, startedMs, seen } = begun;
    const matched = relayRouteFor(path);
    if (matched === undefined) {
      const isKnown = isUnimplemented(path);
      throw new AppError(isKnown ? 'not_implemented' : 'route_unknown', { method: request.method, path });
    }
    // Clients that try a socket first go on with plain requests at once when they are told so.
    if (request.headers.get('upgrade')?.toLowerCase() === 'websocket') throw new AppError('upgrade_refused');
    if (request.method !== 'POST') throw new AppError('method_not_allowed', { method: request.method });
    const { route } = matched;
    const known = tier === 1 ? nobody : identify(route);
    const identified = known instanceof Promise ? await known : known;
    seen.principal = identified.principal;
    const { free } = identified;
    // Prices and group follow from the body at the playground.
    const caller = route.session ? { ...identified.principal, group: '' } : identified.principal;
    const counts = route.operation === 'count_tokens';
    const passing = free || tier !== 3 ? null : pass(counts ? gates.free : gates.paid, caller, begun);
    const admission = passing instanceof Promise ? await passing : passing;
    let inquiry: Inquiry;
    let principal: Principal;
    try {
      const parsed = await parse(request, matched, {
        requestId,
        startedMs,
        bodyLimit: counts ? Math.min(countedBodyLimit, deps.limits.bodyLimit) : deps.limits.bodyLimit,
        capsule: deps.capsule,
        recall: (ids) => pipeline.items.recall(identified.principal.user.id, ids),
      });
      const asked = route.session ? withoutEmptyLimit(parsed) : parsed;
      deps.watch?.heard(request);
      inquiry = free ? { ...asked, candid: true } : asked;
      seen.inquiry = inquiry;
      principal = route.session ? inChosenGroup(state, identified.principal, inquiry) : identified.principal;
      if (counts) {
        authorise.allowModel(principal, inquiry.model);
        const counted = await countTokens(inquiry, principal);
        if (admission !== null) gates.ended(admission, true);
        return listed(over(counted), request, path);
      }
      // Owners that this thread does not know are asked for before anything depends on them.
      const learnt = affinity.learn([...keptIds(inquiry), ...recalledIds(inquiry)]);
      if (learnt !== null) await learnt;
    } catch (error) {
      if (admission !== null) gates.ended(admission, false);
      throw error;
    }
    if (tier !== 3) {
      const candidates = state.candidates(principal.group, inquiry.model).flat();
      const unproven = candidates.find((channel) => deps.bench?.isProven(channel) !== true);
      if (unproven !== undefined) throw new AppError('bench_tier_refused', { tier, channel: `#${unproven.id}` });
      measured ??= makePlan(planDeps, inquiry, principal, true);
      return answer(pipeline, { inquiry, plan: { ...measured, candidates }, charge: noCharge });
    }
    const admitted = admit(inquiry, principal, route.session ? await inGroup(admission, principal, begun) : admission);
    const exchange = admitted instanceof Promise ? await admitted : admitted;
    return listed(await answer(pipeline, exchange), request, path);
  };
  /** The playground's requests are counted in the group that their body names. */
  const inGroup = (admission: Admission | null, principal: Principal, begun: Begun): ReturnType<Gate> | null => {
    if (admission === null) return null;
    gates.withdraw(admission);
    return gates.paid(principal, begun);
  };
  /** What is answered at once is over with its answer. */
  const over = (response: Response): Response => {
    open--;
    return response;
  };

  /** Every request begins here, and what goes wrong before its answer begins is told here. */
  const guarded = async <T>(
    { request, path, peer, asker }: Asked,
    carry: (begun: Begun) => Promise<T | Refusal> | T,
  ): Promise<T | Response> => {
    const begun: Begun = { requestId: nextId(), startedMs: deps.now(), seen: { principal: null, inquiry: null } };
    const { requestId, seen } = begun;
    let refusal: Refusal;
    open++;
    try {
      const reached = await carry(begun);
      if (reached instanceof Response) return sealed(reached);
      if (!isRefusal(reached)) return reached;
      refusal = reached;
    } catch (error) {
      refusal = { shown: clientError(error, requestId), retryAfter: retryAfterOf(error) };
      const { shown } = refusal;
      figures.refused(shown.code);
      const { code, status } = shown;
      deps.observer?.turnedAway({ request, requestId, path, code, status, seen });
      // A channel's own test is told at once.
      if (peer !== null) refusedRows.note({ request, path, peer, seen, error, shown: () => shown });
    }
    open--;
    return sealed(refusalFor(request, path, refusal, asker));
  };

  const realtime = createRealtime({
    ...pipeline,
    authorise,
    admit,
    gates,
    connect: createConnect({ fetch: deps.fetch, connectMs: 15_000 }),
    onNews: state.onNews,
    wait: createDeadlines(50).start,
    nextId,
    running,
    ended: () => open--,
  });
  const tasks = createTasks({
    ...pipeline,
    state,
    authorise,
    admit,
    gates,
    store: deps.tasks,
    fetch: deps.fetch,
    bodyLimit: deps.limits.bodyLimit,
    heard: (request) => deps.watch?.heard(request),
  });
  const stayOpen = () => {
    if (closed !== null) throw closed;
  };
  const crowded = (newcomers: number): boolean => deps.crowded?.(open + newcomers) === true;
  const busy = createBusyAnswers(nextId);
  /** For those who are told apart by more than their path; they are counted as open by then. */
  const letIn = () => {
    stayOpen();
    if (crowded(0)) throw busy.error();
  };
  const answerTask = async (route: TaskRoute, request: Request, begun: Begun, peer: Peer) => {
    // Pictures, and news of work that was paid for, pass to the end.
    const identify = () => {
      letIn();
      return authorise.identify(request, peer);
    };
    const reached = await tasks(route, {
      request,
      requestId: begun.requestId,
      identify,
      pass: (principal) => pass(gates.paid, principal, begun),
    });
    return reached instanceof Response ? over(reached) : reached;
  };

  const answered = (request: Request, path: string, peer: Peer): Promise<Response> => {
    const route = taskFor(path);
    if (route !== null) return guarded({ request, path, peer }, (begun) => answerTask(route, request, begun, peer));
    const lists = isModelsPath(path);
    const identify: Identify = (route) =>
      route.session
        ? identifyPlayer(state, deps.findSession, request).then(paying)
        : paying(authorise.identify(request, peer));
    const carry = (begun: Begun) => {
      stayOpen();
      if (isBillingPath(path)) return answerBilling({ ...deps, authorise }, request, path, peer).then(over);
      if (lists) return over(listModels({ state, authorise }, request, path, peer));
      if (isFactPath(path))
        return answerFact({ state, authorise }, { request, path, peer, bodyLimit: deps.limits.bodyLimit }).then(over);
      const turn = deps.wait?.() ?? null;
      if (turn === null) return run(request, path, begun, identify);
      return turn.then(() => {
        stayOpen();
        return run(request, path, begun, identify);
      });
    };
    return guarded({ request, path, peer, asker: lists ? askerOf(request, path) : undefined }, carry);
  };

  /** Asking what there is costs nearly nothing, and a list that is missing stops whole programs. */
  const isSpared = (path: string): boolean => isModelsPath(path) || isBillingPath(path) || taskFor(path) !== null;

  return {
    turnAway(request, given, peer) {
      if (closed !== null || !crowded(1)) return null;
      const path = plainPath(given);
      if (isSpared(path)) return null;
      const { response, requestId, error, shown } = busy.answer(request, path);
      const { code } = error;
      figures.refused(code);
      deps.observer?.turnedAway({ request, requestId, path, code, status: response.status, seen: nothingSeen });
      refusedRows.note({ request, path, peer, seen: nothingSeen, error, shown });
      return response;
    },
    handle: (request, path, peer) => answered(request, plainPath(path), peer),
    test(order) {
      const request = new Request(`http://relay${order.path}`, {
        method: 'POST',
        body: order.body,
        headers: { 'content-type': 'application/json' },
      });
      const identify = () => ({ principal: testPrincipal(order.channelId), free: true });
      const { path } = order;
      return guarded({ request, path, peer: null }, (begun) => run(request, path, begun, identify));
    },
    realtime: (request, peer) =>
      guarded({ request, path: '/v1/realtime', peer }, ({ requestId }) => {
        letIn();
        return realtime(request, requestId, peer);
      }),
    standings: (ids) =>
      ids.map((id) => {
        const channel = state.channel(id);
        return channel === undefined
          ? { condition: 'unknown', waitMs: 0 }
          : { condition: health.condition(channel), waitMs: health.waitMs(channel) };
      }),
    hear(news) {
      for (const word of news.channels) health.hear(word);
      affinity.hear(news);
    },
    open: () => open,
    unbilled: () => ({ ...missed }),
    figures: () => ({ ...figures.read(), open }),
    close(reason) {
      closed = reason;
    },
    cut(reason) {
      for (const request of [...answering.values(), ...running]) request.cut(reason);
    },
  };
}

const paying = (principal: Principal): Identified => ({ principal, free: false });

/** Errors in the form that some clients read whole lists in. */
const listed = (response: Response, request: Request, path: string): Response | Promise<Response> =>
  response.status < 400 ? response : listedError(response, path, request.url);

const nothingSeen: Seen = { principal: null, inquiry: null };

/** Channel tests and the lower tiers of the benchmark belong to nobody's account. */
const unbilled: Principal = {
  user: {
    id: 0,
    username: '',
    role: 100,
    status: 1,
    group: 'default',
    balance: 0,
    used: 0,
    balanceVersion: 0,
    overrun: 0,
    setting: { accept_unset_model_ratio_model: true },
  },
  token: null,
  group: 'default',
  pinnedChannel: null,
};

const nobody: Identified = { principal: unbilled, free: true };

const testPrincipal = (channelId: number): Principal => ({ ...unbilled, pinnedChannel: channelId });
