/** One request that was let in, and its money: reserved, grown with what is delivered, and ended by exactly one settlement or release. */

import type { Account, BudgetsSpent, ReserveRefusal, ReserveResult, Spent } from '../../billing/balances/account.ts';
import { type AllowanceShare, noAllowance } from '../../billing/balances/allowance.ts';
import { type BudgetedHolder, partsOf } from '../../billing/balances/budgets.ts';
import type { Balances } from '../../billing/balances/money.ts';
import { noRow, type OpenRequest } from '../../billing/balances/open-requests.ts';
import {
  type Ledger,
  type LedgerResult,
  type LogEntry,
  refundRef,
  type Settle,
} from '../../billing/ledger/commands.ts';
import { isOtherModel, requestIdIn, statedCostIn } from '../../contract/answered-model.ts';
import { type Language, LogType } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { languageFor } from '../../contract/language.ts';
import type { NameHeaders, Names } from '../../contract/names.ts';
import { atFactor, channelFactorIn } from '../../contract/pricing/channel-factor.ts';
import {
  type Charge,
  chargedOf,
  chargeOf,
  completionTokensOf,
  highestQuotaOf,
  loggedPromptTokens,
  oneUnit,
  priceFields,
  promptTokensOf,
  quotaOf,
} from '../../contract/pricing/charge.ts';
import type { Prices } from '../../contract/pricing/price.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import { reasonText } from '../../contract/storage-reasons.ts';
import { storedText } from '../../contract/stored-texts.ts';
import type { TargetFailure } from '../../contract/virtual-models.ts';
import type { Usage } from '../../protocols/canonical.ts';
import type { MadeItem } from '../../protocols/codec.ts';
import { record } from '../../protocols/shared/json.ts';
import type { ChainStep, TargetOutcome } from '../../routing/chains.ts';
import { namesOf } from '../intake/names.ts';
import { isOwn, type ParsedRequest, type Principal } from '../intake/parsed-request.ts';
import type { Deadlines } from '../shared/deadline.ts';
import type { Reporter } from '../shared/defect.ts';
import { type AttemptSummary, attemptSummary, loggedAttempt, type UpstreamFailure } from '../shared/failure.ts';
import { budgetRefusal, shortage } from '../shared/quota-numbers.ts';
import type { Stats } from '../shared/stats.ts';
import type { RelayState } from '../state/state.ts';
import { lostBy } from './cache-watch.ts';
import type { Likely, PromptCounts } from './evidence.ts';
import { type LeaseClient, type Lessee, lesseeOf, whenReserved } from './lease-client.ts';
import { type Admission, unlimited } from './limits.ts';
import { type Estimate, mostTokens, reserveFor } from './meter.ts';
import type { MoneyQueue } from './money-queue.ts';
import type { Finish, RequestObserver } from './observer.ts';
import type { Plan } from './plan.ts';
import { usageMarks } from './usage-marks.ts';

/** Parts that all reservations of a relay share. */
export interface ReservationCore extends Reporter {
  readonly ledger: Ledger;
  readonly balances: Balances;
  /** null = all the money of the site is in reach. */
  readonly leaseClient: LeaseClient | null;
  /** Requests that wait for what others hold. */
  readonly moneyQueue: MoneyQueue;
  readonly now: () => number;
  readonly state: Pick<RelayState, 'settings' | 'nodes'>;
  /** The end of a response waits this long for its commit, then goes out and is counted as late; Infinity = as long as it takes. */
  readonly maxCommitWaitMs: number;
  readonly deadlines: Deadlines;
  readonly stats: Stats;
  /** null = no log lines and no traces are wanted. */
  readonly observer: RequestObserver | null;
  /** A response went out before its settlement was durable. */
  settledAfterwards(): void;
  /** The ledger's rules rejected a settlement: what was delivered was not charged. */
  settlementRejected(ref: string, reason: string): void;
}

