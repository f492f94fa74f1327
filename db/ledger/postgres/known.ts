/** The rows that a batch needs before anything of it is decided, locked in the one order that every node keeps: accounts before tokens before codes and orders. */
import { affiliateAccount, type LedgerCommand, refundRef } from '../../../server/billing/ledger/commands.ts';
import type { PaidOrder, Posting } from '../../../server/billing/ledger/core.ts';
import type { LastInvoice } from '../../../server/billing/ledger/invoices.ts';
import type { LeaseKind } from '../../../server/billing/ports.ts';
import { type InvoiceDraft, yearOf } from '../../../server/contract/invoice.ts';
import { numbers, texts } from '../../postgres/arrays.ts';
import { type BudgetState, readBudgets } from '../../postgres/budgets.ts';
import type { Answer, Statement } from '../../postgres/line.ts';
import { NameMemory, type UnknownName, unknownNames } from '../names.ts';

export interface AccountRow {
  readonly id: number;
  readonly balance: number;
  readonly leased: number;
  readonly version: number;
  readonly overrun: number;
  readonly paid_in: number;
}

export interface EndRow {
  readonly account: number;
  readonly requested: number;
  readonly paid: number;
  readonly provisional: number;
}

export interface ReserveRow {
  readonly epoch: number;
  readonly estimate: number;
}

export interface Known {
  readonly accounts: ReadonlyMap<number, AccountRow>;
  /** Total balance of the system's own accounts. */
  readonly system: ReadonlyMap<number, number>;
  /** Leased quota of each token. */
  readonly tokens: ReadonlyMap<number, number>;
  /** By `leaseKey`. */
  readonly leases: ReadonlyMap<string, number>;
  readonly ends: ReadonlyMap<string, EndRow>;
  readonly holds: ReadonlyMap<string, ReserveRow>;
  readonly postings: ReadonlyMap<string, Posting>;
  readonly codes: ReadonlyMap<number, { readonly status: number; readonly quota: number }>;
  readonly orders: ReadonlyMap<string, PaidOrder>;
  /** The last ones, by `invoiceSeries`. */
  readonly invoices: ReadonlyMap<string, LastInvoice>;
  /** By `nameKey`, of those that were not known before. */
  readonly names: ReadonlySet<string>;
  /** By id: what is counted in. */
  readonly budgets: ReadonlyMap<number, BudgetState>;
  /** By ref of a refund: budgets that its settlement counted in, and when their windows began. */
  readonly refunded: ReadonlyMap<string, readonly { readonly id: number; readonly windowAt: number }[]>;
  /** By ref of a refund: for whom its settlement was made, where the key's end users have budgets in money. */
  readonly refundedFor: ReadonlyMap<string, string>;
  /** Use of the budgets that something is taken from, by `windowKey`. */
  readonly budgetUse: ReadonlyMap<string, number>;
  /** How many of a user's names were new on a day, by `nameKey` too. */
  readonly nameCounts: ReadonlyMap<string, number>;
}

/** Key of a budget in a window. */
export const windowKey = (id: number, windowAt: number): string => `${id} ${windowAt}`;

export const nameKey = (userId: number, id: number): string => `${userId} ${id}`;

export const invoiceSeries = (kind: string, year: number): string => `${kind} ${year}`;

export const leaseKey = (kind: LeaseKind, subject: number, epoch: number): string => `${kind} ${subject} ${epoch}`;

/** Rows of their own, locked and written one by one: users and what they earned; the others have a part of each node's. */
export const isSingle = (account: number): boolean => account > 0 || account <= affiliateAccount(0);

/** Reference of a note, which is no end: a request may leave one and be settled too. */
export const noteRef = (ref: string): string => `note:${ref}`;

const sorted = (set: ReadonlySet<number>): number[] => [...set].sort((a, b) => a - b);

interface Needed {
  readonly accounts: Set<number>;
  readonly accountParts: Set<number>;
  readonly tokens: Set<number>;
  readonly ends: Set<string>;
  readonly postings: Set<string>;
  readonly codes: Set<number>;
  readonly orders: Set<string>;
  /** By `invoiceSeries`. */
  readonly invoices: Map<string, InvoiceDraft>;
  readonly budgets: Set<number>;
  /** Pairs of budget and window, locked: what is taken off depends on what there is. */
  readonly changedUse: [id: number, windowAt: number][];
  /** Refs of settlements. */
  readonly refunds: Set<string>;
  moves: boolean;
}

function requestedBy(commands: readonly LedgerCommand[]): Needed {
  const needed: Needed = {
    accounts: new Set(),
    accountParts: new Set(),
    tokens: new Set(),
    ends: new Set(),
    postings: new Set(),
    codes: new Set(),
    orders: new Set(),
    invoices: new Map(),
    budgets: new Set(),
    changedUse: [],
    refunds: new Set(),
    moves: false,
  };
  for (const command of commands) wantOf(command, needed);
  return needed;
}

