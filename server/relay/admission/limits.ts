/**
 * How often, how much and how many at once: rate windows of users, tokens and groups, and the tokens' period budgets. Memory
 * only, one synchronous step; all relay threads count together.
 */

import { type BudgetAnswer, createBudgets } from '../../billing/balances/budgets.ts';
import { createMoney, type Money } from '../../billing/balances/money.ts';
import { Row } from '../../billing/balances/open-requests.ts';
import { createWindows, ringCells, type Windows } from '../../billing/balances/rate-windows.ts';
import { groupStripe, type Memory, userStripe } from '../../billing/balances/shared-memory.ts';
import { Flow, Purse } from '../../billing/balances/slots.ts';
import { AppError, type ErrorCode } from '../../contract/errors.ts';
import type { RateLimits, TokenSnapshot } from '../../contract/snapshot.ts';
import type { Principal } from '../intake/inquiry.ts';
import type { ModelRequestRule, RelaySettings } from '../state/settings.ts';
import type { SiteVisit } from './site-rates.ts';

/** Where a request is counted that is about to be read. */
export interface Entering {
  /** Of the open request, 0 for none. */
  readonly row: number;
  /** The whole site has counted it in: its rates have been looked at. */
  readonly site?: SiteVisit | undefined;
}

/** What a request will cost as far as is known before it runs. */
export interface Asked {
  /** Of the prompt. */
  readonly tokens: number;
  /** Tokens that the answer may have; absent = none. */
  readonly output?: number;
  /** Quota held for it. */
  readonly hold: number;
  /** Of the open request, 0 for none. */
  readonly row: number;
}

export interface RequestEnd {
  readonly tokens: number;
  readonly charged: number;
  readonly success: boolean;
}

/** A request that was let in; `ended` or `withdraw` must be called exactly once. */
export interface Admission {
  /** Of the open request it was counted with, 0 for none. */
  readonly row: number;
  /** Set where the whole site counts it. */
  readonly site: SiteVisit | undefined;
  /** Takes its tokens and its part of the period budgets, all of it or nothing. @throws AppError limit_tpm, token_budget_* */
  reserve(asked: Asked): void;
  /** Gives back what `reserve` took. */
  release(): void;
  /** Takes more of the period budgets. @returns false when they do not have it. */
  extend(more: number): boolean;
  /** Another turn of a conversation counts as a request of its own. @param spent tokens of the turns before that were not told yet. @throws AppError limit_* */
  turn(spent: number): void;
  ended(outcome: RequestEnd): void;
  /** It never ran, and counts in nothing. */
  withdraw(): void;
}

export interface Limits {
  /** Counts the request in before anything of it is read. @throws AppError limit_*: who ran out, how much is left, when it resets (`seconds`). */
  enter(principal: Principal, entering: Entering): Admission;
  /** Counts in what is known as a whole. @throws AppError limit_*, token_budget_* */
  admit(principal: Principal, asked: Asked & Entering): Admission;
  /** Whether the caller's requests under way are counted: their open request must be known by then. */
  countsRunning(principal: Principal): boolean;
  /** The period budget of which nothing is left; null = none. */
  usedUp(token: TokenSnapshot): BudgetAnswer | null;
  /** Quota that the token's period budgets have left. */
  room(token: TokenSnapshot): number;
}

export interface LimitsDeps {
  readonly settings: () => RelaySettings;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds of a clock that never goes back: for windows; budgets follow the calendar. */
  readonly steady: () => number;
  /** Where it is counted; the caller's own when absent. */
  readonly money?: Money;
  /** Machines that share each limit evenly where nobody counts for all of them; default: one. */
  readonly nodes?: () => number;
}

/** Whose limit it is; `name` is also what people read. */
interface Scope {
  readonly name: string;
  /** Where it is counted. */
  readonly place: number;
  readonly requests: number;
  readonly tokens: number;
  readonly limits: RateLimits;
  /** Of the open request: it counts among those under way here. */
  readonly runs: number;
  /** Tokens that the request has reserved here. */
  taken: number;
  /** When it took what was left instead of all that it may use, 0 = it did not. */
  cappedMs: number;
}

