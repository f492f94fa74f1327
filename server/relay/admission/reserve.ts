/** The step that holds a request's money: how much is looked up and taken in one go under the user's lock; before it may be waited for a lease, for the whole site's rates, or for an exact count of the prompt. */
import { noAllowance } from '../../billing/balances/allowance.ts';
import type { BudgetedHolder, BudgetLack } from '../../billing/balances/budgets.ts';
import { AppError } from '../../contract/errors.ts';
import type { Authorize } from '../intake/authorize.ts';
import type { ParsedRequest, Principal } from '../intake/parsed-request.ts';
import { countedTexts, minCount, sumOf } from '../intake/prompt.ts';
import { shortage } from '../shared/quota-numbers.ts';
import type { RelayState } from '../state/state.ts';
import { affordableOutput, fitTokens, leastThought, minWorth, shorten } from './answer-limit.ts';
import type { TokenCounter } from './counting/counter.ts';
import type { Evidence, Likely } from './evidence.ts';
import { checkStorage } from './gate.ts';
import {
  elsewhere,
  isOfBudget,
  isTakenBalance,
  type LeaseClient,
  type LeaseOutcome,
  lesseeOf,
  lesseeOfBudget,
  maxLeases,
  refusalAfter,
} from './lease-client.ts';
import type { Limits } from './limits.ts';
import { type Estimate, estimate, mostTokens, reserveFor } from './meter.ts';
import { type Lack, maxWaitSeconds } from './money-queue.ts';
import { makePlan, type Plan, type PlanDeps } from './plan.ts';
import { type ChainTargetRequest, type Reservation, type ReservationCore, smallShare } from './reservation.ts';
import { fewestSearches, withFewerSearches } from './search-limit.ts';
import type { SiteRates } from './site-rates.ts';

export interface ReserveCore extends ReservationCore {
  readonly state: Pick<RelayState, 'settings' | 'nodes'>;
  readonly limits: Limits;
  /** Where all machines of a site count together; null = each for itself. */
  readonly rates: SiteRates | null;
  readonly counter: TokenCounter;
  readonly evidence: Evidence;
  readonly planDeps: PlanDeps;
  readonly authorize: Pick<Authorize, 'allowModel'>;
  /** Milliseconds of a monotonic clock. */
  readonly monoNow: () => number;
}

/** The step before, of a request whose model the caller may use: where it may go and what it may cost. @param channel the only one that may serve it; null = any. @throws AppError model_not_allowed, storage_unavailable, channel_*, model_price_unset. */
export function planFor(
  core: ReserveCore,
  parsed: ParsedRequest,
  principal: Principal,
  free: boolean,
  channel: number | null = null,
): Plan {
  checkStorage(core.ledger);
  const plan = makePlan(core.planDeps, parsed, principal, free, channel);
  for (const { model } of plan.others) core.authorize.allowModel(principal, model);
  return plan;
}

/** Prompts are counted where their bound takes more than this part of what there is. */
const countedShare = 1 / 16;
/** Other models make more tokens of the same text than the encodings that are counted with. */
const otherEncodings = 1.5;
/** Requests that each hold so small a part of what is left never take all of it. */
const plenty = 64;

/**
 * Where the request does not fit into what there is: `no` = it stays as it is; `unlessHeld` = it is asked for shorter, or
 * refused, unless money that other requests of the user hold would do; `yes` = it is, whatever they hold.
 */
type Shortens = 'no' | 'unlessHeld' | 'yes';

/**
 * At once where the most that the request can cost fits the balance; a prompt whose bound does not fit is counted first, and
 * what other requests of the user hold is waited for.
 * What is refused holds nothing; its admission is the caller's to withdraw.
 * @throws AppError request_tokens, rate_limited, limit_tpm, token_budget_*, budget_*, *_exhausted, storage_unavailable.
 */
export function reserve(core: ReserveCore, reservation: Reservation): void | Promise<void> {
  const most = reservation.mostTokens;
  if (most === Number.POSITIVE_INFINITY || mostTokens(reservation.plan.estimate) <= most)
    return reserveWithin(core, reservation);
  return reserveBounded(core, reservation, most);
}

