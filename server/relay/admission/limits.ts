/**
 * How often, how much and how many at once: rate windows of users, tokens and groups. Memory only, one synchronous step; all
 * relay threads count together.
 */

import { createMoney, type Money } from '../../billing/balances/money.ts';
import { noRow, type OpenRequest, Row } from '../../billing/balances/open-requests.ts';
import { createWindows, ringCells, type Windows } from '../../billing/balances/rate-windows.ts';
import { lockedBoth, type Memory } from '../../billing/balances/shared-memory.ts';
import { RateSlot, UserSlot } from '../../billing/balances/slot.ts';
import { AppError, type ErrorCode } from '../../contract/errors.ts';
import type { NodeCount, RateLimits, RateUse } from '../../contract/snapshot.ts';
import type { Principal } from '../intake/parsed-request.ts';
import type { ModelRequestRule, RelaySettings } from '../state/settings.ts';
import type { RelayState } from '../state/state.ts';
import { type SiteVisit, tightest } from './site-rates.ts';

/** Where a request is counted that is about to be read. */
export interface Entering {
  readonly open?: OpenRequest;
  /** The whole site has counted it: its rates have been checked. */
  readonly site?: SiteVisit | undefined;
}

/** Use that a request will have, as far as it is known before it runs. */
export interface Requested {
  /** The tokens of the prompt. */
  readonly tokens: number;
  /** Tokens that the answer may have; absent = none. */
  readonly output?: number;
}

/** An admitted request; `ended` or `rollBack` must be called exactly once. */
export interface Admission {
  /** Its row, where it was counted together with one. */
  readonly open: OpenRequest;
  /** Reserves where the whole site counts, before `reserve`. @returns null = nothing has to be waited for. @throws AppError limit_* */
  reserveAtSite(requested: Requested): Promise<void> | null;
  /** Takes its tokens, all of them or none; what it took before, for another target, comes back. @param open its row; absent = it has none. @throws AppError limit_* */
  reserve(requested: Requested, open?: OpenRequest): void;
  /** Gives back what `reserve` took. */
  release(): void;
  /** Another turn of a conversation counts as a request of its own. @param spent tokens of the turns before that were not counted yet. @throws AppError limit_* */
  turn(spent: number): void;
  ended(tokens: number, success: boolean): void;
  /** How the limits of its caller stand, with this request counted: for each kind the one of which the least is left. */
  rates(): readonly RateUse[];
  /** It never ran, and counts in nothing. */
  rollBack(): void;
}

/** Nothing counts this request. */
export const unlimited: Admission = {
  open: noRow,
  reserveAtSite: () => null,
  reserve: () => undefined,
  release: () => undefined,
  turn: () => undefined,
  ended: () => undefined,
  rates: () => noRates,
  rollBack: () => undefined,
};

const noRates: readonly RateUse[] = [];

export interface LimitsDeps {
  readonly state: Pick<RelayState, 'settings'>;
  /** Milliseconds of a monotonic clock. */
  readonly monoNow: () => number;
  /** Where it is counted; the caller's own when absent. */
  readonly money?: Money;
  /**
   * Machines that share each limit evenly where no shared counter exists; default: one. Requests of a minute are shared by those
   * that admitted some in it, requests under way by those that live: nothing is under way on one that is gone.
   */
  readonly nodes?: () => NodeCount;
}

/** Whose limit it is. */
interface Scope {
  /** Also what people read. */
  readonly name: string;
  /** Where it is counted. */
  readonly slot: number;
  readonly requests: number;
  readonly tokens: number;
  readonly limits: RateLimits;
  /** Cell of the row, and what it holds while the request counts among those under way here. */
  readonly runs: number;
  readonly marks: number;
  /** Tokens that the request has reserved here. */
  taken: number;
  /** When it took what was left instead of all that it may use, 0 = it did not. */
  cappedMs: number;
}

const minuteMs = 60_000;
/** It is unknown when a running request will end. */
const concurrencySeconds = 1;

interface Refusing {
  /** Whose limit it is. */
  readonly who: string;
  readonly limit: number;
  /** Rest of the limit. */
  readonly remaining: number;
  readonly waitMs: number;
}

