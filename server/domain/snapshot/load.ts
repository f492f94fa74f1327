/** Turns rows into what the relay knows. */
import { createChangeStream } from '../../../db/change-stream.ts';
import type { Database } from '../../../db/open.ts';
import { type BudgetRow, createBudgetsRepository } from '../../../db/repositories/budgets.ts';
import type { Change, Feed } from '../../../db/repositories/changes.ts';
import { type ChannelRow, createChannelsRepository } from '../../../db/repositories/channels.ts';
import { createOptionsRepository } from '../../../db/repositories/options.ts';
import { createTokensRepository, type RelayTokenRow } from '../../../db/repositories/tokens.ts';
import { createUnsupportedMembersRepository } from '../../../db/repositories/unsupported-members.ts';
import { createUsersRepository, type UserRow } from '../../../db/repositories/users.ts';
import { createVirtualModelsRepository } from '../../../db/repositories/virtual-models.ts';
import type { BudgetSnapshot } from '../../contract/budgets.ts';
import { operations } from '../../contract/deferred-changes.ts';
import { networksIn } from '../../contract/networks.ts';
import { isOptionKey, optionRow } from '../../contract/options.ts';
import { packMoney, packTokens, packUsers, pageRows, type SnapshotPart } from '../../contract/packed-rows.ts';
import {
  type ChannelSnapshot,
  type Snapshot,
  type SnapshotDelta,
  type TokenLimits,
  type TokenSnapshot,
  tokenPresets,
  type UserSnapshot,
} from '../../contract/snapshot.ts';
import { objectIn } from '../../contract/stored-object.ts';
import { labelsIn } from '../../contract/token-fields.ts';
import { keysInUse } from '../channels/keys.ts';
import { members } from '../channels/service.ts';
import { unsupportedOf } from '../channels/unsupported-members.ts';
import type { Vault } from '../secrets/vault.ts';
import { virtualModelOf } from '../virtual-models/service.ts';

export interface SnapshotSource {
  /** @param onPart takes users and keys as they are read, which the snapshot is then without. */
  load(onPart?: (part: SnapshotPart) => void): Promise<Snapshot>;
  /** What changed after `seq`; everything where that is not known; null when nothing did. */
  since(seq: number): Promise<Snapshot | SnapshotDelta | null>;
}

export interface SnapshotSourceDeps {
  readonly database: Database;
  readonly vault: Vault;
  /** Default: one of its own. */
  readonly feed?: Feed;
}

export function createSnapshotSource({
  database,
  vault,
  feed = createChangeStream(database),
}: SnapshotSourceDeps): SnapshotSource {
  const users = createUsersRepository(database);
  const tokens = createTokensRepository(database);
  const channels = createChannelsRepository(database);
  const unsupported = createUnsupportedMembersRepository(database);
  const options = createOptionsRepository(database);
  const virtualModels = createVirtualModelsRepository(database);
  const budgets = createBudgetsRepository(database);
  const visible = (texts: ReadonlyMap<string, string>) =>
    [...texts].filter(([key]) => !isOptionKey(key) || !optionRow(key).secret);

  const load: SnapshotSource['load'] = async (onPart) => {
    // The place first: a change that slips in between is sent once more, which does no harm.
    const seq = await feed.last();
    const known = unsupportedOf(await unsupported.forAll(), []);
    const virtual = (await virtualModels.all()).map(virtualModelOf);
    const bounds = (await budgets.all()).map(budgetSnapshot);
    const all = { users: [] as UserSnapshot[], tokens: [] as TokenSnapshot[] };
    const more = { kind: 'part', isFirst: false, users: [], tokens: [], money: [] } as const;
    onPart?.({ ...more, isFirst: true });
    await readAll(users.after, (rows) => {
      const read = rows.map(userSnapshot);
      if (onPart === undefined) all.users.push(...read);
      else onPart({ ...more, users: [packUsers(read)] });
    });
    await readAll(tokens.after, (rows) => {
      const read = rows.map(tokenSnapshot);
      if (onPart === undefined) all.tokens.push(...read);
      else onPart({ ...more, tokens: [packTokens(read)], money: [packMoney(read)] });
    });
    return {
      kind: 'snapshot',
      seq,
      ...all,
      channels: (await channels.all()).map((row) => channelSnapshot(row, vault)),
      options: Object.fromEntries(visible(await options.all())),
      ...(known.length === 0 ? {} : { unsupported: known }),
      ...(virtual.length === 0 ? {} : { virtualModels: virtual }),
      ...(bounds.length === 0 ? {} : { budgets: bounds }),
    };
  };
  const deltaOf = async (seq: number, news: readonly Change[]): Promise<SnapshotDelta> => {
    const idsOf = (entity: string) => [
      ...new Set(news.filter((change) => change.entity === entity).map((change) => Number(change.entity_id))),
    ];
    const keys = [...new Set(news.filter((change) => change.entity === 'options').map((change) => change.entity_id))];
    const read = async <Row extends { id: number }>(ids: number[], find: (ids: number[]) => Promise<Row[]>) => {
      const rows = ids.length === 0 ? [] : await find(ids);
      const found = new Set(rows.map((row) => row.id));
      return { rows, gone: ids.filter((id) => !found.has(id)) };
    };
    const changedUsers = await read(idsOf('users'), users.byIds);
    const changedTokens = await read(idsOf('tokens'), tokens.byIds);
    const changedChannels = await read(idsOf('channels'), channels.byIds);
    const unsupportedIds = idsOf('channel_unsupported');
    const changedUnsupported =
      unsupportedIds.length === 0 ? [] : unsupportedOf(await unsupported.forAll(unsupportedIds), unsupportedIds);
    const virtual = news.some(({ entity }) => entity === 'virtual_models') ? await virtualModels.all() : null;
    const changedBudgets = await read(idsOf('budgets'), budgets.byIds);
    const texts = keys.length === 0 ? new Map<string, string>() : await options.byKeys(keys);
    return {
      kind: 'delta',
      seq,
      users: changedUsers.rows.map(userSnapshot),
      tokens: changedTokens.rows.map(tokenSnapshot),
      channels: changedChannels.rows.map((row) => channelSnapshot(row, vault)),
      options: Object.fromEntries(
        keys.filter((key) => !isOptionKey(key) || !optionRow(key).secret).map((key) => [key, texts.get(key) ?? null]),
      ),
      ...(changedUnsupported.length === 0 ? {} : { unsupported: changedUnsupported }),
      removed: { users: changedUsers.gone, tokens: changedTokens.gone, channels: changedChannels.gone },
      ...(virtual === null ? {} : { virtualModels: virtual.map(virtualModelOf) }),
      ...(changedBudgets.rows.length === 0 ? {} : { budgets: changedBudgets.rows.map(budgetSnapshot) }),
      ...(changedBudgets.gone.length === 0 ? {} : { budgetsGone: changedBudgets.gone }),
    };
  };

  return {
    load,
    async since(seq) {
      const news = await feed.after(seq);
      if (news === null) return null;
      return news.changes === null ? load() : deltaOf(news.seq, news.changes);
    },
  };
}