function wantOf(command: LedgerCommand, needed: Needed): void {
  const { ref } = command;
  switch (command.type) {
    case 'settle':
      needed.accounts.add(command.userId);
      if (command.tokenId > 0) needed.tokens.add(command.tokenId);
      needed.ends.add(ref);
      for (let at = 0; at < (command.budgets?.length ?? 0); at += 3) needed.budgets.add(command.budgets?.[at] ?? 0);
      return;
    case 'hold':
    case 'void':
      needed.ends.add(ref);
      return;
    case 'note':
      needed.ends.add(noteRef(ref));
      return;
    case 'budget':
      needed.changedUse.push([command.budgetId, command.windowAt]);
      return;
    default:
      needed.moves = true;
      needed.accounts.add(command.userId);
      needed.postings.add(ref);
  }
  if (command.type === 'grant' || command.type === 'deduct') {
    if (command.from !== undefined) needed.accounts.add(command.from);
    if (command.order !== undefined) wantOrder(needed, command.order.tradeNo, command.order.invoice);
  } else if (command.type === 'redeem') needed.codes.add(command.redemptionId);
  else if (command.type === 'topup') wantOrder(needed, command.tradeNo, command.invoice ?? null);
  else if (command.type === 'refund') {
    needed.refunds.add(command.of);
    needed.postings.add(command.of);
    needed.postings.add(refundRef(command.of));
    needed.ends.add(command.of);
  } else {
    needed.accounts.add(affiliateAccount(command.userId));
    if (command.type === 'reward') needed.accountParts.add(affiliateAccount(command.userId));
  }
}

function wantOrder(needed: Needed, tradeNo: string, invoice: InvoiceDraft | null): void {
  needed.orders.add(tradeNo);
  if (invoice !== null) needed.invoices.set(invoiceSeries(invoice.kind, yearOf(invoice)), invoice);
}

type Reader = (rows: Answer['rows']) => void;

/** @returns statements to send, and what their answers say. */
export function readsFor(
  commands: readonly LedgerCommand[],
  names: NameMemory = new NameMemory(),
): {
  readonly statements: readonly Statement[];
  readonly read: (answers: readonly Answer[]) => Known;
} {
  const needed = requestedBy(commands);
  const known = {
    accounts: new Map<number, AccountRow>(),
    system: new Map<number, number>(),
    tokens: new Map<number, number>(),
    leases: new Map<string, number>(),
    ends: new Map<string, EndRow>(),
    holds: new Map<string, ReserveRow>(),
    postings: new Map<string, Posting>(),
    codes: new Map<number, { status: number; quota: number }>(),
    orders: new Map<string, PaidOrder>(),
    invoices: new Map<string, LastInvoice>(),
    names: new Set<string>(),
    budgets: new Map<number, BudgetState>(),
    refunded: new Map<string, { id: number; windowAt: number }[]>(),
    refundedFor: new Map<string, string>(),
    budgetUse: new Map<string, number>(),
    nameCounts: new Map<string, number>(),
  };
  const statements: Statement[] = [];
  const readers: Reader[] = [];
  const ask = (text: string, values: readonly unknown[], reader: Reader) => {
    statements.push({ text, values });
    readers.push(reader);
  };
  queryState(needed, known, ask);
  const refs = texts([...needed.ends]);
  // After the locks, and each with a sight of its own: what another node has just committed is seen.
  if (needed.ends.size > 0) {
    ask(
      `SELECT e.ref, e.account, e.asked, e.paid, e.provisional, p.debit, p.credit, p.amount, p.kind, p.token_id AS "tokenId", p.channel_id AS "channelId", p.at
        FROM ends e LEFT JOIN postings p ON p.ref = e.ref AND e.provisional = 1 WHERE e.ref = ANY($1::text[])`,
      [refs],
      (rows) => {
        for (const { ref, account, asked: requested, paid, provisional, ...posting } of rows) {
          known.ends.set(ref, { account, requested, paid, provisional });
          if (posting.kind !== null) known.postings.set(ref, { ref, ...posting });
        }
      },
    );
    ask('SELECT ref, epoch, estimate FROM holds WHERE ref = ANY($1::text[])', [refs], (rows) => {
      for (const { ref, ...row } of rows) known.holds.set(ref, row);
    });
  }
  if (needed.postings.size > 0)
    ask(
      'SELECT ref, debit, credit, amount, kind, token_id AS "tokenId", channel_id AS "channelId", at FROM postings WHERE ref = ANY($1::text[])',
      [texts([...needed.postings])],
      (rows) => {
        for (const row of rows) known.postings.set(row.ref, row);
      },
    );
  const unknown = unknownNames(commands, names);
  if (unknown.length > 0) queryNames(unknown, known, ask);
  return {
    statements,
    read(answers) {
      for (const [index, reader] of readers.entries()) reader(answers[index]?.rows ?? []);
      return known;
    },
  };
}

