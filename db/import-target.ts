/** The writes of an import, inside its one transaction. */
import type { Insertable } from 'kysely';
import { sumsFromKey } from './log-sums.ts';
import type { SqliteDatabase } from './open.ts';
import type {
  ChannelsTable,
  LogsTable,
  PasskeysTable,
  RecoveryCodesTable,
  RedemptionsTable,
  SecondFactorsTable,
  TokensTable,
  UsersTable,
} from './schema/tables.ts';

/** Seconds since the epoch by number of the row. */
export interface ImportTimes {
  readonly tokensUsed: ReadonlyMap<number, number>;
  readonly codesDeleted: ReadonlyMap<number, number>;
}

export function createImportTarget({ query, raw }: SqliteDatabase) {
  const insert = async (
    table: 'users' | 'second_factors' | 'recovery_codes' | 'passkeys' | 'tokens' | 'channels' | 'redemptions' | 'logs',
    row: object,
  ): Promise<void> => {
    await query
      .insertInto(table)
      .values(row as never)
      .execute();
  };
  return {
    isEmpty: (): boolean =>
      raw.prepare<number>('SELECT (SELECT count(*) FROM users) + (SELECT count(*) FROM channels)').pluck().get() === 0,
    user: async (row: Insertable<UsersTable>, requests: number): Promise<void> => {
      await insert('users', row);
      await query
        .insertInto('accounts')
        .values({ id: Number(row.id), balance: 0, used_quota: 0, request_count: requests, version: 0 })
        .execute();
    },
    secondFactor: (row: Insertable<SecondFactorsTable>) => insert('second_factors', row),
    recoveryCode: (row: Insertable<RecoveryCodesTable>) => insert('recovery_codes', row),
    passkey: (row: Insertable<PasskeysTable>) => insert('passkeys', row),
    token: (row: Insertable<TokensTable>) => insert('tokens', row),
    channel: (row: Insertable<ChannelsTable>) => insert('channels', row),
    redemption: (row: Insertable<RedemptionsTable>) => insert('redemptions', row),
    log: (row: Insertable<LogsTable>) => insert('logs', row),
    /**
     * What is left of a token stays left: its limit grows by what was spent. Postings of an import are no requests, and
     * no use of a token. A code that was used and deleted had to be there for its posting.
     */
    afterPostings(requests: ReadonlyMap<number, number>, times: ImportTimes): void {
      raw.exec('UPDATE tokens SET quota_limit = quota_limit + used_quota');
      for (const [id, at] of times.tokensUsed)
        raw.prepare('UPDATE tokens SET accessed_at = ? WHERE id = ?').run(at, id);
      for (const [id, at] of times.codesDeleted)
        raw.prepare('UPDATE redemptions SET deleted_at = ? WHERE id = ?').run(at, id);
      raw.exec('DELETE FROM usage_hours');
      // Imported rows of the log are in no sums: those begin with the next start.
      raw.exec(`DELETE FROM log_sums; DELETE FROM name_sums; DELETE FROM meta WHERE key = '${sumsFromKey}'`);
      for (const [id, count] of requests)
        raw.prepare('UPDATE accounts SET request_count = ? WHERE id = ?').run(count, id);
    },
    /** Balances and spent quota of all users. */
    totalBalance: (): number =>
      Number(
        raw.prepare<number>('SELECT coalesce(sum(balance + used_quota), 0) FROM accounts WHERE id > 0').pluck().get(),
      ),
  };
}
