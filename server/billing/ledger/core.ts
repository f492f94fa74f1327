/** The rules of money as pure functions: what a command would write, and what a repeated ref means. Storage and threads are elsewhere. */
import type { BudgetParts } from '../../contract/budgets.ts';
import { RedemptionStatus } from '../../contract/enum.ts';
import { type InvoiceKind, quotaRefunded, yearOf } from '../../contract/invoice.ts';
import { maxQuota } from '../../contract/pricing/charge.ts';
import {
  Account,
  type Adjust,
  affiliateAccount,
  finalRef,
  type LedgerCommand,
  type LedgerResult,
  type LogEntry,
  type OrderRefund,
  orderRefundRef,
  type PostingKind,
  pairedRef,
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
import { type InvoiceEntry, issued, type LastInvoice } from './invoices.ts';

/** Beyond it, sums are not exact any more. */
const maxBalance = Number.MAX_SAFE_INTEGER;

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
  /** That it counts in; absent = none. */
  readonly budgets?: BudgetParts | undefined;
}

/** A row beside the postings that says the same thing for its own readers. */
export type Mark =
  | { readonly kind: 'code'; readonly id: number; readonly userId: number; readonly at: number }
  | {
      readonly kind: 'order';
      readonly tradeNo: string;
      readonly callbackId: number;
      readonly at: number;
      readonly invoice: InvoiceEntry | null;
    }
  | {
      readonly kind: 'order_refund';
      readonly tradeNo: string;
      readonly refunded: number;
      readonly invoice: InvoiceEntry | null;
    }
  | { readonly kind: 'affiliate'; readonly userId: number; readonly earned: number; readonly moved: number };

/** All a command writes, in one transaction or not at all. */
export interface Effects {
  readonly posting: Posting | null;
  /** Goes with it: what `overrun` or the house pays of a settlement, or what a credit gives back to `overrun`. */
  readonly paired: Posting | null;
  readonly log: LogEntry | null;
  readonly usage: CounterChange | null;
  readonly mark: Mark | null;
  readonly dropsHold: boolean;
}

export type Decision =
  | { readonly kind: 'write'; readonly effects: Effects }
  | { readonly kind: 'hold' }
  | { readonly kind: 'budget' }
  | { readonly kind: 'answer'; readonly result: LedgerResult };

/** What the rules may ask about the books as they are, earlier commands of the same batch included. */
export interface LedgerState {
  /** 0 when there is no such account. */
  balanceOf(account: number): number;
  hasAccount(userId: number): boolean;
  /** What the user owes to `overrun`. */
  overrunOf(userId: number): number;
  posting(ref: string): Posting | undefined;
  code(id: number): { readonly status: number; readonly quota: number } | undefined;
  order(tradeNo: string): PaidOrder | undefined;
  /** The last one of its kind and year. */
  lastInvoice(kind: InvoiceKind, year: number): LastInvoice;
}

export interface PaidOrder {
  readonly status: string;
  readonly userId: number;
  readonly quota: number;
  /** Its price and what was given back of it, in smallest units of its currency. */
  readonly money: number;
  readonly refunded: number;
}

const reject = (reason: RefusalReason, detail: string): Decision => ({
  kind: 'answer',
  result: { status: 'refused', reason, detail },
});

export const isQuota = (amount: number, min: number): boolean =>
  Number.isSafeInteger(amount) && amount >= min && amount <= maxQuota;

const hourOf = (at: number): number => at - (at % 3600);

const write = (effects: Partial<Effects>): Decision => ({
  kind: 'write',
  effects: { posting: null, paired: null, log: null, usage: null, mark: null, dropsHold: false, ...effects },
});

