/** Decides a batch upon rows that are locked: the same rules as everywhere, and who pays out of which lease. */
import {
  Account,
  type Hold,
  type LedgerCommand,
  type LedgerResult,
  type LogEntry,
  type MoneyEvent,
  type Refund,
  type Settle,
  type Void,
} from '../../../server/billing/ledger/commands.ts';
import {
  type CounterChange,
  correct,
  type Decision,
  decide,
  duplicateOf,
  type Effects,
  type LedgerState,
} from '../../../server/billing/ledger/core.ts';
import { noInvoice } from '../../../server/billing/ledger/invoices.ts';
import type { HeldLog, LeaseKind, Outcome, UnspentLease } from '../../../server/billing/ports.ts';
import { amountIn, type BudgetParts } from '../../../server/contract/budgets.ts';
import { countedWindow } from '../../postgres/budgets.ts';
import type { Statement } from '../../postgres/line.ts';
import { NameMemory, type NameTable, numbered } from '../names.ts';
import { type AccountAfter, eventOf } from '../sqlite/events.ts';
import { createTotals, type Totals } from '../totals.ts';
import { type EndRow, invoiceSeries, type Known, leaseKey, nameKey, noteRef, windowKey } from './known.ts';
import { newWrites, statementsFor, type Writes } from './writes.ts';

export interface BatchOutcome extends Outcome {
  readonly unspent: readonly UnspentLease[];
}

export interface PlannedBatch {
  readonly outcome: BatchOutcome;
  readonly statements: readonly Statement[];
  /** Names that are in the table once the batch is committed. */
  readonly names: NameMemory;
}

