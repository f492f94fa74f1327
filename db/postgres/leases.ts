/** Leases taken and given back under the locks of their accounts and tokens, or of budgets. What is granted is decided here and written as a number: a statement that computes it gives twice when it is repeated. */
import type { AccountState, Acquire, Grant, LeaseKind, LeaseMove, MoveOutcome } from '../../server/billing/ports.ts';
import type { Period } from '../../server/contract/period.ts';
import { leaseKey } from '../ledger/postgres/known.ts';
import { changeLeases, type LeaseChange } from '../ledger/postgres/writes.ts';
import { numbers } from './arrays.ts';
import { type BudgetState, currentWindow, readBudgets } from './budgets.ts';
import type { Answer, Statement } from './line.ts';
import { startOf } from './period.ts';

interface Available {
  /** Balance, or the least of what is not spent of a token's limit and budgets. */
  readonly left: number;
  readonly bound: Grant['tokenBound'];
  leased: number;
}

interface LeaseRow {
  readonly kind: LeaseKind;
  readonly subject: number;
  readonly epoch: number;
}

interface KnownLeases {
  /** Leases of nodes that live. */
  readonly leaseRows: readonly LeaseRow[];
  /** By `leaseKey`. */
  readonly leases: ReadonlyMap<string, number>;
  readonly accounts: ReadonlyMap<number, Available & { readonly accountState?: AccountState }>;
  readonly tokens: ReadonlyMap<number, Available>;
  readonly budgets: ReadonlyMap<number, Available & { readonly state: BudgetState }>;
}

/** A balance below so many times the need is small. */
export const smallFor = 8;
/**
 * A balance of so many needs is ample. Each of n nodes leases at most 1 / 2n of what is free: a dozen leave three fifths of it, and
 * what one that is gone keeps for a while is at most half.
 */
export const ampleFor = 32;

const sorted = (ids: Iterable<number>): number[] => [...new Set(ids)].sort((a, b) => a - b);

/**
 * Leases outlive the period in which they were taken, and count in the next: what is spent in a period and leased is within
 * its budget at any time. By the database's clock, in UTC.
 */
const leftOf = (period: Period): string =>
  `CASE WHEN ${period}_budget > 0 THEN ${period}_budget - CASE WHEN ${period}_at >= ${startOf(period)} THEN ${period}_used ELSE 0 END END AS "${period}"`;

const bounds = ['limit', 'day', 'month'] as const;

/** @param row null = without such a bound. */
function availableOf(
  row: Readonly<Record<(typeof bounds)[number], number | null | undefined>> & { leased: number },
): Available {
  let available: Available = { left: Number.MAX_SAFE_INTEGER, bound: 'limit', leased: row.leased };
  for (const bound of bounds) {
    const left = row[bound] ?? available.left;
    if (left < available.left) available = { ...available, left, bound };
  }
  return available;
}

