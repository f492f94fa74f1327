/**
 * Leases on accounts and limits that a node shares with others: acquired when a request needs them, returned when
 * they are idle or another node asks. Memory is raised after the commit and lowered before it, so that the node never
 * assumes more than the ledger grants.
 */

import type { Period } from '../../contract/period.ts';
import type { Grant, LeaseKind, LeaseMove, MoveOutcome, UnspentLease } from '../ports.ts';

/** The memory that the relay spends from. Amounts include what open requests hold. */
export interface LeaseStore {
  raise(kind: LeaseKind, subject: number, amount: number): void;
  /** Takes out of reach what no request holds. @returns how much that was. */
  takeIdle(kind: LeaseKind, subject: number): number;
  /** All of it is void: only requests that are open go on. */
  drop(): void;
}

export type LeaseAnswer =
  | 'granted'
  /** Neither this node nor any other has that much. */
  | 'exhausted'
  /** The limit of the token, not the balance. */
  | 'token-exhausted'
  /** The token's budget for that period. */
  | Period
  /** Another node holds it. */
  | 'elsewhere'
  /** The database cannot be reached. */
  | 'away';

export interface LeaseRequest {
  readonly account: number;
  /** 0 = none that has a limit or budget. */
  readonly token: number;
  readonly need: number;
  /** What of it is not in reach yet, of the account and of the token. */
  readonly missing: () => { readonly account: number; readonly token: number };
  /** Likely to be used in the next ten seconds. */
  readonly use?: number;
  /** Takes it, when it is in reach. */
  readonly reserve: () => boolean;
  /** Where no node has all of it, what there is will do. */
  readonly partial?: boolean;
  /** In reach by now. */
  readonly received?: (grant: Grant) => void;
}

export interface LeaseDeps {
  readonly leaseStore: LeaseStore;
  readonly move: (moves: readonly LeaseMove[], epoch: number) => Promise<MoveOutcome>;
  readonly isUncertain: (error: unknown) => boolean;
  /**
   * Notifies the nodes that hold a part that a node waits. @param token 0 = its limit is not needed. @param mark number of this
   * node's recall. @param tokenOnly the balance is not needed.
   */
  readonly recall: (
    account: number,
    token: number,
    holders: readonly number[],
    mark: number,
    tokenOnly: boolean,
  ) => void;
  /** Notifies the node that recalled that nothing idle is left here. @param to the recalling node. @param mark of its recall. */
  readonly answer: (account: number, to: number, mark: number) => void;
  /** Nodes that are live, this one included. */
  readonly nodes: () => number;
  /** The database is unavailable: callers do not wait for it. */
  readonly unavailable: () => boolean;
  /** Milliseconds; only differences count. */
  readonly now: () => number;
  readonly after: (ms: number, work: () => void) => void;
}

export interface Leases {
  request(request: LeaseRequest): Promise<LeaseAnswer>;
  /** Another node waits for this account, and token where there is one: idle amounts are returned at once. @param tokenOnly the balance stays. */
  recalled(account: number, token: number, by: number, mark: number, tokenOnly?: boolean): void;
  /** Another node has nothing idle, or has just returned it. An answer to an earlier recall does not count. */
  onResponse(account: number, by: number, mark: number): void;
  /** Collects idle amounts from all nodes, and leaves them unleased for a command that takes them from the balance itself. */
  recallAll(account: number): Promise<void>;
  /** After the commit of settlements: what they did not take of this node's leases. */
  settled(unspent: readonly UnspentLease[]): void;
  /**
   * Leases some ahead of demand, where it is unleased: no other node is asked for it.
   * @param token 0 = of the account itself. @param done granted 0 = there was none.
   */
  prefetch(account: number, token: number, amount: number, done: (granted: number) => void): void;
  /** Nothing uses it for the moment. */
  idle(kind: LeaseKind, subject: number): void;
  /** Voids all leases; the node continues under this epoch. */
  begin(epoch: number): void;
}