type Mutable<T> = {
  [K in keyof T]: T[K] extends ReadonlyMap<infer Key, infer Value>
    ? Map<Key, Value>
    : T[K] extends ReadonlySet<infer Item>
      ? Set<Item>
      : T[K];
};

function queryNames(
  unknown: readonly UnknownName[],
  known: Mutable<Pick<Known, 'names' | 'nameCounts'>>,
  ask: (text: string, values: readonly unknown[], reader: Reader) => void,
): void {
  const users = numbers(unknown.map(({ userId }) => userId));
  ask(
    'SELECT n.user_id, n.id FROM unnest($1::bigint[], $2::bigint[]) AS v(user_id, id) JOIN names n ON n.user_id = v.user_id AND n.id = v.id',
    [users, numbers(unknown.map(({ id }) => id))],
    (rows) => {
      for (const row of rows) known.names.add(nameKey(row.user_id, row.id));
    },
  );
  ask(
    `SELECT v.user_id, v.day, (SELECT count(*) FROM names n WHERE n.user_id = v.user_id AND n.day = v.day)::bigint AS n
      FROM (SELECT DISTINCT * FROM unnest($1::bigint[], $2::bigint[]) AS v(user_id, day)) AS v`,
    [users, numbers(unknown.map(({ day }) => day))],
    (rows) => {
      for (const { user_id: userId, day, n } of rows) known.nameCounts.set(nameKey(userId, day), n);
    },
  );
}

/** An arbitrary advisory lock number, used for nothing else in this database. */
const invoiceLock = 7_104_526_903;

/** Numbers have no gap: one transaction at a time gives them, whichever node it is of, and what the one before committed is seen. */
function queryInvoices(
  drafts: readonly InvoiceDraft[],
  known: Mutable<Pick<Known, 'invoices'>>,
  ask: (text: string, values: readonly unknown[], reader: Reader) => void,
): void {
  ask(`SELECT pg_advisory_xact_lock(${invoiceLock})::text AS locked`, [], () => undefined);
  ask(
    `SELECT DISTINCT ON (i.kind, i.year) i.kind, i.year, i.number, i.hash FROM unnest($1::text[], $2::bigint[]) AS v(kind, year)
      JOIN invoices i ON i.kind = v.kind AND i.year = v.year ORDER BY i.kind, i.year, i.number DESC`,
    [texts(drafts.map(({ kind }) => kind)), numbers(drafts.map(yearOf))],
    (rows) => {
      for (const { kind, year, ...last } of rows) known.invoices.set(invoiceSeries(kind, year), last);
    },
  );
}

/** Budgets in money that settlements counted in. */
const ofSettlements = `FROM postings p JOIN budgets b ON b.unit = 'money'
    AND (b.holder = 'token' AND b.subject = p.token_id::text OR b.holder = 'user' AND b.subject = p.debit::text
      OR b.holder = 'label' AND b.subject = ANY(string_to_array((SELECT labels FROM tokens WHERE id = p.token_id), ','))
      OR b.holder = 'group' AND b.subject = (SELECT group_name FROM users WHERE id = p.debit) OR b.holder = 'site')`;

