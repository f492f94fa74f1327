/** Monthly statements from the rows of the log: their sums by day and model are what was charged, less what was refunded. */
import { type Database, forReading } from '../../../db/open.ts';
import type { LogFilter } from '../../../db/repositories/log-filter.ts';
import { createLogsRepository, type LogShare } from '../../../db/repositories/logs.ts';
import { AppError } from '../../contract/errors.ts';
import { taxParts } from '../../contract/invoice.ts';
import {
  monthAt,
  monthRange,
  type ShareKind,
  type Statement,
  type StatementBill,
  type StatementShares,
} from '../../contract/statement.ts';
import { labelsIn } from '../../contract/token-fields.ts';
import type { InvoicesService } from '../invoices/service.ts';
import type { LogsService } from '../logs/service.ts';
import type { OptionsService } from '../options/service.ts';
import type { TokensService } from '../tokens/service.ts';
import type { UsersService } from '../users/service.ts';

/** Whose bill: one of them; what is absent is not asked for. */
export interface StatementScope {
  /** Beside a label or a project: of this user alone. */
  readonly userId?: number | undefined;
  readonly tokenId?: number | undefined;
  /** Only channels with this tag now. */
  readonly tag?: string | undefined;
  /** Only keys with this label now. */
  readonly label?: string | undefined;
  /** As clients named it in their requests. */
  readonly project?: string | undefined;
}

/** Shares that are listed. */
const maxShares = 500;
const noSums = { requests: 0, prompt_tokens: 0, completion_tokens: 0, quota: 0 };
type Sums = Statement['total'];
const added = (one: Sums, other: Sums): Sums => ({
  requests: one.requests + other.requests,
  prompt_tokens: one.prompt_tokens + other.prompt_tokens,
  completion_tokens: one.completion_tokens + other.completion_tokens,
  quota: one.quota + other.quota,
});
const shareColumns = { user: 'user_id', token: 'token_id', label: 'token_id', project: 'project_id' } as const;