/**
 * Claude Code 2.1.332 waits for a minute and not a second more (`tengu_api_retry_after_too_long`): the slot that a window counts
 * too long is told by the next refusal.
 */
function reject(code: ErrorCode, { waitMs, ...params }: Refusing): never {
  throw new AppError(code, { ...params, seconds: Math.max(1, Math.ceil(Math.min(waitMs, minuteMs) / 1000)) });
}

export class Limits {
  readonly memory: Memory;
  readonly windows: Windows;
  readonly monoNow: () => number;
  private readonly money: Money;
  private readonly state: Pick<RelayState, 'settings'>;
  private readonly nodes: (() => NodeCount) | null;
  /** Of the users' rule, by their span. */
  private readonly spans = new Map<number, Windows>();

  constructor({ state, monoNow, money = createMoney(), nodes }: LimitsDeps) {
    this.money = money;
    this.memory = money.memory;
    this.windows = createWindows(money.memory, minuteMs);
    this.monoNow = monoNow;
    this.state = state;
    this.nodes = nodes ?? null;
  }

  /** Whether the caller's requests under way are counted: their row must be known by then. */
  countsRunning({ token, group }: Principal): boolean {
    return (token !== null && token.limits !== null) || this.state.settings.groupLimits.has(group);
  }

  /** Counts the request before anything of it is read. @throws AppError limit_*: whose limit, how much is left, when it resets (`seconds`). */
  enter(principal: Principal, { open = noRow, site }: Entering): Admission {
    const { settings } = this.state;
    const { user } = principal;
    const rule = user.id === 0 ? null : settings.modelRequests;
    const scopes = this.countsRunning(principal) ? this.scopesOf(principal, settings) : noScopes;
    if (scopes.length === 0 && rule === null && site === undefined) return unlimited;
    const slot = this.money.accounts.user(user.id);
    const counted = rule === null ? 0 : this.money.accounts.countedUser(user.id);
    const admission = new CountedAdmission(this, scopes, { slot, counted, rule }, open, site);
    admission.enter();
    return admission;
  }

  /** Whether requests of the group are counted. */
  countsIn(group: string): boolean {
    return this.state.settings.groupLimits.has(group);
  }

  /** Counts it in the caller's group alone: that of a virtual model's target. @throws AppError limit_* */
  enterTarget({ user, group }: Principal, { open = noRow, site }: Entering): Admission {
    const limits = this.state.settings.groupLimits.get(group);
    const scope = limits === undefined ? null : this.groupScope(group, limits, Row.targetRuns);
    if (scope === null) return unlimited;
    const counted = { slot: this.money.accounts.user(user.id), counted: 0, rule: null };
    const admission = new CountedAdmission(this, [scope], counted, open, site);
    admission.enter();
    return admission;
  }

  /** This machine's part of a limit. Each machine admits one at least: a limit below the number of machines is exceeded by these. */
  share(limit: number, of: keyof NodeCount): number {
    const among = this.nodes?.()[of] ?? 1;
    return among === 1 || limit === 0 ? limit : Math.max(1, Math.floor(limit / among));
  }

  windowsOf(spanMs: number): Windows {
    const known = this.spans.get(spanMs) ?? createWindows(this.memory, spanMs);
    this.spans.set(spanMs, known);
    return known;
  }

  private scopesOf({ token, group }: Principal, { groupLimits }: RelaySettings): readonly Scope[] {
    const ofKey =
      token === null || token.limits === null
        ? null
        : this.scopeAt(`API key ${token.name}`, this.money.accounts.seenToken(token), token.limits, Row.tokenRuns, 1);
    const limits = groupLimits.get(group);
    const ofGroup = limits === undefined ? null : this.groupScope(group, limits, Row.groupRuns);
    return [ofKey, ofGroup].filter((scope) => scope !== null);
  }

  private groupScope(group: string, limits: RateLimits, runs: number): Scope | null {
    const slot = this.money.accounts.group(group);
    return this.scopeAt(`group ${group}`, slot, limits, runs, slot);
  }