export function readsForLeases(
  moves: readonly LeaseMove[],
  epoch: number,
): {
  readonly statements: readonly Statement[];
  readonly read: (answers: readonly Answer[]) => KnownLeases;
} {
  const subjects: Record<LeaseKind, number[]> = { account: [], token: [], budget: [] };
  for (const move of moves) {
    if (move.type === 'acquire') {
      subjects[move.kind ?? 'account'].push(move.account);
      if (move.token > 0) subjects.token.push(move.token);
    } else subjects[move.kind].push(move.subject);
  }
  const { account: accounts, token: tokens } = subjects;
  const budgets = sorted(subjects.budget);
  if (budgets.length > 0) return readsForBudgets(budgets, epoch);
  const availableById = (answer: Answer | undefined) =>
    new Map((answer?.rows ?? []).map((row) => [row.id as number, availableOf(row)]));
  return {
    statements: [
      {
        text: 'SELECT id, balance AS "limit", leased, version, overrun, paid_in FROM accounts WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE',
        values: [numbers(sorted(accounts))],
      },
      {
        text: `SELECT id, CASE unlimited WHEN 0 THEN quota_limit - used_quota END AS "limit", ${leftOf('day')}, ${leftOf('month')}, leased
          FROM tokens WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE`,
        values: [numbers(sorted(tokens))],
      },
      {
        text: `SELECT l.kind, l.subject, l.epoch, l.amount, (l.amount > 0 AND n.state <> 'expired')::int AS lives
          FROM leases l LEFT JOIN nodes n USING (epoch)
          WHERE l.kind = 'account' AND l.subject = ANY($1::bigint[]) OR l.kind = 'token' AND l.subject = ANY($2::bigint[])`,
        values: [numbers(sorted(accounts)), numbers(sorted(tokens))],
      },
    ],
    read: ([first, second, third]) => ({
      accounts: new Map(
        (first?.rows ?? []).map((row) => [
          row.id as number,
          {
            ...availableOf(row),
            accountState: { version: row.version, overrun: row.overrun, paidIn: row.paid_in },
          },
        ]),
      ),
      tokens: availableById(second),
      budgets: new Map(),
      leases: new Map((third?.rows ?? []).map((row) => [leaseKey(row.kind, row.subject, row.epoch), row.amount])),
      leaseRows: (third?.rows ?? []).filter((row) => row.lives === 1 && row.epoch !== epoch),
    }),
  };
}

/** In transactions of their own. Their row is locked by who leases alone: a settlement moves what its node has leased to the use. */
function readsForBudgets(budgets: readonly number[], epoch: number): ReturnType<typeof readsForLeases> {
  const { text, values, read } = readBudgets(budgets);
  const ids = [numbers(budgets)];
  return {
    statements: [
      { text: 'SELECT id FROM budgets WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE', values: ids },
      { text, values },
      {
        text: `SELECT l.kind, l.subject, l.epoch, l.amount, (l.amount > 0 AND n.state <> 'expired')::int AS lives
          FROM leases l LEFT JOIN nodes n USING (epoch) WHERE l.kind = 'budget' AND l.subject = ANY($1::bigint[])`,
        values: ids,
      },
    ],
    read: ([, second, third]) => ({
      accounts: new Map(),
      tokens: new Map(),
      budgets: new Map(
        [...read(second?.rows ?? [])].map(([id, state]) => {
          const left = Math.max(0, state.amount - currentWindow(state).used);
          return [id, { left, bound: 'limit', leased: state.leased, state }];
        }),
      ),
      leases: new Map((third?.rows ?? []).map((row) => [leaseKey(row.kind, row.subject, row.epoch), row.amount])),
      leaseRows: (third?.rows ?? []).filter((row) => row.lives === 1 && row.epoch !== epoch),
    }),
  };
}

