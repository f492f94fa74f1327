/** The ledger's SQL: applies a batch of decided commands in one transaction, with counters added up before they are written. */
import { randomBytes } from 'node:crypto';
import type { Database as RawDatabase } from 'better-sqlite3';
import {
  type CountBudget,
  finalRef,
  type Hold,
  type LedgerCommand,
  type LedgerResult,
  type MoneyEvent,
  pairedRef,
  type Refund,
} from '../../../server/billing/ledger/commands.ts';
import {
  correct,
  type Decision,
  decide,
  duplicateOf,
  type Effects,
  type LedgerState,
} from '../../../server/billing/ledger/core.ts';
import type { HeldLog, LedgerStore, Outcome, StoredHold } from '../../../server/billing/ports.ts';
import { sumsFromKey } from '../../log-sums.ts';
import { busyTimeoutMs } from '../../open.ts';
import { insertColumns, logAliases } from '../../schema/inserts.ts';
import { NameMemory, type NameTable, type NumberedLog, numbered } from '../names.ts';
import { type AccountAfter, eventOf } from './events.ts';
import { createLedgerMarks } from './marks.ts';
import { createLedgerRows, isDuplicate, type Rows } from './rows.ts';
import { createLedgerReads } from './state.ts';
import { createLedgerTotals, type LedgerTotals } from './sum.ts';

/** Accounts that pay for a user: their postings go with a settlement. */
const pairedKinds = ['overrun', 'house'] as const;

/** Columns of the log under the names of its entries' fields. */
const logFields = insertColumns('logs', logAliases)
  .map(({ name, field }) => `${name} AS "${field}"`)
  .join(', ');

