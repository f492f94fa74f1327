/** What a batch writes: one statement a table, with lists for its rows. */

import type { Hold } from '../../../server/billing/ledger/commands.ts';
import type { CounterChange, Mark, Posting } from '../../../server/billing/ledger/core.ts';
import type { InvoiceEntry } from '../../../server/billing/ledger/invoices.ts';
import type { LeaseKind } from '../../../server/billing/ports.ts';
import { ownMember, ownToken } from '../../../server/contract/counted.ts';
import { LogType } from '../../../server/contract/enum.ts';
import { nameKinds } from '../../../server/contract/names.ts';
import { type Period, periodStart } from '../../../server/contract/period.ts';
import { hourlyKinds, sumSpans } from '../../log-sums.ts';
import { numbers, texts } from '../../postgres/arrays.ts';
import { numberIn } from '../../postgres/dialect.ts';
import type { Statement } from '../../postgres/line.ts';
import { startOf } from '../../postgres/period.ts';
import { type InsertColumn, insertColumns, logAliases, namesOf } from '../../schema/inserts.ts';
import type { LogSum, NameSum } from '../log-sums.ts';
import type { NewName, NumberedLog } from '../names.ts';
import { type BudgetTotal, noTotal, type Totals } from '../totals.ts';
import { isSingle } from './known.ts';

export interface EndEntry {
  readonly ref: string;
  readonly account: number;
  readonly requested: number;
  readonly paid: number;
  readonly provisional: number;
  readonly at: number;
}

export interface LeaseChange {
  readonly kind: LeaseKind;
  readonly subject: number;
  readonly epoch: number;
  /** Never zero. */
  readonly by: number;
}

export interface Writes {
  readonly postings: Posting[];
  readonly logs: NumberedLog[];
  readonly names: NewName[];
  readonly ends: EndEntry[];
  /** Rows of `ends` and `logs` that make room for another one of the same ref. */
  readonly replaced: string[];
  readonly holds: Map<string, { readonly hold: Hold; readonly log: string }>;
  readonly dropped: string[];
  readonly marks: Mark[];
  readonly leases: Map<string, LeaseChange>;
  /** By which what is leased of an account or token changes. */
  readonly leased: { readonly account: Map<number, number>; readonly token: Map<number, number> };
}

export const newWrites = (): Writes => ({
  postings: [],
  logs: [],
  names: [],
  ends: [],
  replaced: [],
  holds: new Map(),
  dropped: [],
  marks: [],
  leases: new Map(),
  leased: { account: new Map(), token: new Map() },
});

type Column<Row> = readonly [type: 'bigint' | 'text', value: (row: Row) => number | string | null];

const listOf = <Row>(rows: readonly Row[], [type, value]: Column<Row>): string =>
  type === 'bigint'
    ? numbers(rows.map((row) => value(row) as number))
    : texts(rows.map((row) => value(row) as string | null));

/** `unnest` of one list for each column. */
const lists = <Row>(columns: readonly Column<Row>[]): string =>
  `unnest(${columns.map(([type], index) => `$${index + 1}::${type}[]`).join(', ')})`;

/** @param text has `LISTS` where the lists go. */
function statementOf<Row>(
  text: string,
  columns: readonly Column<Row>[],
): (rows: readonly Row[], ...more: readonly unknown[]) => Statement[] {
  const whole = text.replace('LISTS', lists(columns));
  return (rows, ...more) =>
    rows.length === 0 ? [] : [{ text: whole, values: [...columns.map((column) => listOf(rows, column)), ...more] }];
}

/** Every column of a table from the field of its name. */
const insertInto = <Entry>(table: string, columns: readonly InsertColumn<Entry>[]) =>
  statementOf<Entry>(
    `INSERT INTO ${table} (${namesOf(columns)}) SELECT * FROM LISTS`,
    columns.map(({ type, value }): Column<Entry> => [type, value]),
  );