const budgetSnapshot = (row: BudgetRow): BudgetSnapshot => ({
  id: row.id,
  holder: row.holder as BudgetSnapshot['holder'],
  subject: row.subject,
  window: row.period as BudgetSnapshot['window'],
  unit: row.unit as BudgetSnapshot['unit'],
  amount: row.amount,
  zone: row.zone,
  raise: row.raise_amount,
  raiseUntil: row.raise_until,
  use: { at: row.window_at ?? 0, used: row.used ?? 0 },
});

async function readAll<Row extends { readonly id: number }>(
  after: (id: number, limit: number) => Promise<Row[]>,
  take: (rows: readonly Row[]) => void,
): Promise<void> {
  for (let rows = await after(0, pageRows); rows.length > 0; rows = await after(rows.at(-1)?.id ?? 0, pageRows))
    take(rows);
}

const userSnapshot = (row: UserRow): UserSnapshot => ({
  id: row.id,
  username: row.username,
  role: row.role,
  status: row.status,
  group: row.group_name,
  balance: row.balance,
  used: row.used_quota,
  balanceVersion: row.version,
  overrun: row.overrun,
  ...(row.paid_in === 0 ? {} : { paidIn: row.paid_in }),
  setting: objectIn(row.setting),
});

const tokenSnapshot = (row: RelayTokenRow): TokenSnapshot => ({
  id: row.id,
  userId: row.user_id,
  name: row.name,
  keyHmac: row.key_hmac,
  oldKey: row.old_key_hmac === '' ? null : { hmac: row.old_key_hmac, until: row.old_key_until },
  status: row.status,
  expiresAt: row.expires_at,
  unlimited: row.unlimited === 1,
  quotaLimit: row.quota_limit,
  used: row.used_quota,
  modelLimits: row.model_limits_enabled === 1 ? members(row.model_limits) : null,
  allowIps: row.allow_ips === '' ? tokenPresets.allowIps : networksIn(row.allow_ips),
  group: row.group_name,
  ...(row.labels === '' ? {} : { labels: labelsIn(row.labels) }),
  ...(row.channels === '' ? {} : { channels: row.channels }),
  limits: limitsOf(row),
  periods: isUnused(row)
    ? tokenPresets.periods
    : { day: { at: row.day_at, used: row.day_used }, month: { at: row.month_at, used: row.month_used } },
});

const isUnused = ({ day_at, day_used, month_at, month_used }: RelayTokenRow): boolean =>
  day_at === 0 && day_used === 0 && month_at === 0 && month_used === 0;

function limitsOf(row: RelayTokenRow): TokenLimits | null {
  const limits = {
    dayBudget: row.day_budget,
    monthBudget: row.month_budget,
    rpm: row.rpm_limit,
    tpm: row.tpm_limit,
    concurrency: row.concurrency_limit,
  };
  return Object.values(limits).some((limit) => limit > 0) ? limits : null;
}

const channelSnapshot = (row: ChannelRow, vault: Vault): ChannelSnapshot => ({
  id: row.id,
  name: row.name,
  type: row.type,
  ...keysInUse(row, vault),
  baseUrl: row.base_url,
  organization: row.organization,
  other: row.other,
  models: members(row.models),
  groups: members(row.group_name),
  priority: row.priority,
  weight: row.weight,
  autoBan: row.auto_ban === 1,
  tag: row.tag,
  testModel: row.test_model,
  modelMapping: objectIn(row.model_mapping) as Record<string, string>,
  statusCodeMapping: objectIn(row.status_code_mapping) as Record<string, string>,
  ...overrideOf(row.param_override),
  setting: objectIn(row.setting),
});

/** Members that are set, and rules: these are no member of a request. */
function overrideOf(text: string): Pick<ChannelSnapshot, 'paramOverride' | 'bodyRules'> {
  const { [operations]: rules, ...paramOverride } = objectIn(text);
  return Array.isArray(rules) && rules.length > 0 ? { paramOverride, bodyRules: rules } : { paramOverride };
}
