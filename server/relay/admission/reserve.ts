/** The step that holds a request's money: how much is looked up and taken in one go under the user's lock; before it may be waited for a lease, for the whole site's rates, or for an exact count of the prompt. */
import { Feature } from '../../routing/features.ts';
import { requestsThinking } from '../../routing/offers.ts';
import type { Authorize } from '../intake/authorize.ts';
import type { ParsedRequest, Principal } from '../intake/parsed-request.ts';
import { countedTexts, minCount, sumOf } from '../intake/prompt.ts';
import { affordableOutput, leastThought, minWorth, shorten } from './answer-limit.ts';
import type { TokenCounter } from './counting/counter.ts';
import { checkStorage } from './gate.ts';
import { elsewhere, isTakenBalance, type LeaseClient, lesseeOf, maxLeases, refusalAfter } from './lease-client.ts';
import type { Limits } from './limits.ts';
import { estimate, reserveFor } from './meter.ts';
import { makePlan, type Plan, type PlanDeps } from './plan.ts';
import type { Reservation, ReservationCore } from './reservation.ts';

export interface ReserveCore extends ReservationCore {
  readonly limits: Limits;
  readonly counter: TokenCounter;
  readonly planDeps: PlanDeps;
  readonly authorize: Pick<Authorize, 'allowModel'>;
}

