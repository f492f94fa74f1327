/** Budgets: what is stored of them is sound, what was used before they were made counts, and a reset takes off what was used. */

import { randomBytes } from 'node:crypto';
import type { Database } from '../../../db/open.ts';
import { type BudgetRow, createBudgetsRepository } from '../../../db/repositories/budgets.ts';
import { createTokensRepository } from '../../../db/repositories/tokens.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import type { Ledger } from '../../billing/ledger/commands.ts';
import {
  amountOf,
  type BudgetHolder,
  type BudgetUnit,
  type BudgetWindow,
  isZone,
  maxBudgets,
  spanOf,
} from '../../contract/budgets.ts';
import { AppError } from '../../contract/errors.ts';
import { maxQuota } from '../../contract/pricing/charge.ts';
import { isLabel } from '../../contract/token-fields.ts';

export interface BudgetFields {
  readonly holder: BudgetHolder;
  /** Id of the key or user, name of the group or label; nothing for the site. */
  readonly subject?: string | undefined;
  readonly window: BudgetWindow;
  readonly unit: BudgetUnit;
  readonly amount: number;
  /** Absent = as before, UTC at first. */
  readonly zone?: string | undefined;
  /** Added until `raise_until`, epoch seconds; absent = as before. */
  readonly raise?: number | undefined;
  readonly raise_until?: number | undefined;
}

export interface BudgetView {
  readonly id: number;
  readonly holder: BudgetHolder;
  readonly subject: string;
  /** The name of the key, user, group or label; '' = the site, or a holder that is gone. */
  readonly name: string;
  readonly window: BudgetWindow;
  readonly unit: BudgetUnit;
  readonly amount: number;
  readonly zone: string;
  readonly raise: number;
  readonly raise_until: number;
  /** Amount and raise, as they hold now. */
  readonly bound: number;
  /** In the window at hand; what open requests hold is not. */
  readonly used: number;
  /** Epoch seconds; null = it has not begun. */
  readonly window_at: number | null;
  /** null = never, or not before it is used. */
  readonly resets: number | null;
  readonly created_time: number;
  readonly updated_time: number;
}

/** What was used before is counted again so much later: by then every relay thread knows of the budget. */
const settledSeconds = 3;

/** Others get their turn in between. */
const goneAtOnce = 500;

/** When its use was taken off last; 0 = never. */
const resetAtOf = ({ counted }: Pick<BudgetRow, 'counted'>): number => (Math.abs(counted) > 1 ? Math.abs(counted) : 0);

const windowOf = (row: Pick<BudgetRow, 'period'>) => row.period as BudgetWindow;

