/** Sums of one batch: a busy user's row is written once per commit, not once per request. */
import { isOrderRefund } from '../../server/billing/ledger/commands.ts';
import type { CounterChange, Posting } from '../../server/billing/ledger/core.ts';
import { amountIn } from '../../server/contract/budgets.ts';
import { LogSums } from './log-sums.ts';

export interface AccountTotal {
  balance: number;
  used: number;
  requests: number;
  movements: number;
  overrun: number;
  paidIn: number;
}

export const noTotal: Readonly<AccountTotal> = {
  balance: 0,
  used: 0,
  requests: 0,
  movements: 0,
  overrun: 0,
  paidIn: 0,
};

/** Change of a budget's use in a window. */
export interface BudgetTotal {
  readonly budgetId: number;
  readonly windowAt: number;
  used: number;
}

export interface Totals {
  readonly accounts: ReadonlyMap<number, Readonly<AccountTotal>>;
  readonly tokens: ReadonlyMap<number, { readonly used: number; readonly at: number }>;
  readonly channels: ReadonlyMap<number, number>;
  readonly hours: ReadonlyMap<string, CounterChange>;
  /** Use of budgets; null = none. */
  readonly budgets: ReadonlyMap<string, BudgetTotal> | null;
  /** Sums of the log rows that were written. */
  readonly logs: LogSums;
  post(posting: Posting): void;
  use(usage: CounterChange): void;
  count(budgetId: number, windowAt: number, amount: number): void;
  /** Balance not written yet. */
  balance(account: number): number;
  /** Change of what the user owes to `overrun`, not written yet. */
  overrun(account: number): number;
  /** Top-ups not written yet. */
  paidIn(account: number): number;
  /** Movements not written yet: all that the relay has to be notified of. */
  movements(account: number): number;
}

export function createTotals(): Totals {
  const accounts = new Map<number, AccountTotal>();
  const tokens = new Map<number, { used: number; at: number }>();
  const channels = new Map<number, number>();
  const hours = new Map<string, { -readonly [Name in keyof CounterChange]: CounterChange[Name] }>();

  const account = (id: number): AccountTotal => {
    const known = accounts.get(id);
    if (known !== undefined) return known;
    const fresh = { ...noTotal };
    accounts.set(id, fresh);
    return fresh;
  };

  let budgets: Map<string, BudgetTotal> | null = null;
  const count = (budgetId: number, windowAt: number, amount: number): void => {
    budgets ??= new Map();
    const key = `${budgetId} ${windowAt}`;
    const known = budgets.get(key);
    if (known === undefined) budgets.set(key, { budgetId, windowAt, used: amount });
    else known.used += amount;
  };

  return {
    accounts,
    tokens,
    channels,
    hours,
    logs: new LogSums(),
    get budgets() {
      return budgets;
    },
    count,
    post({ debit, credit, amount, kind, ref }) {
      const payer = account(debit);
      const payee = account(credit);
      payer.balance -= amount;
      payee.balance += amount;
      if (kind === 'overrun') payee.overrun += amount;
      if (kind === 'repay') payer.overrun -= amount;
      if (kind === 'topup') payee.paidIn += amount;
      if (kind === 'deduct' && isOrderRefund(ref)) payer.paidIn -= amount;
      // One command is one movement for its readers: a repayment goes with its credit.
      if (kind === 'settle' || kind === 'repay' || kind === 'house') return;
      payer.movements++;
      payee.movements++;
    },
    use(usage) {
      const user = account(usage.userId);
      user.requests += usage.requests;
      user.used += usage.quota;
      const key = `${usage.hourAt} ${usage.userId} ${usage.channelId} ${usage.model}`;
      const hour = hours.get(key);
      if (hour === undefined) hours.set(key, { ...usage });
      else {
        hour.requests += usage.requests;
        hour.tokens += usage.tokens;
        hour.quota += usage.quota;
      }
      const token = tokens.get(usage.tokenId);
      if (token === undefined) tokens.set(usage.tokenId, { used: usage.quota, at: Math.max(0, usage.at) });
      else {
        token.used += usage.quota;
        token.at = Math.max(token.at, usage.at);
      }
      channels.set(usage.channelId, (channels.get(usage.channelId) ?? 0) + usage.quota);
      const { budgets: parts = [], quota, requests, tokens: read } = usage;
      for (let at = 0; at < parts.length; at += 3)
        count(parts[at] ?? 0, parts[at + 1] ?? 0, amountIn(parts[at + 2] ?? 0, quota, requests, read));
    },
    balance: (id) => accounts.get(id)?.balance ?? 0,
    overrun: (id) => accounts.get(id)?.overrun ?? 0,
    paidIn: (id) => accounts.get(id)?.paidIn ?? 0,
    movements: (id) => accounts.get(id)?.movements ?? 0,
  };
}