/** The step before, of a request whose model the caller may use: where it may go and what it may cost. @throws AppError model_not_allowed, storage_unavailable, channel_*, model_price_unset. */
export function planFor(core: ReserveCore, parsed: ParsedRequest, principal: Principal, free: boolean): Plan {
  checkStorage(core.ledger);
  const plan = makePlan(core.planDeps, parsed, principal, free);
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
 * At once where the most that the request can cost fits the balance; a prompt whose bound does not fit is counted first.
 * What is refused holds nothing; its admission is the caller's to withdraw.
 * @throws AppError rate_limited, limit_tpm, token_budget_*, *_exhausted, storage_unavailable.
 */
export function reserve(core: ReserveCore, reservation: Reservation): void | Promise<void> {
  const { overcommit, overrunLine } = reservation.plan.settings;
  const exact = overcommit === 1 || reservation.account.overrun() >= overrunLine;
  const times = exact ? 1 : overcommit;
  reservation.reserveUnder(times, times > 1 && mayGrow(reservation));
  const { plan, admission } = reservation;
  const counted = admission.site?.reserve(plan.promptTokens, plan.estimate.maxTokens) ?? null;
  return counted === null ? reserveHere(core, reservation) : counted.then(() => reserveHere(core, reservation));
}

function reserveHere(core: ReserveCore, reservation: Reservation): void | Promise<void> {
  const { leaseClient } = core;
  if (leaseClient !== null && availableBalance(reservation) < reservation.max)
    return reserveWithLease(core, leaseClient, reservation);
  const reserved = tryReserve(core, reservation, leaseClient === null);
  if (leaseClient === null) return reserved === true || reserved === false ? undefined : reserved.then(() => undefined);
  if (reserved === true) return leaseClient.reserved();
  if (reserved === false) return reserveWithLease(core, leaseClient, reservation);
  return reserved.then((done) => (done ? leaseClient.reserved() : reserveWithLease(core, leaseClient, reservation)));
}

/** No request is refused or shortened because balance lies on other nodes that can still lend it. */
async function reserveWithLease(core: ReserveCore, leaseClient: LeaseClient, reservation: Reservation): Promise<void> {
  const { principal, parsed, plan } = reservation;
  // What is leased counts as often in what requests may cost together, and once in what they hold.
  const times = reservation.staged ? reservation.overcommit : 1;
  const available = () => Math.floor(availableBalance(reservation) / times);
  for (let leases = 1; leases < maxLeases; leases++) {
    reservation.planAgain(parsed, plan);
    const outcome = await leaseClient.acquire(
      lesseeOf(principal, plan.selfUse),
      Math.ceil(reservation.max / times),
      available,
    );
    try {
      // Another thread of this machine may have taken what was leased.
      if (await tryReserve(core, reservation, outcome !== 'lent')) return;
    } catch (error) {
      if (isTakenBalance(outcome, error)) continue;
      throw refusalAfter(outcome, error, core.now() / 1000);
    }
  }
  throw elsewhere();
}

/** What there is must not change between the look and the hold. @param shortens a longer response than can be paid is asked for shorter, or refused. @returns false where it does not fit and is not shortened. */
function tryReserve(core: ReserveCore, reservation: Reservation, shortens: boolean): boolean | Promise<boolean> {
  const { memory } = core.balances.money;
  const { stripe } = reservation.account;
  let reserved: boolean | 'uncounted';
  memory.lock(stripe);
  try {
    reserved = checkAndReserve(core, reservation, shortens);
  } finally {
    memory.release(stripe);
  }
  return reserved === 'uncounted' ? countAndReserve(core, reservation, shortens) : reserved;
}

function checkAndReserve(core: ReserveCore, reservation: Reservation, shortens: boolean): boolean | 'uncounted' {
  const { parsed, plan } = reservation;
  const available = availableFor(reservation);
  const isAffordable = reservation.max <= available;
  // A stream that may cost more than there is begins with what there is.
  const canStart = !reservation.staged || minFor(reservation) <= reservation.account.available(plan.selfUse);
  if (!(isAffordable && canStart)) {
    const { texts, objects } = parsed.prompt;
    const countable = texts.length + objects.length > 0 && plan.estimate.promptTokens > 1;
    const tight = reserveFor(plan.estimate, 0) > available * countedShare || minFor(reservation) > available;
    if (countable && (tight || !canStart)) return 'uncounted';
  }
  if (!isAffordable) return shortens && reserveShorter(core, reservation, available);
  reserveNow(core, reservation);
  return true;
}

async function countAndReserve(core: ReserveCore, reservation: Reservation, shortens: boolean): Promise<boolean> {
  const { parsed, plan } = reservation;
  const texts = countedTexts(parsed.prompt);
  const tokens = sumOf(await core.counter.count(parsed.model, texts));
  const counted =
    plan.estimate.answer?.model.countable === true ? tokens : Math.max(tokens * otherEncodings, minCount(texts));
  const exact = estimate(parsed, plan, counted);
  if (exact.reserveAmount < reservation.max) reservation.recount(exact);
  return reservation.account.locked(() => {
    const available = availableFor(reservation);
    if (reservation.max > available) return shortens && reserveShorter(core, reservation, available);
    reserveNow(core, reservation);
    return true;
  });
}

/** With the longest answer that can be paid for. @returns true. @throws AppError where none is worth asking for. */
function reserveShorter(core: ReserveCore, reservation: Reservation, available: number): true {
  const shorter = core.state.settings.passThrough ? null : shorten(reservation.parsed, reservation.plan, available);
  if (shorter === null) {
    // The account or key with too little decides the error, which names the least that would do.
    const min = minFor(reservation);
    reservation.require(min > available ? min : reservation.max);
  } else {
    reservation.planAgain(shorter.parsed, shorter.plan);
  }
  reserveNow(core, reservation);
  return true;
}

/** @throws AppError limit_tpm, token_budget_*, *_exhausted. */
function reserveNow(core: ReserveCore, reservation: Reservation): void {
  if (reservation.staged) reservePart(core, reservation);
  reservation.take();
}

/** Begins with a modest hold, unless there is plenty: then nothing has to be read along to see what it costs so far. */
function reservePart(core: ReserveCore, reservation: Reservation): void {
  const { account, plan, max } = reservation;
  const available = account.available(plan.selfUse);
  if (max * plenty <= available) return;
  const { estimate: size } = plan;
  const modest = Math.min(size.maxTokens, core.state.settings.aheadTokens * (size.answer?.choices ?? 1));
  const quota = reserveFor(size, modest);
  const less = quota <= available ? 0 : affordableOutput(size, available);
  // Nothing left to begin with: the balance refuses it.
  if (less === 0) reservation.startWith(modest, quota);
  else reservation.startWith(less, reserveFor(size, less));
}

/** What a request may cost at most for the balance, and the key's limit, to let it in. */
function availableBalance({ account, plan, overcommit, staged }: Reservation): number {
  const spare = account.availableWith(overcommit, plan.selfUse);
  return staged ? spare : Math.min(spare, account.available(plan.selfUse));
}

function availableFor(reservation: Reservation): number {
  const available = availableBalance(reservation);
  const limits = reservation.principal.token?.limits ?? null;
  return limits === null ? available : Math.min(available, reservation.account.availableBudget(limits));
}

/** Quota of the shortest answer that is worth asking for. */
function minFor({ plan: { estimate: size }, max, parsed: { body } }: Reservation): number {
  return size.answer === null
    ? max
    : reserveFor(size, (minWorth(size, body) + leastThought(size.answer)) * size.answer.choices);
}

/** Whether what is held may grow with what is delivered: all that is paid for is seen, and ends when it is cut. */
function mayGrow({ parsed, plan: { estimate: size, route } }: Reservation): boolean {
  const { answer } = size;
  return (
    parsed.stream &&
    answer !== null &&
    !answer.model.thinking &&
    route.offers.stopOnCancel &&
    !((parsed.prompt.features & Feature.thought) !== 0 && requestsThinking(parsed.body))
  );
}
