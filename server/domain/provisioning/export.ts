/** The present state as a declarative file; secrets become references to environment variables. */
import { createHash } from 'node:crypto';
import type { Database } from '../../../db/open.ts';
import { type BudgetRow, createBudgetsRepository } from '../../../db/repositories/budgets.ts';
import { type ChannelRow, createChannelsRepository } from '../../../db/repositories/channels.ts';
import { createStatementSchedulesRepository, type ScheduleRow } from '../../../db/repositories/statement-schedules.ts';
import { createTokensRepository, type TokenRow } from '../../../db/repositories/tokens.ts';
import {
  createUnsupportedMembersRepository,
  type UnsupportedRow,
} from '../../../db/repositories/unsupported-members.ts';
import { createUsersRepository, type UserRow } from '../../../db/repositories/users.ts';
import { createVirtualModelsRepository, type VirtualModelRow } from '../../../db/repositories/virtual-models.ts';
import { ChannelStatus, Role, TokenStatus, UserStatus } from '../../contract/enum.ts';
import { type OptionKey, optionRow } from '../../contract/options.ts';
import { priceOptionKeys } from '../../contract/pricing/tables.ts';
import { unlimited } from '../../contract/provision.ts';
import { targetsIn } from '../../contract/virtual-models.ts';
import { providerByType } from '../../providers/catalogue.ts';
import { unsupportedText } from '../channels/unsupported-members.ts';
import type { OptionsService } from '../options/service.ts';
import type { StatementScope } from '../statements/service.ts';
import { same } from './compare.ts';

/**
 * Variables by the names of what they belong to, which outlive the numbers of another site. A name that letters and
 * digits do not carry has a hash beside it, a repeated one its place.
 */
function createVariables() {
  const used = new Map<string, number>();
  return (noun: string, name: string, what: string) => {
    const plain = name.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
    const hash = createHash('sha256').update(name).digest('hex').slice(0, 6).toUpperCase();
    const key = `GATEWAY_${noun}_${/^[\w.-]+$/.test(name) ? plain : `${plain}_${hash}`.replace(/^_+/, '')}_${what}`;
    const times = (used.get(key) ?? 0) + 1;
    used.set(key, times);
    return { env: times === 1 ? key : `${key}_${times}` };
  };
}

/** What equals the default of a new object is left out. */
const nonDefault = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '' && value !== 0 && value !== undefined));

const objectOf = (text: string): unknown => {
  try {
    return text === '' ? '' : JSON.parse(text);
  } catch {
    return text;
  }
};

const ratioMaps: readonly string[] = priceOptionKeys.filter(
  (key) => key !== 'QuotaPerUnit' && !key.startsWith('Group'),
);

/** Entries that are not the shipped ones; null = a shipped one that is gone. */
function changedRatios(key: OptionKey, text: string): Record<string, unknown> {
  const [shipped, current] = [mapOf(optionRow(key).fallback), mapOf(text)];
  const gone = [...shipped.keys()].filter((name) => !current.has(name)).map((name) => [name, null] as const);
  const changed = [...current].filter(([name, ratio]) => !Bun.deepEquals(ratio, shipped.get(name)));
  return Object.fromEntries([...changed, ...gone]);
}

const mapOf = (text: string): Map<string, unknown> => {
  const value = objectOf(text);
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
};

/** By name where that says which; one that was deleted stays, by its number: without it the key would be bound to fewer, or to none. */
function channelRefs(
  bound: string,
  channels: readonly { readonly id: number; readonly name: string }[],
): '' | (string | number)[] {
  if (bound === '') return '';
  return bound.split(',').map((id) => {
    const name = channels.find((channel) => channel.id === Number(id))?.name ?? '';
    const isPlain = name === name.trim() && name !== '' && name !== unlimited && !/,|^\d+$/.test(name);
    return isPlain && channels.filter((channel) => channel.name === name).length === 1 ? name : Number(id);
  });
}

/** A section of the file is left out where it has no entries. */
const section = (name: string, entries: readonly unknown[]) => (entries.length === 0 ? {} : { [name]: entries });