  /** @returns null = nothing can be counted there. */
  private scopeAt(name: string, slot: number, limits: RateLimits, runs: number, marks: number): Scope | null {
    const requests = this.money.accounts.ratesOf(slot);
    if (requests === 0) return null;
    return { name, slot, requests, tokens: requests + ringCells, limits, runs, marks, taken: 0, cappedMs: 0 };
  }
}

const noScopes: readonly Scope[] = [];

interface CountedUser {
  /** The slot of the user. */
  readonly slot: number;
  /** Where the user's requests are counted, 0 = they are not. */
  readonly counted: number;
  readonly rule: ModelRequestRule | null;
}

interface RateWindow {
  /** 0 = there is none. */
  readonly limit: number;
  /** This machine's part of it. */
  readonly share: number;
  readonly windows: Windows;
  readonly ring: number;
  readonly now: number;
}

/** Under the lock of the ring. */
function rateUse(kind: RateUse['kind'], { limit, share, windows, ring, now }: RateWindow): readonly RateUse[] {
  if (limit === 0) return noRates;
  const remaining = Math.max(0, share - windows.total(ring, now));
  return [{ kind, limit, remaining, resetMs: windows.waitMs(ring, 0, now) }];
}

class CountedAdmission implements Admission {
  /** Slot of the group, where it counts requests. */
  private readonly group: number;
  /** By the monotonic clock. */
  private enteredMs = 0;
  private reservedMs = 0;
  /** Tokens of earlier turns that are in the windows already. */
  private counted = 0;
  private readonly visits: UserVisit[] = [];

  constructor(
    private readonly limits: Limits,
    private readonly scopes: readonly Scope[],
    private readonly user: CountedUser,
    readonly open: OpenRequest,
    private readonly site: SiteVisit | undefined,
  ) {
    this.group = scopes.find(({ runs }) => runs !== Row.tokenRuns)?.slot ?? 0;
  }

  /** @throws AppError limit_* */
  enter(): void {
    const { limits, scopes, open, site } = this;
    const { memory, windows } = limits;
    const now = limits.monoNow();
    this.enteredMs = now;
    this.locked(() => {
      for (const scope of scopes) {
        this.checkConcurrency(scope);
        if (site === undefined) this.checkRates(scope, now);
      }
      this.visit(now, site !== undefined);
      for (const { requests, slot, runs, marks } of scopes) {
        windows.add(requests, 1, now);
        memory.add(slot + RateSlot.running, 1);
        if (open.row !== 0) memory.put(open.row + runs, marks);
      }
    });
  }

  reserveAtSite({ tokens, output = 0 }: Requested): Promise<void> | null {
    return this.site?.reserve(tokens, output) ?? null;
  }

  reserve(requested: Requested): void {
    const now = this.limits.monoNow();
    const { windows, memory } = this.limits;
    try {
      this.locked(() => {
        for (const scope of this.scopes) {
          if (this.reservedMs !== 0) this.correct(scope, 0, this.reservedMs);
          scope.taken = requested.tokens + (requested.output ?? 0);
          if (this.site === undefined) this.fit(scope, requested.tokens, now);
        }
        for (const { tokens, slot, taken, cappedMs } of this.scopes) {
          windows.add(tokens, taken, now);
          if (cappedMs !== 0) memory.put(slot + RateSlot.cappedMs, cappedMs);
        }
      });
    } catch (error) {
      for (const scope of this.scopes) {
        scope.taken = 0;
        scope.cappedMs = 0;
      }
      throw error;
    }
    this.reservedMs = now;
  }

  release(): void {
    this.locked(() => {
      for (const scope of this.scopes) this.correct(scope, 0, this.reservedMs);
    });
  }

  turn(spent: number): void {
    const { windows, monoNow } = this.limits;
    const now = monoNow();
    this.locked(() => {
      for (const { tokens } of this.scopes) windows.add(tokens, spent, now);
      this.counted += spent;
      for (const scope of this.scopes) this.checkRates(scope, now);
      // Turns are admitted by the machine that carries the conversation.
      this.visit(now, false);
      for (const { requests } of this.scopes) windows.add(requests, 1, now);
    });
  }