export function decideBatch(
  commands: readonly LedgerCommand[],
  known: Known,
  epoch: number,
  before: NameMemory = new NameMemory(),
): PlannedBatch {
  const totals = createTotals();
  const writes = newWrites();
  const leaseWrites = createLeaseWrites(known, writes);
  const desk = createBatchState(known, leaseWrites, totals);
  const names = new NameMemory(before);
  const nameTable: NameTable = {
    has: (userId, id) => known.names.has(nameKey(userId, id)),
    countOn: (userId, day) => known.nameCounts.get(nameKey(userId, day)) ?? 0,
    add: (name) => void writes.names.push(name),
  };
  const ends = new Map<string, EndRow>(known.ends);
  const events: MoneyEvent[] = [];
  const after: AccountAfter = {
    version: (id) => (known.accounts.get(id)?.version ?? 0) + totals.movements(id),
    paidIn: (id) => (known.accounts.get(id)?.paid_in ?? 0) + totals.paidIn(id),
  };

  /** The cost of a request is paid from the lease under which it was admitted. */
  const sourceOf = (command: Settle | Void): number =>
    known.holds.get(command.ref)?.epoch ?? (command.type === 'settle' ? command.epoch : undefined) ?? epoch;
  const unspent: UnspentLease[] = [];
  /** @param paid of what was asked for: not by others. */
  const pay = (
    kind: LeaseKind,
    subject: number,
    source: number,
    { asked: requested, paid }: Record<'asked' | 'paid', number>,
  ) => {
    const own = leaseWrites.pay(kind, subject, source, paid);
    if (source === epoch && requested > own) unspent.push({ kind, subject, amount: requested - own });
  };

  const written = (log: LogEntry) => {
    const row = numbered(log, names, nameTable);
    writes.logs.push(row);
    totals.logs.add(row);
  };

  /** The settlement's budgets were paid from leases of this node. */
  const payBudgets = ({ budgets = [], quota, requests, tokens }: CounterChange, source: number) => {
    for (let at = 0; at < budgets.length; at += 3) {
      const amount = amountIn(budgets[at + 2] ?? 0, quota, requests, tokens);
      if (amount > 0) pay('budget', budgets[at] ?? 0, source, { asked: amount, paid: amount });
    }
  };

  /** Never below zero. @returns what changed. */
  const counted = (budgetId: number, windowAt: number, delta: number): MoneyEvent => {
    const used =
      (known.budgetUse.get(windowKey(budgetId, windowAt)) ?? 0) +
      (totals.budgets?.get(windowKey(budgetId, windowAt))?.used ?? 0);
    const change = Math.max(delta, -used);
    totals.count(budgetId, windowAt, change);
    return { kind: 'budget', budgetId, windowAt, delta: change };
  };

  const refunded = ({ of, amount }: Refund) => {
    for (const { id, windowAt } of known.refunded.get(of) ?? []) events.push(counted(id, windowAt, -amount));
    const name = known.refundedFor.get(of);
    const settled = known.postings.get(of);
    if (name === undefined || settled === undefined) return;
    events.push({ kind: 'end_user', tokenId: settled.tokenId, name, at: settled.at, delta: -amount });
  };

  const post = (effects: Effects, source: number) => {
    const { posting, paired, log, usage, mark } = effects;
    for (const one of [posting, paired]) {
      if (one === null) continue;
      writes.postings.push(one);
      desk.posted(one);
      totals.post(one);
    }
    if (posting?.kind === 'settle' && posting.debit > 0) {
      const others = paired?.amount ?? 0;
      const isSelfUse = paired?.kind === 'house';
      pay('account', posting.debit, source, {
        asked: isSelfUse ? 0 : posting.amount,
        paid: posting.amount - others,
      });
      if (posting.tokenId > 0) pay('token', posting.tokenId, source, { asked: posting.amount, paid: posting.amount });
    }
    if (log !== null) written(log);
    if (usage !== null) {
      totals.use(usage);
      payBudgets(usage, source);
    }
    if (mark !== null) desk.marked(mark, writes);
    const event = eventOf(effects, after);
    if (event !== null) events.push(event);
  };

  const drop = (ref: string) => {
    writes.holds.delete(ref);
    const held = known.holds.get(ref);
    if (held === undefined) return;
    writes.dropped.push(ref);
  };

  const endAs = (command: Settle | Void, effects: Effects, earlier: EndRow | undefined) => {
    const { ref } = command;
    const { posting, paired } = effects;
    const source = sourceOf(command);
    post(effects, source);
    const requested = command.type === 'settle' ? command.amount : 0;
    const before = earlier?.paid ?? 0;
    const moved = posting?.kind === 'settle' ? posting.amount - (paired?.amount ?? 0) : -(posting?.amount ?? 0);
    const provisional = command.provisional === true ? 1 : 0;
    const account = posting?.debit === Account.revenue ? posting.credit : (posting?.debit ?? earlier?.account ?? 0);
    const end = { account, requested: requested, paid: Math.max(0, before + moved), provisional };
    ends.set(ref, end);
    if (earlier !== undefined) writes.replaced.push(ref);
    writes.ends.push({ ref, ...end, at: command.type === 'settle' ? command.at : (command.log?.createdAt ?? 0) });
    const held = known.holds.get(ref);
    if (held !== undefined && held.epoch !== epoch) leaseWrites.release(command, source, held.estimate - requested);
    drop(ref);
  };

  const finish = (asked: Settle | Void): LedgerResult => {
    const command =
      asked.type === 'settle' && asked.budgets !== undefined ? inWindows(asked, asked.budgets, known) : asked;
    const { ref } = command;
    const earlier = ends.get(ref);
    const isFinal = earlier?.provisional === 1 && command.provisional !== true;
    if (earlier !== undefined && !isFinal) {
      drop(ref);
      return resultOf(command, earlier);
    }
    desk.pays(sourceOf(command));
    const decision: Decision =
      earlier === undefined ? decide(command, desk.books) : correct(command, earlier, desk.books);
    if (decision.kind === 'answer') return decision.result;
    if (decision.kind === 'write') endAs(command, decision.effects, earlier);
    return { status: 'done' };
  };

  const note = (ref: string, log: LogEntry): LedgerResult => {
    const key = noteRef(ref);
    if (ends.has(key)) return { status: 'duplicate' };
    const end = { account: 0, requested: 0, paid: 0, provisional: 0 };
    ends.set(key, end);
    writes.ends.push({ ref: key, ...end, at: log.createdAt });
    written(log);
    return { status: 'done' };
  };

  const hold = (command: Hold): LedgerResult => {
    const decision = decide(command, desk.books);
    if (decision.kind === 'answer') return decision.result;
    // A hold that comes after its settlement is over already.
    if (ends.has(command.ref)) return { status: 'done' };
    const { house: selfUse, budgets } = command;
    const own: HeldLog = selfUse === true ? { ...command.log, house: true } : command.log;
    const log: HeldLog = budgets === undefined ? own : { ...own, budgets };
    writes.holds.set(command.ref, { hold: command, log: JSON.stringify(log) });
    return { status: 'done' };
  };

  const play = (command: LedgerCommand): LedgerResult => {
    switch (command.type) {
      case 'settle':
      case 'void':
        return finish(command);
      case 'note':
        return note(command.ref, command.log);
      case 'hold':
        return hold(command);
      default:
        break;
    }
    desk.moves(command.type === 'deduct' ? 'free' : 'all');
    const decision = decide(command, desk.books);
    if (decision.kind === 'answer') return decision.result;
    if (decision.kind === 'budget' && command.type === 'budget')
      events.push(counted(command.budgetId, command.windowAt, command.delta));
    if (decision.kind === 'write') post(decision.effects, epoch);
    // Refunded quota no longer counts as used.
    if (decision.kind === 'write' && command.type === 'refund') refunded(command);
    return { status: 'done' };
  };

  const results = commands.map(play);
  return {
    outcome: { results, events, unspent },
    statements: statementsFor(writes, totals, epoch),
    names,
  };
}

/** The command with the windows in which its costs count, whichever its node took them for. */
const inWindows = (command: Settle, budgets: BudgetParts, known: Known): Settle => ({
  ...command,
  budgets: budgets.map((part, at) => {
    const state = at % 3 === 1 ? known.budgets.get(budgets[at - 1] ?? 0) : undefined;
    return state === undefined ? part : countedWindow(state, part);
  }),
});

