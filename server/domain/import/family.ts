/** Moves a new-api or one-api database in: users, tokens, channels, codes, options, logs, and every unit of quota. */
import type { Insertable } from 'kysely';
import type { SourceRow } from '../../../db/import-source.ts';
import { createImportTarget } from '../../../db/import-target.ts';
import type { SqliteDatabase } from '../../../db/open.ts';
import type { RedemptionsTable } from '../../../db/schema/tables.ts';
import { type Ledger, redeemRef } from '../../billing/ledger/commands.ts';
import type { Language } from '../../contract/enum.ts';
import { RedemptionStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { groupOrder, isGroupOrder } from '../../contract/key-groups.ts';
import { localizer } from '../../contract/plural.ts';
import type { OptionsService } from '../options/service.ts';
import type { Vault } from '../secrets/vault.ts';
import { formulaNotes } from './expressions.ts';
import { post, type Spender, sharesOf, type UserBalance } from './money.ts';
import { keepPrices, priceDifferences, type SourceOption } from './price.ts';
import { createReporter, type ImportReport, type Reporter } from './report.ts';
import { channelRows, hasNotices, logRow, statusOf, tokenRow, userRow } from './rows.ts';
import { losses, type Words } from './schema.ts';
import { importPasskeys, importSecondFactors, secretsOf } from './second-factor.ts';
import { importSettings } from './settings.ts';
import { type Family, jsonObjectOf, listOf, numberOf, type Source, textOf, timeOf } from './source.ts';

export interface ImportDeps {
  /** A transaction of its own; kept only when this returns. */
  readonly database: SqliteDatabase;
  readonly ledger: Ledger;
  readonly options: OptionsService;
  readonly vault: Vault;
  /** Epoch seconds. */
  readonly now: number;
  /** The language of the report. */
  readonly language: Language;
  /** Whether models cost what they cost at the source. */
  readonly keepPrices: boolean;
}

interface UsedCode {
  readonly id: number;
  readonly userId: number;
  readonly quota: number;
  readonly redeemedAt: number;
  /** Used codes are often deleted. */
  readonly deletedAt: number | null;
}

/** What every table's import works with. */
interface Move {
  readonly deps: ImportDeps;
  readonly source: Source;
  readonly family: Family;
  readonly target: ReturnType<typeof createImportTarget>;
  readonly reporter: Reporter;
}

interface Person {
  readonly account: UserBalance;
  readonly requests: number;
  readonly group: string;
}

type People = ReadonlyMap<number, Person>;

/** @throws AppError conflict when there is something already, import_failed when quota would be lost. */
export async function importFamily(deps: ImportDeps, source: Source, family: Family): Promise<ImportReport> {
  const target = createImportTarget(deps.database);
  if (!target.isEmpty()) throw new AppError('import_not_empty');
  const reporter = createReporter(localizer(deps.language));
  const move: Move = { deps, source, family, target, reporter };

  reporter.losses(losses(source, deps.now));
  await importSettings(source, deps.options, reporter);
  const people = await importUsers(move);
  const tokens = await importTokens(move, people);
  const { spenders: channels, models, groups } = await importChannels(move);
  reportGroups(move, people, groups);
  await importPrices(move, models);
  const codes = await importCodes(move, people);
  const balances = [...people.values()].map((person) => ({
    ...person.account,
    tokens: tokens.get(person.account.userId) ?? [],
  }));
  await postBalances(deps.ledger, { balances, channels, codes }, deps.now);
  target.afterPostings(new Map([...people].map(([id, { requests }]) => [id, requests])), {
    tokensUsed: new Map([...source.rows('tokens')].map((row) => [numberOf(row.id), numberOf(row.accessed_time)])),
    codesDeleted: new Map(codes.flatMap(({ id, deletedAt }) => (deletedAt === null ? [] : [[id, deletedAt]]))),
  });
  await importLogs(move);

  const expected = balances.reduce((sum, { balance, used }) => sum + balance + used, 0);
  const imported = target.totalBalance();
  if (imported !== expected) throw new AppError('import_failed', { detail: `quota ${imported} <> ${expected}` });
  if (people.size > 0) await deps.options.setMeta('setup_at', String(deps.now));
  return reporter.report({ source: expected, imported });
}

/** Invitation quota joins the balance; debts are forgiven. */
async function importUsers({ deps, source, target, reporter }: Move): Promise<People> {
  const secrets = secretsOf(source);
  const rows = source.tables().includes('user_subscriptions') ? [...source.rows('user_subscriptions')] : [];
  const subscriptions = Map.groupBy(rows, (row) => numberOf(row.user_id));
  const people = new Map<number, Person>();
  for (const row of source.rows('users')) {
    const id = numberOf(row.id);
    const username = textOf(row.username);
    const balance = numberOf(row.quota);
    const invited = Math.max(0, numberOf(row.aff_quota));
    if (balance < 0)
      reporter.note(
        `users ${username}: 余额 ${balance} 变为 0`,
        `users ${username}: the balance of ${balance} is set to 0`,
      );
    if (invited > 0)
      reporter.named('users', username, { zh: '邀请额度并入余额', en: 'invitation quota joins the balance' });
    if (!hasNotices(JSON.parse(jsonObjectOf(row.setting) || '{}') as Record<string, unknown>))
      reporter.named('users', username, {
        zh: '通知方式此处不可用（Bark、Gotify 或非 https 的 Webhook），改为邮件',
        en: 'notices by Bark, Gotify or a webhook without https do not go from here: they go by mail',
      });
    const locked = secrets.get(id) === null;
    const whole = userRow(row, deps.now, deps.options.get('oidc.token_endpoint'), locked);
    const made = { ...whole, group_name: groupAfter(subscriptions.get(id) ?? [], whole.group_name) };
    if (made.group_name !== whole.group_name)
      reporter.named('users', username, {
        zh: `分组 ${whole.group_name} 随套餐而来，套餐不迁入：恢复为 ${made.group_name}`,
        en: `the group ${whole.group_name} came with a plan, and plans end here: back to ${made.group_name}`,
      });
    else if (isUpgraded(subscriptions.get(id) ?? [], made.group_name))
      reporter.named('users', username, {
        zh: `分组 ${made.group_name} 随套餐而来，源站没有记录之前的分组：保持不变，请核对`,
        en: `the group ${made.group_name} came with a plan that ends here, and the source does not say which was before: it stays, check it`,
      });
    await target.user(made, 0);
    const used = Math.max(0, numberOf(row.used_quota));
    const account = { userId: id, username, balance: Math.max(0, balance) + invited, used, tokens: [] };
    people.set(id, { account, requests: numberOf(row.request_count), group: made.group_name });
    reporter.taken('users');
  }
  const names = new Map([...people].map(([id, { account }]) => [id, account.username]));
  const persons = { source, target, reporter, vault: deps.vault, people: names };
  await importSecondFactors(persons, secrets);
  const address = deps.options.get('ServerAddress');
  const host = URL.canParse(address) ? new URL(address).hostname : '';
  await importPasskeys(persons, { host, now: deps.now });
  return people;
}

/** Whether a plan that is in force gave the group. */
const isUpgraded = (subscriptions: readonly SourceRow[], group: string): boolean =>
  subscriptions.some((row) => textOf(row.status) === 'active' && textOf(row.upgrade_group).trim() === group);

/**
 * Plans end with the move, and so does the group that came with one: the user goes back as at its end in new-api
 * (`model/subscription.go`, downgradeUserGroupForSubscription), through plans that followed each other.
 */
function groupAfter(subscriptions: readonly SourceRow[], group: string): string {
  if (!isUpgraded(subscriptions, group)) return group;
  const passed = new Set<string>();
  let current = group;
  while (!passed.has(current)) {
    passed.add(current);
    const before = subscriptions
      .filter((row) => textOf(row.upgrade_group).trim() === current)
      .map((row) => textOf(row.downgrade_group).trim() || textOf(row.prev_user_group).trim())
      .findLast((name) => name !== '' && !passed.has(name));
    if (before === undefined) return current;
    current = before;
  }
  return current;
}

/** Blanks around them do not tell two keys apart, and a source that was changed by hand may lack its unique index. */
const sameKey: Words = { zh: '与之前的一项相同', en: 'the same as an earlier one' };

/** @returns what the tokens of each user have spent. */
async function importTokens({ deps, source, target, reporter }: Move, people: People) {
  const tokens = new Map<number, Spender[]>();
  const imported = new Set<string>();
  for (const row of source.rows('tokens')) {
    const made = tokenRow(row, deps.vault, deps.now);
    const which = textOf(row.name) || textOf(row.id);
    if (made !== null && imported.has(made.key_hmac)) reporter.skipped('tokens', which, sameKey);
    else if (made === null) reporter.skipped('tokens', which, { zh: '没有可用的密钥', en: 'no usable key' });
    else if (!people.has(made.user_id))
      reporter.skipped('tokens', which, {
        zh: `用户 ${made.user_id} 不存在`,
        en: `user ${made.user_id} is missing`,
      });
    else {
      imported.add(made.key_hmac);
      await target.token(made);
      const earlier = tokens.get(made.user_id) ?? [];
      tokens.set(made.user_id, [...earlier, { id: numberOf(row.id), used: numberOf(row.used_quota) }]);
      reporter.taken('tokens');
    }
  }
  return tokens;
}

interface ChannelModels {
  readonly spenders: readonly Spender[];
  /** Names that clients write, with the name that the source charges by. */
  readonly models: ReadonlyMap<string, string>;
  readonly groups: ReadonlySet<string>;
}

async function importChannels({ deps, source, family, target, reporter }: Move): Promise<ChannelModels> {
  const spenders: Spender[] = [];
  const models = new Map<string, string>();
  const groups = new Set<string>();
  const extra: (() => Promise<void>)[] = [];
  for (const row of source.rows('channels')) {
    const name = textOf(row.name);
    const made = channelRows(row, family, deps.vault);
    if (made === null) {
      reporter.skipped('channels', name, {
        zh: `不支持类型 ${numberOf(row.type)}`,
        en: `type ${numberOf(row.type)} is not served`,
      });
      continue;
    }
    const [channel, unused] = made;
    await target.channel(channel);
    spenders.push({ id: numberOf(row.id), used: numberOf(row.used_quota) });
    for (const group of listOf(channel.group_name).split(',')) groups.add(group);
    const mapping = new Map(Object.entries(JSON.parse(jsonObjectOf(row.model_mapping) || '{}') as object));
    const chargedAs = (model: string): string => (family === 'one-api' && textOf(mapping.get(model))) || model;
    // One-api charges by what a model is mapped to.
    for (const model of listOf(row.models).split(','))
      if (model !== '' && !models.has(model)) models.set(model, chargedAs(model));
    reporter.taken('channels');
    if (unused === undefined) continue;
    // After all others: its number must not be taken.
    extra.push(() => target.channel(unused));
    reporter.note(
      `channels ${name}: 源站停用的密钥放入停用的渠道 ${unused.name}`,
      `channels ${name}: keys that were out of use lie in ${unused.name}, which is disabled`,
    );
  }
  for (const insert of extra) await insert();
  return { spenders, models, groups };
}

/** Groups under which requests would be refused. */
function reportGroups({ deps, source, reporter }: Move, people: People, served: ReadonlySet<string>): void {
  const rules = {
    groupRatios: deps.options.get('GroupRatio'),
    usableGroups: new Set(Object.keys(deps.options.get('UserUsableGroups'))),
    autoGroups: deps.options.get('AutoGroups') as readonly string[],
    ratioOf: () => 1,
  };
  const rejected = new Map<string, number>();
  const increment = (line: string): void => void rejected.set(line, (rejected.get(line) ?? 0) + 1);
  for (const row of source.rows('tokens')) {
    const group = textOf(row.group);
    const person = people.get(numberOf(row.user_id));
    if (person === undefined || group === '') continue;
    const mayUse = groupOrder(isGroupOrder(group, rules) ? group : `${group},`, person.group, rules).length > 0;
    if (!mayUse) increment(group);
  }
  for (const [group, count] of rejected)
    reporter.note(
      `tokens: ${count} 个令牌的分组 ${group} 此处不可用，请求会被拒绝（403），请改用其他分组`,
      `tokens: ${count} of group ${group}, which is not usable here: they get 403 until they have another`,
    );
  const unserved = new Map<string, number>();
  for (const { group } of people.values()) if (!served.has(group)) unserved.set(group, (unserved.get(group) ?? 0) + 1);
  if (served.size === 0) return;
  for (const [group, count] of unserved)
    reporter.note(
      `users: ${count} 个用户的分组 ${group} 没有任何渠道，请求会被拒绝`,
      `users: ${count} of group ${group}, which no channel serves: their requests are refused`,
    );
}

async function importPrices({ deps, source, family, reporter }: Move, models: ChannelModels['models']): Promise<void> {
  // Without the source's own settings it is not known what it charges.
  if (!source.tables().includes('options')) return;
  const set = new Map([...source.rows('options')].map(({ key, value }) => [textOf(key), textOf(value)]));
  const option: SourceOption = (key) => {
    const text = jsonObjectOf(set.get(key));
    return text === '' ? null : (JSON.parse(text) as Record<string, unknown>);
  };
  const differences = priceDifferences(family, option, models, deps.options);
  if (deps.keepPrices) await keepPrices(differences, deps.options);
  reporter.prices(differences, deps.keepPrices);
  for (const { zh, en } of formulaNotes(family, models.keys())) reporter.note(`options: ${zh}`, `options: ${en}`);
}

/** @returns the used codes, which arrive unused and are then redeemed again. */
async function importCodes({ deps, source, family, target, reporter }: Move, people: People): Promise<UsedCode[]> {
  const codes: UsedCode[] = [];
  const imported = new Set<string>();
  for (const row of source.rows('redemptions')) {
    const key = textOf(row.key).trim();
    const used = numberOf(row.status) === RedemptionStatus.used;
    const [id, userId, quota] = [numberOf(row.id), numberOf(row.used_user_id), numberOf(row.quota)];
    const account = people.get(userId)?.account;
    const expiresAt = Math.max(0, numberOf(row.expired_time));
    const deletedAt = timeOf(row.deleted_at);
    const expired = !used && expiresAt > 0 && expiresAt <= deps.now;
    const earned = codes.filter((code) => code.userId === userId).reduce((sum, code) => sum + code.quota, quota);
    if (key === '' || quota < 1)
      reporter.skipped('redemptions', String(id), { zh: '没有兑换码或额度', en: 'no code or no quota' });
    else if (imported.has(key)) reporter.skipped('redemptions', String(id), sameKey);
    else if (used && family === 'one-api')
      reporter.skipped('redemptions', String(id), {
        zh: '已使用，one-api 不记录使用者；额度在使用者的余额中',
        en: 'used; one-api does not say by whom, and what it gave is in the balances',
      });
    else if (used && (account === undefined || earned > account.balance + account.used))
      reporter.skipped('redemptions', String(id), { zh: '已使用，且额度已不存在', en: 'used, and its quota is gone' });
    else {
      if (expired)
        reporter.named('redemptions', String(id), { zh: '已过期，导入后为禁用状态', en: 'expired, and disabled here' });
      imported.add(key);
      await target.redemption({
        id,
        user_id: numberOf(row.user_id),
        name: textOf(row.name),
        key_hmac: deps.vault.keyHmac(key),
        key_sealed: deps.vault.encrypt('redemption-key', key),
        status: used ? RedemptionStatus.unused : expired ? RedemptionStatus.disabled : statusOf(row.status),
        quota,
        created_at: numberOf(row.created_time),
        redeemed_at: 0,
        used_user_id: 0,
        deleted_at: used ? null : deletedAt,
        expires_at: expiresAt,
      } as Insertable<RedemptionsTable>);
      if (used) codes.push({ id, userId, quota, redeemedAt: timeOf(row.redeemed_time) ?? deps.now, deletedAt });
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
}

/** Everything that has to become postings. */
interface ImportedBalances {
  readonly balances: readonly UserBalance[];
  readonly channels: readonly Spender[];
  readonly codes: readonly UsedCode[];
}

/** Grants first, codes among them, then what was spent. */
async function postBalances(
  ledger: Ledger,
  { balances, channels, codes }: ImportedBalances,
  at: number,
): Promise<void> {
  for (const { id, userId, quota, redeemedAt } of codes) {
    const ref = redeemRef(id);
    await post(ledger, { type: 'redeem', ref, redemptionId: id, userId, amount: quota, at: redeemedAt, log: null });
  }
  for (const { userId, balance, used } of balances) {
    const redeemed = codes.filter((code) => code.userId === userId).reduce((sum, code) => sum + code.quota, 0);
    const amount = balance + used - redeemed;
    if (amount > 0) await post(ledger, { type: 'grant', ref: `import:${userId}`, userId, amount, at, log: null });
  }
  for (const [index, { userId, username, tokenId, channelId, amount }] of sharesOf(balances, channels).entries()) {
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