/** The request that a reservation belongs to. */
export interface ReservationOwner {
  /** After a wait, or between two calls. A key that ran out may still spend what is held. @throws AppError where its caller may not make it any more. */
  renew(reservation: Reservation): void;
  /** The response is over, streams included. */
  over(): void;
  /** The same with as little as can be, where `over` failed. */
  leave(): void;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** A settlement whose amount is known once the money has moved. */
type Settlement = Writable<Omit<Settle, 'log'>> & { readonly log: Writable<LogEntry> | null };

/** A hold that grows takes this part of what there is at once: others that run beside it grow as well. */
export const smallShare = 1 / 16;
/** Name of the channel tests' key in a log row. */
const testLabel = storedText('channelTest');
/** Not worth a word in a log row. */
const defaultPath = '/v1/chat/completions';

/** A channel that was not tried, and why. */
export interface SkippedTarget {
  readonly channelId: number;
  readonly name: string;
  /** Quota that the request may cost at most there. */
  readonly max: number;
  readonly error: AppError;
}

/** A request as it goes to one target of a chain: the target's model, in the target's group. */
export interface ChainTargetRequest {
  readonly parsed: ParsedRequest;
  readonly principal: Principal;
  readonly plan: Plan;
}

/** Where a request for a virtual model, or with a key of several groups, may go. */
export interface RequestChain {
  /** The name of the model that was asked for. */
  readonly name: string;
  readonly isVirtual: boolean;
  /** Names that the caller's key has to allow: that of the virtual model, and all models that it may reach. */
  readonly models: readonly string[];
  /** Makes the reservation that of the next target. @param failure of the one before it; null = none of its channels offers the operation. @returns false = there is none. */
  goOn(reservation: Reservation, failure: UpstreamFailure | null): Promise<boolean>;
  /** Whether another target would be tried after such a failure. */
  mayFollow(failure: TargetFailure): boolean;
  /** The current target serves it. */
  served(): void;
  /** When the request began to wait for money, for whichever target: by the monotonic clock. @param nowMs where it begins now. */
  waitingSince(nowMs: number): number;
  /** Outcome of each target. */
  steps(): readonly ChainStep[];
}

export interface ReservationInput extends ChainTargetRequest {
  readonly admission: Admission;
  /** A channel's test: logged, not charged. */
  readonly free: boolean;
  readonly owner: ReservationOwner | null;
  /** Absent = its model is one of channels. */
  readonly chain?: RequestChain;
}

/** Of a request whose end could not be put together: nothing of it is charged. */
const unknownEnd: Omit<Finish, 'prices' | 'channel'> = {
  endReason: 'internal',
  usage: null,
  usageSource: 'none',
  upstreamModel: '',
  firstByteMs: null,
  attempts: [],
  dropped: [],
};

/** Why a target cannot be gone on to; null = it can. */
export type PassedOver = 'uncovered' | 'limits' | null;

export class Reservation {
  readonly chain: RequestChain | null;
  readonly admission: Admission;
  readonly free: boolean;
  readonly owner: ReservationOwner | null;
  /** Whose money it is. */
  readonly account: Account;
  readonly tokenId: number;
  private currentPrincipal: Principal;
  private currentRequest: ParsedRequest;
  private currentPlan: Plan;
  private held: number;
  private maxCost: number;
  private coveredTokens: number;
  private allowanceShare = noAllowance;
  private isGrowing = false;
  /** Whose budgets hold for it; null = nobody's. */
  private holders: readonly BudgetedHolder[] | null;
  /** That budgets hold for it. */
  private tokensHeld = 0;
  private promptCounts: PromptCounts | null = null;
  /** By evidence; null = there is none, or what it may cost at most is held by now. */
  private likelyCost: Likely | null = null;
  /** When the attempt under way was sent: by the monotonic clock. */
  private attemptMs = 0;
  /** For recovery when this thread ends. */
  private open: OpenRequest = noRow;
  /** Number of the node's lease under which it was let in; 0 = nothing is leased. */
  private epoch: number;
  private nameable: (() => readonly MadeItem[]) | null = null;
  private settled: number | null = null;
  /** Bytes of the upstream's response; 0 = they were not counted. */
  private receivedBytes = 0;
  /** The upstream's names of the model that answered and of the request; null = it gives none. */
  private answeredModel: string | null = null;
  private upstreamRequestId: string | null = null;
  private finished: Promise<void> | null = null;
  /** undefined = they were not read yet. */
  private namesFound: Names | null | undefined = undefined;
  /** The settlement once it is put together; null = it is not yet. */
  private settlement: Settlement | null = null;
  private cost: Charge | null = null;
  /** Fractions of a unit that earlier charges had left when the money moved; null = it did not move yet. */
  private carried: number | null = null;
  /** The limits have been told of its end. */
  private hasLeft = false;
  /** Frames that went out, and whose they are. */
  private frames = 0;
  private channelId = 0;
  /** The account's answer to the hold; null = it was not asked yet. */
  private hold: ReserveResult | null = null;
  /** Amount of the last hold that the balance, or the key's limit, refused. */
  private refusedAmount = 0;
  /** Why, with what there is for this request in all; null = it was not refused. */
  private refused: ReserveRefusal | null = null;
  /** Channels that were not tried because what they may cost could not be covered; null = none. */
  private skippedTargets: SkippedTarget[] | null = null;

  constructor(
    private readonly core: ReservationCore,
    { parsed, principal, plan, admission, free, owner, chain }: ReservationInput,
  ) {
    this.currentRequest = parsed;
    this.currentPrincipal = principal;
    this.chain = chain ?? null;
    this.currentPlan = plan;
    this.admission = admission;
    this.free = free;
    this.owner = owner;
    this.tokenId = principal.token?.id ?? 0;
    this.account = core.balances.account(principal.user.id, this.tokenId);
    this.held = free ? 0 : plan.reserveAmount;
    this.maxCost = free ? 0 : plan.max;
    this.coveredTokens = plan.reserved;
    this.holders = this.budgeted();
    this.epoch = core.balances.money.nodeLease?.epoch() ?? 0;
  }

  /** The caller in the group whose prices hold. */
  get principal(): Principal {
    return this.currentPrincipal;
  }

  /** Shortened where a longer answer cannot be paid for. */
  get parsed(): ParsedRequest {
    return this.currentRequest;
  }

  /** As it was when the request was let in; counted again, or shortened, on the way there. */
  get plan(): Plan {
    return this.currentPlan;
  }

  /** Those that have budgets, of which it has to be had as well; null = nobody has. */
  get budgetHolders(): readonly BudgetedHolder[] | null {
    return this.holders;
  }

  /** Tokens that its prompt and its longest answer may take together; Infinity = as many as they like. */
  get mostTokens(): number {
    const { holders, core } = this;
    if (holders === null) return Number.POSITIVE_INFINITY;
    const now = core.now() / 1000;
    let least = Number.POSITIVE_INFINITY;
    for (const holder of holders) least = Math.min(least, holder.requestTokens(now));
    return least;
  }

  get isHeld(): boolean {
    return this.hold?.ok === true;
  }

  /** Quota that is held now. */
  get reserved(): number {
    return this.held;
  }

  /** Quota that the request may cost at most. */
  get max(): number {
    return this.maxCost;
  }

  /** Output tokens that are held for at the start. */
  get reservedTokens(): number {
    return this.coveredTokens;
  }

  /** How far all that open requests may cost goes beyond the balance. */
  get share(): AllowanceShare {
    return this.allowanceShare;
  }

  /** Cost that is likely by evidence: less than `max`; null = all of `max` is held. */
  get likely(): Likely | null {
    return this.likelyCost;
  }

  /** The hold may grow with the delivery. */
  get staged(): boolean {
    return this.likelyCost?.mayGrow === true;
  }

  /** Begins with less than it may cost at most: the hold grows ahead of what is delivered. */
  get grows(): boolean {
    return this.isGrowing;
  }

  /** The prompt was counted since it was planned. */
  get counted(): boolean {
    return this.promptCounts !== null;
  }

  /** null = the prompt was not counted. */
  get counts(): PromptCounts | null {
    return this.promptCounts;
  }