const insertPostings = insertInto<Posting>('postings', insertColumns('postings'));
const insertLogs = insertInto<NumberedLog>('logs', insertColumns('logs', logAliases));

/** Another node may add the same name. */
const insertNames = statementOf<NewName>(
  'INSERT INTO names (user_id, id, kind, text, day) SELECT * FROM LISTS ON CONFLICT DO NOTHING',
  [
    ['bigint', ({ userId }) => userId],
    ['bigint', ({ id }) => id],
    ['text', ({ kind }) => kind],
    ['text', ({ text }) => text],
    ['bigint', ({ day }) => day],
  ],
);

const insertEnds = statementOf<EndEntry>(
  'INSERT INTO ends (ref, account, asked, paid, provisional, at, epoch) SELECT *, $7::bigint FROM LISTS',
  [
    ['text', ({ ref }) => ref],
    ['bigint', ({ account }) => account],
    ['bigint', ({ requested }) => requested],
    ['bigint', ({ paid }) => paid],
    ['bigint', ({ provisional }) => provisional],
    ['bigint', ({ at }) => at],
  ],
);

interface AccountEntry {
  readonly id: number;
  readonly balance: number;
  readonly used: number;
  readonly requests: number;
  readonly movements: number;
  readonly overrun: number;
  readonly paidIn: number;
  readonly leased: number;
}

const addAccounts = statementOf<AccountEntry>(
  `UPDATE accounts a SET balance = a.balance + v.balance, used_quota = a.used_quota + v.used, request_count = a.request_count + v.requests,
    version = a.version + v.movements, overrun = a.overrun + v.overrun, paid_in = a.paid_in + v.paid_in, leased = a.leased + v.leased
    FROM LISTS AS v(id, balance, used, requests, movements, overrun, paid_in, leased) WHERE a.id = v.id`,
  [
    ['bigint', ({ id }) => id],
    ['bigint', ({ balance }) => balance],
    ['bigint', ({ used }) => used],
    ['bigint', ({ requests }) => requests],
    ['bigint', ({ movements }) => movements],
    ['bigint', ({ overrun }) => overrun],
    ['bigint', ({ paidIn }) => paidIn],
    ['bigint', ({ leased }) => leased],
  ],
);

const addParts = statementOf<AccountEntry>(
  `INSERT INTO account_parts AS p (account_id, balance, version, epoch) SELECT *, $4::bigint FROM LISTS
    ON CONFLICT (account_id, epoch) DO UPDATE SET balance = p.balance + excluded.balance, version = p.version + excluded.version`,
  [
    ['bigint', ({ id }) => id],
    ['bigint', ({ balance }) => balance],
    ['bigint', ({ movements }) => movements],
  ],
);

interface TokenEntry {
  readonly id: number;
  readonly used: number;
  readonly at: number;
  readonly leased: number;
}

/** A node whose clock is ahead does not begin a period for the others. */
const period = (name: Period): string => {
  const at = `least(v.${name}, ${startOf(name)})`;
  return `${name}_used = CASE WHEN t.${name}_at > ${at} THEN t.${name}_used WHEN t.${name}_at = ${at} THEN greatest(0, t.${name}_used + v.used) ELSE greatest(0, v.used) END,
   ${name}_at = greatest(t.${name}_at, ${at})`;
};

const addTokens = statementOf<TokenEntry>(
  `UPDATE tokens t SET used_quota = t.used_quota + v.used, accessed_at = greatest(t.accessed_at, v.at), leased = t.leased + v.leased,
    ${period('day')}, ${period('month')} FROM LISTS AS v(id, used, at, leased, day, month) WHERE t.id = v.id`,
  [
    ['bigint', ({ id }) => id],
    ['bigint', ({ used }) => used],
    ['bigint', ({ at }) => at],
    ['bigint', ({ leased }) => leased],
    ['bigint', ({ at }) => periodStart('day', at)],
    ['bigint', ({ at }) => periodStart('month', at)],
  ],
);