const minuteMs = 60_000;
/** Nobody knows when a request under way will end. */
const concurrencySeconds = 1;

export const unlimited: Admission = {
  row: 0,
  site: undefined,
  reserve: () => undefined,
  release: () => undefined,
  extend: () => true,
  turn: () => undefined,
  ended: () => undefined,
  withdraw: () => undefined,
};

export function createLimits(deps: LimitsDeps): Limits {
  const money = deps.money ?? createMoney();
  const { memory, accounts } = money;
  const windows = createWindows(memory, minuteMs);
  const budgets = createBudgets(money);
  const nodes = deps.nodes ?? (() => 1);
  /** Of a limit, this machine's part. One is let in everywhere: a limit below the number of machines is exceeded by these. */
  const share = (limit: number): number => {
    const among = nodes();
    return among === 1 || limit === 0 ? limit : Math.max(1, Math.floor(limit / among));
  };
  const visit = createUserWindows(memory, share);

  const refuse = (code: ErrorCode, who: string, limit: number, waitMs: number): never => {
    throw new AppError(code, { who, limit, seconds: Math.max(1, Math.ceil(waitMs / 1000)) });
  };

  const check = (scope: Scope, site: boolean, now: number) => {
    const concurrency = share(scope.limits.concurrency);
    if (concurrency > 0 && memory.get(scope.place + Flow.running) >= concurrency)
      refuse('limit_concurrency', scope.name, scope.limits.concurrency, concurrencySeconds * 1000);
    if (!site) checkRates(scope, now);
  };

  const checkRates = ({ requests, tokens, name, limits }: Scope, now: number) => {
    const [rpm, tpm] = [share(limits.rpm), share(limits.tpm)];
    if (rpm > 0 && windows.total(requests, now) + 1 > rpm)
      refuse('limit_rpm', name, limits.rpm, windows.waitMs(requests, rpm - 1, now));
    if (tpm > 0 && windows.total(tokens, now) >= tpm)
      refuse('limit_tpm', name, limits.tpm, windows.waitMs(tokens, tpm - 1, now));
  };

  /**
   * How much of the tokens per minute a request reserves: all that it may use. Where less is left, one request at a time may
   * go with what is left, or none with a long limit for its answer ever could; so the sum exceeds the limit by one request at
   * most. A prompt larger than the whole limit may go when nothing else is counted.
   */
  const reservable = (scope: Scope, { tokens: prompt, output = 0 }: Asked, now: number) => {
    const { place, tokens, name, limits } = scope;
    scope.taken = prompt + output;
    scope.cappedMs = 0;
    const tpm = share(limits.tpm);
    if (tpm === 0) return;
    const sum = windows.total(tokens, now);
    if (sum + scope.taken <= tpm) return;
    const rest = Math.max(0, tpm - Math.max(1, prompt));
    if (sum > rest) refuse('limit_tpm', name, limits.tpm, windows.waitMs(tokens, rest, now));
    const cappedMs = memory.get(place + Flow.cappedMs);
    if (cappedMs !== 0 && now - cappedMs < windows.spanMs)
      refuse('limit_tpm', name, limits.tpm, concurrencySeconds * 1000);
    scope.taken = Math.max(prompt, tpm - sum);
    scope.cappedMs = now;
  };

  const enter = ({ place, requests, runs }: Scope, row: number, now: number) => {
    windows.add(requests, 1, now);
    memory.add(place + Flow.running, 1);
    if (row === 0) return;
    memory.put(row + runs, 1);
    if (runs === Row.groupRuns) memory.put(row + Row.group, place);
  };

  const leave = ({ place, runs }: Scope, row: number) => {
    memory.add(place + Flow.running, -1);
    if (row !== 0) memory.put(row + runs, 0);
  };

  /** What it used takes the place of what it had reserved. */
  const correct = (scope: Scope, used: number, reservedMs: number, now: number) => {
    const more = used - scope.taken;
    if (more > 0) windows.add(scope.tokens, more, now);
    else if (more < 0) windows.take(scope.tokens, -more, reservedMs);
    const cell = scope.place + Flow.cappedMs;
    if (scope.cappedMs !== 0 && memory.get(cell) === scope.cappedMs) memory.put(cell, 0);
    scope.taken = 0;
    scope.cappedMs = 0;
  };

  const scopeAt = (name: string, place: number, limits: RateLimits, runs: number): Scope | null => {
    const requests = accounts.ratesOf(place);
    return requests === 0
      ? null
      : { name, place, requests, tokens: requests + ringCells, limits, runs, taken: 0, cappedMs: 0 };
  };
  const scopesOf = ({ token, group }: Principal, settings: RelaySettings): readonly Scope[] => {
    const groupLimits = settings.groupLimits.get(group);
    if ((token === null || token.limits === null) && groupLimits === undefined) return noScopes;
    const own =
      token === null || token.limits === null
        ? null
        : scopeAt(`API key ${token.name}`, accounts.seenToken(token), token.limits, Row.tokenRuns);
    const shared =
      groupLimits === undefined ? null : scopeAt(`group ${group}`, accounts.group(group), groupLimits, Row.groupRuns);
    return [own, shared].filter((scope) => scope !== null);
  };

  /** The user's lock comes before that of the group, which everybody takes in this order. What every request passes does without `locked` and its closure. */
  const lock = (purse: number, group: number) => {
    memory.lock(userStripe(purse));
    if (group !== 0) memory.lock(groupStripe(group));
  };
  const unlock = (purse: number, group: number) => {
    if (group !== 0) memory.unlock(groupStripe(group));
    memory.unlock(userStripe(purse));
  };
  const locked = <T>(purse: number, scopes: readonly Scope[], step: () => T): T => {
    const group = groupIn(scopes);
    lock(purse, group);
    try {
      return step();
    } finally {
      unlock(purse, group);
    }
  };

  const holdBudget = (token: TokenSnapshot | null, row: number, amount: number): BudgetAnswer | null => {
    const lacking = token === null ? null : budgets.hold(token, amount, deps.now() / 1000);
    if (lacking === null && row !== 0) memory.add(row + Row.budgetHeld, amount);
    return lacking;
  };
  /** Counted among the user's requests. */
  const come = ({ principal: { user }, rule, visits }: Arrival, at: number, counted: boolean) => {
    const visitor = rule === null ? 0 : accounts.visitor(user.id);
    if (rule !== null && visitor !== 0) visits.push(visit(visitor, rule, at, counted));
  };

  const steps: Steps = {
    letIn(arrival) {
      const { purse, scopes, row, site, enteredMs: now } = arrival;
      const group = groupIn(scopes);
      lock(purse, group);
      try {
        for (const scope of scopes) check(scope, site !== undefined, now);
        come(arrival, now, site !== undefined);
        for (const scope of scopes) enter(scope, row, now);
      } finally {
        unlock(purse, group);
      }
    },
    reserve({ principal: { token }, purse, scopes, site }, asked, now) {
      const group = groupIn(scopes);
      lock(purse, group);
      try {
        for (const scope of scopes)
          if (site === undefined) reservable(scope, asked, now);
          else scope.taken = asked.tokens + (asked.output ?? 0);
        const lacking = holdBudget(token, asked.row, asked.hold);
        if (lacking !== null)
          throw new AppError(lacking.period === 'day' ? 'token_budget_day' : 'token_budget_month', {
            remain: lacking.remain,
            need: asked.hold,
            seconds: Math.ceil(lacking.seconds),
          });
        for (const { tokens, place, taken, cappedMs } of scopes) {
          windows.add(tokens, taken, now);
          if (cappedMs !== 0) memory.put(place + Flow.cappedMs, cappedMs);
        }
      } catch (error) {
        for (const scope of scopes) {
          scope.taken = 0;
          scope.cappedMs = 0;
        }
        throw error;
      } finally {
        unlock(purse, group);
      }
    },
    extend: ({ principal: { token }, purse }, row, more) =>
      token === null || locked(purse, noScopes, () => holdBudget(token, row, more)) === null,
    turn(arrival, spent, counted) {
      const { scopes } = arrival;
      const at = deps.steady();
      locked(arrival.purse, scopes, () => {
        for (const { tokens } of scopes) windows.add(tokens, spent, at);
        counted();
        for (const scope of scopes) checkRates(scope, at);
        // Turns are let in by the machine that carries the conversation.
        come(arrival, at, false);
        for (const { requests } of scopes) windows.add(requests, 1, at);
      });
    },
    release({ principal: { token }, purse, scopes }, { row, held, reservedMs }) {
      locked(purse, scopes, () => {
        for (const scope of scopes) correct(scope, 0, reservedMs, reservedMs);
        if (token !== null) budgets.settle(accounts.seenToken(token), held, 0, deps.now() / 1000);
        if (row !== 0) memory.put(row + Row.budgetHeld, 0);
      });
    },
    ended({ principal: { token }, purse, scopes, visits, site }, { row, held, counted, reservedMs }, outcome) {
      const { tokens: used, charged, success } = outcome;
      const now = deps.steady();
      const group = groupIn(scopes);
      lock(purse, group);
      try {
        for (const scope of scopes) {
          correct(scope, used - counted, reservedMs, now);
          leave(scope, row);
        }
        if (token !== null) budgets.settle(accounts.seenToken(token), held, charged, deps.now() / 1000);
        if (row !== 0) memory.put(row + Row.budgetHeld, 0);
        if (!success) for (const each of visits) each.failed();
      } finally {
        unlock(purse, group);
      }
      site?.ended(used, success);
    },
    withdraw({ purse, scopes, row, enteredMs, visits, site }) {
      locked(purse, scopes, () => {
        for (const scope of scopes) {
          leave(scope, row);
          windows.take(scope.requests, 1, enteredMs);
        }
        for (const each of visits) each.withdraw();
      });
      site?.withdraw();
    },
  };

  const letIn = (principal: Principal, { row, site }: Entering): Admission => {
    const settings = deps.settings();
    const { user, token } = principal;
    const scopes = scopesOf(principal, settings);
    const rule = user.id === 0 ? null : settings.modelRequests;
    // The periods' sums are kept for every token: a budget may be set while one runs.
    if (scopes.length === 0 && rule === null && token === null) return unlimited;
    const purse = accounts.user(user.id);
    const arrival = { principal, purse, scopes, row, site, rule, enteredMs: deps.steady(), visits: [] };
    steps.letIn(arrival);
    return new Counted(steps, arrival, deps.steady);
  };

  return {
    usedUp: (token) =>
      token.limits === null || (token.limits.dayBudget === 0 && token.limits.monthBudget === 0)
        ? null
        : locked(accounts.user(token.userId), noScopes, () => budgets.hold(token, 0, deps.now() / 1000)),
    room: (token) =>
      token.limits === null
        ? Number.POSITIVE_INFINITY
        : locked(accounts.user(token.userId), noScopes, () => budgets.room(token, deps.now() / 1000)),
    countsRunning: (principal) => scopesOf(principal, deps.settings()).length > 0,
    enter: letIn,
    admit(principal, asked) {
      const admission = letIn(principal, asked);
      try {
        admission.reserve(asked);
      } catch (error) {
        admission.withdraw();
        throw error;
      }
      return admission;
    },
  };
}