export function createLedgerStore(raw: RawDatabase): LedgerStore {
  const reads = createLedgerReads(raw);
  const newTotals = createLedgerTotals(raw);
  const mark = createLedgerMarks(raw);
  const newRows = createLedgerRows(raw);
  const putHold = raw.prepare(
    `INSERT INTO holds (ref, user_id, token_id, channel_id, estimate, observed, epoch, at, log) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (ref) DO UPDATE SET estimate = excluded.estimate, observed = excluded.observed, at = excluded.at, log = excluded.log`,
  );
  const dropHold = raw.prepare('DELETE FROM holds WHERE ref = ?');
  const readMeta = raw.prepare<{ value: string }>("SELECT value FROM meta WHERE key = 'ledger_epoch'");
  const writeMeta = raw.prepare(
    "INSERT INTO meta (key, value) VALUES ('ledger_epoch', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
  );
  // From the next whole hour on: a part of this one may have been written by an earlier build.
  const beginSums = raw.prepare(
    `INSERT INTO meta (key, value) VALUES ('${sumsFromKey}', CAST((unixepoch() / 3600 + 1) * 3600 AS TEXT)) ON CONFLICT DO NOTHING`,
  );
  const touchMeta = raw.prepare(
    "INSERT INTO meta (key, value) VALUES ('storage_probe', '') ON CONFLICT (key) DO UPDATE SET value = excluded.value",
  );
  const readJournal = raw.prepare<{ key: string; value: string }>(
    "SELECT key, value FROM meta WHERE key IN ('journal_id', 'journal_applied')",
  );
  const writeJournal = raw.prepare(
    'INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
  );
  let durable: 'each' | 'later' = 'each';
  let busyMs = busyTimeoutMs;
  const readLast = raw.prepare<{ n: number }>('SELECT coalesce(max(id), 0) AS n FROM postings');
  const oldHolds = raw.prepare<StoredHold>(
    'SELECT ref, user_id, token_id, channel_id, observed, log FROM holds WHERE epoch < ?',
  );
  // Most requests end before a hold is written for them; only these need the DELETE.
  const openHolds = new Set(raw.prepare<string>('SELECT ref FROM holds').pluck().all());
  let epoch = 0;

  const names = new NameMemory();
  const hasName = raw.prepare('SELECT 1 FROM names WHERE user_id = ? AND id = ?').pluck();
  const countNames = raw.prepare<number>('SELECT count(*) FROM names WHERE user_id = ? AND day = ?').pluck();
  const addName = raw.prepare('INSERT INTO names (user_id, id, kind, text, day) VALUES (?, ?, ?, ?, ?)');
  const nameTable: NameTable = {
    has: (userId, id) => hasName.get(userId, id) !== undefined,
    countOn: (userId, day) => countNames.get(userId, day) ?? 0,
    add: ({ userId, id, kind, text, day }) => void addName.run(userId, id, kind, text, day),
  };

  const dropRecovered = raw.prepare<NumberedLog>(
    `DELETE FROM logs WHERE request_id = ? AND end_reason = 'recovered' RETURNING ${logFields}`,
  );
  const hasRecovered = raw.prepare("SELECT 1 FROM logs WHERE request_id = ? AND end_reason = 'recovered'").pluck();

  const write = (effects: Effects, ref: string, totals: LedgerTotals, rows: Rows): LedgerResult => {
    const { posting, paired, log, usage } = effects;
    if (effects.dropsHold && openHolds.has(ref)) dropHold.run(ref);
    if (posting !== null) {
      if (!rows.posting(posting)) {
        const known = reads.posting(ref);
        return known === undefined ? { status: 'conflict' } : duplicateOf(known, posting);
      }
      totals.post(posting);
      if (paired !== null && rows.posting(paired)) totals.post(paired);
    }
    const row = log === null ? null : numbered(log, names, nameTable);
    const fresh = row === null || rows.log(row);
    if (row !== null && fresh) totals.logs.add(row);
    if (!fresh && posting === null) return { status: 'duplicate' };
    if (usage !== null) totals.use(usage);
    if (effects.mark !== null) mark(effects.mark);
    return { status: 'done' };
  };

  const writeHold = (hold: Hold): LedgerResult => {
    const { ref, userId, tokenId, channelId, estimate, observed, at, house: selfUse, budgets } = hold;
    const known: HeldLog = selfUse === true ? { ...hold.log, house: selfUse } : hold.log;
    const log: HeldLog = budgets === undefined ? known : { ...known, budgets };
    putHold.run(ref, userId, tokenId, channelId, estimate, observed, epoch, at, JSON.stringify(log));
    // Its end may follow in the same batch. A reference that a rollback leaves here costs a DELETE that finds nothing.
    openHolds.add(ref);
    return { status: 'done' };
  };

  const usedBefore = raw.prepare<number>('SELECT used FROM budget_use WHERE budget_id = ? AND window_at = ?').pluck();
  // The windows that the settlement lay in.
  const budgetsOf = raw.prepare<{ budgetId: number; windowAt: number }>(
    `SELECT b.id AS budgetId, u.window_at AS windowAt FROM budgets b JOIN budget_use u ON u.budget_id = b.id
     WHERE b.unit = 'money' AND u.window_at = (SELECT max(window_at) FROM budget_use WHERE budget_id = b.id AND window_at <= $at)
       AND ((b.holder = 'token' AND b.subject = $token) OR (b.holder = 'user' AND b.subject = $user)
         OR (b.holder = 'label' AND instr((SELECT ',' || labels || ',' FROM tokens WHERE id = $token), ',' || b.subject || ',') > 0)
         OR (b.holder = 'group' AND b.subject = (SELECT group_name FROM users WHERE id = $user)) OR b.holder = 'site')`,
  );

  // Names beyond a day's bound are not known any more.
  const endUserOf = raw.prepare<{ name: string }>(
    `SELECT coalesce(n.text, '') AS name FROM logs l LEFT JOIN names n ON n.user_id = l.user_id AND n.id = l.end_user_id
     WHERE l.request_id = $of AND (l.end_user_id = 0 OR n.id IS NOT NULL)
       AND EXISTS (SELECT 1 FROM budgets WHERE holder = 'end_user' AND subject = $token AND unit = 'money')`,
  );

  /** Never below zero. @returns what changed, for the memory. */
  const counted = (
    { budgetId, windowAt, delta }: Omit<CountBudget, 'type' | 'ref'>,
    totals: LedgerTotals,
  ): MoneyEvent => {
    const waits = totals.budgets?.get(`${budgetId} ${windowAt}`)?.used ?? 0;
    const change = Math.max(delta, -((usedBefore.get(budgetId, windowAt) ?? 0) + waits));
    totals.count(budgetId, windowAt, change);
    return { kind: 'budget', budgetId, windowAt, delta: change };
  };

  /** Refunded quota no longer counts as used. */
  const refunded = ({ of, userId, amount }: Refund, state: LedgerState, totals: LedgerTotals): MoneyEvent[] => {
    const settled = state.posting(of);
    if (settled === undefined) return [];
    const { at, tokenId } = settled;
    const events = budgetsOf
      .all({ at, token: String(tokenId), user: String(userId) })
      .map((budget) => counted({ ...budget, delta: -amount }, totals));
    const endUser = endUserOf.get({ of, token: String(tokenId) });
    if (endUser !== undefined) events.push({ kind: 'end_user', tokenId, name: endUser.name, at, delta: -amount });
    return events;
  };

  /**
   * What recovery charged was the last checkpoint. The request's own end, from a file that was found later, corrects it.
   * @returns null where the reference was not recovered.
   */
  const finalEnd = (command: LedgerCommand, state: LedgerState, totals: LedgerTotals): Decision | null => {
    if ((command.type !== 'settle' && command.type !== 'void') || command.log === null) return null;
    if (hasRecovered.get(command.ref) === undefined) return null;
    const known = state.posting(command.ref);
    if (known === undefined) return null;
    const others = pairedKinds.reduce(
      (sum, kind) => sum + (state.posting(pairedRef(command.ref, kind))?.amount ?? 0),
      0,
    );
    const decision = correct(command, { requested: known.amount, paid: known.amount - others }, state);
    if (decision.kind === 'write') for (const row of dropRecovered.all(command.ref)) totals.logs.add(row, -1);
    return decision;
  };

  /** A request that was corrected was charged the sum of both postings. */
  const isRepeated = (command: LedgerCommand, state: LedgerState): boolean => {
    const final = command.type === 'settle' ? state.posting(finalRef(command.ref)) : undefined;
    const known = state.posting(command.ref);
    if (command.type !== 'settle' || final === undefined || known === undefined) return false;
    return command.amount === known.amount + (final.kind === 'refund' ? -final.amount : final.amount);
  };

  const applyAll = raw.transaction((commands: readonly LedgerCommand[], rows: Rows, journaled: number) => {
    const totals = newTotals();
    const state = reads.state(totals, rows.flush);
    const events: MoneyEvent[] = [];
    const after: AccountAfter = {
      version: (userId) => reads.version(userId) + totals.movements(userId),
      paidIn: (userId) => reads.paidIn(userId) + totals.paidIn(userId),
    };
    const results = commands.map((command): LedgerResult => {
      const decision = decide(command, state);
      if (decision.kind === 'answer') return decision.result;
      if (decision.kind === 'hold') return writeHold(command as Hold);
      if (decision.kind === 'budget') {
        events.push(counted(command as CountBudget, totals));
        return { status: 'done' };
      }
      let { effects } = decision;
      let result = write(effects, command.ref, totals, rows);
      if (result.status === 'conflict' || result.status === 'duplicate') {
        const final = finalEnd(command, state, totals);
        if (final?.kind === 'write') {
          effects = final.effects;
          result = write(effects, finalRef(command.ref), totals, rows);
        } else if (isRepeated(command, state)) result = { status: 'duplicate' };
      }
      const event = result.status === 'done' ? eventOf(effects, after) : null;
      if (event !== null) events.push(event);
      if (command.type === 'refund' && result.status === 'done') events.push(...refunded(command, state, totals));
      return result;
    });
    rows.flush();
    totals.flush();
    if (journaled > 0) writeJournal.run('journal_applied', String(journaled));
    return { results, events };
  });

  /** Nearly always all is new. */
  const applyTogether = (commands: readonly LedgerCommand[], journaled: number): Outcome => {
    try {
      return applyAll.immediate(commands, newRows.together(), journaled);
    } catch (error) {
      // Names learnt in it were rolled back with the rest.
      names.forget();
      if (!isDuplicate(error)) throw error;
      return applyAll.immediate(commands, newRows.oneByOne, journaled);
    }
  };

  return {
    apply(commands, journaled = 0) {
      const outcome = applyTogether(commands, journaled);
      for (const { type, ref } of commands) if (type !== 'hold' && type !== 'note') openHolds.delete(ref);
      return outcome;
    },
    journal() {
      const rows = new Map(readJournal.all().map(({ key, value }) => [key, value]));
      const isNew = !rows.has('journal_id');
      const id = rows.get('journal_id') ?? randomBytes(16).toString('hex');
      if (isNew) writeJournal.run('journal_id', id);
      return { id, isNew, applied: Number(rows.get('journal_applied') ?? 0) };
    },
    commits(wanted, ms) {
      if (durable !== wanted) raw.pragma(`synchronous = ${wanted === 'each' ? 'FULL' : 'NORMAL'}`);
      if (busyMs !== ms) raw.pragma(`busy_timeout = ${ms}`);
      durable = wanted;
      busyMs = ms;
    },
    isBusy: (error) => /^SQLITE_BUSY/.test(codeOf(error)),
    isLoss: (error) => /^SQLITE_IOERR/.test(codeOf(error)),
    nextEpoch() {
      epoch = Number(readMeta.get()?.value ?? 0) + 1;
      writeMeta.run(String(epoch));
      beginSums.run();
      return epoch;
    },
    holds: (olderThan) => oldHolds.all(olderThan),
    lastPosting: () => readLast.get()?.n ?? 0,
    probe: () => void touchMeta.run(),
    checkpoint(mode) {
      const [row] = raw.pragma(`wal_checkpoint(${mode})`) as { busy: number; log: number; checkpointed: number }[];
      return row?.busy === 0 && row.log === row.checkpointed;
    },
    isInvalidCommand,
  };
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code);

/** Errors of the schema or the driver about one command; all other errors of the driver are storage failures. */
function isInvalidCommand(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return (
    typeof code !== 'string' || !code.startsWith('SQLITE_') || /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code)
  );
}