const addChannels = statementOf<readonly [number, number]>(
  `INSERT INTO channel_parts AS p (channel_id, used_quota, epoch) SELECT v.*, $3::bigint FROM LISTS AS v(id, used) JOIN channels c USING (id)
    ON CONFLICT (channel_id, epoch) DO UPDATE SET used_quota = p.used_quota + excluded.used_quota`,
  [
    ['bigint', ([id]) => id],
    ['bigint', ([, used]) => used],
  ],
);

/** One that was deleted counts nothing. */
const addBudgets = statementOf<BudgetTotal>(
  `INSERT INTO budget_use_parts AS p (budget_id, window_at, used, epoch) SELECT v.*, $4::bigint FROM LISTS AS v(id, at, used) JOIN budgets b USING (id)
    ON CONFLICT (budget_id, window_at, epoch) DO UPDATE SET used = p.used + excluded.used`,
  [
    ['bigint', ({ budgetId }) => budgetId],
    ['bigint', ({ windowAt }) => windowAt],
    ['bigint', ({ used }) => used],
  ],
);

const addHours = statementOf<CounterChange>(
  `INSERT INTO usage_hour_parts AS p (hour_at, user_id, username, model_name, channel_id, count, tokens, quota, epoch) SELECT *, $9::bigint FROM LISTS
    ON CONFLICT (hour_at, user_id, model_name, channel_id, epoch) DO UPDATE SET count = p.count + excluded.count, tokens = p.tokens + excluded.tokens, quota = p.quota + excluded.quota`,
  [
    ['bigint', ({ hourAt }) => hourAt],
    ['bigint', ({ userId }) => userId],
    ['text', ({ username }) => username],
    ['text', ({ model }) => model],
    ['bigint', ({ channelId }) => channelId],
    ['bigint', ({ requests }) => requests],
    ['bigint', ({ tokens }) => tokens],
    ['bigint', ({ quota }) => quota],
  ],
);

/** Into a row of the sums. */
const addedTo = (table: string, columns: readonly string[]): string =>
  columns.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(', ');
const figures = ['requests', 'prompt_tokens', 'completion_tokens', 'cached_tokens', 'quota'] as const;

const logSumColumns =
  'span, at, user_id, token_id, group_name, model_name, channel_id, username, token_name, requests, errors, prompt_tokens, completion_tokens, cached_tokens, quota, list, writer';
const addToLogSums = `ON CONFLICT (span, at, user_id, token_id, group_name, model_name, channel_id, writer) DO UPDATE SET
    username = excluded.username, token_name = excluded.token_name, ${addedTo('log_sums', [...figures, 'errors', 'list'])}`;
const nameSumColumns =
  'span, kind, at, user_id, name_id, requests, prompt_tokens, completion_tokens, cached_tokens, quota, writer';
const addToNameSums = `ON CONFLICT (span, kind, at, user_id, name_id, writer) DO UPDATE SET ${addedTo('name_sums', figures)}`;

const addLogSums = statementOf<LogSum>(
  `INSERT INTO log_sums (${logSumColumns})
    SELECT v.span, v.at, v.user_id, v.token_id, v.group_name, v.model_name, v.channel_id, v.username, v.token_name, v.requests, v.errors,
      v.prompt_tokens, v.completion_tokens, v.cached_tokens, v.quota, v.list::double precision, $17::bigint
    FROM LISTS AS v(span, at, user_id, token_id, group_name, model_name, channel_id, username, token_name, requests, errors,
      prompt_tokens, completion_tokens, cached_tokens, quota, list) ${addToLogSums}`,
  [
    ['bigint', ({ span }) => span],
    ['bigint', ({ at }) => at],
    ['bigint', ({ userId }) => userId],
    ['bigint', ({ tokenId }) => tokenId],
    ['text', ({ group }) => group],
    ['text', ({ model }) => model],
    ['bigint', ({ channelId }) => channelId],
    ['text', ({ username }) => username],
    ['text', ({ tokenName }) => tokenName],
    ['bigint', ({ requests }) => requests],
    ['bigint', ({ errors }) => errors],
    ['bigint', ({ promptTokens }) => promptTokens],
    ['bigint', ({ completionTokens }) => completionTokens],
    ['bigint', ({ cachedTokens }) => cachedTokens],
    ['bigint', ({ quota }) => quota],
    ['text', ({ list }) => String(list)],
  ],
);