  /** When the attempt under way was sent: by the monotonic clock. */
  get sentMs(): number {
    return this.attemptMs;
  }

  /** Bytes of the upstream's response; 0 = they were not counted. */
  get responseBytes(): number {
    return this.receivedBytes;
  }

  /** Items of the answer that was made here, which its client may name later; null = none can be named. */
  get items(): (() => readonly MadeItem[]) | null {
    return this.nameable;
  }

  /** Quota of the settlement; null = not settled yet, or nothing was used. */
  get charged(): number | null {
    return this.settled;
  }

  /** Other machines may have leased a part of the balance. */
  get usesLeases(): boolean {
    return this.core.leaseClient !== null;
  }

  /** Of errors that its client reads; null = both languages, because a channel's test is stored. */
  language(): Language | null {
    const { free, parsed, principal } = this;
    return free ? null : languageFor(parsed.request.headers.get('accept-language'), principal.user.setting);
  }

  get isFinished(): boolean {
    return this.finished !== null;
  }

  /** @param share how far all that open requests may cost goes beyond the balance. */
  reserveUnder(share: AllowanceShare): void {
    this.allowanceShare = share;
  }

  /** Before anything is held. @param likely null = there is no evidence. */
  expect(likely: Likely | null): void {
    this.likelyCost = likely;
  }

  /** From the beginning, before anything is held. */
  planAgain(parsed: ParsedRequest, plan: Plan): void {
    this.currentRequest = parsed;
    this.currentPlan = plan;
    this.held = plan.reserveAmount;
    this.maxCost = plan.max;
    this.coveredTokens = plan.reserved;
    this.isGrowing = false;
    this.promptCounts = null;
    this.likelyCost = null;
  }

  /** With a shorter answer: what was counted stays. */
  planShorter(parsed: ParsedRequest, plan: Plan, likely: Likely | null): void {
    const { promptCounts } = this;
    this.planAgain(parsed, plan);
    this.promptCounts = promptCounts;
    this.likelyCost = likely;
  }

  /**
   * Goes on to another target, before anything was delivered: what that may cost at most is held first, and what is held for
   * the one before it stays. @returns null = it does; else the target stays as it was.
   */
  async retarget({ parsed, principal, plan }: ChainTargetRequest): Promise<PassedOver> {
    // A stream that held a part of what it may cost holds all of it from here on: it was not let in for this target.
    if ((await this.coverTarget(plan.max, null)) !== null || !(this.free || this.reserveUpTo(plan.max)))
      return 'uncovered';
    if (this.finished !== null || !this.holdTokens(plan.estimate)) return 'uncovered';
    if (!(await this.isWithinRates(plan))) return 'limits';
    this.currentRequest = parsed;
    this.currentPrincipal = principal;
    this.currentPlan = plan;
    this.coveredTokens = plan.estimate.maxTokens;
    this.isGrowing = false;
    this.promptCounts = null;
    const { promptTokens, selfUse } = plan;
    const { model, stream: streams } = parsed;
    const { group } = principal;
    this.open.read({ model, group, streams, promptTokens, selfUse, epoch: this.epoch });
    return null;
  }

  /** Holds the further tokens that another target may read and write; none are given back. */
  private holdTokens(estimate: Estimate): boolean {
    const { holders, open, account, tokensHeld, epoch } = this;
    const more = holders === null ? 0 : mostTokens(estimate) - tokensHeld;
    if (holders === null || more <= 0) return true;
    if (!account.reserve(0, { max: 0, holders, tokens: more, selfUse: true, open, epoch }).ok) return false;
    this.tokensHeld += more;
    return true;
  }