  ended(tokens: number, success: boolean): void {
    const now = this.limits.monoNow();
    this.locked(() => {
      for (const scope of this.scopes) {
        this.correct(scope, tokens - this.counted, now);
        this.leave(scope);
      }
      if (!success) for (const each of this.visits) each.failed();
    });
    this.site?.ended(tokens, success);
  }

  rates(): readonly RateUse[] {
    const { limits, scopes, site, visits } = this;
    if (site !== undefined) return site.rates();
    if (visits.length === 0 && scopes.every(({ limits: { rpm, tpm } }) => rpm === 0 && tpm === 0)) return noRates;
    const now = limits.monoNow();
    return this.locked(() => {
      const uses = scopes.flatMap(({ requests, tokens, limits: { rpm, tpm } }) => [
        ...this.use('requests', rpm, requests, now),
        ...this.use('tokens', tpm, tokens, now),
      ]);
      return tightest([...uses, ...(visits.at(-1)?.uses(now) ?? noRates)]);
    });
  }

  private use(kind: RateUse['kind'], limit: number, ring: number, now: number): readonly RateUse[] {
    const { limits } = this;
    return rateUse(kind, { limit, share: limits.share(limit, 'recent'), windows: limits.windows, ring, now });
  }

  rollBack(): void {
    if (this.reservedMs !== 0) this.release();
    this.locked(() => {
      for (const scope of this.scopes) {
        this.leave(scope);
        this.limits.windows.take(scope.requests, 1, this.enteredMs);
      }
      for (const each of this.visits) each.rollBack();
    });
    this.site?.rollBack();
  }

  /** Nobody else changes what the user or the group has open meanwhile. */
  private locked<T>(step: () => T): T {
    return lockedBoth(this.limits.memory, this.user.slot, this.group, step);
  }

  /** @throws AppError limit_concurrency */
  private checkConcurrency({ slot, name, limits }: Scope): void {
    const max = this.limits.share(limits.concurrency, 'live');
    if (max > 0 && this.limits.memory.get(slot + RateSlot.running) >= max)
      reject('limit_concurrency', {
        who: name,
        limit: limits.concurrency,
        remaining: 0,
        waitMs: concurrencySeconds * 1000,
      });
  }

  /** @throws AppError limit_rpm, limit_tpm */
  private checkRates({ requests, tokens, name, limits }: Scope, now: number): void {
    const { windows } = this.limits;
    const [rpm, tpm] = [this.limits.share(limits.rpm, 'recent'), this.limits.share(limits.tpm, 'recent')];
    const full = { who: name, remaining: 0 };
    if (rpm > 0 && windows.total(requests, now) + 1 > rpm)
      reject('limit_rpm', { ...full, limit: limits.rpm, waitMs: windows.waitMs(requests, rpm - 1, now) });
    if (tpm > 0 && windows.total(tokens, now) >= tpm)
      reject('limit_tpm', { ...full, limit: limits.tpm, waitMs: windows.waitMs(tokens, tpm - 1, now) });
  }

  /**
   * How much of the tokens per minute a request reserves: all that it may use. Where less is left, one request at a time may
   * go with what is left, or none with a long limit for its answer ever could; so the sum exceeds the limit by one request at
   * most. A prompt larger than the whole limit may go when nothing else is counted.
   * @throws AppError limit_tpm
   */
  private fit(scope: Scope, prompt: number, now: number): void {
    const { windows, memory } = this.limits;
    const { slot, tokens, name, limits } = scope;
    scope.cappedMs = 0;
    const tpm = this.limits.share(limits.tpm, 'recent');
    if (tpm === 0) return;
    const sum = windows.total(tokens, now);
    if (sum + scope.taken <= tpm) return;
    const rest = Math.max(0, tpm - Math.max(1, prompt));
    const left = { who: name, limit: limits.tpm, remaining: Math.max(0, tpm - sum) };
    if (sum > rest) reject('limit_tpm', { ...left, waitMs: windows.waitMs(tokens, rest, now) });
    const cappedMs = memory.get(slot + RateSlot.cappedMs);
    if (cappedMs !== 0 && now - cappedMs < windows.spanMs)
      reject('limit_tpm', { ...left, waitMs: concurrencySeconds * 1000 });
    scope.taken = Math.max(prompt, tpm - sum);
    scope.cappedMs = now;
  }