const addNameSums = statementOf<NameSum>(
  `INSERT INTO name_sums (${nameSumColumns}) SELECT *, $11::bigint FROM LISTS ${addToNameSums}`,
  [
    ['bigint', ({ span }) => span],
    ['text', ({ kind }) => kind],
    ['bigint', ({ at }) => at],
    ['bigint', ({ userId }) => userId],
    ['bigint', ({ nameId }) => nameId],
    ['bigint', ({ requests }) => requests],
    ['bigint', ({ promptTokens }) => promptTokens],
    ['bigint', ({ completionTokens }) => completionTokens],
    ['bigint', ({ cachedTokens }) => cachedTokens],
    ['bigint', ({ quota }) => quota],
  ],
);

/** Takes the rows of requests out of the log, and out of its sums: other rows take their places. $1 = references, $2 = writer. */
const takeOut = `WITH gone AS (DELETE FROM logs WHERE request_id = ANY($1::text[]) RETURNING *),
  charged AS (SELECT * FROM gone WHERE type = ${LogType.consume}),
  figures AS (SELECT charged.*, ${numberIn('other', 'cache_tokens')} AS cached, quota / nullif(${numberIn('other', 'group_ratio')}, 0) AS listed,
    CASE WHEN token_id = 0 AND strpos(other, '${ownMember}') > 0 THEN ${ownToken} ELSE token_id END AS counted_token FROM charged),
  names_out AS (INSERT INTO name_sums (${nameSumColumns})
    SELECT s.span, n.kind, f.created_at - f.created_at % s.span, f.user_id, n.id, -count(*), -sum(prompt_tokens)::bigint, -sum(completion_tokens)::bigint,
      -coalesce(sum(cached), 0)::bigint, -sum(quota)::bigint, $2::bigint
    FROM figures f CROSS JOIN (VALUES ${sumSpans.map((span) => `(${span}::bigint)`).join(', ')}) AS s(span)
      CROSS JOIN LATERAL (VALUES ${nameKinds.map((kind) => `('${kind}', f.${kind}_id)`).join(', ')}) AS n(kind, id)
    WHERE n.id <> 0 AND (s.span = 86400 OR n.kind IN (${[...hourlyKinds].map((kind) => `'${kind}'`).join(', ')}))
    GROUP BY 1, 2, 3, 4, 5 ${addToNameSums})
  INSERT INTO log_sums (${logSumColumns})
    SELECT s.span, created_at - created_at % s.span, user_id, counted_token, group_name, model_name, channel_id, max(username), max(token_name),
      -count(*), -count(*) FILTER (WHERE end_reason NOT IN ('completed', 'imported', '')), -sum(prompt_tokens)::bigint, -sum(completion_tokens)::bigint,
      -coalesce(sum(cached), 0)::bigint, -sum(quota)::bigint, -coalesce(sum(listed), 0), $2::bigint
    FROM figures CROSS JOIN (VALUES ${sumSpans.map((span) => `(${span}::bigint)`).join(', ')}) AS s(span)
    GROUP BY 1, 2, 3, 4, 5, 6, 7 ${addToLogSums}`;

const putHolds = statementOf<{ readonly hold: Hold; readonly log: string; readonly epoch: number }>(
  `INSERT INTO holds (ref, user_id, token_id, channel_id, estimate, observed, at, log, epoch) SELECT * FROM LISTS
    ON CONFLICT (ref) DO UPDATE SET estimate = excluded.estimate, observed = excluded.observed, at = excluded.at, log = excluded.log`,
  [
    ['text', ({ hold }) => hold.ref],
    ['bigint', ({ hold }) => hold.userId],
    ['bigint', ({ hold }) => hold.tokenId],
    ['bigint', ({ hold }) => hold.channelId],
    ['bigint', ({ hold }) => hold.estimate],
    ['bigint', ({ hold }) => hold.observed],
    ['bigint', ({ hold }) => hold.at],
    ['text', ({ log }) => log],
    ['bigint', ({ epoch }) => epoch],
  ],
);

