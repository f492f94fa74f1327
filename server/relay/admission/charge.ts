/** One request's money from hold to settlement: exactly one settle or void, whatever happens in between. */

import { type EndReason, LogType, type UsageSource } from '../../contract/enums.ts';
import type { Prices } from '../../contract/prices.ts';
import { completionTokensOf, loggedPromptTokens, priceFacts, promptTokensOf, quotaOf } from '../../contract/quota.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import { storedText } from '../../contract/stored-texts.ts';
import type { Ledger, LedgerResult, LogEntry } from '../../ledger/commands.ts';
import type { FinishReason, Usage } from '../../protocols/canonical.ts';
import { record } from '../../protocols/shared/json.ts';
import type { Inquiry, Principal } from '../intake/inquiry.ts';
import type { Deadlines } from '../shared/deadlines.ts';
import { type Tried, triedOnly } from '../shared/failure.ts';
import type { Figures } from '../shared/figures.ts';
import type { Balances } from './balances.ts';
import { type Borrower, type Borrowing, borrowerOf } from './lender.ts';
import type { Admission } from './limits.ts';
import { holdFor } from './meter.ts';
import type { Plan } from './plan.ts';

export interface Finish {
  readonly endReason: EndReason;
  /** null = nothing is charged. */
  readonly usage: Usage | null;
  readonly usageSource: UsageSource;
  /** Usually the plan's; pictures are priced by what came. */
  readonly prices: Prices;
  readonly channel: ChannelSnapshot | null;
  readonly upstreamModel: string;
  readonly firstByteMs: number | null;
  /** In order. */
  readonly tried: readonly Tried[];
  /** What a translation could not carry over. */
  readonly dropped: readonly string[];
  /** How the conversation was made short. */
  readonly compaction?: string | undefined;
  /** How the upstream says that a stream ended, for whoever wants to know. */
  readonly finishReason?: () => FinishReason | null;
  /** What of the usage was charged for thoughts by their time. */
  readonly thought?: { readonly tokens: number; readonly ms: number; readonly tokensPerSecond: number } | undefined;
  /** The JSON of a whole answer. */
  readonly answer?: unknown;
  /** Words for an error row. */
  readonly content?: string;
  /** HTTP status or reason for an error row's `other`. */
  readonly failure?: string;
}

export interface Charge {
  readonly held: number;
  /** Quota of the settlement; null = not settled yet, or nothing was used. */
  readonly charged: number | null;
  /** Takes more out of the balance while a stream outgrows its hold. @returns false when the balance has not got it, or all is over. */
  extendTo(usage: Usage): boolean;
  /** Another turn of a conversation is let in. @param spent tokens of the turns before that were not told yet. @throws AppError limit_* */
  turn(spent: number): void;
  /** After a refusal of `extendTo` or `cover`: asks for what was lacking where some may lie elsewhere. @returns whether to try again. */
  borrow(): Promise<boolean>;
  /** Money may lie on other machines. */
  readonly borrows: boolean;
  /** Holds for so many output tokens, as far as the request may write them. @returns false when the balance has not got it. */
  cover(outputTokens: number): boolean;
  /** Ends the request's money. Later calls do nothing. Resolves when durable, or after the ceiling where the operator set one. */
  finish(finish: Finish): Promise<void>;
  /** Writes what is owed so far, so that a crash charges it. */
  checkpoint(usage: Usage, channel: ChannelSnapshot): void;
  /** So much more of the answer has gone out; costs next to nothing. */
  delivered(frames: number, channel: ChannelSnapshot): void;
}

/** One request and all that came of it. */
export interface EndedRequest {
  readonly inquiry: Inquiry;
  readonly principal: Principal;
  readonly finish: Finish;
  readonly tokens: { readonly input: number; readonly output: number };
  /** Quota. */
  readonly charged: number;
  readonly endedMs: number;
}