/** Repeated: user and amount of the request, not how it was paid. */
function resultOf(command: Settle | Void, { account, requested }: EndRow): LedgerResult {
  if (command.type === 'void' || command.amount === 0 || command.provisional === true) return { status: 'duplicate' };
  const debit = account === Account.overrun ? account : command.userId;
  const known = { debit: account, credit: Account.revenue, amount: requested };
  return duplicateOf(known, { debit, credit: Account.revenue, amount: command.amount });
}

interface LeaseWrites {
  /** From the lease as far as it goes; the rest from the unleased balance. @returns what the lease paid. */
  pay(kind: LeaseKind, subject: number, epoch: number, amount: number): number;
  /** Quota that a node that is gone had set aside for a request, and that was not needed. */
  release(command: Settle | Void, epoch: number, rest: number): void;
  lease(kind: LeaseKind, subject: number, epoch: number): number;
  leasedOf(account: number): number;
}

function createLeaseWrites(known: Known, writes: Writes): LeaseWrites {
  const by = (kind: LeaseKind, subject: number, epoch: number): number =>
    writes.leases.get(leaseKey(kind, subject, epoch))?.by ?? 0;
  const lease = (kind: LeaseKind, subject: number, epoch: number): number =>
    (known.leases.get(leaseKey(kind, subject, epoch)) ?? 0) + by(kind, subject, epoch);
  const takeFrom = (kind: LeaseKind, subject: number, epoch: number, needed: number): number => {
    const amount = Math.min(needed, lease(kind, subject, epoch));
    if (amount <= 0) return 0;
    const change = { kind, subject, epoch, by: by(kind, subject, epoch) - amount };
    writes.leases.set(leaseKey(kind, subject, epoch), change);
    // A budget has no sum of its leases: its row is not touched by settlements.
    if (kind === 'budget') return amount;
    const sums = writes.leased[kind];
    sums.set(subject, (sums.get(subject) ?? 0) - amount);
    return amount;
  };
  return {
    lease,
    pay: takeFrom,
    release(command, epoch, rest) {
      if (rest <= 0 || command.type !== 'settle') return;
      if (command.house !== true) takeFrom('account', command.userId, epoch, rest);
      if (command.tokenId > 0) takeFrom('token', command.tokenId, epoch, rest);
    },
    leasedOf: (account) => (known.accounts.get(account)?.leased ?? 0) + (writes.leased.account.get(account) ?? 0),
  };
}

type VisibleBalance = 'all' | 'free' | { readonly lease: number };

/** The books as the ledger's rules see them: of each balance only the part that the current command may use. */
function createBatchState(known: Known, leaseWrites: LeaseWrites, totals: Totals) {
  const postings = new Map(known.postings);
  const codes = new Map(known.codes);
  const orders = new Map(known.orders);
  const invoices = new Map(known.invoices);
  let visible: VisibleBalance = 'all';

  const balanceOf = (account: number): number => {
    const row = known.accounts.get(account);
    if (row === undefined) return (known.system.get(account) ?? 0) + totals.balance(account);
    const balance = row.balance + totals.balance(account);
    if (visible === 'all') return balance;
    const free = balance - leaseWrites.leasedOf(account);
    return visible === 'free' ? free : Math.max(0, free) + leaseWrites.lease('account', account, visible.lease);
  };

  const state: LedgerState = {
    balanceOf,
    hasAccount: (userId) => known.accounts.has(userId),
    overrunOf: (userId) => (known.accounts.get(userId)?.overrun ?? 0) + totals.overrun(userId),
    posting(ref) {
      const found = postings.get(ref);
      const end = known.ends.get(ref);
      // The final amount, whether it was posted at once or in two steps.
      return found?.kind === 'settle' && end !== undefined && end.provisional === 0
        ? { ...found, amount: end.requested }
        : found;
    },
    code: (id) => codes.get(id),
    order: (tradeNo) => orders.get(tradeNo),
    lastInvoice: (kind, year) => invoices.get(invoiceSeries(kind, year)) ?? noInvoice,
  };

  return {
    books: state,
    /** How much a settlement takes from what was leased for it, and how much from the part that no node has leased. */
    pays(lease: number) {
      visible = { lease };
    },
    moves(of: 'all' | 'free') {
      visible = of;
    },
    posted(posting: NonNullable<Effects['posting']>) {
      postings.set(posting.ref, posting);
    },
    marked(mark: NonNullable<Effects['mark']>, { marks }: Writes) {
      marks.push(mark);
      if (mark.kind === 'code') {
        const code = codes.get(mark.id);
        if (code !== undefined) codes.set(mark.id, { ...code, status: 3 });
      } else if (mark.kind === 'order') {
        const order = orders.get(mark.tradeNo);
        if (order !== undefined) orders.set(mark.tradeNo, { ...order, status: 'success' });
      } else if (mark.kind === 'order_refund') {
        const order = orders.get(mark.tradeNo);
        if (order !== undefined) orders.set(mark.tradeNo, { ...order, refunded: mark.refunded });
      }
      if ((mark.kind === 'order' || mark.kind === 'order_refund') && mark.invoice !== null)
        invoices.set(invoiceSeries(mark.invoice.kind, mark.invoice.year), mark.invoice);
    },
  };
}