/** A repeated settlement is found out by the write itself: it is the hot path. Every other repetition is answered from the books. */
export function decide(command: LedgerCommand, state: LedgerState): Decision {
  if (command.ref === '') return reject('invalid', 'ref is empty');
  switch (command.type) {
    case 'settle':
      return settle(command, state);
    case 'hold':
      return isQuota(command.estimate, 0) && isQuota(command.observed, 0)
        ? { kind: 'hold' }
        : reject('invalid', 'hold amounts');
    case 'void':
      return write({ log: command.log, dropsHold: true });
    case 'note':
      return write({ log: command.log });
    case 'budget':
      return Number.isSafeInteger(command.delta) ? { kind: 'budget' } : reject('invalid', `delta ${command.delta}`);
    default:
      return move(command, state);
  }
}

/** Pays for work that is done, so it is posted even if the hold was too small. */
function settle(command: Settle, state: LedgerState): Decision {
  const { ref, userId, tokenId, channelId, amount, at, tokens, model, username, budgets } = command;
  if (!isQuota(amount, 0)) return reject('invalid', `amount ${amount}`);
  // No account is left to charge, but the work was done and the upstream must be paid.
  const debit = amount === 0 || state.hasAccount(userId) ? userId : Account.overrun;
  const posting: Posting | null =
    amount === 0 ? null : { ref, debit, credit: Account.revenue, amount, kind: 'settle', tokenId, channelId, at };
  const paired = posting === null || debit !== userId ? null : paidByOtherAccounts(command, posting, state);
  return write({
    posting,
    paired,
    log: paired === null ? command.log : withPayer(command.log, paired),
    usage:
      userId > 0 && (tokens > 0 || amount > 0)
        ? withBudgets(
            { hourAt: hourOf(at), userId, username, model, tokenId, channelId, requests: 1, tokens, quota: amount, at },
            budgets,
          )
        : null,
    dropsHold: true,
  });
}

/** Most count in none. */
const withBudgets = (usage: CounterChange, budgets: BudgetParts | undefined): CounterChange =>
  budgets === undefined ? usage : { ...usage, budgets };

/** @returns what is paid for the user, null = the balance pays all. */
function paidByOtherAccounts(
  { userId, amount, house: selfUse }: Settle,
  posting: Posting,
  state: LedgerState,
): Posting | null {
  const rest = selfUse === true ? amount : amount - Math.max(0, state.balanceOf(userId));
  if (rest <= 0) return null;
  const [debit, kind] =
    selfUse === true ? ([Account.house, 'house'] as const) : ([Account.overrun, 'overrun'] as const);
  return { ...posting, ref: pairedRef(posting.ref, kind), debit, credit: userId, amount: rest, kind };
}

/** The row keeps what was asked as its quota, and how much of it another account paid. */
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
  readonly requested: number;
  /** By the user's balance; the rest by others. */
  readonly paid: number;
}

/** What the node's own word about a request adds to it, once. Its row replaces the other one's. */
export function correct(command: Settle | Void, { requested, paid }: Provisional, state: LedgerState): Decision {
  const amount = command.type === 'settle' ? command.amount : 0;
  if (!isQuota(amount, 0)) return reject('invalid', `amount ${amount}`);
  const more = amount - requested;
  if (command.type === 'settle' && more > 0) {
    const decision = settle({ ...command, ref: finalRef(command.ref), amount: more, log: null }, state);
    if (decision.kind !== 'write') return decision;
    const { paired, usage } = decision.effects;
    const others = requested - paid + (paired?.amount ?? 0);
    const kind = command.house === true ? 'house' : 'overrun';
    const log =
      others === 0 || command.log === null
        ? command.log
        : { ...command.log, other: withMember(command.log.other, kind, others) };
    const isCounted = requested > 0 && usage !== null;
    return write({ ...decision.effects, log, usage: isCounted ? { ...usage, requests: 0, tokens: 0 } : usage });
  }
  const of = state.posting(command.ref);
  if (more === 0 || of === undefined) return write({ log: command.log, dropsHold: true });
  const ref = finalRef(command.ref);
  const { debit: payer, tokenId, channelId, at } = of;
  const posting: Posting = { ...of, ref, debit: Account.revenue, credit: payer, amount: -more, kind: 'refund' };
  const { model, username } = command.type === 'settle' ? command : { model: command.log?.model ?? '', username: '' };
  const budgets = command.type === 'settle' ? command.budgets : undefined;
  const back = { requests: 0, tokens: 0, quota: more, at };
  return write({
    posting,
    paired: payer > 0 ? repayment(posting, state) : null,
    log: command.log,
    usage:
      payer > 0
        ? withBudgets({ hourAt: hourOf(at), userId: payer, username, model, tokenId, channelId, ...back }, budgets)
        : null,
    dropsHold: true,
  });
}