/** How long a request waits for what another node holds. */
const timeoutMs = 2000;
/** Minimum time between recalls, and between repetitions when nodes do not answer. */
const recallMs = 50;
const askAgainMs = 500;
/** Between two questions for an account that had nothing left: repeated requests do not keep the ledger busy. */
const restMs = 20;
const retryMs = 20;

interface Waiter {
  readonly request: LeaseRequest;
  readonly since: number;
  readonly answer: (answer: LeaseAnswer) => void;
  /** The ledger has answered that there is enough, leased to another node. */
  isRemote: boolean;
}

/** Answers requests of at least this size that arrived before the shortage was found; later ones may find new credit. */
interface Exhausted {
  readonly at: number;
  readonly need: number;
  readonly answer: LeaseAnswer;
}

interface Line {
  readonly waiting: Waiter[];
  /** One acquisition at a time for each account. */
  isRequesting: boolean;
  recalledAt: number;
  /** Of the last recall. */
  mark: number;
  /** Nodes that have answered since the recall. */
  readonly responses: Set<number>;
  /** By token, 0 = of the account itself. */
  readonly exhausted: Map<number, Exhausted>;
  /** When a holder was last notified. */
  rejectedAt: number;
  /** An answer arrived during the database query. */
  updated: boolean;
}

/** A recall may take a grant before its request does: the account counts as exhausted only where the ledger had too little. */
interface Acquired extends Grant {
  readonly missingAccount: boolean;
  readonly missingToken: boolean;
}

/** What of it there is least of. */
const tokenAnswer = ({ tokenBound }: Grant): LeaseAnswer => (tokenBound === 'limit' ? 'token-exhausted' : tokenBound);

