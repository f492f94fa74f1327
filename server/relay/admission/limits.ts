/** How often, how much and how many at once: rate windows of users, tokens and groups, and the tokens' period budgets. Memory only, one synchronous step. */
import { AppError, type ErrorCode } from '../../contract/errors.ts';
import type { Principal } from '../intake/inquiry.ts';
import type { ModelRequestRule, RelaySettings } from '../state/settings.ts';
import type { RateLimits, TokenSnapshot } from '../state/snapshot.ts';
import { type Budgets, createBudgets } from './budgets.ts';
import { createWindow, type Window } from './windows.ts';

/** What a request will cost as far as is known before it runs. */
export interface Asked {
  readonly tokens: number;
  /** Quota held for it. */
  readonly hold: number;
}

export interface Outcome {
  readonly tokens: number;
  readonly charged: number;
  readonly success: boolean;
}

/** A request that was let in; `ended` must be called exactly once. */
export interface Admission {
  /** Takes more of the period budgets. @returns false when they do not have it. */
  extend(more: number): boolean;
  /** Another turn of a conversation counts as a request of its own. @param spent tokens of the turns before that were not told yet. @throws AppError limit_* */
  turn(spent: number): void;
  ended(outcome: Outcome): void;
}

export interface Limits {
  /** Counts the request in. @throws AppError limit_*, token_budget_*: who ran out, how much is left, when it resets (`seconds`). */
  admit(principal: Principal, asked: Asked): Admission;
  /** Quota that the token's period budgets have left. */
  room(token: TokenSnapshot): number;
}

export interface LimitsDeps {
  readonly settings: () => RelaySettings;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds of a clock that never goes back: for windows; budgets follow the calendar. */
  readonly steady: () => number;
}

/** Whose limit it is; `name` is also what people read. */
interface Scope {
  readonly name: string;
  readonly key: string;
  readonly limits: RateLimits;
}

const minuteMs = 60_000;
/** Nobody knows when a request under way will end. */
const concurrencySeconds = 1;

export const unlimited: Admission = { extend: () => true, turn: () => undefined, ended: () => undefined };

