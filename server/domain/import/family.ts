/** Moves a new-api or one-api database in: users, tokens, channels, codes, options, logs, and every unit of quota. */
import type { Insertable } from 'kysely';
import { createImportTarget } from '../../../db/import-target.ts';
import type { SqliteDatabase } from '../../../db/open.ts';
import type { RedemptionsTable } from '../../../db/schema.ts';
import { RedemptionStatus, Role } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import { isOptionKey } from '../../contract/options.ts';
import { type Ledger, redeemRef } from '../../ledger/commands.ts';
import type { OptionsService } from '../options/service.ts';
import type { Vault } from '../secrets/vault.ts';
import { post, type Spender, sharesOf, type Wealth } from './money.ts';
import { createReporter, type ImportReport } from './report.ts';
import { channelRow, logRow, tokenRow, userRow } from './rows.ts';
import { deletedAt, type Family, numberOf, type Source, textOf } from './source.ts';

export interface ImportDeps {
  /** A transaction of its own; kept only when this returns. */
  readonly database: SqliteDatabase;
  readonly ledger: Ledger;
  readonly options: OptionsService;
  readonly vault: Vault;
  /** Epoch seconds. */
  readonly now: number;
}

interface UsedCode {
  readonly id: number;
  readonly userId: number;
  readonly quota: number;
}

/** What every table's import works with. */
interface Move {
  readonly deps: ImportDeps;
  readonly source: Source;
  readonly family: Family;
  readonly target: ReturnType<typeof createImportTarget>;
  readonly reporter: ReturnType<typeof createReporter>;
}

interface Person {
  readonly wealth: Wealth;
  readonly requests: number;
}

type People = ReadonlyMap<number, Person>;

/** @throws AppError conflict when there is something already, import_failed when quota would be lost. */
export async function importFamily(deps: ImportDeps, source: Source, family: Family): Promise<ImportReport> {
  const target = createImportTarget(deps.database);
  if (!target.isEmpty()) throw new AppError('import_not_empty');
  const reporter = createReporter();
  const move: Move = { deps, source, family, target, reporter };

  await importOptions(deps.options, source, reporter.skipped, reporter.taken);
  const people = await importUsers(move);
  const tokens = await importTokens(move, people);
  const channels = await importChannels(move);
  const codes = await importCodes(move, people);
  const wealth = [...people.values()].map((person) => ({
    ...person.wealth,
    tokens: tokens.get(person.wealth.userId) ?? [],
  }));
  await postWealth(deps.ledger, { wealth, channels, codes }, deps.now);
  target.afterPostings(new Map([...people].map(([id, { requests }]) => [id, requests])));
  await importLogs(move);

  const expected = wealth.reduce((sum, { balance, used }) => sum + balance + used, 0);
  const imported = target.wealth();
  if (imported !== expected) throw new AppError('import_failed', { detail: `quota ${imported} <> ${expected}` });
  if (people.size > 0) await deps.options.setMeta('setup_at', String(deps.now));
  return reporter.report({ source: expected, imported });
}

/** Invitation quota joins the balance; debts are forgiven. */
async function importUsers({ deps, source, target, reporter }: Move): Promise<People> {
  const people = new Map<number, Person>();
  for (const row of source.rows('users')) {
    const id = numberOf(row.id);
    const username = textOf(row.username);
    const balance = numberOf(row.quota);
    const invited = Math.max(0, numberOf(row.aff_quota));
    if (balance < 0) reporter.note(`users ${username}: balance ${balance} becomes 0`);
    if (invited > 0) reporter.note(`users ${username}: invitation quota joins the balance`);
    await target.user(userRow(row, deps.now, deps.options.get('oidc.token_endpoint')), 0);
    const used = Math.max(0, numberOf(row.used_quota));
    const wealth = { userId: id, username, balance: Math.max(0, balance) + invited, used, tokens: [] };
    people.set(id, { wealth, requests: numberOf(row.request_count) });
    reporter.taken('users');
  }
  return people;
}

/** @returns what the tokens of each user have spent. */
async function importTokens({ deps, source, target, reporter }: Move, people: People) {
  const tokens = new Map<number, Spender[]>();
  for (const row of source.rows('tokens')) {
    const made = tokenRow(row, deps.vault);
    const which = textOf(row.name) || textOf(row.id);
    if (made === null) reporter.skipped('tokens', which, 'no usable key');
    else if (!people.has(made.user_id)) reporter.skipped('tokens', which, `user ${made.user_id} is missing`);
    else {
      await target.token(made);
      const earlier = tokens.get(made.user_id) ?? [];
      tokens.set(made.user_id, [...earlier, { id: numberOf(row.id), used: numberOf(row.used_quota) }]);
      reporter.taken('tokens');
    }
  }
  return tokens;
}

