/**
 * Leases on accounts and limits, or on budgets, that a node shares with others: acquired when a request needs them, returned when
 * they are idle or another node asks. Memory is raised after the commit and lowered before it, so that the node never
 * assumes more than the ledger grants.
 */

import type { Period } from '../../contract/period.ts';
import type { Grant, LeaseKind, LeaseMove, MoveOutcome, SubjectState, UnspentLease } from '../ports.ts';
import { LeaseMoves } from './lease-moves.ts';

/** The memory that the relay spends from. Amounts include what open requests hold. */
export interface LeaseStore {
  /** @param amount may be 0. @param state of the account or budget, known before any of the amount is in reach. */
  raise(kind: LeaseKind, subject: number, amount: number, state?: SubjectState): void;
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
  /** As `Acquire` has it. */
  readonly floor?: number;
  /** Takes it, when it is in reach. */
  readonly reserve: () => boolean;
  /** Where no node has all of it, what there is will do. */
  readonly partial?: boolean;
  /** In reach by now. */
  readonly received?: (grant: Grant) => void;
}

export interface LeaseDeps {
  /** What `account` is in all that is asked for: a user's account, or a budget, which has no tokens; default: an account. */
  readonly kind?: 'account' | 'budget';
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

/** How long a request waits for what another node holds. */
const timeoutMs = 2000;
/** Minimum time between recalls, and between repetitions when nodes do not answer. */
const recallMs = 50;
const askAgainMs = 500;
/** Between two questions for an account that had nothing left: repeated requests do not keep the ledger busy. */
const restMs = 20;

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
  /** Number of the last recall. */
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

export class Leases {
  readonly #deps: LeaseDeps;
  readonly #kind: 'account' | 'budget';
  readonly #moves: LeaseMoves;
  /** By account. */
  readonly #lines = new Map<number, Line>();
  /** Number of the last recall. */
  #mark = 0;

  constructor(deps: LeaseDeps) {
    const { kind = 'account', leaseStore, move, isUncertain, now, after } = deps;
    this.#deps = deps;
    this.#kind = kind;
    const raise: LeaseStore['raise'] = (of, subject, amount, state) => leaseStore.raise(of, subject, amount, state);
    this.#moves = new LeaseMoves({ kind, move, isUncertain, raise, now, after });
  }

  request(request: LeaseRequest): Promise<LeaseAnswer> {
    const line = this.#lineOf(request.account);
    return new Promise((resolve) => {
      line.waiting.push({ request, since: this.#deps.now(), answer: resolve, isRemote: false });
      void this.#serve(request.account);
    });
  }

  /** Another node waits for this account, and token where there is one: idle amounts are returned at once. @param tokenOnly the balance stays. */
  recalled(account: number, token: number, by: number, mark: number, tokenOnly = false): void {
    if (!tokenOnly) this.idle(this.#kind, account);
    if (token > 0) this.idle('token', token);
    // The recalling node finds it then.
    this.#whenReturned(account, (isWritten) => {
      if (isWritten) this.#deps.answer(account, by, mark);
    });
  }

  /** Another node has nothing idle, or has just returned it. An answer to an earlier recall does not count. */
  onResponse(account: number, by: number, mark: number): void {
    const line = this.#lines.get(account);
    if (line === undefined || line.mark !== mark) return;
    line.responses.add(by);
    line.updated = true;
    void this.#serve(account);
  }

  /** Collects idle amounts from all nodes, and leaves them unleased for a command that takes them from the balance itself. */
  async recallAll(account: number): Promise<void> {
    const all = Number.MAX_SAFE_INTEGER;
    const missing = () => ({ account: all, token: 0 });
    await this.request({ account, token: 0, need: all, missing, reserve: () => false, partial: true });
    this.idle(this.#kind, account);
    await new Promise<void>((resolve) => this.#whenReturned(account, () => resolve()));
  }

  /** Called after the commit of settlements. @param unspent parts of this node's leases that they did not take. */
  settled(unspent: readonly UnspentLease[]): void {
    for (const { kind, subject, amount } of unspent) this.#deps.leaseStore.raise(kind, subject, amount);
  }

  /**
   * Leases some ahead of demand, where it is unleased: no other node is asked for it.
   * @param token 0 = of the account itself. @param done called once; null = the ledger does not answer.
   */
  prefetch(account: number, token: number, amount: number, done: (grant: Grant | null) => void): void {
    if (this.#deps.unavailable()) {
      done(null);
      return;
    }
    const [need, tokenNeed] = token === 0 ? [1, 0] : [0, 1];
    this.#moves.acquire(
      { type: 'acquire', account, token, need, tokenNeed, use: amount, nodes: this.#deps.nodes() },
      done,
    );
  }

  /** Nothing uses it for the moment: it is returned. */
  idle(kind: LeaseKind, subject: number): void {
    const amount = this.#deps.leaseStore.takeIdle(kind, subject);
    if (amount > 0) this.#moves.giveBack(kind, subject, amount);
  }

  /** Voids all leases; the node continues under this epoch. */
  begin(epoch: number): void {
    this.#moves.begin(epoch);
    this.#deps.leaseStore.drop();
  }

  #lineOf(account: number): Line {
    const known = this.#lines.get(account);
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
    this.#lines.set(account, fresh);
    return fresh;
  }

  /** @param done called when all that was returned until now is written, or is not. */
  #whenReturned(account: number, done: (isWritten: boolean) => void): void {
    this.#moves.acquire({ type: 'acquire', account, token: 0, need: 0, tokenNeed: 0, use: 0, nodes: 1 }, (grant) =>
      done(grant !== null),
    );
  }