export interface ChargeDeps {
  readonly ledger: Ledger;
  readonly balances: Balances;
  /** null = all the money of the site is in reach. */
  readonly borrowing: Borrowing | null;
  readonly now: () => number;
  readonly logConsumption: () => boolean;
  /** The end of an answer waits this long for its commit, then goes out and is counted as late; Infinity = as long as it takes. */
  readonly commitCeilingMs: number;
  readonly commitLimits: Deadlines;
  readonly late: () => void;
  /** The ledger's rules turned a settlement down: nobody was charged for what was delivered. */
  readonly refused: (ref: string, reason: string) => void;
  readonly figures: Figures;
  /** Told of each end; null = nobody looks on. */
  readonly observe: ((request: EndedRequest) => void) | null;
}

export interface ChargeFacts {
  readonly inquiry: Inquiry;
  readonly principal: Principal;
  readonly plan: Plan;
  /** Channel tests are logged but cost nothing. */
  readonly free: boolean;
  readonly admission: Admission;
  /** Of the open request, for whoever has to end it when this thread is gone; 0 = it is free. */
  readonly row: number;
  /** Number of the lease under which it was let in; 0 = nothing is leased. */
  readonly epoch: number;
}

/** What the family calls requests that try a channel. */
const testLabel = storedText('channelTest');
/** Not worth a word in a log row. */
const usualPath = '/v1/chat/completions';

/** @param facts.plan.hold must have been taken from the balances already. */
export const createCharge = (deps: ChargeDeps, facts: ChargeFacts): Charge => new RequestCharge(deps, facts);

/** A class, for each request has one: its methods as closures would be a dozen objects more for each. */
class RequestCharge implements Charge {
  held: number;
  charged: number | null = null;
  readonly borrows: boolean;
  private most: number;
  private finished: Promise<void> | null = null;
  /** What the last hold that was refused by the balance, or the key's limit, would have taken. */
  private wanted = 0;
  private readonly tokenId: number;

  constructor(
    private readonly deps: ChargeDeps,
    private readonly facts: ChargeFacts,
  ) {
    const { hold, most } = facts.plan;
    this.held = hold;
    this.most = most;
    this.tokenId = facts.principal.token?.id ?? 0;
    this.borrows = deps.borrowing !== null;
  }

  extendTo(usage: Usage): boolean {
    const { free, plan } = this.facts;
    return this.holdUpTo(free ? 0 : quotaOf(usage, plan.prices));
  }

  cover(outputTokens: number): boolean {
    const { estimate } = this.facts.plan;
    return this.holdUpTo(Math.min(this.most, holdFor(estimate, Math.min(outputTokens, estimate.maxTokens))));
  }

  async borrow(): Promise<boolean> {
    const { borrowing } = this.deps;
    if (borrowing === null || this.wanted === 0) return false;
    return (await borrowing.borrow(this.borrower(), this.wanted, () => this.room())) === 'lent';
  }

  turn(spent: number): void {
    this.facts.admission.turn(spent);
  }

  delivered(frames: number, channel: ChannelSnapshot): void {
    if (this.finished === null) this.deps.balances.money.open.delivered(this.facts.row, channel.id, frames);
  }

  finish(finish: Finish): Promise<void> {
    this.finished ??= this.settle(finish);
    return this.finished;
  }

  checkpoint(usage: Usage, channel: ChannelSnapshot): void {
    const { deps, tokenId } = this;
    const { inquiry, principal, plan, free, row, epoch } = this.facts;
    if (this.finished !== null || free) return;
    const amount = quotaOf(usage, plan.prices);
    deps.balances.money.open.used(row, usage);
    const log = this.entry(LogType.consume, amount, usage, {
      endReason: 'recovered',
      usageSource: 'partial',
      prices: plan.prices,
      dropped: [],
      channel,
      upstreamModel: '',
      firstByteMs: null,
      tried: [triedOnly(channel)],
    });
    void deps.ledger
      .execute({
        type: 'hold',
        ref: inquiry.requestId,
        userId: principal.user.id,
        tokenId,
        channelId: channel.id,
        estimate: this.held,
        observed: amount,
        at: Math.floor(deps.now() / 1000),
        house: plan.house,
        log,
        epoch: epoch === 0 ? undefined : epoch,
      })
      .catch(() => undefined);
  }

