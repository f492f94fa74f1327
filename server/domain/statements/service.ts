/** Monthly statements from the rows of the log: their sums by day and model are what was charged, less what was refunded. */
import { type Database, forReading } from '../../../db/open.ts';
import type { LogFilter } from '../../../db/repositories/log-filter.ts';
import { createLogsRepository } from '../../../db/repositories/logs.ts';
import { AppError } from '../../contract/errors.ts';
import { monthAt, monthRange, type Statement } from '../../contract/statement.ts';
import type { LogsService } from '../logs/service.ts';
import type { OptionsService } from '../options/service.ts';
import type { TokensService } from '../tokens/service.ts';
import type { UsersService } from '../users/service.ts';

/** One of them; what is absent is not asked for. */
export interface StatementOf {
  readonly userId?: number | undefined;
  readonly tokenId?: number | undefined;
  readonly tag?: string | undefined;
}

export interface StatementsDeps {
  readonly database: Database;
  readonly options: OptionsService;
  readonly users: UsersService;
  readonly tokens: TokensService;
  readonly logs: LogsService;
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
  const subjectOf = async ({ userId, tokenId, tag }: StatementOf) => {
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
    const username = await userNamed(userId ?? 0);
    return {
      filter: { userId: userId ?? 0 },
      subject: { of: 'user', id: userId ?? 0, name: username, username },
    } as const;
  };

  return {
    /** @param month `2026-11`; '' = the current one. @param check recomputes every charge. @throws AppError params_invalid, not_found */
    async get(whose: StatementOf, month: string, check = false): Promise<Statement> {
      const name = month === '' ? monthAt(deps.now()) : month;
      const range = monthRange(name);
      if (range === null) throw new AppError('params_invalid', { detail: `month ${month}: 2026-01` });
      const { filter, subject } = await subjectOf(whose);
      const within = { ...filter, ...range };
      const charged = (await repository.days(within)).map((line) => ({ ...line, refund: false }));
      const none = { requests: 0, prompt_tokens: 0, completion_tokens: 0 };
      const refunded = (await repository.refunds(within)).map(({ quota, ...line }) => ({
        ...{ ...line, ...none, quota: -quota, refund: true },
      }));
      const lines = [...charged, ...refunded]
        .toSorted((one, other) => one.day_at - other.day_at || other.quota - one.quota)
        .map(({ day_at: at, ...line }) => ({ day: new Date(at * 1000).toISOString().slice(0, 10), ...line }));
      const total = { requests: 0, prompt_tokens: 0, completion_tokens: 0, quota: 0 };
      for (const line of lines)
        for (const key of ['requests', 'prompt_tokens', 'completion_tokens', 'quota'] as const) total[key] += line[key];
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
        check: checked === null ? null : { checked: checked.checked, unequal: checked.unequal },
      };
    },
  };
}