export function createLimits(deps: LimitsDeps): Limits {
  const requests = createWindow(minuteMs);
  const tokens = createWindow(minuteMs);
  const running = new Map<string, number>();
  const budgets: Budgets = createBudgets();
  const users = createUserWindows();

  const refuse = (code: ErrorCode, who: string, limit: number, waitMs: number): never => {
    throw new AppError(code, { who, limit, seconds: Math.max(1, Math.ceil(waitMs / 1000)) });
  };

  const check = (scope: Scope, asked: Asked, now: number) => {
    const { concurrency } = scope.limits;
    if (concurrency > 0 && (running.get(scope.key) ?? 0) >= concurrency)
      refuse('limit_concurrency', scope.name, concurrency, concurrencySeconds * 1000);
    checkRates(scope, asked.tokens, now);
  };

  const checkRates = ({ key, name, limits }: Scope, asked: number, now: number) => {
    const { rpm, tpm } = limits;
    if (rpm > 0 && requests.total(key, now) + 1 > rpm)
      refuse('limit_rpm', name, rpm, requests.waitMs(key, rpm - 1, now));
    // A prompt larger than the whole limit may go when nothing else is counted; it would never fit otherwise.
    const rest = Math.max(0, tpm - asked);
    if (tpm > 0 && tokens.total(key, now) > rest) refuse('limit_tpm', name, tpm, tokens.waitMs(key, rest, now));
  };

  const enter = ({ key }: Scope, asked: Asked, now: number) => {
    requests.add(key, 1, now);
    tokens.add(key, asked.tokens, now);
    running.set(key, (running.get(key) ?? 0) + 1);
  };

  const leave = ({ key }: Scope, more: number, enteredAt: number, now: number) => {
    if (more > 0) tokens.add(key, more, now);
    else tokens.take(key, -more, enteredAt);
    const left = (running.get(key) ?? 1) - 1;
    if (left > 0) running.set(key, left);
    else running.delete(key);
  };

  return {
    room: (token) => budgets.room(token, deps.now() / 1000),
    admit(principal, asked) {
      const settings = deps.settings();
      const { user, token } = principal;
      const scopes = scopesOf(principal, settings);
      const rule = user.id === 0 ? null : settings.modelRequests;
      // The periods' sums are kept for every token: a budget may be set while one runs.
      if (scopes.length === 0 && rule === null && token === null) return unlimited;
      const now = deps.steady();
      for (const scope of scopes) check(scope, asked, now);
      const visit = rule === null ? null : users.visit(user.id, rule, now);
      const lacking = token === null ? null : budgets.hold(token, asked.hold, deps.now() / 1000);
      if (lacking !== null) {
        visit?.withdraw();
        throw new AppError(lacking.period === 'day' ? 'token_budget_day' : 'token_budget_month', {
          remain: lacking.remain,
          need: asked.hold,
          seconds: Math.ceil(lacking.seconds),
        });
      }
      for (const scope of scopes) enter(scope, asked, now);
      let held = asked.hold;
      /** Tokens of earlier turns that are in the windows already. */
      let counted = 0;
      const visits = visit === null ? [] : [visit];
      return {
        extend(more) {
          if (token === null) return true;
          if (budgets.hold(token, more, deps.now() / 1000) !== null) return false;
          held += more;
          return true;
        },
        turn(spent) {
          const at = deps.steady();
          for (const { key } of scopes) tokens.add(key, spent, at);
          counted += spent;
          for (const scope of scopes) checkRates(scope, 0, at);
          if (rule !== null) visits.push(users.visit(user.id, rule, at));
          for (const { key } of scopes) requests.add(key, 1, at);
        },
        ended({ tokens: used, charged, success }) {
          const endedAt = deps.steady();
          for (const scope of scopes) leave(scope, used - asked.tokens - counted, now, endedAt);
          if (token !== null) budgets.settle(token, held, charged, deps.now() / 1000);
          if (!success) for (const each of visits) each.failed();
        },
      };
    },
  };
}

function scopesOf({ token, group }: Principal, settings: RelaySettings): Scope[] {
  const scopes: Scope[] = [];
  if (token?.limits != null) scopes.push({ name: `API key ${token.name}`, key: `t${token.id}`, limits: token.limits });
  const groupLimits = settings.groupLimits.get(group);
  if (groupLimits !== undefined) scopes.push({ name: `group ${group}`, key: `g${group}`, limits: groupLimits });
  return scopes;
}

interface Visit {
  /** It never ran. */
  withdraw(): void;
  /** It ran in vain. */
  failed(): void;
}

/** A request under way counts as a success until it fails: many at once do not get past the limit. */
function createUserWindows() {
  let periodMs = 0;
  let all: Window = createWindow(minuteMs);
  let good: Window = createWindow(minuteMs);
  return {
    visit(userId: number, rule: ModelRequestRule, now: number): Visit {
      if (rule.periodMs !== periodMs) {
        periodMs = rule.periodMs;
        all = createWindow(periodMs);
        good = createWindow(periodMs);
      }
      const key = String(userId);
      const [allNow, goodNow] = [all, good];
      const limits = [
        ['limit_requests', allNow, rule.total],
        ['limit_successes', goodNow, rule.success],
      ] as const;
      for (const [code, window, limit] of limits) {
        if (limit > 0 && window.total(key, now) >= limit) {
          const seconds = Math.max(1, Math.ceil(window.waitMs(key, limit - 1, now) / 1000));
          throw new AppError(code, { limit, minutes: rule.periodMs / minuteMs, seconds });
        }
      }
      allNow.add(key, 1, now);
      goodNow.add(key, 1, now);
      return {
        withdraw() {
          allNow.take(key, 1, now);
          goodNow.take(key, 1, now);
        },
        failed: () => goodNow.take(key, 1, now),
      };
    },
  };
}