export function createBudgets({
  database,
  ledger,
  now,
}: {
  readonly database: Database;
  readonly ledger: Pick<Ledger, 'execute'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const repository = createBudgetsRepository(database);
  const tokens = createTokensRepository(database);
  const users = createUsersRepository(database);
  const seconds = () => Math.floor(now() / 1000);
  /** What changes uses, one at a time. */
  let line: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = line.then(work, work);
    line = done.catch(() => undefined);
    return done;
  };

  const namesOf = async (rows: readonly BudgetRow[]): Promise<ReadonlyMap<string, string>> => {
    const ids = (holder: BudgetHolder) => [
      ...new Set(rows.filter((row) => row.holder === holder).map(({ subject }) => Number(subject))),
    ];
    const [keys, people] = [[...new Set([...ids('token'), ...ids('end_user')])], ids('user')];
    const found = new Map<string, string>();
    for (const { id, name } of keys.length === 0 ? [] : await tokens.byIds(keys))
      for (const holder of ['token', 'end_user']) found.set(`${holder} ${id}`, name);
    for (const { id, username } of people.length === 0 ? [] : await users.byIds(people))
      found.set(`user ${id}`, username);
    return found;
  };

  const viewOf = (row: BudgetRow, names: ReadonlyMap<string, string>): BudgetView => {
    const at = seconds();
    const window = windowOf(row);
    const began = row.window_at ?? 0;
    const span = window === 'request' ? null : spanOf(window, row.zone, at, began);
    const isCurrent = span !== null && row.window_at !== null && span.start <= began;
    return {
      id: row.id,
      holder: row.holder as BudgetHolder,
      subject: row.subject,
      name:
        row.holder === 'group' || row.holder === 'label'
          ? row.subject
          : (names.get(`${row.holder} ${row.subject}`) ?? ''),
      window,
      unit: row.unit as BudgetUnit,
      amount: row.amount,
      zone: row.zone,
      raise: row.raise_amount,
      raise_until: row.raise_until,
      bound: amountOf({ amount: row.amount, raise: row.raise_amount, raiseUntil: row.raise_until }, at),
      used: isCurrent ? (row.used ?? 0) : 0,
      window_at: isCurrent ? began : null,
      resets: span === null || window === 'total' || (window === '5h' && !isCurrent) ? null : span.end,
      created_time: row.created_at,
      updated_time: row.updated_at,
    };
  };
  const viewsOf = async (rows: readonly BudgetRow[]): Promise<BudgetView[]> => {
    const names = await namesOf(rows);
    return rows.map((row) => viewOf(row, names));
  };

  const find = async (id: number): Promise<BudgetRow> => {
    const row = await repository.find(id);
    if (row === undefined) throw new AppError('not_found', { what: `budget ${id}` });
    return row;
  };
  const view = async (id: number): Promise<BudgetView> => {
    const [one] = await viewsOf([await find(id)]);
    if (one === undefined) throw new AppError('not_found', { what: `budget ${id}` });
    return one;
  };

  /** @returns how the holder is stored. @throws AppError params_invalid, not_found */
  const subjectOf = async ({ holder, subject = '' }: Pick<BudgetFields, 'holder' | 'subject'>): Promise<string> => {
    if (holder === 'site') return '';
    if (holder === 'group') {
      if (subject === '') throw new AppError('params_invalid', { detail: 'subject' });
      return subject;
    }
    if (holder === 'label') {
      const label = subject.trim();
      if (!isLabel(label)) throw new AppError('params_invalid', { detail: 'subject' });
      return label;
    }
    const id = Number(subject);
    if (!Number.isSafeInteger(id) || id <= 0) throw new AppError('params_invalid', { detail: 'subject' });
    const [found] = holder === 'user' ? await users.byIds([id]) : await tokens.byIds([id]);
    if (found === undefined) throw new AppError('not_found', { what: `${holder} ${id}` });
    return String(id);
  };

  /** Brings what was used before into the use of the window at hand. */
  const count = async (row: BudgetRow): Promise<void> => {
    const window = windowOf(row);
    // Five hours begin with the first use after the budget was made.
    if (window === '5h' || window === 'request' || row.holder === 'end_user') return;
    const windowAt = spanOf(window, row.zone, seconds()).start;
    // Where the zone changed, a window that began later goes on.
    if (windowAt < (row.window_at ?? 0)) return;
    const missing = await repository.missing({
      ...{ id: row.id, holder: row.holder as BudgetHolder, subject: row.subject, unit: row.unit as BudgetUnit },
      ...{ windowAt, from: Math.max(windowAt, resetAtOf(row)) },
    });
    if (missing > 0) await change(row.id, windowAt, missing);
  };
  const change = (budgetId: number, windowAt: number, delta: number) =>
    ledger.execute({
      ...{ type: 'budget', ref: `budget:${budgetId}:${randomBytes(8).toString('hex')}` },
      ...{ budgetId, windowAt, delta },
    });

  /** Budgets of keys and users that are gone would take the room of others. */
  const removeGone = async (): Promise<void> => {
    for (let gone = await repository.gone(goneAtOnce); gone.length > 0; gone = await repository.gone(goneAtOnce))
      for (const id of gone) await repository.remove(id);
  };
  /** @throws AppError budget_many where so many more have no room. */
  const needRoom = async (more: number): Promise<void> => {
    if (more === 0) return;
    const isFull = async () => (await repository.count()) + more > maxBudgets;
    if (!(await isFull())) return;
    await removeGone();
    if (await isFull()) throw new AppError('budget_many', { most: maxBudgets });
  };

  return {
    /** @param holder absent = everybody's. */
    async list(holder?: BudgetHolder, subject = ''): Promise<BudgetView[]> {
      return viewsOf(await (holder === undefined ? repository.all() : repository.of(holder, subject)));
    },
    /** Those of which so many percent are used in the window at hand. */
    async nearlyUsed(percent: number): Promise<BudgetView[]> {
      return (await viewsOf(await repository.nearlyUsed(percent))).filter(
        ({ used, bound, window_at: at }) => at !== null && used > 0 && used * 100 >= bound * percent,
      );
    },
    get: view,
    /**
     * The one budget of this holder, window and unit: made, or changed. What was used in the window at hand counts.
     * @param counts false = where the ledger cannot write yet: `catchUp` counts it.
     * @throws AppError budget_many, budget_node, params_invalid, not_found
     */
    async set(
      fields: BudgetFields,
      counts = true,
    ): Promise<{ readonly budget: BudgetView; readonly result: 'created' | 'changed' | 'unchanged' }> {
      const subject = await subjectOf(fields);
      const { holder, window, unit, amount } = fields;
      if (!Number.isSafeInteger(amount) || amount < 0 || amount > maxQuota)
        throw new AppError('params_invalid', { detail: 'amount' });
      if (window === 'request' && unit !== 'tokens')
        throw new AppError('params_invalid', { detail: 'unit: tokens (window request)' });
      const own = await repository.of(holder, subject);
      const known = own.find((row) => row.period === window && row.unit === unit);
      const ofWindow = own.find((row) => row.period === window);
      const zone = window === 'request' ? '' : (fields.zone ?? ofWindow?.zone ?? '');
      if (!isZone(zone)) throw new AppError('params_invalid', { detail: `zone ${zone}` });
      const raise = fields.raise ?? known?.raise_amount ?? 0;
      const until = fields.raise_until ?? known?.raise_until ?? 0;
      if (!Number.isSafeInteger(raise) || raise < 0 || raise > maxQuota)
        throw new AppError('params_invalid', { detail: 'raise' });
      const isSame =
        known?.amount === amount && known.zone === zone && known.raise_amount === raise && known.raise_until === until;
      const unbound = isSame ? undefined : await repository.unboundNode();
      if (unbound !== undefined) throw new AppError('budget_node', { name: unbound });
      const at = seconds();
      // A window has one beginning, so budgets of several units in it share their zone.
      const moved = own.filter((row) => row.period === window && row.zone !== zone);
      // What the window of the new zone has used before counts, but for what was taken off.
      for (const row of moved) await repository.update(row.id, { zone, counted: -resetAtOf(row), updated_at: at });
      const recount = async () => {
        for (const { id } of counts ? moved : []) await inTurn(async () => count(await find(id)));
      };
      const columns = { amount, zone, raise_amount: raise, raise_until: until };
      if (known !== undefined) {
        if (isSame) return { budget: await view(known.id), result: 'unchanged' };
        await repository.update(known.id, { ...columns, updated_at: at });
        await recount();
        return { budget: await view(known.id), result: 'changed' };
      }
      await needRoom(1);
      const row = { holder, subject, period: window, unit, ...columns, counted: 0, created_at: at, updated_at: at };
      const id = await repository.create(row);
      await recount();
      if (counts) await inTurn(async () => count(await find(id)));
      return { budget: await view(id), result: 'created' };
    },
    needRoom,
    removeGone,
    /** Nothing of the window at hand is used from here on. @throws AppError not_found */
    reset(id: number): Promise<BudgetView> {
      return inTurn(async () => {
        const { used, window_at: windowAt } = await view(id);
        // What was used before is taken off, and must not be counted again.
        await repository.update(id, { counted: seconds() });
        // The ledger takes off what it has by then.
        if (windowAt !== null && used > 0) await change(id, windowAt, -maxQuota);
        return view(id);
      });
    },
    /** @throws AppError not_found */
    async remove(id: number): Promise<void> {
      await find(id);
      await repository.remove(id);
    },
    /** Counts what new budgets have used before. */
    async catchUp(): Promise<void> {
      for (const row of await repository.uncounted()) await inTurn(() => count(row));
    },
    /** What was settled by threads that did not know of a new budget yet is counted too. */
    async tick(): Promise<void> {
      for (const row of await repository.uncounted()) {
        if (seconds() < Math.max(row.created_at, row.updated_at) + settledSeconds) continue;
        await inTurn(() => count(row));
        await repository.update(row.id, { counted: resetAtOf(row) || 1 });
      }
    },
  };
}

export type BudgetsService = ReturnType<typeof createBudgets>;