  private borrower(): Borrower {
    return borrowerOf(this.facts.principal, this.facts.plan.house);
  }

  private room(): number {
    const { principal, plan } = this.facts;
    return this.deps.balances.available(principal.user.id, this.tokenId, plan.house);
  }

  private holdUpTo(total: number): boolean {
    const { deps, tokenId } = this;
    const { principal, plan, admission, row, epoch } = this.facts;
    const more = total - this.held;
    if (more <= 0) return true;
    this.wanted = 0;
    // Nobody would give it back.
    if (this.finished !== null) return false;
    const beyond = Math.max(0, total - this.most);
    if (beyond > 0 && !admission.extend(beyond)) return false;
    const { overcommit, house } = plan;
    const terms = { most: beyond, overcommit, house, row, epoch };
    if (!deps.balances.hold(principal.user.id, tokenId, more, terms).ok) {
      this.wanted = more;
      return false;
    }
    this.held = total;
    this.most += beyond;
    // As much again is what a stream that goes on will ask for next.
    if (deps.borrowing !== null) {
      this.wanted = more;
      deps.borrowing.ahead(this.borrower(), more, () => this.room());
    }
    return true;
  }

  private entry(type: number, amount: number, usage: Usage | null, finish: Omit<Finish, 'usage'>): LogEntry {
    const { inquiry, principal, free } = this.facts;
    const endedMs = this.deps.now();
    return {
      requestId: inquiry.requestId,
      createdAt: Math.floor(endedMs / 1000),
      type,
      userId: principal.user.id,
      username: principal.user.username,
      tokenId: this.tokenId,
      tokenName: free ? testLabel : (principal.token?.name ?? ''),
      channelId: finish.channel?.id ?? 0,
      group: principal.group,
      model: inquiry.model,
      isStream: inquiry.stream,
      useTime: Math.round((endedMs - inquiry.startedMs) / 1000),
      promptTokens: usage === null ? 0 : loggedPromptTokens(usage),
      completionTokens: usage === null ? 0 : completionTokensOf(usage),
      quota: amount,
      content: finish.content ?? (free ? testLabel : ''),
      other: JSON.stringify(factsOf(inquiry, usage, finish, endedMs)),
      usageSource: finish.usageSource,
      endReason: finish.endReason,
    };
  }

  private settle(finish: Finish): Promise<void> {
    const { deps, tokenId, held, most } = this;
    const { inquiry, principal, plan, free, admission, row, epoch } = this.facts;
    const { open } = deps.balances.money;
    const userId = principal.user.id;
    const { usage } = finish;
    const amount = usage === null || free ? 0 : quotaOf(usage, finish.prices);
    const inputTokens = usage === null ? 0 : promptTokensOf(usage);
    const outputTokens = usage === null ? 0 : completionTokensOf(usage);
    const tokens = inputTokens + outputTokens;
    const endedMs = deps.now();
    deps.figures.ended({
      model: inquiry.model,
      channelId: finish.channel?.id ?? 0,
      operation: inquiry.operation,
      endReason: finish.endReason,
      inputTokens,
      outputTokens,
      charged: amount,
      tries: finish.tried.length,
      ms: endedMs - inquiry.startedMs,
      firstByteMs: finish.firstByteMs === null ? null : finish.firstByteMs - inquiry.startedMs,
    });
    this.charged = usage === null ? null : amount;
    if (deps.observe !== null) {
      const spent = { input: inputTokens, output: outputTokens };
      deps.observe({ inquiry, principal, finish, tokens: spent, charged: amount, endedMs });
    }
    const vain = usage === null;
    if (usage !== null) open.used(row, usage);
    deps.balances.alone(userId, () => {
      admission.ended({ tokens, charged: amount, success: !vain });
      deps.balances.settle(userId, tokenId, { held, charged: amount, most, house: plan.house, row, vain, epoch });
    });
    const type = vain ? LogType.error : LogType.consume;
    const logged = vain || deps.logConsumption();
    // Trouble with the disk is no answer: the ledger keeps the settlement and tries again.
    const durable = deps.ledger
      .execute({
        type: 'settle',
        ref: inquiry.requestId,
        userId,
        tokenId,
        channelId: finish.channel?.id ?? 0,
        amount,
        at: Math.floor(endedMs / 1000),
        house: plan.house,
        log: logged ? this.entry(type, amount, usage, finish) : null,
        tokens,
        model: inquiry.model,
        username: principal.user.username,
        epoch: epoch === 0 ? undefined : epoch,
      })
      .then(
        (result) => this.booked(endedMs, refusalOf(result)),
        (error: unknown) => this.booked(endedMs, String(error)),
      );
    return Number.isFinite(deps.commitCeilingMs) ? withinCeiling(deps, durable) : durable;
  }