/**
 * Brings prompt and answer within what a single request may take: the prompt is counted where its bound is too much, and the
 * answer is made shorter where its client does not say how long it may get. @throws AppError request_tokens, and as `reserve` does.
 */
async function reserveBounded(core: ReserveCore, reservation: Reservation, most: number): Promise<void> {
  const { texts, objects } = reservation.parsed.prompt;
  if (texts.length + objects.length > 0) await recount(core, reservation);
  const target = withinTokens(core, reservation, most);
  if (target !== reservation) reservation.planShorter(target.parsed, target.plan, null);
  await reserveWithin(core, reservation);
}

/** @returns the same where it is within. @throws AppError request_tokens */
function withinTokens<Target extends Pick<Reservation, 'parsed' | 'plan'>>(
  { state }: Pick<ReserveCore, 'state'>,
  target: Target,
  most: number,
): Target | Pick<Reservation, 'parsed' | 'plan'> {
  const { parsed, plan } = target;
  if (mostTokens(plan.estimate) <= most) return target;
  const shorter = state.settings.passThrough ? null : fitTokens(parsed, plan, most);
  if (shorter === null) throw tooManyTokens(parsed, plan, most);
  return shorter;
}

/** It names the least that would do. */
function tooManyTokens({ body }: ParsedRequest, { estimate }: Plan, most: number): AppError {
  const { answer, maxTokens } = estimate;
  const isOurs = answer !== null && !answer.named;
  const output = isOurs ? (minWorth(estimate, body) + leastThought(answer)) * answer.choices : maxTokens;
  const need = Math.max(most + 1, mostTokens(estimate) - maxTokens + output);
  return new AppError('request_tokens', { need: String(need), most: String(most) });
}

