/** The ledger's SQL: applies a batch of decided commands in one transaction, with counters added up before they are written. */
import type { Database as RawDatabase } from 'better-sqlite3';
import type { BalanceEvent, Hold, LedgerCommand, LedgerResult, LogEntry } from '../server/ledger/commands.ts';
import { decide, type Effects, type Posting, repeated, type UsageHour } from '../server/ledger/core.ts';

export interface LedgerStore {
  /** Results in the order of the commands, and the balance events to publish after the commit. @throws the driver's error; then nothing was written. */
  apply(commands: readonly LedgerCommand[]): { readonly results: LedgerResult[]; readonly events: BalanceEvent[] };
  /** Numbers this run; holds of older runs are leftovers of a crash. */
  nextEpoch(): number;
  holds(olderThan: number): StoredHold[];
  checkpoint(mode: 'PASSIVE' | 'TRUNCATE'): void;
}

export interface StoredHold {
  readonly ref: string;
  readonly user_id: number;
  readonly token_id: number;
  readonly channel_id: number;
  readonly observed: number;
  readonly log: string;
}

interface AccountDelta {
  balance: number;
  used: number;
  requests: number;
  movements: number;
}

/** Sums of one batch: a busy user's row is written once per commit, not once per request. */
function createSums() {
  return {
    accounts: new Map<number, AccountDelta>(),
    tokens: new Map<number, { used: number; at: number }>(),
    channels: new Map<number, number>(),
    hours: new Map<string, UsageHour & { count: number }>(),
  };
}
type Sums = ReturnType<typeof createSums>;