export interface StatementsDeps {
  readonly database: Database;
  readonly options: OptionsService;
  readonly users: UsersService;
  readonly tokens: TokensService;
  readonly logs: LogsService;
  readonly invoices: Pick<InvoicesService, 'buyer' | 'seller'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export type StatementsService = ReturnType<typeof createStatements>;

export function createStatements(deps: StatementsDeps) {
  const repository = createLogsRepository(forReading(deps.database));

  const userNamed = async (id: number): Promise<string> => {
    const user = await deps.users.find(id);
    if (user === undefined) throw new AppError('not_found', { what: `user ${id}` });
    return user.username;
  };
  /** @throws AppError not_found */
  const subjectOf = async ({ userId, tokenId, tag, label, project }: StatementScope) => {
    if (tokenId !== undefined) {
      const token = await deps.tokens.get(tokenId, null);
      const filter: LogFilter = { userId: token.user_id, tokenId };
      return {
        filter,
        subject: { of: 'token', id: tokenId, name: token.name, username: await userNamed(token.user_id) },
      } as const;
    }
    if (tag !== undefined)
      return { filter: { channelTag: tag }, subject: { of: 'tag', id: 0, name: tag, username: '' } } as const;
    const username = userId === undefined ? '' : await userNamed(userId);
    const id = userId ?? 0;
    if (label !== undefined)
      return { filter: { userId, tokenLabel: label }, subject: { of: 'label', id, name: label, username } } as const;
    if (project !== undefined)
      return {
        filter: { userId, names: { project } },
        subject: { of: 'project', id, name: project, username },
      } as const;
    if (userId === undefined) throw new AppError('params_invalid', { detail: 'user' });
    return { filter: { userId }, subject: { of: 'user', id, name: username, username } } as const;
  };

  /** @throws AppError params_invalid */
  const monthOf = (month: string) => {
    const name = month === '' ? monthAt(deps.now()) : month;
    const range = monthRange(name);
    if (range === null) throw new AppError('params_invalid', { detail: `month ${month}: 2026-01` });
    return { name, range };
  };

  /** Names of shares; of a label its keys become one, and a key with two counts with both. */
  const named = async (found: readonly LogShare[], by: ShareKind, userId: number | undefined) => {
    if (by === 'project') {
      const texts = await repository.textsOf(found.map(({ user_id, id }) => [user_id, id]));
      return found.map((share, at) => ({ share, id: 0, user: share.user_id, name: texts[at] ?? '' }));
    }
    if (by === 'user') return found.map((share) => ({ share, id: share.user_id, user: share.user_id, name: '' }));
    const keys = await repository.keysNamed([...new Set(found.map(({ id }) => id))]);
    if (by === 'token')
      return found.map((share) => ({ share, id: share.id, user: share.user_id, name: keys.get(share.id)?.name ?? '' }));
    return found.flatMap((share) => {
      const labels = labelsIn(keys.get(share.id)?.labels ?? '');
      return (labels.length === 0 ? [''] : labels).map((name) => ({ share, id: 0, user: userId ?? 0, name }));
    });
  };

  /** Of a user's month, in dollars rounded to cents; a key's or a tag's is a part of what is billed. */
  const billOf = async (filter: LogFilter, of: Statement['of'], quota: number): Promise<StatementBill | null> => {
    const { options, invoices } = deps;
    const isBilled = options.get('invoice.statement_bills') && options.get('DisplayInCurrencyEnabled');
    const seller = invoices.seller();
    if (!isBilled || of !== 'user' || filter.userId === undefined || seller.name === '') return null;
    const gross = Math.max(0, Math.round((quota * 100) / options.get('QuotaPerUnit')));
    const rate = options.get('invoice.tax_rate');
    const parts = rate === 0 ? { net: gross, tax: 0 } : taxParts(gross, rate);
    return {
      ...{ seller, buyer: await invoices.buyer(filter.userId), gross, ...parts },
      tax_name: rate === 0 ? '' : options.get('invoice.tax_name').trim(),
      tax_rate: rate === 0 ? '' : String(rate),
      note: options.get('invoice.note').trim(),
    };
  };

  return {
    /** What each user, key, label or project was charged in a month. @param month as `get`. @throws AppError params_invalid, not_found */
    async shares({ userId }: Pick<StatementScope, 'userId'>, by: ShareKind, month: string): Promise<StatementShares> {
      const { name: monthName, range } = monthOf(month);
      const owner = userId === undefined ? '' : await userNamed(userId);
      const found = await repository.shares({ userId, ...range }, shareColumns[by]);
      const sums = new Map<string, StatementShares['shares'][number]>();
      for (const { share, id, user, name } of await named(found, by, userId)) {
        const key = `${user} ${id} ${name}`;
        const known = sums.get(key) ?? { id, name, user, username: '', ...noSums };
        sums.set(key, { ...known, ...added(known, share) });
      }
      const dearest = [...sums.values()].toSorted((one, other) => other.quota - one.quota).slice(0, maxShares);
      const users = userId === undefined ? await repository.usersOf(dearest.map(({ user }) => user)) : undefined;
      const shares = dearest.map((share) => {
        const username = users === undefined ? owner : (users.get(share.user) ?? '');
        return { ...share, username, name: by === 'user' ? username : share.name };
      });
      return { month: monthName, ...range, by, shares, total: found.reduce<Sums>(added, noSums) };
    },
    /** Whose it is, by its name of now; nothing is added up. @throws AppError params_invalid, not_found */
    subject: async (scope: StatementScope) => (await subjectOf(scope)).subject,
    /** @param month `2026-11`; '' = the current one. @param check recomputes every charge. @throws AppError params_invalid, not_found */
    async get(scope: StatementScope, month: string, check = false): Promise<Statement> {
      const { name, range } = monthOf(month);
      const { filter, subject } = await subjectOf(scope);
      const within = { ...filter, ...range };
      const charged = (await repository.days(within)).map((line) => ({ ...line, refund: false }));
      const refunded = (await repository.refunds(within)).map(({ quota, ...line }) => ({
        ...{ ...noSums, ...line, quota: -quota, refund: true },
      }));
      const lines = [...charged, ...refunded]
        .toSorted((one, other) => one.day_at - other.day_at || other.quota - one.quota)
        .map(({ day_at: at, ...line }) => ({ day: new Date(at * 1000).toISOString().slice(0, 10), ...line }));
      const total = lines.reduce<Sums>(added, noSums);
      const checked = check ? await deps.logs.verify(within) : null;
      return {
        month: name,
        ...range,
        ...subject,
        site: deps.options.get('SystemName'),
        in_currency: deps.options.get('DisplayInCurrencyEnabled'),
        quota_per_unit: deps.options.get('QuotaPerUnit'),
        lines,
        total,
        bill: await billOf(filter, subject.of, total.quota),
        check: checked === null ? null : { checked: checked.checked, unequal: checked.unequal },
      };
    },
  };
}