  /** @param refusal why the ledger's rules turned it down; null = they did not. */
  private booked(endedMs: number, refusal: string | null): void {
    const { deps, facts } = this;
    deps.figures.committed(deps.now() - endedMs);
    if (refusal !== null) deps.refused(facts.inquiry.requestId, refusal);
    deps.balances.money.open.over(facts.row);
  }
}

/** As the request words it in any dialect. */
function effortOf({ reasoning_effort: plain, reasoning, output_config: config }: Inquiry['body']): string | null {
  const effort = plain ?? record(reasoning)?.effort ?? record(config)?.effort;
  return typeof effort === 'string' && effort.length <= longestEffort ? effort : null;
}
const longestEffort = 32;

/** What explains a row besides its columns. Members are set one by one: this runs for each request. */
function factsOf(
  inquiry: Inquiry,
  usage: Usage | null,
  finish: Omit<Finish, 'usage'>,
  endedMs: number,
): Readonly<Record<string, unknown>> {
  const facts: Record<string, unknown> = usage === null ? {} : priceFacts(usage, finish.prices);
  const { upstreamModel, firstByteMs, tried } = finish;
  facts.frt = firstByteMs === null ? -1000 : Math.round(firstByteMs - inquiry.startedMs);
  facts.ms = Math.round(endedMs - inquiry.startedMs);
  if (upstreamModel !== inquiry.model && upstreamModel !== '') {
    facts.is_model_mapped = true;
    facts.upstream_model_name = upstreamModel;
  }
  const effort = effortOf(inquiry.body);
  if (effort !== null) facts.reasoning_effort = effort;
  if (inquiry.route.path !== usualPath) facts.request_path = inquiry.route.path;
  if (finish.failure !== undefined) facts.failure = finish.failure;
  if (finish.thought !== undefined) {
    const { tokens, ms, tokensPerSecond } = finish.thought;
    facts.estimated_thought = { tokens, ms, tokens_per_second: tokensPerSecond };
  }
  if (finish.compaction !== undefined) facts.compaction = finish.compaction;
  if (finish.dropped.length > 0) facts.dropped = finish.dropped;
  const admin: Record<string, unknown> = { use_channel: tried.map(channelIdOf) };
  if (tried.some(hasFailed))
    admin.attempts = tried.map(({ channelId, name, failed }) => ({ channel: channelId, name, ...failed }));
  facts.admin_info = admin;
  return facts;
}

const channelIdOf = ({ channelId }: Tried): string => String(channelId);
const hasFailed = ({ failed }: Tried): boolean => failed !== null;

/** What is not durable by then goes out all the same, and is counted. */
function withinCeiling({ commitLimits, commitCeilingMs, late }: ChargeDeps, durable: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const written = commitLimits.start(commitCeilingMs, () => {
    late();
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