export function decideLeases(
  moves: readonly LeaseMove[],
  known: KnownLeases,
  epoch: number,
): { readonly value: MoveOutcome; readonly statements: readonly Statement[] } {
  const changes = new Map<string, LeaseChange>();
  const grants: Grant[] = [];
  const begun: (readonly [id: number, windowAt: number])[] = [];
  const availableOfKind: Record<LeaseKind, ReadonlyMap<number, Available>> = {
    account: known.accounts,
    token: known.tokens,
    budget: known.budgets,
  };
  const change = (kind: LeaseKind, subject: number, by: number) => {
    if (by === 0) return;
    const key = leaseKey(kind, subject, epoch);
    changes.set(key, { kind, subject, epoch, by: (changes.get(key)?.by ?? 0) + by });
    const available = availableOfKind[kind].get(subject);
    if (available !== undefined) available.leased += by;
  };
  const free = (available: Available | undefined): number =>
    available === undefined ? 0 : available.left - available.leased;
  /** A share of what is free for some seconds to come; where there is little, for this one request alone. */
  const grant = (available: Available | undefined, need: number, move: Acquire): number => {
    if (need <= 0) return 0;
    const { use, floor = 0, nodes, partial = false } = move;
    const unused = free(available);
    const left = available?.left ?? 0;
    const wanted = left < smallFor * need ? 0 : left < ampleFor * need ? use : Math.max(use, floor);
    const share = Math.min(wanted, Math.floor(unused / (2 * nodes)));
    const want = Math.max(need, share);
    return unused >= want ? want : unused >= need ? need : partial ? Math.max(0, unused) : 0;
  };

  for (const move of moves) {
    if (move.type === 'give-back') {
      // Never more than the ledger has: the leased amount and the leases change together or not at all.
      const key = leaseKey(move.kind, move.subject, epoch);
      const own = (known.leases.get(key) ?? 0) + (changes.get(key)?.by ?? 0);
      change(move.kind, move.subject, -Math.min(own, move.amount));
      continue;
    }
    if (move.kind === 'budget') {
      const { account: id, need } = move;
      const budget = known.budgets.get(id);
      const granted = grant(budget, need, move);
      change('budget', id, granted);
      const { at, used } = budget === undefined ? { at: null, used: 0 } : currentWindow(budget.state);
      // Five hours begin with the first use, for all nodes at once.
      if (budget !== undefined && at === null && granted > 0) begun.push([id, budget.state.now]);
      const holders = granted < need ? known.leaseRows.filter(({ subject }) => subject === id) : [];
      grants.push({
        ...{
          account: id,
          token: 0,
          granted,
          tokenGranted: 0,
          max: budget?.left ?? 0,
          tokenMax: 0,
          tokenBound: 'limit',
        },
        ...(budget === undefined
          ? {}
          : { budgetState: { windowAt: at ?? (granted > 0 ? budget.state.now : 0), used } }),
        holders: [...new Set(holders.map((one) => one.epoch))],
      });
      continue;
    }
    const { account, token } = move;
    const granted = grant(known.accounts.get(account), move.need, move);
    const tokenGranted = token === 0 ? 0 : grant(known.tokens.get(token), move.tokenNeed, move);
    change('account', account, granted);
    change('token', token, tokenGranted);
    const balance = known.accounts.get(account);
    const limit = known.tokens.get(token);
    const holders = known.leaseRows.filter(
      ({ kind, subject }) =>
        (kind === 'account' && subject === account && granted < move.need) ||
        (kind === 'token' && subject === token && tokenGranted < move.tokenNeed),
    );
    grants.push({
      ...{ account, token, granted, tokenGranted, max: balance?.left ?? 0 },
      ...(balance?.accountState === undefined ? {} : { accountState: balance.accountState }),
      tokenMax: limit?.left ?? 0,
      tokenBound: limit?.bound ?? 'limit',
      holders: [...new Set(holders.map((one) => one.epoch))],
    });
  }
  const rows = [...changes.values()].filter(({ by }) => by !== 0);
  return { value: { grants }, statements: [...leasedStatements(rows), ...changeLeases(rows), ...begin(begun, epoch)] };
}

const begin = (windows: readonly (readonly [id: number, windowAt: number])[], epoch: number): Statement[] =>
  windows.length === 0
    ? []
    : [
        {
          text: `INSERT INTO budget_use_parts (budget_id, window_at, epoch, used) SELECT v.*, $3::bigint, 0 FROM unnest($1::bigint[], $2::bigint[]) AS v(id, at)
            ON CONFLICT DO NOTHING`,
          values: [numbers(windows.map(([id]) => id)), numbers(windows.map(([, at]) => at)), epoch],
        },
      ];

const leasedStatements = (rows: readonly LeaseChange[]): Statement[] =>
  (['account', 'token'] as const).flatMap((kind) => {
    const own = rows.filter((row) => row.kind === kind);
    if (own.length === 0) return [];
    return [
      {
        text: `UPDATE ${kind}s t SET leased = t.leased + v.by FROM unnest($1::bigint[], $2::bigint[]) AS v(id, by) WHERE t.id = v.id`,
        values: [numbers(own.map(({ subject }) => subject)), numbers(own.map(({ by }) => by))],
      },
    ];
  });
