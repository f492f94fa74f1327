/** The rules of money as pure functions: what a command would write, and what a repeated ref means. Storage and threads are elsewhere. */
import { RedemptionStatus } from '../../contract/enums.ts';
import { mostQuota } from '../../contract/pricing/charge.ts';
import {
  Account,
  type Adjust,
  affiliatePot,
  besideRef,
  finalRef,
  type LedgerCommand,
  type LedgerResult,
  type LogEntry,
  type PostingKind,
  type Redeem,
  type Refund,
  type RefusalReason,
  type Reward,
  redeemRef,
  refundRef,
  type Settle,
  type TopUp,
  type Transfer,
  topUpRef,
  type Void,
} from './commands.ts';

/** Beyond it, sums are not exact any more. */
const mostBalance = Number.MAX_SAFE_INTEGER;

export interface Posting {
  readonly ref: string;
  /** Account that pays. */
  readonly debit: number;
  /** Account that receives. */
  readonly credit: number;
  readonly amount: number;
  readonly kind: PostingKind;
  readonly tokenId: number;
  readonly channelId: number;
  readonly at: number;
}

/** What is added to the counters of user, token, channel and hour; negative for a refund. */
export interface CounterChange {
  /** Start of the hour, epoch seconds. */
  readonly hourAt: number;
  readonly userId: number;
  readonly username: string;
  readonly model: string;
  readonly tokenId: number;
  readonly channelId: number;
  readonly requests: number;
  readonly tokens: number;
  readonly quota: number;
  readonly at: number;
}

/** A row beside the postings that says the same thing for its own readers. */
export type Mark =
  | { readonly kind: 'code'; readonly id: number; readonly userId: number; readonly at: number }
  | { readonly kind: 'order'; readonly tradeNo: string; readonly callbackId: number; readonly at: number }
  | { readonly kind: 'affiliate'; readonly userId: number; readonly earned: number; readonly moved: number };

/** All a command writes, in one transaction or not at all. */
export interface Effects {
  readonly posting: Posting | null;
  /** Goes with it: what `overrun` or the house pays of a settlement, or what a credit gives back to `overrun`. */
  readonly beside: Posting | null;
  readonly log: LogEntry | null;
  readonly usage: CounterChange | null;
  readonly mark: Mark | null;
  readonly dropsHold: boolean;
}

export type Decision =
  | { readonly kind: 'write'; readonly effects: Effects }
  | { readonly kind: 'hold' }
  | { readonly kind: 'answer'; readonly result: LedgerResult };

/** What the rules may ask about the books as they are, earlier commands of the same batch included. */
export interface Books {
  /** 0 when there is no such account. */
  balanceOf(account: number): number;
  hasAccount(userId: number): boolean;
  /** What the user owes to `overrun`. */
  overrunOf(userId: number): number;
  posting(ref: string): Posting | undefined;
  code(id: number): { readonly status: number; readonly quota: number } | undefined;
  order(tradeNo: string): { readonly status: string; readonly userId: number; readonly quota: number } | undefined;
}

const refuse = (reason: RefusalReason, detail: string): Decision => ({
  kind: 'answer',
  result: { status: 'refused', reason, detail },
});

const isQuota = (amount: number, least: number): boolean =>
  Number.isSafeInteger(amount) && amount >= least && amount <= mostQuota;

const hourOf = (at: number): number => at - (at % 3600);

const write = (effects: Partial<Effects>): Decision => ({
  kind: 'write',
  effects: { posting: null, beside: null, log: null, usage: null, mark: null, dropsHold: false, ...effects },
});

/** A repeated settlement is found out by the write itself: it is the hot path. Every other repetition is answered from the books. */
export function decide(command: LedgerCommand, books: Books): Decision {
  if (command.ref === '') return refuse('invalid', 'ref is empty');
  switch (command.type) {
    case 'settle':
      return settle(command, books);
    case 'hold':
      return isQuota(command.estimate, 0) && isQuota(command.observed, 0)
        ? { kind: 'hold' }
        : refuse('invalid', 'hold amounts');
    case 'void':
      return write({ log: command.log, dropsHold: true });
    case 'note':
      return write({ log: command.log });
    default:
      return move(command, books);
  }
}