const noScopes: readonly Scope[] = [];

function groupIn(scopes: readonly Scope[]): number {
  for (const { runs, place } of scopes) if (runs === Row.groupRuns) return place;
  return 0;
}

/** One request, and where it is counted. */
interface Arrival {
  readonly principal: Principal;
  /** The user's place. */
  readonly purse: number;
  readonly scopes: readonly Scope[];
  /** Of the open request it was counted with, 0 for none. */
  readonly row: number;
  readonly site: SiteVisit | undefined;
  readonly rule: ModelRequestRule | null;
  /** By the clock that never goes back. */
  readonly enteredMs: number;
  readonly visits: Visit[];
}

/** What became of an arrival meanwhile. */
interface Course {
  /** Of the open request that has the budgets' hold, 0 for none. */
  readonly row: number;
  /** Quota of the budgets. */
  readonly held: number;
  /** Tokens of earlier turns that are in the windows already. */
  readonly counted: number;
  /** When its tokens were reserved, by the clock that never goes back. */
  readonly reservedMs: number;
}

interface Steps {
  /** @throws AppError limit_* */
  letIn(arrival: Arrival): void;
  /** @throws AppError limit_tpm, token_budget_* */
  reserve(arrival: Arrival, asked: Asked, now: number): void;
  release(arrival: Arrival, course: Course): void;
  extend(arrival: Arrival, row: number, more: number): boolean;
  /** @param counted called when the tokens are in the windows. @throws AppError limit_* */
  turn(arrival: Arrival, spent: number, counted: () => void): void;
  ended(arrival: Arrival, course: Course, outcome: RequestEnd): void;
  withdraw(arrival: Arrival): void;
}