type Move = Adjust | Redeem | TopUp | Transfer | Reward | Refund;

/** What a movement posts, besides ref, amount and time which it says itself. */
interface PostingAccounts extends Pick<Posting, 'debit' | 'credit' | 'kind'> {
  readonly of?: Posting;
  readonly mark?: Mark;
}

function move(command: Move, state: LedgerState): Decision {
  const { ref, userId, amount, at, log } = command;
  if (!isQuota(amount, command.type === 'reward' ? 0 : 1)) return reject('invalid', `amount ${amount}`);
  if (!state.hasAccount(userId)) return reject('unknown_account', `user ${userId}`);
  const accounts = accountsOf(command, state);
  const known = state.posting(ref);
  if (known !== undefined) return { kind: 'answer', result: duplicateOf(known, { ...accounts, amount }) };
  const rejection = rejectionOf(command, state);
  if (rejection !== null) return rejection;
  const mark = accounts.mark ?? null;
  if (amount === 0) return write({ log, mark });
  const { debit, credit, kind } = accounts;
  const tokenId = accounts.of?.tokenId ?? 0;
  const channelId = accounts.of?.channelId ?? 0;
  const posting: Posting = { ref, debit, credit, amount, kind, tokenId, channelId, at };
  if (state.balanceOf(credit) + amount > maxBalance || state.balanceOf(debit) - amount < -maxBalance)
    return reject('too_large', `amount ${amount}`);
  const paired = repayment(posting, state);
  if (command.type !== 'refund') return write({ posting, paired, log, mark });
  const { model, username } = command;
  const hourAt = hourOf(accounts.of?.at ?? at);
  const back = { requests: 0, tokens: 0, quota: -amount, at };
  return write({
    posting,
    paired,
    log,
    usage: { hourAt, userId, username, model, tokenId, channelId, ...back },
  });
}

/** What a credit gives back to `overrun`. */
function repayment({ ref, credit, amount, at }: Posting, state: LedgerState): Posting | null {
  const overrun = credit > 0 ? Math.min(amount, state.overrunOf(credit)) : 0;
  if (overrun === 0) return null;
  const accounts = { debit: credit, credit: Account.overrun, kind: 'repay', tokenId: 0, channelId: 0 } as const;
  return { ref: pairedRef(ref, 'repay'), ...accounts, amount: overrun, at };
}

function accountsOf(command: Move, state: LedgerState): PostingAccounts {
  const { userId, amount, at } = command;
  const account = affiliateAccount(userId);
  switch (command.type) {
    case 'grant':
      return { debit: command.from ?? Account.mint, credit: userId, kind: command.kind ?? 'grant' };
    case 'deduct':
      return {
        debit: userId,
        credit: command.from ?? Account.adjust,
        kind: command.kind ?? 'deduct',
        ...(command.order === undefined ? {} : { mark: refundMark(command.order, state) }),
      };
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
        mark: {
          ...{ kind: 'order', tradeNo: command.tradeNo, callbackId: command.callbackId, at },
          invoice: invoiceOf(command.invoice, state),
        },
      };
    case 'transfer':
      return {
        debit: account,
        credit: userId,
        kind: 'transfer',
        mark: { kind: 'affiliate', userId, earned: 0, moved: amount },
      };
    case 'reward':
      return {
        debit: Account.promo,
        credit: account,
        kind: 'reward',
        mark: { kind: 'affiliate', userId, earned: amount, moved: 0 },
      };
    case 'refund': {
      const of = state.posting(command.of);
      return { debit: Account.revenue, credit: userId, kind: 'refund', ...(of === undefined ? {} : { of }) };
    }
  }
}