export function createLeases(deps: LeaseDeps): Leases {
  const { leaseStore, now } = deps;
  const lines = new Map<number, Line>();
  let epoch = 0;
  let marks = 0;
  let outgoing: LeaseMove[] = [];
  let grantees: ((grant: Grant | null) => void)[] = [];
  /** When the pending ledger query began; null = none is pending. */
  let moving: number | null = null;

  const lineOf = (account: number): Line => {
    const known = lines.get(account);
    if (known !== undefined) return known;
    const fresh: Line = {
      waiting: [],
      isRequesting: false,
      recalledAt: Number.NEGATIVE_INFINITY,
      mark: 0,
      responses: new Set(),
      exhausted: new Map(),
      rejectedAt: Number.NEGATIVE_INFINITY,
      updated: false,
    };
    lines.set(account, fresh);
    return fresh;
  };

  /** Runs one transaction at a time; moves that arrive meanwhile go with the next. The same moves are repeated until their outcome is known. */
  const pump = async () => {
    if (moving !== null) return;
    while (outgoing.length > 0) {
      moving = now();
      const [moves, answerWritten, under] = [outgoing, grantees, epoch];
      outgoing = [];
      grantees = [];
      const grants = await carry(moves, under);
      // Under another epoch they are void, whatever their outcome.
      const valid = grants !== null && under === epoch;
      if (valid)
        for (const { account, token, granted, tokenGranted } of grants) {
          if (granted > 0) leaseStore.raise('account', account, granted);
          if (tokenGranted > 0) leaseStore.raise('token', token, tokenGranted);
        }
      for (const [index, reply] of answerWritten.entries()) reply(valid ? (grants[index] ?? null) : null);
    }
    moving = null;
  };

  const carry = async (moves: readonly LeaseMove[], under: number): Promise<readonly Grant[] | null> => {
    for (;;) {
      try {
        return (await deps.move(moves, under)).grants;
      } catch (error) {
        if (under !== epoch) return null;
        if (!deps.isUncertain(error)) {
          // An amount to be returned is already removed from memory, and is returned with the next transaction.
          outgoing = [...moves.filter(({ type }) => type === 'give-back'), ...outgoing];
          if (outgoing.length > 0) deps.after(retryMs, () => void pump());
          return null;
        }
        await new Promise<void>((resolve) => deps.after(retryMs, resolve));
      }
    }
  };

  const send = (move: LeaseMove) => {
    outgoing.push(move);
    void pump();
  };

  /** @returns null = the ledger does not answer. A later grant is added to memory all the same. */
  const acquire = (
    { account, token, missing, use = 0, received }: LeaseRequest,
    since: number,
    partial = false,
  ): Promise<Acquired | null> =>
    new Promise((resolve) => {
      if (deps.unavailable() || (moving !== null && now() - moving >= timeoutMs)) return resolve(null);
      const { account: need, token: tokenNeed } = missing();
      grantees.push((grant) => {
        if (grant === null) return resolve(null);
        received?.(grant);
        const { granted, tokenGranted } = grant;
        resolve({ ...grant, missingAccount: granted < need, missingToken: tokenGranted < tokenNeed });
      });
      send({ type: 'acquire', account, token, need, tokenNeed, use, nodes: deps.nodes(), partial });
      deps.after(Math.max(0, timeoutMs - (now() - since)), () => resolve(null));
    });

  const returnIdle = (kind: LeaseKind, subject: number) => {
    const amount = leaseStore.takeIdle(kind, subject);
    if (amount > 0) send({ type: 'give-back', kind, subject, amount });
  };

  const first = (line: Line, waiter: Waiter, answer: LeaseAnswer) => {
    line.waiting.shift();
    waiter.answer(answer);
  };

  const knownOf = (line: Line, { request: { token, need, missing }, since }: Waiter): LeaseAnswer | null => {
    if (line.exhausted.size === 0) return null;
    const shortfall = missing();
    for (const [of, amount] of [
      [0, shortfall.account],
      [token, shortfall.token],
    ] as const) {
      const known = amount > 0 ? line.exhausted.get(of) : undefined;
      if (known !== undefined && known.at >= since && need >= known.need) return known.answer;
    }
    return null;
  };

  /** Only what the ledger had too little of: the node that spends the rest keeps it. */
  const recall = ({ account, token }: LeaseRequest, line: Line, since: number, grant: Acquired) => {
    const { holders, missingAccount, missingToken } = grant;
    const elapsed = now() - line.recalledAt;
    const isOpen = line.recalledAt >= since && !holders.every((one) => line.responses.has(one));
    if (elapsed < (isOpen ? askAgainMs : recallMs)) return;
    line.recalledAt = now();
    line.mark = ++marks;
    line.responses.clear();
    deps.recall(account, missingToken ? token : 0, holders, line.mark, !missingAccount);
  };

  /** @param received nodes that had answered before that nothing idle is left. @returns null = it waits for others. */
  const judge = (
    line: Line,
    waiter: Waiter,
    grant: Acquired | null,
    received: ReadonlySet<number>,
  ): LeaseAnswer | null => {
    const { request, since } = waiter;
    const timedOut = now() - since >= timeoutMs;
    if (grant === null) return timedOut || deps.unavailable() ? (waiter.isRemote ? 'elsewhere' : 'away') : null;
    if (request.partial !== true) {
      if (grant.max < request.need) return 'exhausted';
      if (request.token > 0 && grant.tokenMax < request.need) return tokenAnswer(grant);
    }
    // A node that acquired some meanwhile was not asked yet.
    if (grant.holders.every((one) => received.has(one))) {
      if (grant.missingAccount) return 'exhausted';
      if (grant.missingToken) return tokenAnswer(grant);
    }
    if (timedOut) return 'elsewhere';
    if (!grant.missingAccount && !grant.missingToken) return null;
    waiter.isRemote = true;
    recall(request, line, since, grant);
    return null;
  };

  /** Serves one account's waiters in the order of their arrival. */
  const serve = async (account: number) => {
    const line = lineOf(account);
    if (line.isRequesting) return;
    line.isRequesting = true;
    let restingMs = 0;
    for (let waiter = line.waiting[0]; waiter !== undefined; waiter = line.waiting[0]) {
      const { request } = waiter;
      if (request.reserve()) {
        first(line, waiter, 'granted');
        continue;
      }
      const known = knownOf(line, waiter);
      if (known !== null) {
        first(line, waiter, known);
        continue;
      }
      restingMs = line.rejectedAt + restMs - now();
      if (restingMs > 0) break;
      line.updated = false;
      const requestedAt = now();
      // Amounts returned before these answers are in the ledger that is queried now.
      const received = new Set(line.recalledAt >= waiter.since ? line.responses : []);
      const grant = await acquire(request, waiter.since);
      if (grant !== null && request.reserve()) {
        first(line, waiter, 'granted');
        continue;
      }
      const answer = judge(line, waiter, grant, received);
      if (answer === null) {
        if (line.updated) continue;
        break;
      }
      if (request.partial === true && answer !== 'away' && now() - waiter.since < timeoutMs) {
        await acquire(request, waiter.since, true);
        if (request.reserve()) {
          first(line, waiter, 'granted');
          continue;
        }
      }
      if (answer !== 'away' && answer !== 'elsewhere') {
        const at = grant?.holders.length === 0 ? requestedAt : line.recalledAt;
        line.exhausted.set(answer === 'exhausted' ? 0 : request.token, { at, need: request.need, answer });
        line.rejectedAt = now();
      }
      first(line, waiter, answer);
    }
    line.isRequesting = false;
    // Waiting requests are checked again, also when no node answers.
    if (line.waiting.length > 0) deps.after(restingMs > 0 ? restingMs : recallMs, () => void serve(account));
    else if (now() - line.rejectedAt >= restMs) lines.delete(account);
    else deps.after(restMs, () => void serve(account));
  };

  const request = (requested: LeaseRequest): Promise<LeaseAnswer> => {
    const line = lineOf(requested.account);
    return new Promise((resolve) => {
      line.waiting.push({ request: requested, since: now(), answer: resolve, isRemote: false });
      void serve(requested.account);
    });
  };

  /** Resolves when all that was returned until now is written. @param answerWritten null = it is not. */
  const written = (account: number, answerWritten: (grant: Grant | null) => void) => {
    grantees.push(answerWritten);
    send({ type: 'acquire', account, token: 0, need: 0, tokenNeed: 0, use: 0, nodes: 1 });
  };

  return {
    request,
    recalled(account, token, by, mark, tokenOnly = false) {
      if (!tokenOnly) returnIdle('account', account);
      if (token > 0) returnIdle('token', token);
      // The recalling node finds it then.
      written(account, (grant) => {
        if (grant !== null) deps.answer(account, by, mark);
      });
    },
    async recallAll(account) {
      const all = Number.MAX_SAFE_INTEGER;
      const missing = () => ({ account: all, token: 0 });
      await request({ account, token: 0, need: all, missing, reserve: () => false, partial: true });
      returnIdle('account', account);
      await new Promise<void>((resolve) => written(account, () => resolve()));
    },
    onResponse(account, by, mark) {
      const line = lines.get(account);
      if (line === undefined || line.mark !== mark) return;
      line.responses.add(by);
      line.updated = true;
      void serve(account);
    },
    settled(unspent) {
      for (const { kind, subject, amount } of unspent) leaseStore.raise(kind, subject, amount);
    },
    prefetch(account, token, amount, done) {
      if (deps.unavailable()) return;
      const [need, tokenNeed] = token === 0 ? [1, 0] : [0, 1];
      grantees.push((grant) => {
        if (grant !== null) done(token === 0 ? grant.granted : grant.tokenGranted);
      });
      send({ type: 'acquire', account, token, need, tokenNeed, use: amount, nodes: deps.nodes() });
    },
    idle: returnIdle,
    begin(fresh) {
      epoch = fresh;
      outgoing = outgoing.filter(({ type }) => type === 'acquire');
      leaseStore.drop();
    },
  };
}
