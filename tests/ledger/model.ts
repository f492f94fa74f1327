/** The ledger as a person would keep it on paper: no SQL, no batches, none of the product's rules imported. */
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';

export interface Model {
  readonly balances: Map<number, number>;
  readonly pots: Map<number, number>;
  readonly earned: Map<number, number>;
  readonly used: Map<number, number>;
  readonly pending: Map<number, number>;
  readonly codes: Map<number, { quota: number; used: boolean }>;
  readonly orders: Map<string, { userId: number; quota: number; paid: boolean }>;
  /** Ref -> what was posted under it. */
  readonly posted: Map<string, { type: string; userId: number; amount: number }>;
  readonly logged: Set<string>;
  readonly holds: Map<string, { userId: number; observed: number }>;
}

export const createModel = (users: readonly number[]): Model => ({
  balances: new Map(users.map((id) => [id, 0])),
  pots: new Map(),
  earned: new Map(),
  used: new Map(),
  pending: new Map(),
  codes: new Map(),
  orders: new Map(),
  posted: new Map(),
  logged: new Set(),
  holds: new Map(),
});

export const copyOf = (model: Model): Model => ({
  balances: new Map(model.balances),
  pots: new Map(model.pots),
  earned: new Map(model.earned),
  used: new Map(model.used),
  pending: new Map(model.pending),
  codes: new Map(model.codes),
  orders: new Map(model.orders),
  posted: new Map(model.posted),
  logged: new Set(model.logged),
  holds: new Map(model.holds),
});

const add = (map: Map<number, number>, id: number, amount: number) => map.set(id, (map.get(id) ?? 0) + amount);

/** No balance drops below zero: the rest is a debt, and is paid from the next credit. */
function charge(model: Model, userId: number, amount: number): void {
  const have = model.balances.get(userId) ?? 0;
  add(model.balances, userId, -Math.min(have, amount));
  add(model.pending, userId, Math.max(0, amount - have));
  add(model.used, userId, amount);
}

function credit(model: Model, userId: number, amount: number): void {
  const back = Math.min(amount, model.pending.get(userId) ?? 0);
  add(model.pending, userId, -back);
  add(model.balances, userId, amount - back);
}

/** Plays one command and says how the ledger must answer. */
export function play(model: Model, command: LedgerCommand): 'done' | 'duplicate' | 'conflict' | 'refused' {
  const { ref } = command;
  if (command.type === 'hold') {
    model.holds.set(ref, { userId: command.userId, observed: command.observed });
    return 'done';
  }
  if (command.type === 'note' || command.type === 'budget') return 'done';
  if (command.type === 'void') {
    model.holds.delete(ref);
    return 'done';
  }
  const { type, userId, amount } = command;
  const earlier = model.posted.get(ref);
  if (type === 'settle') {
    if (earlier === undefined && model.logged.has(ref) && amount === 0) return 'duplicate';
    if (earlier !== undefined && amount === 0) return 'duplicate';
  }
  if (earlier !== undefined)
    return earlier.type === type && earlier.userId === userId && earlier.amount === amount ? 'duplicate' : 'conflict';
  const have = model.balances.get(userId) ?? 0;
  switch (type) {
    case 'settle':
      model.holds.delete(ref);
      model.logged.add(ref);
      charge(model, userId, amount);
      break;
    case 'grant':
      credit(model, userId, amount);
      break;
    case 'deduct':
      if (have < amount) return 'refused';
      add(model.balances, userId, -amount);
      break;
    case 'redeem': {
      const code = model.codes.get(command.redemptionId);
      if (code === undefined || code.used || code.quota !== amount) return 'refused';
      model.codes.set(command.redemptionId, { ...code, used: true });
      credit(model, userId, amount);
      break;
    }
    case 'topup': {
      const order = model.orders.get(command.tradeNo);
      if (order === undefined || order.paid || order.userId !== userId || order.quota !== amount) return 'refused';
      model.orders.set(command.tradeNo, { ...order, paid: true });
      credit(model, userId, amount);
      break;
    }
    case 'reward':
      add(model.pots, userId, amount);
      add(model.earned, userId, amount);
      break;
    case 'transfer':
      if ((model.pots.get(userId) ?? 0) < amount) return 'refused';
      add(model.pots, userId, -amount);
      credit(model, userId, amount);
      break;
    case 'refund': {
      const of = model.posted.get(command.of);
      if (of?.type !== 'settle' || of.userId !== userId || of.amount < amount) return 'refused';
      credit(model, userId, amount);
      add(model.used, userId, -amount);
      break;
    }
    default:
      break;
  }
  if (amount > 0) model.posted.set(ref, { type, userId, amount });
  return 'done';
}

/** A new run settles what was observed of the open holds, and forgets the others. */
export function restart(model: Model): void {
  for (const [ref, { userId, observed }] of model.holds) {
    if (observed > 0 && !model.posted.has(ref)) {
      model.logged.add(ref);
      model.posted.set(ref, { type: 'settle', userId, amount: observed });
      charge(model, userId, observed);
    }
  }
  model.holds.clear();
}