const raiseLeases = statementOf<LeaseChange>(
  `INSERT INTO leases AS l (kind, subject, epoch, amount) SELECT * FROM LISTS
    ON CONFLICT (kind, subject, epoch) DO UPDATE SET amount = l.amount + excluded.amount`,
  [
    ['text', ({ kind }) => kind],
    ['bigint', ({ subject }) => subject],
    ['bigint', ({ epoch }) => epoch],
    ['bigint', ({ by }) => by],
  ],
);

/** Where another node has taken over a budget's lease of a node that is gone, the lease is not there any more: no row that all share is locked for it. */
const lowerLeasesBy = statementOf<LeaseChange>(
  `UPDATE leases l SET amount = CASE v.kind WHEN 'budget' THEN greatest(0, l.amount + v.by) ELSE l.amount + v.by END FROM LISTS AS v(kind, subject, epoch, by)
    WHERE l.kind = v.kind AND l.subject = v.subject AND l.epoch = v.epoch`,
  [
    ['text', ({ kind }) => kind],
    ['bigint', ({ subject }) => subject],
    ['bigint', ({ epoch }) => epoch],
    ['bigint', ({ by }) => by],
  ],
);

/** A row that would begin below zero is refused even where it only adds to one that is there. */
export const changeLeases = (changes: readonly LeaseChange[]): Statement[] => [
  ...raiseLeases(changes.filter(({ by }) => by > 0)),
  ...lowerLeasesBy(changes.filter(({ by }) => by < 0)),
];

const markCodes = statementOf<Extract<Mark, { kind: 'code' }>>(
  `UPDATE redemptions r SET status = 3, redeemed_at = v.at, used_user_id = v.user_id FROM LISTS AS v(id, user_id, at)
    WHERE r.id = v.id AND r.status = 1`,
  [
    ['bigint', ({ id }) => id],
    ['bigint', ({ userId }) => userId],
    ['bigint', ({ at }) => at],
  ],
);

const payOrders = statementOf<Extract<Mark, { kind: 'order' }>>(
  "UPDATE top_ups t SET status = 'success', paid_at = v.at FROM LISTS AS v(trade_no, at) WHERE t.trade_no = v.trade_no",
  [
    ['text', ({ tradeNo }) => tradeNo],
    ['bigint', ({ at }) => at],
  ],
);

const refundOrders = statementOf<Extract<Mark, { kind: 'order_refund' }>>(
  'UPDATE top_ups t SET refunded = v.refunded FROM LISTS AS v(trade_no, refunded) WHERE t.trade_no = v.trade_no',
  [
    ['text', ({ tradeNo }) => tradeNo],
    ['bigint', ({ refunded }) => refunded],
  ],
);

const insertInvoices = insertInto<InvoiceEntry>('invoices', insertColumns('invoices'));

const closeCallbacks = statementOf<Extract<Mark, { kind: 'order' }>>(
  "UPDATE callbacks SET outcome = 'credited' WHERE id IN (SELECT * FROM LISTS)",
  [['bigint', ({ callbackId }) => callbackId]],
);

interface Invited {
  readonly userId: number;
  earned: number;
  moved: number;
}

const countInvitations = statementOf<Invited>(
  `UPDATE users u SET aff_quota = u.aff_quota + v.earned - v.moved, aff_history_quota = u.aff_history_quota + v.earned,
    aff_count = (SELECT count(*) FROM users AS invited WHERE invited.inviter_id = u.id)
    FROM LISTS AS v(id, earned, moved) WHERE u.id = v.id`,
  [
    ['bigint', ({ userId }) => userId],
    ['bigint', ({ earned }) => earned],
    ['bigint', ({ moved }) => moved],
  ],
);