  /** Serves one account's waiters in the order of their arrival. */
  async #serve(account: number): Promise<void> {
    const line = this.#lineOf(account);
    if (line.isRequesting) return;
    line.isRequesting = true;
    let restingMs = 0;
    for (let waiter = line.waiting[0]; waiter !== undefined; waiter = line.waiting[0]) {
      const known = waiter.request.reserve() ? 'granted' : this.#knownOf(line, waiter);
      if (known === null) {
        restingMs = line.rejectedAt + restMs - this.#deps.now();
        if (restingMs > 0) break;
      }
      const answer = known ?? (await this.#ask(line, waiter));
      if (answer !== null) this.#answerFirst(line, waiter, answer);
      else if (!line.updated) break;
    }
    line.isRequesting = false;
    this.#serveLater(account, line, restingMs);
  }

  /** Waiting requests are checked again, also when no node answers. */
  #serveLater(account: number, line: Line, restingMs: number): void {
    const { now, after } = this.#deps;
    const again = () => void this.#serve(account);
    if (line.waiting.length > 0) after(restingMs > 0 ? restingMs : recallMs, again);
    else if (now() - line.rejectedAt >= restMs) this.#lines.delete(account);
    else after(restMs, again);
  }

  #answerFirst(line: Line, waiter: Waiter, answer: LeaseAnswer): void {
    line.waiting.shift();
    waiter.answer(answer);
  }

  /** Asks the ledger once. @returns null = it waits for other nodes. */
  async #ask(line: Line, waiter: Waiter): Promise<LeaseAnswer | null> {
    const { request, since } = waiter;
    const { now } = this.#deps;
    line.updated = false;
    const requestedAt = now();
    // Amounts returned before these answers are in the ledger that is queried now.
    const received = new Set(line.recalledAt >= since ? line.responses : []);
    const grant = await this.#acquire(request, since);
    if (grant !== null && request.reserve()) return 'granted';
    const answer = this.#judge(line, waiter, grant, received);
    if (answer === null) return null;
    if (request.partial === true && answer !== 'away' && now() - since < timeoutMs) {
      await this.#acquire(request, since, true);
      if (request.reserve()) return 'granted';
    }
    if (answer !== 'away' && answer !== 'elsewhere') {
      const at = grant?.holders.length === 0 ? requestedAt : line.recalledAt;
      line.exhausted.set(answer === 'exhausted' ? 0 : request.token, { at, need: request.need, answer });
      line.rejectedAt = now();
    }
    return answer;
  }

  /** @returns what was found lately for as much or less; null = the ledger has to be asked. */
  #knownOf(line: Line, { request: { token, need, missing }, since }: Waiter): LeaseAnswer | null {
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
  }

  /** @returns null = the ledger does not answer. A later grant is added to memory all the same. */
  #acquire(request: LeaseRequest, since: number, partial = false): Promise<Acquired | null> {
    const { unavailable, now, after, nodes } = this.#deps;
    const { account, token, missing, use = 0, floor = 0, received } = request;
    return new Promise((resolve) => {
      if (unavailable() || this.#moves.pendingMs() >= timeoutMs) return resolve(null);
      const { account: need, token: tokenNeed } = missing();
      this.#moves.acquire(
        { type: 'acquire', account, token, need, tokenNeed, use, floor, nodes: nodes(), partial },
        (grant) => {
          if (grant === null) return resolve(null);
          received?.(grant);
          const { granted, tokenGranted } = grant;
          resolve({ ...grant, missingAccount: granted < need, missingToken: tokenGranted < tokenNeed });
        },
      );
      after(Math.max(0, timeoutMs - (now() - since)), () => resolve(null));
    });
  }

  /** @param received nodes that had answered before that nothing idle is left. @returns null = it waits for others. */
  #judge(line: Line, waiter: Waiter, grant: Acquired | null, received: ReadonlySet<number>): LeaseAnswer | null {
    const { request, since } = waiter;
    const timedOut = this.#deps.now() - since >= timeoutMs;
    if (grant === null) return timedOut || this.#deps.unavailable() ? (waiter.isRemote ? 'elsewhere' : 'away') : null;
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
    this.#recall(request, line, since, grant);
    return null;
  }

  /** Only what the ledger had too little of: the node that spends the rest keeps it. */
  #recall({ account, token }: LeaseRequest, line: Line, since: number, grant: Acquired): void {
    const { holders, missingAccount, missingToken } = grant;
    const now = this.#deps.now();
    const elapsed = now - line.recalledAt;
    const isOpen = line.recalledAt >= since && !holders.every((one) => line.responses.has(one));
    if (elapsed < (isOpen ? askAgainMs : recallMs)) return;
    line.recalledAt = now;
    line.mark = ++this.#mark;
    line.responses.clear();
    this.#deps.recall(account, missingToken ? token : 0, holders, line.mark, !missingAccount);
  }
}