  /** Puts the real use in the place of the reserved one. */
  private correct(scope: Scope, used: number, now: number): void {
    const { windows, memory } = this.limits;
    const more = used - scope.taken;
    if (more > 0) windows.add(scope.tokens, more, now);
    else if (more < 0) windows.take(scope.tokens, -more, this.reservedMs);
    const cell = scope.slot + RateSlot.cappedMs;
    if (scope.cappedMs !== 0 && memory.get(cell) === scope.cappedMs) memory.put(cell, 0);
    scope.taken = 0;
    scope.cappedMs = 0;
  }

  private leave({ slot, runs }: Scope): void {
    const { memory } = this.limits;
    memory.add(slot + RateSlot.running, -1);
    if (this.open.row !== 0) memory.put(this.open.row + runs, 0);
  }

  /** Counted among the user's requests. @param bySite the whole site has checked its limits already. @throws AppError limit_requests, limit_successes */
  private visit(now: number, bySite: boolean): void {
    const { counted, rule } = this.user;
    if (rule === null || counted === 0) return;
    const visit = new UserVisit(this.limits, counted, rule, now);
    visit.enter(bySite);
    this.visits.push(visit);
  }
}

/** A request among those of its user. While it is under way it counts as a success until it fails: many at once do not get past the limit. */
class UserVisit {
  private readonly memory: Memory;
  private readonly windows: Windows;
  /** Rings of all requests, and of those that did not fail. */
  private readonly all: number;
  private readonly good: number;

  constructor(
    private readonly limits: Limits,
    private readonly user: number,
    private readonly rule: ModelRequestRule,
    private readonly enteredMs: number,
  ) {
    this.memory = limits.memory;
    this.windows = limits.windowsOf(rule.periodMs);
    this.all = this.memory.get(user + UserSlot.visits);
    this.good = this.all + ringCells;
  }

  /** @throws AppError limit_requests, limit_successes */
  enter(bySite: boolean): void {
    const { memory, windows, all, good, rule, enteredMs: now } = this;
    const spanCell = this.user + UserSlot.visitsSpan;
    if (memory.get(spanCell) !== rule.periodMs) {
      for (let cell = all; cell < good + ringCells; cell++) memory.put(cell, 0);
      memory.put(spanCell, rule.periodMs);
    }
    if (!bySite) {
      this.check('limit_requests', all, rule.total);
      this.check('limit_successes', good, rule.success);
    }
    windows.add(all, 1, now);
    windows.add(good, 1, now);
  }

  uses(now: number): readonly RateUse[] {
    const { limits, windows, rule, all, good } = this;
    const use = (limit: number, ring: number) =>
      rateUse('requests', { limit, share: limits.share(limit, 'recent'), windows, ring, now });
    return [...use(rule.total, all), ...use(rule.success, good)];
  }

  /** It never ran. */
  rollBack(): void {
    this.takeBack(this.all);
    this.takeBack(this.good);
  }

  failed(): void {
    this.takeBack(this.good);
  }

  private check(code: ErrorCode, ring: number, limit: number): void {
    const { windows, enteredMs: now, rule } = this;
    const own = this.limits.share(limit, 'recent');
    if (own === 0 || windows.total(ring, now) < own) return;
    const seconds = Math.max(1, Math.ceil(windows.waitMs(ring, own - 1, now) / 1000));
    throw new AppError(code, { limit, remaining: 0, minutes: rule.periodMs / minuteMs, seconds });
  }

  /** Counting has started over where the rule was changed meanwhile. */
  private takeBack(ring: number): void {
    if (this.memory.get(this.user + UserSlot.visitsSpan) === this.rule.periodMs)
      this.windows.take(ring, 1, this.enteredMs);
  }
}