/** A class, for each request has one. */
class Counted implements Admission, Course {
  row: number;
  readonly site: SiteVisit | undefined;
  held = 0;
  counted = 0;
  reservedMs = 0;

  constructor(
    private readonly steps: Steps,
    private readonly arrival: Arrival,
    private readonly steady: () => number,
  ) {
    this.row = arrival.row;
    this.site = arrival.site;
  }

  reserve(asked: Asked): void {
    const now = this.steady();
    this.steps.reserve(this.arrival, asked, now);
    this.row = asked.row;
    this.held = asked.hold;
    this.reservedMs = now;
  }

  release(): void {
    this.steps.release(this.arrival, this);
    this.row = this.arrival.row;
    this.held = 0;
  }

  extend(more: number): boolean {
    if (!this.steps.extend(this.arrival, this.row, more)) return false;
    this.held += more;
    return true;
  }

  turn(spent: number): void {
    this.steps.turn(this.arrival, spent, () => {
      this.counted += spent;
    });
  }

  ended(outcome: RequestEnd): void {
    this.steps.ended(this.arrival, this, outcome);
  }

  withdraw(): void {
    if (this.reservedMs !== 0) this.release();
    this.steps.withdraw(this.arrival);
  }
}

interface Visit {
  /** It never ran. */
  withdraw(): void;
  /** It ran in vain. */
  failed(): void;
}