/** What the entries of several sections are made from. */
interface SiteRows {
  readonly variable: ReturnType<typeof createVariables>;
  readonly users: readonly UserRow[];
  /** By the number of the user. */
  readonly names: ReadonlyMap<number, string>;
  readonly channels: readonly ChannelRow[];
  readonly unsupported: readonly UnsupportedRow[];
  readonly tokens: readonly TokenRow[];
  /** The number of the super administrator. */
  readonly first: number | undefined;
}

async function rowsOf(database: Database): Promise<SiteRows> {
  const channels = (await createChannelsRepository(database).all()).sort((a, b) => a.id - b.id);
  const unsupported = await createUnsupportedMembersRepository(database).list();
  const users = await createUsersRepository(database).all();
  const names = new Map(users.map((user) => [user.id, user.username]));
  const tokens = await createTokensRepository(database).all();
  return {
    variable: createVariables(),
    users,
    names,
    channels,
    unsupported: unsupported.filter(({ source }) => source !== 'learnt'),
    tokens: tokens
      // A program signs in again by itself; a key of its name would be one that nobody asked for.
      .filter((token) => token.parent_id === 0 && token.kind !== 'agent' && names.has(token.user_id))
      .sort((a, b) => a.id - b.id),
    first: users.find(({ role }) => role >= Role.root)?.id,
  };
}

function optionSections({ variable }: SiteRows, options: OptionsService) {
  const set = options
    .list()
    .filter(({ key, value, secret, isSet }) => isSet && (secret || !same(value, optionRow(key).fallback)));
  const shownValue = (key: OptionKey, value: string) =>
    ['ratios', 'json'].includes(optionRow(key).kind.name) ? objectOf(value) : value;
  return {
    options: Object.fromEntries(
      set
        .filter(({ key }) => !ratioMaps.includes(key))
        .map(({ key, value, secret }) => [key, secret ? variable('OPTION', key, 'VALUE') : shownValue(key, value)]),
    ),
    ratios: Object.fromEntries(
      set.filter(({ key }) => ratioMaps.includes(key)).map(({ key, value }) => [key, changedRatios(key, value)]),
    ),
  };
}

const userEntry = ({ variable }: SiteRows, user: UserRow, balances: boolean) => ({
  username: user.username,
  password: variable('USER', user.username, 'PASSWORD'),
  ...(user.display_name === user.username ? {} : { display_name: user.display_name }),
  ...nonDefault({
    group: user.group_name === 'default' ? '' : user.group_name,
    role: user.role >= Role.root ? 'root' : user.role >= Role.admin ? 'admin' : '',
    status: user.status === UserStatus.enabled ? '' : 'disabled',
    quota: balances ? Math.max(0, user.balance) : 0,
  }),
});

const channelEntry = ({ variable, unsupported }: SiteRows, row: ChannelRow) => ({
  name: row.name,
  type: providerByType(row.type)?.slug ?? row.type,
  key: variable('CHANNEL', row.name, 'KEY'),
  models: row.models.split(','),
  ...(row.auto_ban === 1 ? {} : { auto_ban: row.auto_ban }),
  ...nonDefault({
    // One that was disabled by itself is wanted on, but not by this file.
    status: row.status === ChannelStatus.disabled ? 'disabled' : '',
    group: row.group_name === 'default' ? '' : row.group_name.split(','),
    base_url: row.base_url,
    priority: row.priority,
    weight: row.weight,
    tag: row.tag,
    test_model: row.test_model,
    openai_organization: row.organization,
    other: row.other,
    model_mapping: objectOf(row.model_mapping),
    status_code_mapping: objectOf(row.status_code_mapping),
    param_override: objectOf(row.param_override),
    setting: objectOf(row.setting),
    max_input_tokens: row.max_input_tokens,
    keys_off: row.keys_off === '' ? '' : row.keys_off.split(','),
  }),
  ...section(
    'unsupported',
    unsupported.flatMap((one) => (one.channel_id === row.id ? [unsupportedText(one)] : [])),
  ),
});

const virtualModelEntry = (row: VirtualModelRow) => ({
  name: row.name,
  targets: targetsIn(row.targets),
  ...(row.enabled === 1 ? {} : { enabled: false }),
  ...nonDefault({ boundary: row.boundary, description: row.description }),
});

