/** The step that holds a request's money: how much is looked up and taken in one go under the user's lock; before it may be waited for a lease, for the whole site's rates, or for an exact count of the prompt. */
import type { ReserveRefusal } from '../../billing/balances/account.ts';
import { noRow, type OpenRequest } from '../../billing/balances/open-requests.ts';
import { AppError } from '../../contract/errors.ts';
import { reasonText } from '../../contract/storage-reasons.ts';
import { Feature } from '../../routing/features.ts';
import { requestsThinking } from '../../routing/offers.ts';
import type { Authorize } from '../intake/authorize.ts';
import type { ParsedRequest, Principal } from '../intake/parsed-request.ts';
import { countedTexts, minCount, sumOf } from '../intake/prompt.ts';
import { shortage } from '../shared/quota-numbers.ts';
import type { RelaySettings } from '../state/settings.ts';
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
export function reserve(core: ReserveCore, one: Reservation): void | Promise<void> {
  const { overcommit, overrunLine } = one.plan.settings;
  const exact = overcommit === 1 || one.account.overrun() >= overrunLine;
  if (!exact) one.overcommit = overcommit;
  one.staged = isStaged(one);
  const { plan, admission } = one;
  const counted = admission.site?.reserve(plan.promptTokens, plan.estimate.maxTokens) ?? null;
  return counted === null ? reserveHere(core, one) : counted.then(() => reserveHere(core, one));
}

function reserveHere(core: ReserveCore, one: Reservation): void | Promise<void> {
  const { leaseClient } = core;
  if (leaseClient !== null && availableBalance(one) < one.max) return reserveWithLease(core, leaseClient, one);
  const reserved = tryReserve(core, one, leaseClient === null);
  if (leaseClient === null) return reserved === true || reserved === false ? undefined : reserved.then(() => undefined);
  if (reserved === true) return leaseClient.reserved();
  if (reserved === false) return reserveWithLease(core, leaseClient, one);
  return reserved.then((done) => (done ? leaseClient.reserved() : reserveWithLease(core, leaseClient, one)));
}

/** No request is refused or shortened because balance lies on other nodes that can still lend it. */
async function reserveWithLease(core: ReserveCore, leaseClient: LeaseClient, one: Reservation): Promise<void> {
  const { principal, parsed, plan } = one;
  // What is leased counts as often in what requests may cost together, and once in what they hold.
  const times = one.staged ? one.overcommit : 1;
  const available = () => Math.floor(availableBalance(one) / times);
  for (let leases = 1; leases < maxLeases; leases++) {
    one.planAgain(parsed, plan);
    const outcome = await leaseClient.acquire(lesseeOf(principal, plan.selfUse), Math.ceil(one.max / times), available);
    try {
      // Another thread of this machine may have taken what was leased.
      if (await tryReserve(core, one, outcome !== 'lent')) return;
    } catch (error) {
      if (isTakenBalance(outcome, error)) continue;
      throw refusalAfter(outcome, error, core.now() / 1000);
    }
  }
  throw elsewhere();
}

/** What there is must not change between the look and the hold. @param shortens a longer response than can be paid is asked for shorter, or refused. @returns false where it does not fit and is not shortened. */
function tryReserve(core: ReserveCore, one: Reservation, shortens: boolean): boolean | Promise<boolean> {
  const { memory } = core.balances.money;
  const { stripe } = one.account;
  let reserved: boolean | 'uncounted';
  memory.lock(stripe);
  try {
    reserved = checkAndReserve(core, one, shortens);
  } finally {
    memory.release(stripe);
  }
  return reserved === 'uncounted' ? countAndReserve(core, one, shortens) : reserved;
}

function checkAndReserve(core: ReserveCore, one: Reservation, shortens: boolean): boolean | 'uncounted' {
  const { parsed, plan } = one;
  const available = availableFor(one);
  const isAffordable = one.max <= available;
  // A stream that may cost more than there is begins with what there is.
  const canStart = !one.staged || minFor(one) <= one.account.available(plan.selfUse);
  if (!(isAffordable && canStart)) {
    const { texts, objects } = parsed.prompt;
    const countable = texts.length + objects.length > 0 && plan.estimate.promptTokens > 1;
    const tight = reserveFor(plan.estimate, 0) > available * countedShare || minFor(one) > available;
    if (countable && (tight || !canStart)) return 'uncounted';
  }
  if (!isAffordable) return shortens && reserveShorter(core, one, available);
  reserveNow(core, one);
  return true;
}

async function countAndReserve(core: ReserveCore, one: Reservation, shortens: boolean): Promise<boolean> {
  const { parsed, plan } = one;
  const texts = countedTexts(parsed.prompt);
  const tokens = sumOf(await core.counter.count(parsed.model, texts));
  const counted =
    plan.estimate.answer?.model.countable === true ? tokens : Math.max(tokens * otherEncodings, minCount(texts));
  const exact = estimate(parsed, plan, counted);
  if (exact.reserveAmount < one.max) {
    one.plan = { ...plan, estimate: exact };
    one.reserved = exact.reserveAmount;
    one.max = exact.reserveAmount;
  }
  return one.account.locked(() => {
    const available = availableFor(one);
    if (one.max > available) return shortens && reserveShorter(core, one, available);
    reserveNow(core, one);
    return true;
  });
}