/** Locks budgets before their use is read: no more is taken off than there is. */
function queryBudgetUse(
  { changedUse, refunds }: Pick<Needed, 'changedUse' | 'refunds'>,
  known: Mutable<Pick<Known, 'refunded' | 'refundedFor' | 'budgetUse'>>,
  ask: (text: string, values: readonly unknown[], reader: Reader) => void,
): void {
  const ids = numbers(changedUse.map(([id]) => id));
  const refs = texts([...refunds]);
  ask(
    `SELECT id FROM budgets WHERE id = ANY($1::bigint[]) OR id IN (SELECT b.id ${ofSettlements} WHERE p.ref = ANY($2::text[]) AND p.kind = 'settle') ORDER BY id FOR UPDATE`,
    [ids, refs],
    () => undefined,
  );
  const note = (id: number, windowAt: number, used: number) => known.budgetUse.set(windowKey(id, windowAt), used);
  if (changedUse.length > 0)
    ask(
      `SELECT u.budget_id, u.window_at, u.used FROM unnest($1::bigint[], $2::bigint[]) AS v(id, at)
        JOIN budget_use u ON u.budget_id = v.id AND u.window_at = v.at`,
      [ids, numbers(changedUse.map(([, windowAt]) => windowAt))],
      (rows) => {
        for (const row of rows) note(row.budget_id, row.window_at, row.used);
      },
    );
  if (refunds.size > 0) {
    ask(
      `SELECT p.ref, b.id, u.window_at, u.used ${ofSettlements} JOIN budget_use u ON u.budget_id = b.id
          AND u.window_at = (SELECT max(w.window_at) FROM budget_use_parts w WHERE w.budget_id = b.id AND w.window_at <= p.at)
        WHERE p.ref = ANY($1::text[]) AND p.kind = 'settle' ORDER BY b.id, p.ref`,
      [refs],
      (rows) => {
        for (const { ref, id, window_at: windowAt, used } of rows) {
          const own = [...(known.refunded.get(ref) ?? []), { id, windowAt }];
          known.refunded.set(ref, own);
          note(id, windowAt, used);
        }
      },
    );
    // Names beyond a day's bound are not known any more.
    ask(
      `SELECT l.request_id AS ref, coalesce(n.text, '') AS name FROM logs l LEFT JOIN names n ON n.user_id = l.user_id AND n.id = l.end_user_id
        WHERE l.request_id = ANY($1::text[]) AND (l.end_user_id = 0 OR n.id IS NOT NULL)
          AND EXISTS (SELECT 1 FROM budgets WHERE holder = 'end_user' AND subject = l.token_id::text AND unit = 'money')`,
      [refs],
      (rows) => {
        for (const { ref, name } of rows) known.refundedFor.set(ref, name);
      },
    );
  }
}

function queryState(
  needed: Needed,
  known: Mutable<Known>,
  ask: (text: string, values: readonly unknown[], reader: Reader) => void,
): void {
  const accounts = new Set([...needed.accounts].filter(isSingle));
  if (needed.accountParts.size > 0)
    ask(
      'INSERT INTO accounts (id) SELECT unnest($1::bigint[]) ON CONFLICT DO NOTHING',
      [numbers(sorted(needed.accountParts))],
      () => undefined,
    );
  if (accounts.size > 0)
    ask(
      'SELECT id, balance, leased, version, overrun, paid_in FROM accounts WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE',
      [numbers(sorted(accounts))],
      (rows) => {
        for (const row of rows) known.accounts.set(row.id, row);
      },
    );
  if (needed.tokens.size > 0)
    ask(
      'SELECT id, leased FROM tokens WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE',
      [numbers(sorted(needed.tokens))],
      (rows) => {
        for (const { id, leased } of rows) known.tokens.set(id, leased);
      },
    );
  if (needed.changedUse.length + needed.refunds.size > 0) queryBudgetUse(needed, known, ask);
  if (needed.codes.size > 0)
    ask(
      'SELECT id, status, quota FROM redemptions WHERE id = ANY($1::bigint[]) AND deleted_at IS NULL ORDER BY id FOR UPDATE',
      [numbers(sorted(needed.codes))],
      (rows) => {
        for (const { id, ...row } of rows) known.codes.set(id, row);
      },
    );
  if (needed.orders.size > 0)
    ask(
      'SELECT trade_no, status, user_id AS "userId", quota, money, refunded FROM top_ups WHERE trade_no = ANY($1::text[]) ORDER BY id FOR UPDATE',
      [texts([...needed.orders])],
      (rows) => {
        for (const { trade_no: tradeNo, ...row } of rows) known.orders.set(tradeNo, row);
      },
    );
  if (needed.invoices.size > 0) queryInvoices([...needed.invoices.values()], known, ask);
  const noteLeases: Reader = (rows) => {
    for (const { kind, subject, epoch, amount } of rows) known.leases.set(leaseKey(kind, subject, epoch), amount);
  };
  if (accounts.size > 0)
    ask(
      `SELECT kind, subject, epoch, amount FROM leases
        WHERE kind = 'account' AND subject = ANY($1::bigint[]) OR kind = 'token' AND subject = ANY($2::bigint[])`,
      [numbers([...accounts]), numbers([...needed.tokens])],
      noteLeases,
    );
  if (needed.budgets.size > 0) {
    const { text, values, read } = readBudgets(sorted(needed.budgets));
    ask(text, values, (rows) => {
      for (const [id, state] of read(rows)) known.budgets.set(id, state);
    });
    ask(
      "SELECT kind, subject, epoch, amount FROM leases WHERE kind = 'budget' AND subject = ANY($1::bigint[])",
      [numbers(sorted(needed.budgets))],
      noteLeases,
    );
  }
  if (needed.moves)
    ask(
      `SELECT id, (balance + coalesce((SELECT sum(balance) FROM account_parts WHERE account_id = id), 0))::bigint AS balance
        FROM accounts WHERE id < 0 AND id > -1000`,
      [],
      (rows) => {
        for (const { id, balance } of rows) known.system.set(id, balance);
      },
    );
}