  /** Takes the tokens of another target, in place of those of the one before it. */
  private async isWithinRates({ promptTokens, estimate: { maxTokens } }: Plan): Promise<boolean> {
    const { admission } = this;
    const requested = { tokens: promptTokens, output: maxTokens };
    try {
      const counted = admission.reserveAtSite(requested);
      if (counted !== null) await counted;
      if (this.finished !== null) return false;
      admission.reserve(requested, this.open);
      return true;
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
  }

  /** The prompt was counted: before anything is held, it may cost less. */
  recount(estimate: Estimate, counts: PromptCounts): void {
    this.promptCounts = counts;
    if (estimate.reserveAmount > this.maxCost) return;
    this.currentPlan = { ...this.currentPlan, estimate };
    this.held = estimate.reserveAmount;
    this.maxCost = estimate.reserveAmount;
  }

  /** It cannot go on with less: what `take` asks for, and what its refusal names. */
  require(amount: number): void {
    this.held = amount;
    this.maxCost = amount;
    this.coveredTokens = this.currentPlan.estimate.maxTokens;
    this.likelyCost = null;
  }

  /** Begins with a hold for so many output tokens. */
  startWith(outputTokens: number, quota: number): void {
    this.coveredTokens = outputTokens;
    this.held = quota;
    this.isGrowing = this.staged && quota !== this.maxCost;
  }

  /** Takes it: of the rates first, then of budgets, the key's limit and the balance. @throws AppError limit_tpm, token_budget_*, budget_*, *_exhausted, storage_unavailable. */
  take(): void {
    const { core, principal, admission, maxCost: max, share, account } = this;
    const { promptTokens, estimate, selfUse } = this.currentPlan;
    this.open = this.openRow();
    try {
      admission.reserve({ tokens: promptTokens, output: estimate.maxTokens }, this.open);
      const limits = principal.token?.limits ?? null;
      const { holders } = this;
      const tokens = holders === null ? 0 : mostTokens(estimate);
      const requests = holders === null ? 0 : 1;
      const options = { max, budget: max, limits, holders, requests, tokens, share, selfUse, open: this.open };
      this.hold = account.reserve(this.held, options);
      if (this.hold.ok) {
        this.tokensHeld = tokens;
        return;
      }
      admission.release();
      throw this.refusal(this.hold);
    } catch (error) {
      if (admission.open === noRow && !this.isHeld) core.balances.money.open.over(this.open);
      throw error;
    }
  }

  /** Takes more out of the balance while a stream outgrows its hold. @returns false when the balance has not got it, or all is over. */
  extendTo(usage: Usage): boolean {
    return this.reserveUpTo(this.free ? 0 : highestQuotaOf(usage, this.plan.prices));
  }

  /** Holds for so many output tokens, as far as the request may write them. @returns false when the balance has not got it. */
  cover(outputTokens: number): boolean {
    return this.reserveUpTo(this.quotaFor(outputTokens));
  }

  /** Whether a hold for so many output tokens takes but a small part of what there is. */
  hasPlentyFor(outputTokens: number): boolean {
    return this.quotaFor(outputTokens) - this.held <= this.available() * smallShare;
  }

  /**
   * Before an attempt at a target that may cost more than what the request was let in with, or than what evidence says of another
   * one: holds for all of it, and asks for what lies on other machines. Nothing is given back where a target costs less.
   * @param max quota that the request may cost at most there. @param target of which there may be evidence; null = it is sent otherwise.
   * @returns null = it is covered; else why it is not, and nothing has changed.
   */
  coverTarget(
    max: number,
    target: { readonly channel: ChannelSnapshot; readonly key: string } | null,
  ): AppError | null | Promise<AppError | null> {
    if (this.free) return null;
    const { likelyCost: likely, maxCost } = this;
    if (likely === null && max <= maxCost) return null;
    const isProven = target !== null && likely?.channel === target.channel && likely.key === target.key;
    if (isProven && max <= maxCost) return null;
    const total = Math.max(max, maxCost);
    if (this.reserveAll(total)) return null;
    return this.core.leaseClient === null ? this.uncovered(total) : this.coverLeased(total);
  }

  private coverLeased(total: number): Promise<AppError | null> {
    return whenReserved(
      () => this.reserveAll(total),
      () => this.ensureLease(),
    ).then(
      (isCovered) => (isCovered ? null : this.uncovered(total)),
      (error: unknown) => {
        if (error instanceof AppError) return error;
        throw error;
      },
    );
  }

  /** @param nowMs by the monotonic clock. */
  sent(nowMs: number): void {
    this.attemptMs = nowMs;
  }

  /** Tokens of the prompt as they are likely to be billed: of usual text, without what evidence says to be read from a cache. */
  get likelyPrompt(): Pick<Usage, 'input' | 'cacheRead'> {
    const all = Math.ceil(this.plan.promptTokens);
    const { likelyCost } = this;
    if (likelyCost === null) return { input: all, cacheRead: 0 };
    const { cached = 0, rereads, found, maxTokens } = likelyCost.size;
    // As evidence has them, where that is less than usual text of that length takes.
    const read = Math.min(all, Math.ceil((mostTokens(likelyCost.size) - maxTokens - found) / (1 + rereads)));
    const cacheRead = Math.min(read, Math.ceil(cached / (1 + rereads)));
    return { input: read - cacheRead, cacheRead };
  }

  /** The target is not tried: for the trace and the log row. */
  noteSkipped({ id, name }: ChannelSnapshot, max: number, error: AppError): void {
    this.skippedTargets ??= [];
    // The list of channels may go round.
    if (this.skippedTargets.some(({ channelId }) => channelId === id)) return;
    this.skippedTargets.push({ channelId: id, name, max, error });
  }

  /** In order; null = none. */
  get skipped(): readonly SkippedTarget[] | null {
    return this.skippedTargets;
  }

  /** After a refusal of `extendTo`, `cover` or `coverTarget`: asks for what was lacking where some may lie elsewhere. @returns whether to try again. */
  async ensureLease(): Promise<boolean> {
    const { leaseClient } = this.core;
    if (leaseClient === null || this.refusedAmount === 0) return false;
    return (await leaseClient.acquire(this.lessee(), this.refusedAmount, () => this.available())) === 'granted';
  }

  /** Another turn of a conversation is let in. @param spent tokens of the turns before that were not counted yet. @throws AppError limit_* */
  turn(spent: number): void {
    this.admission.turn(spent);
  }

  /** Its client may name items of the answer. The last attempt is the one that counts. */
  canName(items: () => readonly MadeItem[]): void {
    this.nameable = items;
  }

  /** Bytes of the upstream's response, all of them. */
  received(bytes: number): void {
    this.receivedBytes = bytes;
  }

  /** The upstream's own words about the answer that is delivered. @param model null = nothing. */
  answeredBy(headers: Headers, model: string | null): void {
    this.answeredModel = model;
    this.upstreamRequestId = requestIdIn(headers);
  }

  /** For its row: model and id of the answer, where they say more than the row does. */
  get answered(): { readonly model: string | null; readonly requestId: string | null } {
    return { model: this.answeredModel, requestId: this.upstreamRequestId };
  }

  /** @returns the model that the upstream says it answered with, where it is not the one that was sent. */
  otherModel({ upstreamModel, usage }: Pick<Finish, 'upstreamModel' | 'usage'>): string | null {
    const { answeredModel: answered, parsed, plan } = this;
    if (answered === null || usage === null || upstreamModel === '' || answered === upstreamModel) return null;
    const models = { sent: upstreamModel, requested: parsed.model, answered };
    return isOtherModel(plan.pricing.tables, models) ? answered.slice(0, maxModelLength) : null;
  }

  /** So much more of the response has gone out; costs next to nothing. */
  delivered(frames: number, channel: ChannelSnapshot): void {
    if (this.finished !== null) return;
    this.servedBy(channel);
    this.frames += frames;
    this.open.delivered(this.frames);
  }

  private servedBy({ id, setting }: ChannelSnapshot): void {
    if (id === this.channelId) return;
    this.channelId = id;
    this.open.servedBy(id, channelFactorIn(setting));
  }

  /** Ends the request's money. Later calls do nothing. Resolves when durable, or after the ceiling where the operator set one. */
  finish(given: Finish): Promise<void> {
    if (this.finished !== null) return this.finished;
    const prices = pricesAt(given.prices, given.channel);
    const finish = prices === given.prices ? given : { ...given, prices };
    try {
      return this.settle(finish);
    } catch (error) {
      this.core.report(error, this.parsed.requestId);
    }
    if (this.carried !== null) return this.abandon();
    // Whatever went wrong with what is charged and said: the money ends, and the row says the little that is sure.
    try {
      return this.settle({ ...unknownEnd, prices: finish.prices, channel: finish.channel }, true);
    } catch (error) {
      this.core.report(error, this.parsed.requestId);
      return this.abandon();
    }
  }

  /**
   * The last resort where `finish` failed; no step of the two is the same. What is held comes back, nothing is charged that has not
   * left the balance yet, and a row says so. Resolves when durable.
   */
  abandon(): Promise<void> {
    if (this.finished !== null) return this.finished;
    const { core, account, held, maxCost, open, epoch } = this;
    const { requestId } = this.currentRequest;
    const { selfUse } = this.currentPlan;
    if (this.carried === null) {
      this.cost = null;
      this.settlement = null;
      this.carried = account.settle({
        ...{ reserved: held, charged: 0, max: maxCost, budget: maxCost },
        ...{ selfUse, open, failed: true, epoch, budgets: this.budgetsSpent(0, true) },
      });
    }
    const amount = this.cost === null ? 0 : chargedOf(this.cost.whole, this.cost.rest, this.carried);
    const settlement = this.settlement ?? this.plainEnd();
    settlement.amount = amount;
    const { log } = settlement;
    if (log !== null) {
      log.quota = amount;
      if (log.other === '') log.other = '{}';
    }
    this.settled = this.cost === null ? null : amount;
    this.finished = core.ledger.execute(settlement).then(
      () => core.balances.money.open.over(open),
      (error: unknown) => void core.report(error, requestId),
    );
    this.notify();
    return this.finished;
  }

  /** Settlement of the facts that are sure, for a request whose end could not be put together. */
  private plainEnd(): Settlement {
    const { core, tokenId, principal, epoch, free } = this;
    const { requestId, model, stream, startedMs } = this.currentRequest;
    const { user, token } = principal;
    const endedMs = core.now();
    const at = Math.floor(endedMs / 1000);
    const log: Writable<LogEntry> = {
      ...{ requestId, createdAt: at, type: LogType.error, model, isStream: stream, group: principal.group },
      ...{ userId: user.id, username: user.username, tokenId, tokenName: free ? testLabel : (token?.name ?? '') },
      ...{ channelId: 0, useTime: Math.round((endedMs - startedMs) / 1000), promptTokens: 0, completionTokens: 0 },
      ...{ quota: 0, content: free ? testLabel : '', other: '{}', usageSource: 'none', endReason: 'internal' },
    };
    return {
      ...{ type: 'settle', ref: requestId, userId: user.id, tokenId, channelId: 0, amount: 0, at, tokens: 0, log },
      ...{ house: this.currentPlan.selfUse, model, username: user.username, epoch: epoch === 0 ? undefined : epoch },
    };
  }

  /** Limits and waiting requests learn that the money has ended; what goes wrong with either stops nothing. */
  private notify(): void {
    const { core, account, admission } = this;
    const { requestId } = this.currentRequest;
    try {
      if (!this.hasLeft) account.locked(() => admission.ended(0, false));
    } catch (error) {
      core.report(error, requestId);
    }
    this.hasLeft = true;
    try {
      core.moneyQueue.settled(account.userId);
    } catch (error) {
      core.report(error, requestId);
    }
  }

  /** Gives back what was charged for a response that was never handed over. Resolves when durable. */
  async refund(): Promise<void> {
    const { core, charged, parsed, principal, settlement, finished } = this;
    if (charged === null || charged === 0) return;
    this.settled = 0;
    await finished;
    const at = Math.floor(core.now() / 1000);
    const log = settlement?.log ?? null;
    await core.ledger.execute({
      type: 'refund',
      ref: refundRef(parsed.requestId),
      of: parsed.requestId,
      userId: principal.user.id,
      amount: charged,
      model: parsed.model,
      username: principal.user.username,
      at,
      log:
        log === null
          ? null
          : {
              ...log,
              ...{ requestId: refundRef(parsed.requestId), createdAt: at, type: LogType.system, quota: 0 },
              ...{ promptTokens: 0, completionTokens: 0, other: '', usageSource: 'none', endReason: 'internal' },
              content: storedText('responseFailed', { quota: String(charged) }),
            },
    });
  }

  /** Writes what is owed so far, so that a crash charges it. */
  checkpoint(usage: Usage, channel: ChannelSnapshot): void {
    const { core, tokenId, parsed, principal, plan, epoch } = this;
    if (this.finished !== null || this.free) return;
    const prices = pricesAt(plan.prices, channel);
    const amount = quotaOf(usage, prices);
    this.servedBy(channel);
    this.open.used(usage);
    const unended: Omit<Finish, 'usage'> = {
      endReason: 'recovered',
      usageSource: 'partial',
      prices,
      dropped: [],
      channel,
      upstreamModel: '',
      firstByteMs: null,
      attempts: [attemptSummary(channel)],
    };
    const log = this.entry(LogType.consume, usage, unended);
    log.quota = amount;
    log.other = JSON.stringify(fieldsOf(this, this.receivedBytes, { ...unended, usage }, core.now(), null));
    void core.ledger
      .execute({
        type: 'hold',
        ref: parsed.requestId,
        userId: principal.user.id,
        tokenId,
        channelId: channel.id,
        estimate: this.held,
        observed: amount,
        at: Math.floor(core.now() / 1000),
        house: plan.selfUse,
        log,
        epoch: epoch === 0 ? undefined : epoch,
        budgets: partsOf(this.budgeted(), core.now() / 1000),
      })
      .catch(this.noteLost);
  }

  /** A note for a crash that could not be written is made up for by the settlement; storage in trouble is seen elsewhere. */
  private readonly noteLost = (error: unknown): void => {
    this.core.report(error, this.parsed.requestId);
  };

  private quotaFor(outputTokens: number): number {
    const size = this.likelyCost?.size ?? this.plan.estimate;
    return Math.min(this.maxCost, reserveFor(size, Math.min(outputTokens, size.maxTokens)));
  }

  private lessee(): Lessee {
    return lesseeOf(this.principal, this.plan.selfUse);
  }

  private available(): number {
    return this.account.available(this.plan.selfUse);
  }

  /** @returns the row for recovery: the gate's own, or a new one. @throws AppError storage_unavailable. */
  private openRow(): OpenRequest {
    const { parsed, principal, plan, admission, account } = this;
    const { open, nodeLease } = this.core.balances.money;
    this.epoch = nodeLease?.epoch() ?? 0;
    const started = {
      ref: parsed.requestId,
      group: principal.group,
      startedMs: parsed.startedMs,
      model: parsed.model,
      streams: parsed.stream,
      promptTokens: plan.promptTokens,
      selfUse: plan.selfUse,
      epoch: this.epoch,
    };
    if (admission.open !== noRow) {
      admission.open.read(started);
      return admission.open;
    }
    const row = open.begin(account, started);
    if (row === null) throw new AppError('storage_unavailable', { reason: reasonText('too_many'), seconds: 1 });
    return row;
  }

  private uncovered(max: number): AppError {
    const { refused } = this;
    if (refused !== null) return this.refusal(refused, max, max);
    return new AppError('user_exhausted', shortage(0, max, this.core.state.settings));
  }

  /** Budgets count all that a request may cost; the others what it holds. Errors state amounts in money. */
  private refusal(refused: ReserveRefusal, held = this.held, maxCost = this.maxCost): AppError {
    const { settings } = this.core.state;
    const { remain } = refused;
    if (refused.scope === 'holder') {
      const need = refused.unit === 'money' ? Math.max(1, maxCost) : refused.need;
      return budgetRefusal({ ...refused, need }, settings);
    }
    if (refused.scope !== 'budget')
      return new AppError(
        refused.scope === 'user' ? 'user_exhausted' : 'token_exhausted',
        shortage(remain, held, settings),
      );
    const seconds = Math.ceil(refused.seconds);
    return new AppError(refused.period === 'day' ? 'token_budget_day' : 'token_budget_month', {
      ...shortage(remain, maxCost, settings),
      seconds,
      resets: refused.resets,
    });
  }

  /** From here on no evidence counts. */
  private reserveAll(total: number): boolean {
    if (!this.reserveUpTo(total)) return false;
    this.likelyCost = null;
    return true;
  }

  private reserveUpTo(total: number): boolean {
    const { core, principal, plan, open, epoch, share } = this;
    const more = total - this.held;
    if (more <= 0) return true;
    this.refusedAmount = 0;
    this.refused = null;
    // It would never be released.
    if (this.finished !== null) return false;
    const beyond = Math.max(0, total - this.maxCost);
    const limits = beyond === 0 ? null : (principal.token?.limits ?? null);
    const holders = beyond === 0 ? null : this.holders;
    const options = { max: beyond, budget: beyond, limits, holders, share, selfUse: plan.selfUse, open, epoch };
    const answer = this.account.reserve(more, options);
    if (!answer.ok) {
      // What the request holds is part of what there is for it.
      const isOfBudget = answer.scope === 'budget' || answer.scope === 'holder';
      this.refused = { ...answer, remain: answer.remain + (isOfBudget ? this.maxCost : this.held) };
      // No budget is had elsewhere.
      if (!isOfBudget) this.refusedAmount = more;
      return false;
    }
    this.held = total;
    this.maxCost += beyond;
    // As much again is what a stream that goes on will ask for next.
    if (core.leaseClient !== null) {
      this.refusedAmount = more;
      core.leaseClient.prefetch(this.lessee(), more, () => this.available());
    }
    return true;
  }

  /** For whom and by what it is made; null = it does not say. */
  get names(): Names | null {
    if (this.namesFound === undefined) this.namesFound = namesOf(this.parsed, this.trustedHeaders());
    return this.namesFound;
  }

  /** Those that an administrator believes of this key; null = none. */
  private trustedHeaders(): NameHeaders | null {
    const { namedBy } = this.core.state.settings;
    return namedBy?.keys.has(this.tokenId) === true ? namedBy.headers : null;
  }

  /** Without its amount, and what explains it besides its columns. */
  private entry(type: number, usage: Usage | null, finish: Omit<Finish, 'usage'>): Writable<LogEntry> {
    const { parsed, principal, free } = this;
    const endedMs = this.core.now();
    const names = free ? null : this.names;
    const entry: Writable<LogEntry> = {
      requestId: parsed.requestId,
      createdAt: Math.floor(endedMs / 1000),
      type,
      userId: principal.user.id,
      username: principal.user.username,
      tokenId: this.tokenId,
      tokenName: free ? testLabel : (principal.token?.name ?? ''),
      channelId: finish.channel?.id ?? 0,
      group: principal.group,
      model: parsed.model,
      isStream: parsed.stream,
      useTime: Math.round((endedMs - parsed.startedMs) / 1000),
      promptTokens: usage === null ? 0 : loggedPromptTokens(usage),
      completionTokens: usage === null ? 0 : completionTokensOf(usage),
      quota: 0,
      content: finish.content ?? (free ? testLabel : ''),
      other: '',
      usageSource: finish.usageSource,
      endReason: finish.endReason,
    };
    if (names !== null) entry.names = names;
    return entry;
  }

  /** @param isPlain nothing explains the row besides its columns. */
  private settle(finish: Finish, isPlain = false): Promise<void> {
    const { core, tokenId, parsed, principal, plan, epoch, free } = this;
    const { usage } = finish;
    // Made before the money moves: between that and its command nothing may go wrong.
    const cost = usage === null || free ? null : chargeOf(usage, finish.prices);
    const logged = usage === null || core.state.settings.logConsumption;
    const other = isPlain ? null : this.otherModel(finish);
    const endedMs = core.now();
    const fields = !logged
      ? null
      : isPlain
        ? plainFields(principal)
        : fieldsOf(this, this.receivedBytes, finish, endedMs, other);
    const input = usage === null ? 0 : promptTokensOf(usage);
    const output = usage === null ? 0 : completionTokensOf(usage);
    const settlement: Settlement = {
      type: 'settle',
      ref: parsed.requestId,
      userId: principal.user.id,
      tokenId,
      channelId: finish.channel?.id ?? 0,
      amount: 0,
      at: Math.floor(endedMs / 1000),
      house: plan.selfUse,
      log: fields === null ? null : this.entry(usage === null ? LogType.error : LogType.consume, usage, finish),
      tokens: input + output,
      model: parsed.model,
      username: principal.user.username,
      epoch: epoch === 0 ? undefined : epoch,
    };
    if (usage !== null) this.open.used(usage);
    this.settlement = settlement;
    this.cost = cost;
    const spent = this.budgetsSpent(input + output, usage === null);
    this.carried = this.release(cost, input + output, usage === null, spent);
    if (spent !== undefined && spent.parts.length > 0) settlement.budgets = spent.parts;
    const amount = cost === null ? 0 : chargedOf(cost.whole, cost.rest, this.carried);
    settlement.amount = amount;
    const { log } = settlement;
    if (log !== null && fields !== null) {
      if (cost !== null) fields.carried = this.carried / oneUnit;
      log.quota = amount;
      log.other = JSON.stringify(fields);
    }
    this.settled = usage === null ? null : amount;
    // Trouble with the disk is no answer: the ledger keeps the settlement and tries again.
    const durable = this.whenCommitted(core.ledger.execute(settlement), endedMs);
    // From here on nothing ends it again, whatever those who watch it do.
    this.finished = Number.isFinite(core.maxCommitWaitMs) ? withinCeiling(core, durable) : durable;
    try {
      core.moneyQueue.settled(this.account.userId);
      this.ended(finish, { amount, input, output, endedMs, other });
    } catch (error) {
      core.report(error, parsed.requestId);
    }
    return this.finished;
  }

  private whenCommitted(written: Promise<LedgerResult>, endedMs: number): Promise<void> {
    return written.then(
      (result) => this.committed(endedMs, result, null),
      (error: unknown) => this.committed(endedMs, null, error),
    );
  }

  /** For those who watch. */
  private ended(
    finish: Finish,
    {
      amount,
      input,
      output,
      endedMs,
      other,
    }: {
      readonly amount: number;
      readonly input: number;
      readonly output: number;
      readonly endedMs: number;
      readonly other: string | null;
    },
  ): void {
    const { core, tokenId, parsed, principal, chain } = this;
    const { usage } = finish;
    if (chain?.isVirtual === true) core.stats.chainEnded(chain.name, chain.steps());
    core.stats.ended({
      model: parsed.model,
      channelId: finish.channel?.id ?? 0,
      userId: principal.user.id,
      tokenId,
      own: isOwn(principal),
      operation: parsed.operation,
      endReason: finish.endReason,
      inputTokens: input,
      cachedTokens: usage === null ? 0 : usage.cacheRead,
      outputTokens: output,
      charged: amount,
      streamed: parsed.stream,
      tried: finish.attempts,
      ms: endedMs - parsed.startedMs,
      endedMs,
      firstByteMs: finish.firstByteMs === null ? null : finish.firstByteMs - parsed.startedMs,
      sentModel: finish.upstreamModel,
      otherModel: other,
    });
    core.observer?.ended({ parsed, principal, finish, tokens: { input, output }, charged: amount, endedMs });
  }

  /**
   * One step for all threads: what was used leaves the balance, what was held comes back, limits take note.
   * @param cost null = nothing is charged. @param failed nothing was used.
   * @returns what earlier charges had left of a unit, as `Account.settle` does.
   */
  private release(cost: Charge | null, tokens: number, failed: boolean, budgets: BudgetsSpent | undefined): number {
    const { admission, account, maxCost: max, open, epoch } = this;
    const spent = {
      reserved: this.held,
      charged: cost === null ? 0 : cost.whole,
      rest: cost === null ? undefined : cost.rest,
      max,
      budget: max,
      selfUse: this.plan.selfUse,
      open,
      failed,
      epoch,
      budgets,
    };
    return admission === unlimited ? account.settle(spent) : this.releaseLimited(spent, tokens, failed);
  }

  private releaseLimited(spent: Spent, tokens: number, failed: boolean): number {
    const { admission, account } = this;
    return account.locked(() => {
      this.hasLeft = true;
      admission.ended(tokens, !failed);
      return account.settle(spent);
    });
  }

  /** Whose budgets it counts in now: one may have been made since it was let in. */
  private budgeted(): readonly BudgetedHolder[] | null {
    const { core, free, tokenId, principal } = this;
    const { budgets } = core.balances;
    if (free || budgets.isEmpty) return null;
    const { user, token } = principal;
    const caller = { tokenId, userId: user.id, userGroup: user.group, labels: token?.labels };
    if (!budgets.boundsEndUsers(tokenId)) return budgets.of(caller);
    const endUser = this.names?.end_user ?? '';
    return budgets.of({ ...caller, endUser, nodes: core.state.nodes().live });
  }

  /** @param failed nothing was used. @returns undefined = no budget has to do with it. */
  private budgetsSpent(tokens: number, failed: boolean): BudgetsSpent | undefined {
    const holders = this.budgeted();
    const held = this.isHeld ? this.holders : null;
    if (holders === null && held === null) return undefined;
    return {
      slots: held?.map(({ slot }) => slot) ?? [],
      held: { money: this.maxCost, requests: 1, tokens: this.tokensHeld },
      holders: failed ? null : holders,
      requests: failed ? 0 : 1,
      tokens: failed ? 0 : tokens,
      parts: [],
    };
  }

  /** Never throws. @param result null = the ledger has not got it, for this `error`. */
  private committed(endedMs: number, result: LedgerResult | null, error: unknown): void {
    const { core } = this;
    try {
      core.balances.money.open.over(this.open);
      core.stats.committed(core.now() - endedMs);
      const refusal = result === null ? String(error) : refusalOf(result);
      if (refusal !== null) core.settlementRejected(this.parsed.requestId, refusal);
    } catch (another) {
      core.report(another, this.parsed.requestId);
    }
  }
}

/** As the request words it in any dialect. */
function effortOf({ reasoning_effort: plain, reasoning, output_config: config }: ParsedRequest['body']): string | null {
  const effort = plain ?? record(reasoning)?.effort ?? record(config)?.effort;
  return typeof effort === 'string' && effort.length <= maxEffortLength ? effort : null;
}
const maxEffortLength = 32;
const maxModelLength = 128;

/** Held was for the dearest channel that might serve; charged is by the one that does. */
const pricesAt = (prices: Prices, channel: ChannelSnapshot | null): Prices =>
  channel === null ? prices : atFactor(prices, channelFactorIn(channel.setting));

const plainFields = (principal: Principal): Record<string, unknown> => (isOwn(principal) ? { own: true } : {});

/** Members that explain a row besides its columns. They are set one by one: this runs for each request. */
function fieldsOf(
  { parsed, plan, principal, skipped, chain, answered }: Reservation,
  received: number,
  finish: Finish,
  endedMs: number,
  other: string | null,
): Record<string, unknown> {
  const { usage, upstreamModel, firstByteMs, attempts } = finish;
  const fields: Record<string, unknown> = usage === null ? {} : priceFields(usage, finish.prices);
  fields.frt = firstByteMs === null ? -1000 : Math.round(firstByteMs - parsed.startedMs);
  fields.ms = Math.round(endedMs - parsed.startedMs);
  if (upstreamModel !== parsed.model && upstreamModel !== '') {
    fields.is_model_mapped = true;
    fields.upstream_model_name = upstreamModel;
  }
  const effort = effortOf(parsed.body);
  if (effort !== null) fields.reasoning_effort = effort;
  if (chain?.isVirtual === true) fields.virtual_model = chain.name;
  if (parsed.route.path !== defaultPath) fields.request_path = parsed.route.path;
  if (parsed.socket !== undefined) fields.socket = true;
  if (finish.failure !== undefined) fields.failure = finish.failure;
  if (finish.thought !== undefined) {
    const { tokens, ms, tokensPerSecond } = finish.thought;
    fields.estimated_thought = { tokens, ms, tokens_per_second: tokensPerSecond };
  }
  if (usage !== null && finish.usageSource === 'reported') {
    const marks = usageMarks(usage, { parsed, estimate: plan.estimate, upstreamModel, received });
    if (marks !== null) fields.usage_marks = marks;
  }
  if (usage !== null && finish.cacheMiss !== undefined)
    fields.cache_miss = { ...finish.cacheMiss, lost: lostBy(usage, finish.cacheMiss.tokens, finish.prices) };
  if (finish.diagnosis !== undefined) fields.cache_diagnosis = finish.diagnosis;
  if (finish.compaction !== undefined) fields.compaction = finish.compaction;
  if (finish.dropped.length > 0) fields.dropped = shownLosses(finish.dropped);
  if (isOwn(principal)) fields.own = true;
  const admin: Record<string, unknown> = { use_channel: attempts.map(channelIdOf) };
  if (answered.requestId !== null) admin.upstream_request_id = answered.requestId;
  if (answered.model !== null && answered.model !== upstreamModel && upstreamModel !== '')
    admin.answered_model = answered.model.slice(0, maxModelLength);
  if (other !== null) admin.other_model = true;
  const cost = usage === null || finish.usageSource !== 'reported' ? null : statedCostIn(usage.raw);
  if (cost !== null) admin.stated_cost = cost;
  if (attempts.some(hasFailed)) admin.attempts = attempts.map(loggedAttempt);
  if (skipped !== null)
    admin.skipped = skipped.map(({ channelId, name, max, error }) => ({
      channel: channelId,
      name,
      max,
      code: error.code,
    }));
  if (chain !== null) admin.chain = chain.steps().filter(isWorthARow).map(loggedStep);
  fields.admin_info = admin;
  return fields;
}

/** A client names as many members as it likes, as long as it likes. */
const losses = 64;
const lossUnits = 300;

function shownLosses(dropped: readonly string[]): readonly string[] {
  if (dropped.length <= losses && dropped.every(({ length }) => length <= lossUnits)) return dropped;
  const shown = dropped
    .slice(0, losses)
    .map((loss) => (loss.length <= lossUnits ? loss : `${loss.slice(0, lossUnits)}…`));
  return dropped.length <= losses ? shown : [...shown, `and ${dropped.length - losses} more`];
}

/** The request itself says which targets were not meant. */
const expectedOutcomes: ReadonlySet<TargetOutcome> = new Set(['conditions', 'not_after', 'not_needed']);
const isWorthARow = ({ outcome }: ChainStep): boolean => !expectedOutcomes.has(outcome);

const loggedStep = ({ leaf, group, outcome, failure }: ChainStep): Record<string, unknown> => ({
  model: leaf.model,
  group,
  ...(leaf.channel === null ? {} : { channel: leaf.channel }),
  outcome,
  ...(failure === undefined ? {} : { failure }),
});

const channelIdOf = ({ channelId }: AttemptSummary): string => String(channelId);
const hasFailed = ({ failed }: AttemptSummary): boolean => failed !== null;

/** An end that is not durable by then goes out all the same, and is counted. */
function withinCeiling(core: ReservationCore, durable: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const written = core.deadlines.start(core.maxCommitWaitMs, () => {
    core.settledAfterwards();
    resolve();
  });
  void durable.then(() => {
    written.end();
    resolve();
  });
  return promise;
}

const refusalOf = (result: LedgerResult): string | null =>
  result.status === 'refused'
    ? `${result.reason} ${result.detail}`
    : result.status === 'conflict'
      ? 'settled before with another amount'
      : null;