const byRef = (rows: EndEntry[]): EndEntry[] => rows.sort((a, b) => (a.ref < b.ref ? -1 : 1));

/** All of it, in an order that every node keeps. */
export function statementsFor(writes: Writes, totals: Totals, epoch: number): Statement[] {
  const { account: leasedAccounts, token: leasedTokens } = writes.leased;
  const entries: AccountEntry[] = [...new Set([...totals.accounts.keys(), ...leasedAccounts.keys()])].map((id) => {
    const total = totals.accounts.get(id) ?? noTotal;
    return { id, ...total, leased: leasedAccounts.get(id) ?? 0 };
  });
  const tokens: TokenEntry[] = [...new Set([...totals.tokens.keys(), ...leasedTokens.keys()])]
    .filter((id) => id > 0)
    .map((id) => ({ id, ...(totals.tokens.get(id) ?? { used: 0, at: 0 }), leased: leasedTokens.get(id) ?? 0 }));
  const replaced = [texts(writes.replaced)];
  return [
    ...(writes.replaced.length === 0
      ? []
      : [
          { text: 'DELETE FROM ends WHERE ref = ANY($1::text[])', values: replaced },
          { text: takeOut, values: [...replaced, epoch] },
        ]),
    ...insertEnds(byRef(writes.ends), epoch),
    ...insertPostings(writes.postings),
    ...insertNames([...writes.names].sort((one, other) => one.userId - other.userId || one.id - other.id)),
    ...insertLogs(writes.logs),
    ...addAccounts(entries.filter(({ id }) => isSingle(id))),
    ...changeLeases([...writes.leases.values()]),
    ...addTokens(tokens),
    ...addParts(
      entries.filter(({ id }) => !isSingle(id)),
      epoch,
    ),
    ...addChannels(
      [...totals.channels].filter(([id, used]) => id > 0 && used !== 0),
      epoch,
    ),
    ...(totals.budgets === null ? [] : addBudgets([...totals.budgets.values()], epoch)),
    ...addHours([...totals.hours.values()], epoch),
    ...addLogSums(totals.logs.rows(), epoch),
    ...addNameSums(totals.logs.named(), epoch),
    ...putHolds([...writes.holds.values()].map((one) => ({ ...one, epoch: one.hold.epoch ?? epoch }))),
    ...(writes.dropped.length === 0
      ? []
      : [{ text: 'DELETE FROM holds WHERE ref = ANY($1::text[])', values: [texts(writes.dropped)] }]),
    ...markStatements(writes.marks),
  ];
}

function markStatements(marks: readonly Mark[]): Statement[] {
  const orders = marks.filter((mark) => mark.kind === 'order');
  // Where a batch has two refunds of an order, the later one says how much it is in all.
  const refunds = new Map(marks.flatMap((mark) => (mark.kind === 'order_refund' ? [[mark.tradeNo, mark]] : [])));
  const invoices = marks.flatMap((mark) =>
    (mark.kind === 'order' || mark.kind === 'order_refund') && mark.invoice !== null ? [mark.invoice] : [],
  );
  const invited = new Map<number, Invited>();
  for (const mark of marks) {
    if (mark.kind !== 'affiliate') continue;
    const sum = invited.get(mark.userId) ?? { userId: mark.userId, earned: 0, moved: 0 };
    sum.earned += mark.earned;
    sum.moved += mark.moved;
    invited.set(mark.userId, sum);
  }
  return [
    ...markCodes(marks.filter((mark) => mark.kind === 'code')),
    ...payOrders(orders),
    ...refundOrders([...refunds.values()]),
    ...insertInvoices(invoices),
    ...closeCallbacks(orders.filter(({ callbackId }) => callbackId > 0)),
    ...countInvitations([...invited.values()]),
  ];
}