const invoiceOf = (draft: TopUp['invoice'] | null, state: LedgerState): InvoiceEntry | null =>
  draft === undefined || draft === null ? null : issued(draft, state.lastInvoice(draft.kind, yearOf(draft)));

const refundMark = ({ tradeNo, refunded, invoice }: OrderRefund, state: LedgerState): Mark => ({
  ...{ kind: 'order_refund', tradeNo, refunded },
  invoice: invoiceOf(invoice, state),
});

/** What is given back of an order goes once, never exceeds its price, and takes the credited quota in proportion. */
function orderRefusal({ ref, userId, amount, order: given }: Adjust, state: LedgerState): Decision | null {
  if (given === undefined) return null;
  const { tradeNo, before, refunded } = given;
  const order = state.order(tradeNo);
  if (ref !== orderRefundRef(tradeNo, refunded)) return reject('invalid', `ref ${ref}`);
  if (order?.status !== 'success') return reject('closed', `order ${tradeNo}`);
  const { quota, money } = order;
  const takes = quotaRefunded(quota, money, refunded) - quotaRefunded(quota, money, before);
  return order.userId === userId &&
    order.refunded === before &&
    refunded > before &&
    refunded <= money &&
    takes === amount
    ? null
    : reject('mismatch', `given back ${order.refunded} of ${money}`);
}

/** Why the movement may not happen, null = it may. */
function rejectionOf(command: Move, state: LedgerState): Decision | null {
  const { ref, userId, amount } = command;
  switch (command.type) {
    case 'grant':
    case 'reward':
      return null;
    case 'deduct':
      return orderRefusal(command, state) ?? within(amount, state.balanceOf(userId));
    case 'transfer':
      return within(amount, state.balanceOf(affiliateAccount(userId)));
    case 'redeem': {
      const code = state.code(command.redemptionId);
      if (ref !== redeemRef(command.redemptionId)) return reject('invalid', `ref ${ref}`);
      if (code === undefined && command.resent === true) return null;
      if (code?.status !== RedemptionStatus.unused) return reject('closed', `code ${command.redemptionId}`);
      return code.quota === amount ? null : reject('mismatch', `code is worth ${code.quota}`);
    }
    case 'topup': {
      const order = state.order(command.tradeNo);
      if (ref !== topUpRef(command.tradeNo)) return reject('invalid', `ref ${ref}`);
      if (order === undefined && command.resent === true) return null;
      if (order === undefined || order.status === 'success') return reject('closed', `order ${command.tradeNo}`);
      return order.userId === userId && order.quota === amount ? null : reject('mismatch', 'order of another content');
    }
    case 'refund': {
      const of = state.posting(command.of);
      if (ref !== refundRef(command.of)) return reject('invalid', `ref ${ref}`);
      if (of?.kind !== 'settle') return reject('closed', `settlement ${command.of}`);
      return of.debit === userId && of.amount >= amount ? null : reject('mismatch', `settled ${of.amount}`);
    }
  }
}

const within = (amount: number, balance: number): Decision | null =>
  balance < amount ? reject('insufficient', `balance ${balance}`) : null;

type Content = Pick<Posting, 'debit' | 'credit' | 'amount'>;

/** What it means that a ref had been posted before. */
export function duplicateOf(known: Content, requested: Content): LedgerResult {
  const same =
    known.debit === requested.debit && known.credit === requested.credit && known.amount === requested.amount;
  return { status: same ? 'duplicate' : 'conflict' };
}