export function createLedgerStore(raw: RawDatabase): LedgerStore {
  const insertPosting = raw.prepare(
    'INSERT INTO postings (ref, debit, credit, amount, kind, token_id, channel_id, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (ref) DO NOTHING',
  );
  const findPosting = raw.prepare<Pick<Posting, 'debit' | 'credit' | 'amount'>>(
    'SELECT debit, credit, amount FROM postings WHERE ref = ?',
  );
  const insertLog = raw.prepare(
    `INSERT INTO logs (request_id, created_at, type, user_id, username, token_id, token_name, channel_id, group_name, model_name,
      is_stream, use_time, prompt_tokens, completion_tokens, quota, content, other, usage_source, end_reason)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (request_id) DO NOTHING`,
  );
  const addAccount = raw.prepare(
    'UPDATE accounts SET balance = balance + ?, used_quota = used_quota + ?, request_count = request_count + ?, version = version + ? WHERE id = ?',
  );
  const readAccount = raw.prepare<{ balance: number; version: number }>(
    'SELECT balance, version FROM accounts WHERE id = ?',
  );
  const addToken = raw.prepare(
    'UPDATE tokens SET used_quota = used_quota + ?, accessed_at = max(accessed_at, ?) WHERE id = ?',
  );
  const addChannel = raw.prepare('UPDATE channels SET used_quota = used_quota + ? WHERE id = ?');
  const addHour = raw.prepare(
    `INSERT INTO usage_hours (hour_at, user_id, username, model_name, channel_id, count, tokens, quota) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count, tokens = tokens + excluded.tokens, quota = quota + excluded.quota`,
  );
  const putHold = raw.prepare(
    `INSERT INTO holds (ref, user_id, token_id, channel_id, estimate, observed, epoch, at, log) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (ref) DO UPDATE SET estimate = excluded.estimate, observed = excluded.observed, at = excluded.at, log = excluded.log`,
  );
  const dropHold = raw.prepare('DELETE FROM holds WHERE ref = ?');
  const readMeta = raw.prepare<{ value: string }>("SELECT value FROM meta WHERE key = 'ledger_epoch'");
  const writeMeta = raw.prepare(
    "INSERT INTO meta (key, value) VALUES ('ledger_epoch', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
  );
  const oldHolds = raw.prepare<StoredHold>(
    'SELECT ref, user_id, token_id, channel_id, observed, log FROM holds WHERE epoch < ?',
  );
  // Most requests end before a hold is written for them; only these need the DELETE.
  const openHolds = new Set(raw.prepare<string>('SELECT ref FROM holds').pluck().all());
  let epoch = 0;

  const writeLog = (log: LogEntry): boolean =>
    insertLog.run(
      log.requestId === '' ? null : log.requestId,
      log.createdAt,
      log.type,
      log.userId,
      log.username,
      log.tokenId,
      log.tokenName,
      log.channelId,
      log.group,
      log.model,
      log.isStream ? 1 : 0,
      log.useTime,
      log.promptTokens,
      log.completionTokens,
      log.quota,
      log.content,
      log.other,
      log.usageSource,
      log.endReason,
    ).changes > 0;

  const accountDelta = (sums: Sums, id: number): AccountDelta => {
    const known = sums.accounts.get(id);
    if (known !== undefined) return known;
    const fresh = { balance: 0, used: 0, requests: 0, movements: 0 };
    sums.accounts.set(id, fresh);
    return fresh;
  };

  const count = (sums: Sums, effects: Effects) => {
    const { posting, hour } = effects;
    if (hour === null) return;
    const user = accountDelta(sums, hour.userId);
    user.requests++;
    user.used += hour.quota;
    const key = `${hour.hourAt} ${hour.userId} ${hour.channelId} ${hour.model}`;
    const known = sums.hours.get(key);
    if (known === undefined) sums.hours.set(key, { ...hour, count: 1 });
    else
      sums.hours.set(key, {
        ...known,
        tokens: known.tokens + hour.tokens,
        quota: known.quota + hour.quota,
        count: known.count + 1,
      });
    if (posting === null) return;
    const token = sums.tokens.get(posting.tokenId) ?? { used: 0, at: 0 };
    sums.tokens.set(posting.tokenId, { used: token.used + posting.amount, at: Math.max(token.at, posting.at) });
    sums.channels.set(posting.channelId, (sums.channels.get(posting.channelId) ?? 0) + posting.amount);
  };

  const write = (effects: Effects, ref: string, sums: Sums): LedgerResult => {
    const { posting, log } = effects;
    if (posting !== null) {
      const { debit, credit, amount, kind, tokenId, channelId, at } = posting;
      if (insertPosting.run(ref, debit, credit, amount, kind, tokenId, channelId, at).changes === 0) {
        const known = findPosting.get(ref);
        return known === undefined ? { status: 'conflict' } : repeated(known, posting);
      }
      accountDelta(sums, debit).balance -= amount;
      accountDelta(sums, credit).balance += amount;
      if (kind !== 'settle') {
        accountDelta(sums, debit).movements++;
        accountDelta(sums, credit).movements++;
      }
    }
    const fresh = log === null || writeLog(log);
    if (!fresh && posting === null) return { status: 'duplicate' };
    if (effects.counted) count(sums, effects);
    if (effects.dropsHold && openHolds.has(ref)) dropHold.run(ref);
    return { status: 'done' };
  };

  const writeHold = (hold: Hold): LedgerResult => {
    const { ref, userId, tokenId, channelId, estimate, observed, at, log } = hold;
    putHold.run(ref, userId, tokenId, channelId, estimate, observed, epoch, at, JSON.stringify(log));
    return { status: 'done' };
  };

  const flush = (sums: Sums) => {
    for (const [id, sum] of sums.accounts) addAccount.run(sum.balance, sum.used, sum.requests, sum.movements, id);
    for (const [id, sum] of sums.tokens) if (id > 0) addToken.run(sum.used, sum.at, id);
    for (const [id, sum] of sums.channels) if (id > 0) addChannel.run(sum, id);
    for (const hour of sums.hours.values()) {
      addHour.run(
        hour.hourAt,
        hour.userId,
        hour.username,
        hour.model,
        hour.channelId,
        hour.count,
        hour.tokens,
        hour.quota,
      );
    }
  };

  const applyAll = raw.transaction((commands: readonly LedgerCommand[]) => {
    const sums = createSums();
    const balanceOf = (userId: number): number | undefined => {
      const row = readAccount.get(userId);
      return row === undefined ? undefined : row.balance + (sums.accounts.get(userId)?.balance ?? 0);
    };
    const known = new Map<number, number | undefined>();
    // A settlement only needs to know that the account exists; the row is read once per batch.
    const exists = (userId: number): number | undefined => {
      if (!known.has(userId)) known.set(userId, readAccount.get(userId)?.balance);
      return known.get(userId);
    };
    const events: BalanceEvent[] = [];
    const results = commands.map((command): LedgerResult => {
      const decision = decide(command, command.type === 'settle' ? exists : balanceOf);
      if (decision.kind === 'refuse') return decision.result;
      if (decision.kind === 'hold') return writeHold(command as Hold);
      const result = write(decision.effects, command.ref, sums);
      if (result.status === 'done' && (command.type === 'grant' || command.type === 'deduct')) {
        const delta = command.type === 'grant' ? command.amount : -command.amount;
        const version =
          (readAccount.get(command.userId)?.version ?? 0) + (sums.accounts.get(command.userId)?.movements ?? 0);
        events.push({ kind: 'balance', userId: command.userId, delta, version });
      }
      return result;
    });
    flush(sums);
    return { results, events };
  });

  return {
    apply(commands) {
      const outcome = applyAll.immediate(commands);
      for (const command of commands) {
        if (command.type === 'hold') openHolds.add(command.ref);
        else openHolds.delete(command.ref);
      }
      return outcome;
    },
    nextEpoch() {
      epoch = Number(readMeta.get()?.value ?? 0) + 1;
      writeMeta.run(String(epoch));
      return epoch;
    },
    holds: (olderThan) => oldHolds.all(olderThan),
    checkpoint: (mode) => void raw.pragma(`wal_checkpoint(${mode})`),
  };
}