/** A request under way counts as a success until it fails: many at once do not get past the limit. */
function createUserWindows(memory: Memory, share: (limit: number) => number) {
  const spans = new Map<number, Windows>();
  const windowsOf = (spanMs: number): Windows => {
    const known = spans.get(spanMs) ?? createWindows(memory, spanMs);
    spans.set(spanMs, known);
    return known;
  };

  /** @param counted the whole site has looked at its limits already. */
  return (user: number, rule: ModelRequestRule, now: number, counted: boolean): Visit => {
    const { periodMs } = rule;
    const windows = windowsOf(periodMs);
    const all = memory.get(user + Purse.visits);
    const good = all + ringCells;
    const spanCell = user + Purse.visitsSpan;
    if (memory.get(spanCell) !== periodMs) {
      for (let cell = all; cell < good + ringCells; cell++) memory.put(cell, 0);
      memory.put(spanCell, periodMs);
    }
    const limits = [
      ['limit_requests', all, rule.total],
      ['limit_successes', good, rule.success],
    ] as const;
    for (const [code, ring, limit] of limits) {
      const own = share(limit);
      if (!counted && own > 0 && windows.total(ring, now) >= own) {
        const seconds = Math.max(1, Math.ceil(windows.waitMs(ring, own - 1, now) / 1000));
        throw new AppError(code, { limit, minutes: periodMs / minuteMs, seconds });
      }
    }
    windows.add(all, 1, now);
    windows.add(good, 1, now);
    // Counting has begun anew where the rule was changed meanwhile.
    const back = (ring: number) => memory.get(spanCell) === periodMs && windows.take(ring, 1, now);
    return {
      withdraw() {
        back(all);
        back(good);
      },
      failed: () => void back(good),
    };
  };
}