/** With the longest answer that can be paid for. @returns true. @throws AppError where none is worth asking for. */
function reserveShorter(core: ReserveCore, one: Reservation, available: number): true {
  const shorter = core.state.settings.passThrough ? null : shorten(one.parsed, one.plan, available);
  if (shorter === null) {
    // The account or key with too little decides the error, which names the least that would do.
    const min = minFor(one);
    const need = min > available ? min : one.max;
    one.reserved = need;
    one.max = need;
    one.reservedTokens = one.plan.estimate.maxTokens;
  } else {
    one.planAgain(shorter.parsed, shorter.plan);
  }
  reserveNow(core, one);
  return true;
}

/** Takes it: of the rates first, then of the key's budgets, its limit and the balance. @throws AppError limit_tpm, token_budget_*, *_exhausted. */
function reserveNow(core: ReserveCore, one: Reservation): void {
  const { principal, plan, admission, max, overcommit, account } = one;
  if (one.staged) reservePart(core, one);
  one.open = openRow(core, one);
  try {
    admission.reserve({ tokens: plan.promptTokens, output: plan.estimate.maxTokens });
    one.hold = account.reserve(one.reserved, {
      max,
      budget: max,
      limits: principal.token?.limits ?? null,
      overcommit,
      selfUse: plan.selfUse,
      open: one.open,
    });
    if (one.hold.ok) return;
    admission.release();
    throw refusalOf(one.hold, one, core.state.settings);
  } catch (error) {
    if (admission.open === noRow && !one.isHeld) core.balances.money.open.over(one.open);
    throw error;
  }
}

/** Budgets count all that a request may cost; the others what it holds. Errors state amounts in money. */
function refusalOf(refusal: ReserveRefusal, { max, reserved }: Reservation, settings: RelaySettings): AppError {
  const { remain } = refusal;
  if (refusal.scope !== 'budget')
    return new AppError(
      refusal.scope === 'user' ? 'user_exhausted' : 'token_exhausted',
      shortage(remain, reserved, settings),
    );
  const seconds = Math.ceil(refusal.seconds);
  return new AppError(refusal.period === 'day' ? 'token_budget_day' : 'token_budget_month', {
    ...shortage(remain, max, settings),
    seconds,
    resets: refusal.resets,
  });
}

/** @returns the row for recovery: the gate's own, or a new one. @throws AppError storage_unavailable. */
function openRow(core: ReserveCore, one: Reservation): OpenRequest {
  const { parsed, principal, plan, admission, account } = one;
  const { open, nodeLease } = core.balances.money;
  one.epoch = nodeLease?.epoch() ?? 0;
  const started = {
    ref: parsed.requestId,
    group: principal.group,
    startedMs: parsed.startedMs,
    model: parsed.model,
    streams: parsed.stream,
    promptTokens: plan.promptTokens,
    selfUse: plan.selfUse,
    epoch: one.epoch,
  };
  if (admission.open !== noRow) {
    admission.open.read(started);
    return admission.open;
  }
  const row = open.begin(account, started);
  if (row === null) throw new AppError('storage_unavailable', { reason: reasonText('too_many'), seconds: 1 });
  return row;
}

/** Begins with a modest hold, unless there is plenty: then nothing has to be read along to see what it costs so far. */
function reservePart(core: ReserveCore, one: Reservation): void {
  const { account, plan, max } = one;
  const available = account.available(plan.selfUse);
  if (max * plenty <= available) return;
  const { estimate: size } = plan;
  const modest = Math.min(size.maxTokens, core.state.settings.aheadTokens * (size.answer?.choices ?? 1));
  const quota = reserveFor(size, modest);
  const less = quota <= available ? 0 : affordableOutput(size, available);
  // Nothing left to begin with: the balance refuses it.
  one.reservedTokens = less === 0 ? modest : less;
  one.reserved = less === 0 ? quota : reserveFor(size, less);
  one.grows = one.reserved !== max;
}

/** What a request may cost at most for the balance, and the key's limit, to let it in. */
function availableBalance({ account, plan, overcommit, staged }: Reservation): number {
  const spare = account.availableWith(overcommit, plan.selfUse);
  return staged ? spare : Math.min(spare, account.available(plan.selfUse));
}

function availableFor(one: Reservation): number {
  const available = availableBalance(one);
  const limits = one.principal.token?.limits ?? null;
  return limits === null ? available : Math.min(available, one.account.availableBudget(limits));
}

/** Quota of the shortest answer that is worth asking for. */
function minFor({ plan: { estimate: size }, max, parsed: { body } }: Reservation): number {
  return size.answer === null
    ? max
    : reserveFor(size, (minWorth(size, body) + leastThought(size.answer)) * size.answer.choices);
}

/** Whether what is held may grow with what is delivered: all that is paid for is seen, and ends when it is cut. */
function isStaged({ overcommit, parsed, plan: { estimate: size, route } }: Reservation): boolean {
  const { answer } = size;
  return (
    overcommit > 1 &&
    parsed.stream &&
    answer !== null &&
    !answer.model.thinking &&
    route.offers.stopOnCancel &&
    !((parsed.prompt.features & Feature.thought) !== 0 && requestsThinking(parsed.body))
  );
}