/** Another target of a virtual model within the same bound. @returns null = it is not. */
export function targetWithin(
  core: Pick<ReserveCore, 'state'>,
  target: ChainTargetRequest,
  most: number,
): ChainTargetRequest | null {
  try {
    const { parsed, plan } = withinTokens(core, target, most);
    return plan === target.plan ? target : { ...target, parsed, plan };
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

function reserveWithin(core: ReserveCore, reservation: Reservation): void | Promise<void> {
  const { allowance } = reservation.plan.settings;
  const share = allowance === 0 ? noAllowance : { most: allowance, nodes: core.state.nodes().recent };
  reservation.reserveUnder(share);
  findEvidence(core, reservation);
  const { plan, admission } = reservation;
  const counted = admission.reserveAtSite({ tokens: plan.promptTokens, output: plan.estimate.maxTokens });
  return counted === null ? reserveHere(core, reservation) : reserveCounted(core, reservation, counted);
}

async function reserveCounted(core: ReserveCore, reservation: Reservation, counted: Promise<void>): Promise<void> {
  await counted;
  return reserveHere(core, reservation);
}

/** All that the request may cost is so much of what there is that it matters whether less can be held. */
export function isTight({ account, plan, share }: Reservation): boolean {
  return account.allowance(share) > 0 && plan.max * plenty > account.available(plan.selfUse);
}

/** Cost of the request that is likely by evidence. It reads the prompt: never under the lock. */
function findEvidence(core: ReserveCore, reservation: Reservation): void {
  if (isTight(reservation)) reservation.expect(core.evidence.likely(reservation));
  else reservation.expect(null);
}

function reserveHere(core: ReserveCore, reservation: Reservation): void | Promise<void> {
  const { leaseClient } = core;
  const isFirst = reservation.account.line === null;
  if (
    leaseClient !== null &&
    (!isFirst || availableBalance(reservation) < reservation.max || budgetLacks(reservation).length > 0)
  )
    return reserveWithLease(core, leaseClient, reservation);
  const reserved = isFirst && tryReserve(core, reservation, leaseClient === null ? 'unlessHeld' : 'no');
  return typeof reserved === 'boolean'
    ? reservedHere(core, reservation, reserved, isFirst)
    : reservedLater(core, reservation, reserved);
}

async function reservedLater(core: ReserveCore, reservation: Reservation, reserved: Promise<boolean>): Promise<void> {
  return reservedHere(core, reservation, await reserved);
}

function reservedHere(
  core: ReserveCore,
  reservation: Reservation,
  done: boolean,
  wasTried = true,
): void | Promise<void> {
  const { leaseClient } = core;
  if (done) return leaseClient?.reserved();
  return leaseClient === null
    ? reserveInTurn(core, reservation, wasTried)
    : reserveWithLease(core, leaseClient, reservation);
}

/** Waits for what other requests of the user hold. What there is by then decides. @param wasTried it did not fit, whatever its prompt counts. */
async function reserveInTurn(core: ReserveCore, reservation: Reservation, wasTried: boolean): Promise<void> {
  const { account, parsed } = reservation;
  let isTried = wasTried;
  const lack = () => (isTried ? lackOf(reservation, unheldFor(reservation)) : null);
  const place = core.moneyQueue.join(account, parsed.request.signal, waitingSince(reservation, core.monoNow()), lack);
  if (place === null) {
    // A request that all the user's money would not pay for is refused for that.
    if (account.line !== null && minFor(reservation) <= unheldFor(reservation)) throw lineFull();
    return void (await tryReserve(core, reservation, 'yes'));
  }
  try {
    for (;;) {
      const turn = await place.next();
      if (turn === 'gone') throw clientGone(core, reservation);
      isTried = true;
      renewAfterWait(reservation);
      if (await tryReserve(core, reservation, turn === 'late' ? 'yes' : 'unlessHeld')) return;
    }
  } finally {
    place.leave();
  }
}

/** There is one deadline for all targets of a virtual model. */
const waitingSince = ({ chain }: Reservation, nowMs: number): number => chain?.waitingSince(nowMs) ?? nowMs;

/** Budgets of which this machine has leased less than the request may use. */
const budgetLacks = ({ account, budgetHolders: holders, max, plan }: Reservation): readonly BudgetLack[] =>
  holders === null
    ? noLacks
    : account.lacksOf(holders, {
        money: Math.max(1, max),
        requests: 1,
        tokens: Math.max(1, mostTokens(plan.estimate)),
      });
const noLacks: readonly BudgetLack[] = [];

/** Leases what the budgets of all holders lack, all at once. Open requests are not waited for: nearly all of them will count. @returns whether there is enough of each. */
async function leaseBudgets(leaseClient: LeaseClient, reservation: Reservation): Promise<boolean> {
  const lacks = budgetLacks(reservation);
  if (lacks.length === 0) return isWithinOwn(reservation);
  const outcomes = await Promise.all(
    lacks.map(({ id, need, available }) => leaseClient.acquire(lesseeOfBudget(id), need, available)),
  );
  return outcomes.every((outcome) => outcome === 'granted') && isWithinOwn(reservation);
}

/** Whether the budgets of end users have enough. Nothing is leased of them: each machine counts its own window. */
function isWithinOwn({ account, budgetHolders: holders, max, plan }: Reservation): boolean {
  const own = holders?.filter(({ kind }) => kind === 'end_user') ?? [];
  if (own.length === 0) return true;
  return account.availableIn(own, 0, true) >= max && account.availableIn(own, 2, true) >= mostTokens(plan.estimate);
}

/** Answers of the ledger that leave the balance out of it. */
const ofKey: ReadonlySet<LeaseOutcome> = new Set(['token-exhausted', 'day', 'month']);

/** Interval of questions to the ledger about quota that nothing on this machine shows. */
const askAgainMs = 200;

/** No request is refused or shortened because balance lies on other nodes that can still lend it, or that comes free there or here. */
async function reserveWithLease(core: ReserveCore, leaseClient: LeaseClient, reservation: Reservation): Promise<void> {
  const { principal, parsed, plan, account } = reservation;
  // The first hold must lie here, whatever the whole request may cost.
  const available = () =>
    reservation.likely !== null
      ? Math.min(
          availableBalance(reservation),
          account.available(plan.selfUse) + reservation.max - leastFor(reservation),
        )
      : availableBalance(reservation);
  const lessee = lesseeOf(principal, plan.selfUse);
  /** Milliseconds that the ledger took before it was waited in line: counting a prompt is no wait for money. */
  let askedMs = 0;
  /** Quota if no request, here or elsewhere, held anything. */
  let unheld = 0;
  /** null = the ledger was not asked yet: others were before it in line. */
  let outcome: LeaseOutcome | null = null;
  /** Nothing lacks of budgets, as far as the ledger was asked for it. */
  let isBudgeted = true;
  const mayGo = () => isDecided(reservation, availableFor(reservation), unheld);
  const waitsForKey = () =>
    outcome !== null && (ofKey.has(outcome) || (outcome === 'granted' && reservation.tokenId !== 0));
  const lack = () => (mayGo() ? null : waitsForKey() ? 'key' : 'balance');
  const join = () => {
    const sinceMs = waitingSince(reservation, core.monoNow() - askedMs);
    return core.moneyQueue.join(account, parsed.request.signal, sinceMs, lack);
  };
  let place = account.line === null ? null : join();
  try {
    if (place !== null) unheld = Number.POSITIVE_INFINITY;
    let turn = place === null ? 'go' : await place.next(askAgainMs);
    for (let leases = 1; leases < maxLeases; ) {
      if (turn === 'gone') throw clientGone(core, reservation);
      reservation.planAgain(parsed, plan);
      findEvidence(core, reservation);
      if (turn !== 'late' || outcome === null) {
        const startMs = core.monoNow();
        const asked = leaseClient.acquire(lessee, reservation.max, available).then(async (first) => {
          // Also where the balance has less: as much as it pays for is asked of them.
          isBudgeted = await leaseBudgets(leaseClient, reservation);
          return first;
        });
        const answer = place === null || turn === 'late' ? await asked : await place.within(asked);
        outcome = answer ?? outcome ?? 'elsewhere';
        askedMs += core.monoNow() - startMs;
        if (place?.isLate === true) turn = 'late';
      }
      const isGranted = outcome === 'granted' && isBudgeted;
      let shortens: Shortens = isGranted ? 'no' : 'yes';
      if (turn !== 'late' && !isGranted) {
        unheld =
          outcome === 'granted'
            ? availableIn(reservation, false)
            : outcome === 'elsewhere'
              ? Number.POSITIVE_INFINITY
              : await unheldOn(leaseClient, reservation, outcome);
        if (!mayGo()) shortens = 'no';
      }
      renewAfterWait(reservation);
      try {
        // Another thread of this machine may have taken what was leased.
        if (await tryReserve(core, reservation, turn === 'late' ? 'yes' : shortens)) return;
      } catch (error) {
        if (!isTakenBalance(outcome, error) && !(isGranted && isOfBudget(error)))
          throw refusalAfter(outcome, error, core.now() / 1000);
      }
      if (!isGranted && shortens === 'no') {
        place ??= join();
        turn = place === null ? 'late' : await place.next(askAgainMs);
      } else leases++;
    }
    throw elsewhere();
  } finally {
    place?.leave();
  }
}

/** Budgets of a period are part of what is leased of the key: of them only what this machine's requests hold is known. */
const unheldOn = (
  leaseClient: LeaseClient,
  { principal, plan, account, likely, share }: Reservation,
  outcome: LeaseOutcome,
): number | Promise<number> =>
  outcome === 'exhausted' || outcome === 'token-exhausted'
    ? leaseClient
        .total(lesseeOf(principal, plan.selfUse))
        .then((all) => (likely !== null && all > 0 ? all + account.allowance(share) : all))
    : account.availableUnheld(likely === null ? noAllowance : share, plan.selfUse, null);

/** As many of the user wait for the same as may: it goes before none of them. */
const lineFull = (): AppError => new AppError('rate_limited', { seconds: maxWaitSeconds });

/** @throws AppError as `identify` and `allowModel` do: what its caller might do when it came may have been taken away. */
const renewAfterWait = (reservation: Reservation): void => reservation.owner?.renew(reservation);

/** Nobody reads it. */
const clientGone = (core: ReserveCore, reservation: Reservation): AppError =>
  new AppError('user_exhausted', shortage(availableFor(reservation), reservation.max, core.state.settings));

/** Looks and holds without a wait between. @returns false where it does not fit and stays as it is. */
function tryReserve(core: ReserveCore, reservation: Reservation, shortens: Shortens): boolean | Promise<boolean> {
  const { account, budgetHolders: holders } = reservation;
  const reserved =
    holders === null
      ? account.lockedWith(checkAndReserve, core, reservation, shortens)
      : reserveOf(holders, core, reservation, shortens);
  return reserved === 'uncounted' ? countAndReserve(core, reservation, shortens) : reserved;
}

const reserveOf = (
  holders: readonly BudgetedHolder[],
  core: ReserveCore,
  reservation: Reservation,
  shortens: Shortens,
): boolean | 'uncounted' =>
  reservation.account.lockedWithHolders(holders, () => checkAndReserve(core, reservation, shortens));

function checkAndReserve(core: ReserveCore, reservation: Reservation, shortens: Shortens): boolean | 'uncounted' {
  const { parsed, plan } = reservation;
  const available = availableFor(reservation);
  const isAffordable = reservation.max <= available;
  const isStartable = canStart(reservation);
  // An attempt at another channel holds all of it.
  const isCovered = isStartable && reservation.max <= reservation.account.available(plan.selfUse);
  if (!(isAffordable && isCovered) && !reservation.counted) {
    const { texts, objects } = parsed.prompt;
    const countable = texts.length + objects.length > 0 && plan.estimate.promptTokens > 1;
    const tight = reserveFor(plan.estimate, 0) > available * countedShare || minFor(reservation) > available;
    if (countable && (tight || !isCovered)) return 'uncounted';
  }
  // A hold that cannot grow begins with all of the likely cost: the answer is made shorter where that is too much.
  if (!isAffordable || !(isStartable || reservation.staged)) return reserveLess(core, reservation, available, shortens);
  if (!isStartable && mayWait(reservation, available, shortens)) return false;
  reserveNow(core, reservation);
  return true;
}

/** A request that may cost more than there is begins with its likely cost. */
const canStart = (reservation: Reservation): boolean =>
  reservation.likely === null || leastFor(reservation) <= reservation.account.available(reservation.plan.selfUse);

/** Quota that it begins with at least: a stream that grows with the shortest answer that is worth asking for. */
const leastFor = (reservation: Reservation): number => {
  const { likely, max, staged } = reservation;
  return likely === null ? max : staged ? shortestOf(reservation) : likely.size.reserveAmount;
};

/** Likely quota of the shortest answer that is worth asking for. */
const shortestOf = ({ likely, plan, max, parsed }: Reservation): number =>
  leastOf(likely?.size ?? plan.estimate, max, parsed);

async function countAndReserve(core: ReserveCore, reservation: Reservation, shortens: Shortens): Promise<boolean> {
  await recount(core, reservation);
  findEvidence(core, reservation);
  const decideNow = () => checkAndReserve(core, reservation, shortens) === true;
  const { account, budgetHolders: holders } = reservation;
  return holders === null ? account.locked(decideNow) : account.lockedWithHolders(holders, decideNow);
}

/** Counts the prompt. */
async function recount(core: ReserveCore, reservation: Reservation): Promise<void> {
  const { parsed, plan } = reservation;
  const texts = countedTexts(parsed.prompt);
  const rest = isTight(reservation) ? core.evidence.restOf(reservation) : null;
  const all = await core.counter.count(parsed.model, rest === null ? texts : [...texts, rest]);
  const tokens = sumOf(all.slice(0, texts.length));
  const counted =
    plan.estimate.answer?.model.countable === true ? tokens : Math.max(tokens * otherEncodings, minCount(texts));
  reservation.recount(estimate(parsed, plan, counted), { all: tokens, rest: all[texts.length] ?? null });
}

/** More than there is was asked for. @returns false where it stays as it is. @throws AppError where no answer that can be paid for is worth asking for. */
function reserveLess(core: ReserveCore, reservation: Reservation, available: number, shortens: Shortens): boolean {
  return mayWait(reservation, available, shortens) ? false : reserveShorter(core, reservation, available);
}

const mayWait = (reservation: Reservation, available: number, shortens: Shortens): boolean =>
  shortens === 'no' || (shortens === 'unlessHeld' && !isDecided(reservation, available, unheldFor(reservation)));

/** A request that is too long for all there is takes what is free as long as that is so much of it; else it waits for more. */
const freeShare = 1 / 4;

/** Whether waiting for what other requests hold would change nothing. @param unheld what there would be if they held nothing. */
function isDecided(reservation: Reservation, available: number, unheld: number): boolean {
  const { max } = reservation;
  if (unheld <= available) return true;
  if (max <= available) return canStart(reservation);
  if (max <= unheld) return false;
  const min = minFor(reservation);
  if (min > unheld) return true;
  return available >= Math.max(min, unheld * freeShare) && canBegin(reservation);
}

/** Whether the shortest answer that is worth asking for is likely to be paid for. */
const canBegin = (reservation: Reservation): boolean =>
  reservation.likely === null || shortestOf(reservation) <= reservation.account.available(reservation.plan.selfUse);

/** Quota that a request waits for; null = none, as `isDecided` has it. */
function lackOf(reservation: Reservation, unheld: number): Lack {
  if (isDecided(reservation, availableFor(reservation), unheld)) return null;
  const { account, plan, max, share, tokenId } = reservation;
  return tokenId !== 0 && max <= account.availableOfBalance(share, plan.selfUse) ? 'key' : 'balance';
}

/** With the longest answer that can be paid for. @returns true. @throws AppError where none is worth asking for. */
function reserveShorter(core: ReserveCore, reservation: Reservation, available: number): true {
  const { passThrough } = core.state.settings;
  if (passThrough || !(shortenLikely(core, reservation, available) || shortenExactly(reservation))) {
    // The account or key with too little decides the error, which names the least that would do.
    const min = minFor(reservation);
    reservation.require(!passThrough && min > availableFor(reservation) ? min : reservation.max);
  }
  reserveNow(core, reservation);
  return true;
}

/** With all that it may cost held. @returns false where not even the shortest answer can be paid for so. */
function shortenExactly(reservation: Reservation): boolean {
  reservation.expect(null);
  const shorter = shortened(reservation, availableFor(reservation));
  if (shorter !== null) reservation.planShorter(shorter.parsed, shorter.plan, null);
  return shorter !== null;
}

/** By evidence. @returns false where there is none, or none of a shorter one. */
function shortenLikely(core: ReserveCore, reservation: Reservation, available: number): boolean {
  const { likely, parsed, plan, account } = reservation;
  if (likely === null) return false;
  if (planShorter(core, reservation, { parsed, plan, likely }, available)) return true;
  const room = account.available(plan.selfUse);
  const fewer = withFewerSearches(parsed, plan, available, { estimate: likely.size, available: room });
  const likelyFewer = fewer === null ? null : core.evidence.shortened(likely, parsed, fewer);
  if (fewer === null || likelyFewer === null) return false;
  return planShorter(core, reservation, { ...fewer, likely: likelyFewer }, available);
}

/** @param target the request, or what it becomes with fewer searches. @returns whether it can begin so. */
function planShorter(
  core: ReserveCore,
  reservation: Reservation,
  { parsed, plan, likely }: Pick<Reservation, 'parsed' | 'plan'> & { readonly likely: Likely },
  available: number,
): boolean {
  const { account, staged } = reservation;
  const room = account.available(plan.selfUse);
  const held = staged ? null : { estimate: likely.size, available: room };
  const shorter = shorten(parsed, plan, available, held);
  if (shorter === null) return false;
  const shorterLikely = core.evidence.shortened(likely, parsed, shorter);
  if (shorterLikely === null || (!staged && shorterLikely.size.reserveAmount > room)) return false;
  reservation.planShorter(shorter.parsed, shorter.plan, shorterLikely);
  return canStart(reservation);
}

/** @returns the same request with a shorter answer, and fewer searches where that is not enough; null = even that cannot be paid for. */
function shortened({ parsed, plan }: Reservation, available: number): Pick<Reservation, 'parsed' | 'plan'> | null {
  const shorter = shorten(parsed, plan, available);
  if (shorter !== null) return shorter;
  const fewer = withFewerSearches(parsed, plan, available);
  if (fewer === null || fewer.plan.max <= available) return fewer;
  return shorten(fewer.parsed, fewer.plan, available);
}

/** @throws AppError limit_tpm, token_budget_*, *_exhausted. */
function reserveNow(core: ReserveCore, reservation: Reservation): void {
  const { likely } = reservation;
  if (likely !== null) reserveLikely(core, reservation, likely);
  reservation.take();
}

/** Begins with less than it may cost, unless there is plenty: then nothing has to be read along to see what it costs so far. */
function reserveLikely(core: ReserveCore, reservation: Reservation, { size }: Likely): void {
  const { account, plan, max, staged } = reservation;
  const available = account.available(plan.selfUse);
  if (max * plenty <= available) return;
  if (!staged) {
    reservation.startWith(size.maxTokens, size.reserveAmount);
    return;
  }
  const ahead = Math.min(size.maxTokens, core.state.settings.aheadTokens * (size.answer?.choices ?? 1));
  // Answers that run together each begin with little where there is little.
  const isLittle = reserveFor(size, ahead) > available * smallShare;
  const modest = isLittle
    ? Math.min(ahead, minWorth(size, reservation.parsed.body) * (size.answer?.choices ?? 1))
    : ahead;
  const quota = reserveFor(size, modest);
  const less = quota <= available ? 0 : affordableOutput(size, available);
  // Nothing is left to begin with: this reservation fails for want of balance.
  if (less === 0) reservation.startWith(modest, quota);
  else reservation.startWith(less, reserveFor(size, less));
}

/** Quota that a request may cost at most for the balance, and the key's limit, to let it in. */
function availableBalance({ account, plan, share, likely }: Reservation): number {
  const spare = account.availableWith(share, plan.selfUse);
  return likely !== null ? spare : Math.min(spare, account.available(plan.selfUse));
}

function availableFor(reservation: Reservation): number {
  const available = availableBalance(reservation);
  const limits = reservation.principal.token?.limits ?? null;
  const ofKey = limits === null ? available : Math.min(available, reservation.account.availableBudget(limits));
  return reservation.budgetHolders === null ? ofKey : Math.min(ofKey, availableIn(reservation, true));
}

/** Quota that budgets leave it, in money and in what the tokens that they leave may cost. @param held what other requests hold is used. */
function availableIn({ account, budgetHolders: holders, plan: { estimate } }: Reservation, held: boolean): number {
  if (holders === null) return Number.POSITIVE_INFINITY;
  const money = account.availableIn(holders, 0, held);
  const tokens = account.availableIn(holders, 2, held);
  const over = mostTokens(estimate) - tokens;
  if (over <= 0) return money;
  const output = estimate.maxTokens - over;
  // Whatever is cheaper than that is shorter.
  return output < 1 ? 0 : Math.max(0, Math.min(money, reserveFor(estimate, output + 1) - 1));
}

/** The same, if no other request held anything. */
function unheldFor(reservation: Reservation): number {
  const { account, plan, principal, likely, share, budgetHolders } = reservation;
  const limits = principal.token?.limits ?? null;
  const unheld = account.availableUnheld(likely === null ? noAllowance : share, plan.selfUse, limits);
  return budgetHolders === null ? unheld : Math.min(unheld, availableIn(reservation, false));
}

/** Quota of the shortest answer that is worth asking for, with as few searches as can be asked for. */
const minFor = ({ plan, max, parsed }: Reservation): number => leastOf(fewestSearches(parsed, plan), max, parsed);

function leastOf(size: Estimate, max: number, { body }: ParsedRequest): number {
  const { answer } = size;
  return answer === null ? max : reserveFor(size, (minWorth(size, body) + leastThought(answer)) * answer.choices);
}