/** Pays for work that is done, so it is posted even if the hold was too small. */
function settle(command: Settle, books: Books): Decision {
  const { ref, userId, tokenId, channelId, amount, at, tokens, model, username } = command;
  if (!isQuota(amount, 0)) return refuse('invalid', `amount ${amount}`);
  // Nobody can be asked any more, but the work was done and the upstream wants its money.
  const debit = amount === 0 || books.hasAccount(userId) ? userId : Account.overrun;
  const posting: Posting | null =
    amount === 0 ? null : { ref, debit, credit: Account.revenue, amount, kind: 'settle', tokenId, channelId, at };
  const beside = posting === null || debit !== userId ? null : paidByOthers(command, posting, books);
  return write({
    posting,
    beside,
    log: beside === null ? command.log : withPayer(command.log, beside),
    usage:
      userId > 0 && (tokens > 0 || amount > 0)
        ? { hourAt: hourOf(at), userId, username, model, tokenId, channelId, requests: 1, tokens, quota: amount, at }
        : null,
    dropsHold: true,
  });
}

/** @returns what is paid for the user, null = the balance pays all. */
function paidByOthers({ userId, amount, house }: Settle, posting: Posting, books: Books): Posting | null {
  const rest = house === true ? amount : amount - Math.max(0, books.balanceOf(userId));
  if (rest <= 0) return null;
  const [debit, kind] = house === true ? ([Account.house, 'house'] as const) : ([Account.overrun, 'overrun'] as const);
  return { ...posting, ref: besideRef(posting.ref, kind), debit, credit: userId, amount: rest, kind };
}

/** The row keeps what was asked as its quota, and how much of it somebody else paid. */
const withPayer = (log: LogEntry | null, { kind, amount }: Posting): LogEntry | null =>
  log === null ? null : { ...log, other: withMember(log.other, kind, amount) };

/** Reading and writing all of it again costs as much as everything else that is decided here. */
function withMember(object: string, name: string, value: number): string {
  const end = object.lastIndexOf('}');
  if (end < 0) return `{"${name}":${value}}`;
  const isEmpty = object.slice(0, end).trim() === '{';
  return `${object.slice(0, end)}${isEmpty ? '' : ','}"${name}":${value}}`;
}

/** What was settled for a node that was gone. */
export interface Provisional {
  readonly asked: number;
  /** By the user's balance; the rest by others. */
  readonly paid: number;
}

/** What the node's own word about a request adds to it, once. Its row replaces the other one's. */
export function correct(command: Settle | Void, { asked, paid }: Provisional, books: Books): Decision {
  const amount = command.type === 'settle' ? command.amount : 0;
  if (!isQuota(amount, 0)) return refuse('invalid', `amount ${amount}`);
  const more = amount - asked;
  if (command.type === 'settle' && more > 0) {
    const decision = settle({ ...command, ref: finalRef(command.ref), amount: more, log: null }, books);
    if (decision.kind !== 'write') return decision;
    const { beside, usage } = decision.effects;
    const others = asked - paid + (beside?.amount ?? 0);
    const kind = command.house === true ? 'house' : 'overrun';
    const log =
      others === 0 || command.log === null
        ? command.log
        : { ...command.log, other: withMember(command.log.other, kind, others) };
    const isCounted = asked > 0 && usage !== null;
    return write({ ...decision.effects, log, usage: isCounted ? { ...usage, requests: 0, tokens: 0 } : usage });
  }
  const of = books.posting(command.ref);
  if (more === 0 || of === undefined) return write({ log: command.log, dropsHold: true });
  const ref = finalRef(command.ref);
  const { debit: payer, tokenId, channelId, at } = of;
  const posting: Posting = { ...of, ref, debit: Account.revenue, credit: payer, amount: -more, kind: 'refund' };
  const { model, username } = command.type === 'settle' ? command : { model: command.log?.model ?? '', username: '' };
  const back = { requests: 0, tokens: 0, quota: more, at };
  return write({
    posting,
    beside: payer > 0 ? repayment(posting, books) : null,
    log: command.log,
    usage: payer > 0 ? { hourAt: hourOf(at), userId: payer, username, model, tokenId, channelId, ...back } : null,
    dropsHold: true,
  });
}

type Move = Adjust | Redeem | TopUp | Transfer | Reward | Refund;

/** What a movement posts, besides ref, amount and time which it says itself. */
interface Terms extends Pick<Posting, 'debit' | 'credit' | 'kind'> {
  readonly of?: Posting;
  readonly mark?: Mark;
}