const tokenEntry = ({ variable, names, channels }: SiteRows, row: TokenRow) => ({
  name: row.name,
  owner: names.get(row.user_id),
  key: variable('TOKEN', `${names.get(row.user_id)}_${row.name}`, 'KEY'),
  quota: row.unlimited === 1 ? 'unlimited' : Math.max(0, row.quota_limit),
  ...(row.expires_at === -1 ? {} : { expires: row.expires_at }),
  ...nonDefault({
    status: row.status === TokenStatus.disabled ? 'disabled' : '',
    models: row.model_limits === '' ? '' : row.model_limits.split(','),
    allow_ips: row.allow_ips === '' ? '' : row.allow_ips.split('\n'),
    group: row.group_name,
    rpm_limit: row.rpm_limit,
    tpm_limit: row.tpm_limit,
    concurrency_limit: row.concurrency_limit,
    day_budget: row.day_budget,
    month_budget: row.month_budget,
    labels: row.labels === '' ? '' : row.labels.split(','),
    channels: channelRefs(row.channels, channels),
  }),
});

/** @returns none for a key or user that is gone. */
function budgetEntries({ tokens, names }: SiteRows, row: BudgetRow): object[] {
  const isOfKey = row.holder === 'token' || row.holder === 'end_user';
  const key = isOfKey ? tokens.find(({ id }) => String(id) === row.subject) : undefined;
  const user = row.holder === 'user' ? names.get(Number(row.subject)) : undefined;
  if ((isOfKey && key === undefined) || (row.holder === 'user' && user === undefined)) return [];
  return [
    {
      ...(row.holder === 'site' ? { site: true } : row.holder === 'group' ? { group: row.subject } : {}),
      ...(row.holder === 'label' ? { label: row.subject } : {}),
      ...(user === undefined ? {} : { user }),
      ...(key === undefined
        ? {}
        : { [row.holder === 'token' ? 'token' : 'end_users_of']: key.name, owner: names.get(key.user_id) }),
      ...{ window: row.period, unit: row.unit, amount: row.amount },
      ...nonDefault({ zone: row.zone }),
    },
  ];
}

/** @returns none for a key or user that is gone. */
function scheduleEntries({ tokens, names, first }: SiteRows, row: ScheduleRow): object[] {
  const { userId, tokenId, tag, label, project } = JSON.parse(row.scope) as StatementScope;
  const key = tokenId === undefined ? undefined : tokens.find(({ id }) => id === tokenId);
  const to = names.get(row.user_id);
  const isGone = (tokenId !== undefined && key === undefined) || (userId !== undefined && !names.has(userId));
  if (to === undefined || isGone) return [];
  const usual = key?.user_id ?? userId ?? first;
  const whose =
    key === undefined
      ? { user: userId === undefined ? undefined : names.get(userId), tag, label, project }
      : { token: key.name, owner: names.get(key.user_id) };
  return [
    {
      ...nonDefault(whose),
      ...(row.every === 'month' ? {} : { every: row.every }),
      ...(row.user_id === usual ? {} : { to }),
      ...nonDefault({ email: row.email, status: row.paused === 1 ? 'disabled' : '' }),
    },
  ];
}

/** @param balances those of users too: what a site needs that begins with them. */
export async function exportSite(
  { database, options }: { readonly database: Database; readonly options: OptionsService },
  balances: boolean,
): Promise<Record<string, unknown>> {
  const rows = await rowsOf(database);
  const virtual = await createVirtualModelsRepository(database).all();
  const budgets = await createBudgetsRepository(database).all();
  const schedules = await createStatementSchedulesRepository(database).list();
  return {
    version: 1,
    ...optionSections(rows, options),
    users: rows.users.map((user) => userEntry(rows, user, balances)),
    channels: rows.channels.map((row) => channelEntry(rows, row)),
    ...section('virtual_models', virtual.map(virtualModelEntry)),
    tokens: rows.tokens.map((row) => tokenEntry(rows, row)),
    ...section(
      'budgets',
      budgets.flatMap((row) => budgetEntries(rows, row)),
    ),
    ...section(
      'schedules',
      schedules.flatMap((row) => scheduleEntries(rows, row)),
    ),
  };
}