async function importChannels({ deps, source, family, target, reporter }: Move): Promise<Spender[]> {
  const channels: Spender[] = [];
  for (const row of source.rows('channels')) {
    const made = channelRow(row, family, deps.vault);
    if (made === null) {
      reporter.skipped('channels', textOf(row.name), `type ${numberOf(row.type)} is not served`);
      continue;
    }
    await target.channel(made);
    channels.push({ id: numberOf(row.id), used: numberOf(row.used_quota) });
    reporter.taken('channels');
  }
  return channels;
}

/** @returns the used ones, which come unused and are redeemed anew. */
async function importCodes({ deps, source, target, reporter }: Move, people: People): Promise<UsedCode[]> {
  const codes: UsedCode[] = [];
  for (const row of source.rows('redemptions')) {
    const key = textOf(row.key).trim();
    const used = numberOf(row.status) === RedemptionStatus.used;
    const [id, userId, quota] = [numberOf(row.id), numberOf(row.used_user_id), numberOf(row.quota)];
    const wealth = people.get(userId)?.wealth;
    const earned = codes.filter((code) => code.userId === userId).reduce((sum, code) => sum + code.quota, quota);
    if (key === '' || quota < 1) reporter.skipped('redemptions', String(id), 'no code or no quota');
    else if (used && (wealth === undefined || earned > wealth.balance + wealth.used))
      reporter.skipped('redemptions', String(id), 'used, and its quota is gone');
    else {
      await target.redemption({
        id,
        user_id: numberOf(row.user_id),
        name: textOf(row.name),
        key_hmac: deps.vault.keyHmac(key),
        key_sealed: deps.vault.seal('redemption-key', key),
        status: used ? RedemptionStatus.unused : numberOf(row.status) || RedemptionStatus.unused,
        quota,
        created_at: numberOf(row.created_time),
        redeemed_at: 0,
        used_user_id: 0,
        deleted_at: deletedAt(row.deleted_at),
      } as Insertable<RedemptionsTable>);
      if (used) codes.push({ id, userId, quota });
      reporter.taken('redemptions');
    }
  }
  return codes;
}

async function importLogs({ source, family, target, reporter }: Move): Promise<void> {
  for (const row of source.rows('logs')) {
    await target.log(logRow(row, family));
    reporter.taken('logs');
  }
  for (const table of ['top_ups', 'midjourneys', 'tasks', 'quota_data']) {
    let count = 0;
    for (const _row of source.rows(table)) count++;
    if (count > 0) reporter.note(`${table}: ${count} rows are not taken over`);
  }
}

async function importOptions(
  options: OptionsService,
  source: Source,
  skipped: (table: string, which: string, why: string) => void,
  taken: (table: string) => void,
): Promise<void> {
  for (const row of source.rows('options')) {
    const key = textOf(row.key);
    const value = textOf(row.value);
    if (!isOptionKey(key)) skipped('options', key, 'unknown');
    else {
      try {
        await options.set(key, value, Role.root, 'import');
        taken('options');
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        skipped('options', key, error.message);
      }
    }
  }
}

/** Everything that has to become postings. */
interface Spoils {
  readonly wealth: readonly Wealth[];
  readonly channels: readonly Spender[];
  readonly codes: readonly UsedCode[];
}

/** Grants first, codes among them, then what was spent. */
async function postWealth(ledger: Ledger, { wealth, channels, codes }: Spoils, at: number): Promise<void> {
  for (const { id, userId, quota } of codes)
    await post(ledger, { type: 'redeem', ref: redeemRef(id), redemptionId: id, userId, amount: quota, at, log: null });
  for (const { userId, balance, used } of wealth) {
    const redeemed = codes.filter((code) => code.userId === userId).reduce((sum, code) => sum + code.quota, 0);
    const amount = balance + used - redeemed;
    if (amount > 0) await post(ledger, { type: 'grant', ref: `import:${userId}`, userId, amount, at, log: null });
  }
  for (const [index, { userId, username, tokenId, channelId, amount }] of sharesOf(wealth, channels).entries()) {
    const ref = `import:spent:${index}`;
    await post(ledger, {
      type: 'settle',
      ref,
      userId,
      username,
      tokenId,
      channelId,
      amount,
      at,
      log: null,
      tokens: 0,
      model: '',
    });
  }
}