function move(command: Move, books: Books): Decision {
  const { ref, userId, amount, at, log } = command;
  if (!isQuota(amount, command.type === 'reward' ? 0 : 1)) return refuse('invalid', `amount ${amount}`);
  if (!books.hasAccount(userId)) return refuse('unknown_account', `user ${userId}`);
  const terms = termsOf(command, books);
  const known = books.posting(ref);
  if (known !== undefined) return { kind: 'answer', result: repeated(known, { ...terms, amount }) };
  const complaint = complaintAbout(command, books);
  if (complaint !== null) return complaint;
  const mark = terms.mark ?? null;
  if (amount === 0) return write({ log, mark });
  const { debit, credit, kind } = terms;
  const tokenId = terms.of?.tokenId ?? 0;
  const channelId = terms.of?.channelId ?? 0;
  const posting: Posting = { ref, debit, credit, amount, kind, tokenId, channelId, at };
  if (books.balanceOf(credit) + amount > mostBalance || books.balanceOf(debit) - amount < -mostBalance)
    return refuse('too_large', `amount ${amount}`);
  const beside = repayment(posting, books);
  if (command.type !== 'refund') return write({ posting, beside, log, mark });
  const { model, username } = command;
  const hourAt = hourOf(terms.of?.at ?? at);
  const back = { requests: 0, tokens: 0, quota: -amount, at };
  return write({
    posting,
    beside,
    log,
    usage: { hourAt, userId, username, model, tokenId, channelId, ...back },
  });
}

/** What a credit gives back to `overrun`. */
function repayment({ ref, credit, amount, at }: Posting, books: Books): Posting | null {
  const owed = credit > 0 ? Math.min(amount, books.overrunOf(credit)) : 0;
  if (owed === 0) return null;
  const terms = { debit: credit, credit: Account.overrun, kind: 'repay', tokenId: 0, channelId: 0 } as const;
  return { ref: besideRef(ref, 'repay'), ...terms, amount: owed, at };
}

function termsOf(command: Move, books: Books): Terms {
  const { userId, amount, at } = command;
  const pot = affiliatePot(userId);
  switch (command.type) {
    case 'grant':
      return { debit: command.from ?? Account.mint, credit: userId, kind: command.kind ?? 'grant' };
    case 'deduct':
      return { debit: userId, credit: command.from ?? Account.adjust, kind: command.kind ?? 'deduct' };
    case 'redeem':
      return {
        debit: Account.mint,
        credit: userId,
        kind: 'redeem',
        mark: { kind: 'code', id: command.redemptionId, userId, at },
      };
    case 'topup':
      return {
        debit: Account.mint,
        credit: userId,
        kind: 'topup',
        mark: { kind: 'order', tradeNo: command.tradeNo, callbackId: command.callbackId, at },
      };
    case 'transfer':
      return {
        debit: pot,
        credit: userId,
        kind: 'transfer',
        mark: { kind: 'affiliate', userId, earned: 0, moved: amount },
      };
    case 'reward':
      return {
        debit: Account.promo,
        credit: pot,
        kind: 'reward',
        mark: { kind: 'affiliate', userId, earned: amount, moved: 0 },
      };
    case 'refund': {
      const of = books.posting(command.of);
      return { debit: Account.revenue, credit: userId, kind: 'refund', ...(of === undefined ? {} : { of }) };
    }
  }
}

/** Why the movement may not happen, null = it may. */
function complaintAbout(command: Move, books: Books): Decision | null {
  const { ref, userId, amount } = command;
  switch (command.type) {
    case 'grant':
    case 'reward':
      return null;
    case 'deduct':
      return within(amount, books.balanceOf(userId));
    case 'transfer':
      return within(amount, books.balanceOf(affiliatePot(userId)));
    case 'redeem': {
      const code = books.code(command.redemptionId);
      if (ref !== redeemRef(command.redemptionId)) return refuse('invalid', `ref ${ref}`);
      if (code === undefined && command.resent === true) return null;
      if (code?.status !== RedemptionStatus.unused) return refuse('closed', `code ${command.redemptionId}`);
      return code.quota === amount ? null : refuse('mismatch', `code is worth ${code.quota}`);
    }
    case 'topup': {
      const order = books.order(command.tradeNo);
      if (ref !== topUpRef(command.tradeNo)) return refuse('invalid', `ref ${ref}`);
      if (order === undefined && command.resent === true) return null;
      if (order === undefined || order.status === 'success') return refuse('closed', `order ${command.tradeNo}`);
      return order.userId === userId && order.quota === amount ? null : refuse('mismatch', 'order of another content');
    }
    case 'refund': {
      const of = books.posting(command.of);
      if (ref !== refundRef(command.of)) return refuse('invalid', `ref ${ref}`);
      if (of?.kind !== 'settle') return refuse('closed', `settlement ${command.of}`);
      return of.debit === userId && of.amount >= amount ? null : refuse('mismatch', `settled ${of.amount}`);
    }
  }
}

const within = (amount: number, balance: number): Decision | null =>
  balance < amount ? refuse('insufficient', `balance ${balance}`) : null;

type Content = Pick<Posting, 'debit' | 'credit' | 'amount'>;

/** What it means that a ref had been posted before. */
export function repeated(known: Content, wanted: Content): LedgerResult {
  const same = known.debit === wanted.debit && known.credit === wanted.credit && known.amount === wanted.amount;
  return { status: same ? 'duplicate' : 'conflict' };
}
