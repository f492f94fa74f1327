/** Everything the edges (HTTP, CLI, jobs) may ask for, composed once. */

import { randomInt, randomUUID } from 'node:crypto';
import type { BackupHeader } from '../../db/backup-file.ts';
import { createJobLock } from '../../db/create-job-lock.ts';
import { createEphemeralStore } from '../../db/ephemeral-stores.ts';
import type { JobLock } from '../../db/job-lock.ts';
import type { KeptItems } from '../../db/kept-item.ts';
import { createKeptItems } from '../../db/kept-items.ts';
import { statsOf } from '../../db/ledger/stats.ts';
import type { Database } from '../../db/open.ts';
import { createChannelsRepository } from '../../db/repositories/channels.ts';
import type { Ledger } from '../billing/ledger/commands.ts';
import { type InvariantReport, logReport, reportsOf } from '../billing/ledger/verify.ts';
import { channelIdsIn } from '../contract/key-channels.ts';
import { type GroupRules, groupOrder, isGroupOrder, mayUseGroup } from '../contract/key-groups.ts';
import { groupRatioFor, resolvePrices } from '../contract/pricing/tables.ts';
import { healthyStorage, type RelayStall, type StorageStatus } from '../contract/storage.ts';
import { type BotCheck, createBotCheck } from '../domain/accounts/bot-check.ts';
import { type AccountsService, createAccounts } from '../domain/accounts/service.ts';
import { createSettings, type SettingsService } from '../domain/accounts/settings.ts';
import { type AffiliateService, createAffiliate } from '../domain/affiliate/service.ts';
import { createOperatorAlerts } from '../domain/alerts/compose.ts';
import type { RecentDefects } from '../domain/alerts/defects.ts';
import type { AlertsService } from '../domain/alerts/service.ts';
import { type AuditService, createAudit } from '../domain/audit/service.ts';
import type { DataFolder } from '../domain/backup/home.ts';
import { createScheduledBackups, type ScheduledBackups } from '../domain/backup/scheduled.ts';
import { createMaintenance, type MaintenanceService } from '../domain/backup/service.ts';
import { type BackupOrder, verifiedBackup } from '../domain/backup/verified.ts';
import { createBudgetDefaults } from '../domain/budgets/defaults.ts';
import { createLeakStop, type LeakStop } from '../domain/budgets/leak-stop.ts';
import { type BudgetsService, createBudgets } from '../domain/budgets/service.ts';
import { type BulkTests, createBulkTests } from '../domain/channels/bulk-tests.ts';
import { type CapabilityService, createCapabilities } from '../domain/channels/capabilities.ts';
import { type ChannelHealthStatus, createRoutes, type RoutesService } from '../domain/channels/routes.ts';
import { type ChannelsService, createChannels, type RelayTest } from '../domain/channels/service.ts';
import { createUnsupportedMembers, type UnsupportedMembersService } from '../domain/channels/unsupported-members.ts';
import type { UpstreamProbeService } from '../domain/channels/upstream-probe.ts';
import { createInvoices, type InvoicesService } from '../domain/invoices/service.ts';
import { createLinks, type LinksService } from '../domain/links/service.ts';
import { type CacheRatesService, createCacheRates } from '../domain/logs/cache-rates.ts';
import { type ConversationsService, createConversations } from '../domain/logs/conversation.ts';
import { createLogs, type LogsService } from '../domain/logs/service.ts';
import { createNodes, type NodesService } from '../domain/nodes/service.ts';
import { type BudgetAlerts, createBudgetAlerts } from '../domain/notifications/budget-alerts.ts';
import { createNotify } from '../domain/notifications/delivery.ts';
import { createMailer, type SendMail } from '../domain/notifications/mailer.ts';
import { createQuotaAlerts, type QuotaAlerts } from '../domain/notifications/quota-alerts.ts';
import { createDisconnect, type Disconnect } from '../domain/oauth/disconnect.ts';
import { discover } from '../domain/oauth/discovery.ts';
import { createOAuth, type OAuthService } from '../domain/oauth/service.ts';
import { createOptions, type OptionsService } from '../domain/options/service.ts';
import { createPriceList } from '../domain/pricing/list.ts';
import { createModelTable } from '../domain/pricing/models.ts';
import { createProposals, type ProposalsService } from '../domain/pricing/proposals.ts';
import { createPricing, type PricingService } from '../domain/pricing/service.ts';
import { createProvisioning, type ProvisioningService } from '../domain/provisioning/service.ts';
import { createRedemptions, type RedemptionsService } from '../domain/redemptions/service.ts';
import type { Vault } from '../domain/secrets/vault.ts';
import { createDevices, type Devices } from '../domain/sessions/devices.ts';
import { createLoginCompletion, type LoginCompletion } from '../domain/sessions/login-completion.ts';
import { createPasskeys, type PasskeysService } from '../domain/sessions/passkeys.ts';
import { createSecondFactor, type SecondFactorService } from '../domain/sessions/second-factor.ts';
import { createSessions, type SessionsService } from '../domain/sessions/service.ts';
import { createSignUps } from '../domain/sessions/sign-ups.ts';
import { createSetup } from '../domain/setup/service.ts';
import { createProgramSignIns, type SignIns } from '../domain/sign-ins/service.ts';
import { createSchedules, type SchedulesService } from '../domain/statements/schedules.ts';
import { createStatements, type StatementsService } from '../domain/statements/service.ts';
import { createStatus } from '../domain/status/service.ts';
import { createUnknownProxy, type UnknownProxy } from '../domain/status/unknown-proxy.ts';
import { checkForUpdate, type UpdateCheck } from '../domain/status/updates.ts';
import { createTaskLists, type TaskListsService } from '../domain/tasks/lists.ts';
import { createTasks, type TasksService } from '../domain/tasks/service.ts';
import { createChatLinks } from '../domain/tokens/chat-links.ts';
import { createTokens, type TokensService } from '../domain/tokens/service.ts';
import { createModelLevels, type ModelLevels } from '../domain/traffic/model-levels.ts';
import { createRecent, type Recent } from '../domain/traffic/recent.ts';
import { TrafficRecorder } from '../domain/traffic/recorder.ts';
import { createTraffic, type TrafficService } from '../domain/traffic/service.ts';
import { type ChannelStates, createChannelStates } from '../domain/traffic/states.ts';
import { createUsage, type UsageService } from '../domain/usage/service.ts';
import { type AccessTokensService, createAccessTokens } from '../domain/users/access-tokens.ts';
import { type AccountService, createAccount } from '../domain/users/account.ts';
import { type Credentials, createCredentials } from '../domain/users/credentials.ts';
import { createLoginMethods } from '../domain/users/login-methods.ts';
import { createUserManagement, type UserManagement } from '../domain/users/management.ts';
import { createPasswords, type Passwords } from '../domain/users/password.ts';
import { createSavedFilters, type SavedFiltersService } from '../domain/users/saved-filters.ts';
import { createUsers, type UsersService } from '../domain/users/service.ts';
import { type ChainExplanation, createChainExplanation } from '../domain/virtual-models/explain.ts';
import { createVirtualModels, type VirtualModelsService } from '../domain/virtual-models/service.ts';
import { createWallet, type WalletService } from '../domain/wallet/service.ts';
import { createVerifiedGuard, type Fetch } from '../outbound/guard.ts';
import { createInnerFetch, type InnerTargets } from '../outbound/inner-targets.ts';
import { createWorkerFetch } from '../outbound/worker.ts';
import { providerByType } from '../providers/catalogue.ts';
import { lazily } from './lazily.ts';
import { createPractice, type PracticeService } from './practice.ts';

export interface Services {
  readonly version: string;
  readonly options: OptionsService;
  readonly audit: AuditService;
  readonly users: UsersService;
  readonly userManagement: UserManagement;
  readonly account: AccountService;
  readonly credentials: Credentials;
  readonly accounts: AccountsService;
  readonly settings: SettingsService;
  readonly botCheck: BotCheck;
  readonly sessions: SessionsService;
  readonly loginCompletion: LoginCompletion;
  readonly devices: Devices;
  readonly secondFactor: SecondFactorService;
  readonly passkeys: PasskeysService;
  readonly oauth: OAuthService;
  readonly disconnect: Disconnect;
  readonly signIns: SignIns;
  readonly accessTokens: AccessTokensService;
  readonly savedFilters: SavedFiltersService;
  readonly discoverOidc: (url: string) => ReturnType<typeof discover>;
  readonly setup: ReturnType<typeof createSetup>;
  readonly status: ReturnType<typeof createStatus>;
  readonly tokens: TokensService;
  readonly checkForUpdate: () => Promise<UpdateCheck>;
  readonly chatLinks: ReturnType<typeof createChatLinks>;
  readonly pricing: PricingService;
  readonly proposals: ProposalsService;
  readonly redemptions: RedemptionsService;
  readonly wallet: WalletService;
  readonly affiliate: AffiliateService;
  readonly quotaAlerts: QuotaAlerts;
  readonly budgetAlerts: BudgetAlerts;
  readonly leakStop: LeakStop;
  readonly alerts: AlertsService;
  readonly backups: ScheduledBackups;
  readonly channels: ChannelsService;
  readonly unsupportedMembers: UnsupportedMembersService;
  readonly virtualModels: VirtualModelsService;
  readonly budgets: BudgetsService;
  readonly chains: ChainExplanation;
  /** Loaded when it is asked for: it knows all dialects and providers. */
  readonly upstreamProbe: () => Promise<UpstreamProbeService>;
  readonly bulkTests: BulkTests;
  readonly routes: RoutesService;
  readonly capabilities: CapabilityService;
  readonly nodes: NodesService;
  readonly tasks: TasksService & KeptItems;
  readonly taskLists: TaskListsService;
  readonly usage: UsageService;
  readonly traffic: TrafficService;
  readonly channelStates: ChannelStates;
  readonly recentTraffic: () => Promise<Recent>;
  readonly modelLevels: ModelLevels;
  readonly trafficRecorder: TrafficRecorder;
  readonly practice: PracticeService;
  readonly priceList: ReturnType<typeof createPriceList>;
  readonly models: ReturnType<typeof createModelTable>;
  readonly logs: LogsService;
  readonly conversations: ConversationsService;
  readonly cacheRates: CacheRatesService;
  readonly statements: StatementsService;
  readonly invoices: InvoicesService;
  readonly links: LinksService;
  readonly schedules: SchedulesService;
  /** Printed at start; null once set up. */
  readonly setupCode: string | null;
  readonly storage: () => StorageStatus;
  /** Relay threads; 0 = no server runs. */
  readonly relayThreads: number;
  /** Throws away short-lived things that are over. */
  readonly cleanupEphemeralStore: () => Promise<void>;
  readonly maintenance: MaintenanceService;
  readonly unknownProxy: UnknownProxy;
  readonly provisioning: ProvisioningService;
  verifyLedger(): Promise<InvariantReport[]>;
}

export interface ServiceDeps {
  readonly database: Database;
  /** The data folder of this process, whose database is elsewhere. */
  readonly dataFolder?: DataFolder;
  readonly vault: Vault;
  readonly ledger: Ledger;
  readonly relayTest: RelayTest;
  readonly version: string;
  readonly setupCode: string | null;
  /** Ends what nodes that are gone have left; absent where nodes do it, or there are none. */
  readonly collect?: () => Promise<void>;
  /** Name of this node; absent where there is one. */
  readonly node?: string;
  /** Default: over the SMTP server of the options. */
  readonly sendMail?: SendMail;
  /** For addresses that users choose; default: the guarded one. */
  readonly guardedFetch?: Fetch;
  /** Networks of the site's own that alerts and notifications may be sent to. */
  readonly innerTargets?: InnerTargets;
  /** For payment providers and the upstreams of jobs; default: the runtime's own. */
  readonly fetch?: typeof fetch;
  /** Default: as strong as logins can bear. */
  readonly passwords?: Passwords;
  /** How channels stand in the relay's eyes; absent where no server runs. */
  /** @param model as clients name it; absent = whatever model of each does best. */
  readonly statusOf?: (
    ids: readonly number[],
    model?: string | null,
    keys?: boolean,
  ) => Promise<readonly ChannelHealthStatus[]>;
  /** State of the ledger store; healthy where no server runs. */
  readonly storage?: () => StorageStatus;
  /** Defects of the program that requests met lately. */
  readonly defects?: () => RecentDefects | null;
  /** The last relay thread that stood still; null = none did. */
  readonly stall?: () => RelayStall | null;
  readonly relayThreads?: number;
  /** Runs jobs once per site; default: by this process alone. */
  readonly turns?: JobLock;
  /** Makes a backup and looks it through; default: here and now. */
  readonly verifiedBackup?: (order: BackupOrder) => Promise<BackupHeader>;
  /** Called with failures of jobs. */
  readonly report?: (error: unknown) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Delays a caller that guesses; default: in real time. */
  readonly pause?: (ms: number) => Promise<void>;
}

const withDefaults = (deps: ServiceDeps) => ({
  store: createEphemeralStore(deps.database, deps.vault.keyHmac, deps.now),
  node: '',
  passwords: createPasswords(),
  turns: createJobLock(deps.database, randomUUID()),
  verifiedBackup,
  fetch,
  pause: (ms: number) => Bun.sleep(ms),
  ...deps,
});

/** As the options have them now. */
const groupRules = (options: OptionsService): GroupRules => {
  const usable = options.get('UserUsableGroups');
  return {
    groupRatios: options.get('GroupRatio'),
    usableGroups: new Set(Object.keys(usable)),
    autoGroups: options.get('AutoGroups') as readonly string[],
    ratioOf: (userGroup, group) => groupRatioFor(options.priceTables(), userGroup, group),
  };
};

/** What services share and nobody else asks for. */
interface Parts extends Services {
  readonly defaults: ReturnType<typeof createBudgetDefaults>;
  readonly loginMethods: ReturnType<typeof createLoginMethods>;
  readonly notify: ReturnType<typeof createNotify>;
  readonly sendMail: SendMail;
  readonly signUps: ReturnType<typeof createSignUps>;
  /** Carries notifications of users. */
  readonly userFetch: Fetch;
  /** Carries alerts of the site. */
  readonly alertFetch: Fetch;
}

/** Each service is made when it is first asked for: a command asks for a few of them. */
export async function createServices(partial: ServiceDeps): Promise<Services> {
  const deps = withDefaults(partial);
  const report = deps.report ?? (() => undefined);
  const options = await createOptions(deps);
  const backups = await createScheduledBackups({ ...deps, options, verified: deps.verifiedBackup });
  const startedAt = Math.floor(deps.now() / 1000);
  const siteName = () => options.get('SystemName');
  const repository = () => createChannelsRepository(deps.database);
  const carried = (schemes: readonly string[]): Fetch =>
    createWorkerFetch({
      worker: () => ({ url: options.get('WorkerUrl'), key: options.get('WorkerValidKey') }),
      direct: deps.guardedFetch ?? createVerifiedGuard({ schemes }),
      fetch: deps.fetch,
      schemes,
    });
  const { innerTargets: isInner = null } = deps;
  /** Inner networks seldom have certificates; users' webhooks need https everywhere. */
  const reaching = (schemes: readonly string[]): Fetch =>
    isInner === null ? carried(['https:']) : createInnerFetch({ isInner, schemes, outer: carried(['https:']) });
  return lazily<Parts>({
    version: () => deps.version,
    options: () => options,
    audit: () => createAudit(deps),
    defaults: ({ budgets }) => createBudgetDefaults({ options, budgets, now: deps.now }),
    users: ({ defaults }) => createUsers({ ...deps, defaults }),
    userManagement: ({ users, credentials }) => createUserManagement({ ...deps, users, credentials, options }),
    credentials: () => createCredentials(deps),
    devices: () => createDevices(deps.vault, deps.now),
    loginMethods: () => createLoginMethods({ ...deps, options }),
    secondFactor: () => createSecondFactor({ ...deps, siteName }),
    sessions: ({ users, credentials, devices }) =>
      createSessions({
        ...deps,
        users,
        credentials,
        devices,
        passwordLogin: () => options.get('PasswordLoginEnabled'),
        idleHours: () => options.get('general_setting.session_idle_hours'),
      }),
    account: ({ credentials, secondFactor }) => createAccount({ ...deps, credentials, secondFactor }),
    loginCompletion: ({ users, sessions, secondFactor, devices }) =>
      createLoginCompletion({ ...deps, users, sessions, secondFactor, devices }),
    passkeys: ({ users, loginMethods }) =>
      createPasskeys({
        ...deps,
        users,
        loginMethods,
        siteName,
        siteAddress: () => options.get('ServerAddress'),
      }),
    disconnect: ({ loginMethods }) => createDisconnect({ ...deps, loginMethods }),
    signUps: () => createSignUps(deps.store, () => options.get('RegistrationsPerIp')),
    sendMail: () => deps.sendMail ?? createMailer(options),
    accounts: ({ users, affiliate, credentials, devices, signUps, sendMail }) =>
      createAccounts({ ...deps, options, users, affiliate, credentials, devices, signUps, sendMail, report }),
    settings: () => createSettings(deps),
    botCheck: () => createBotCheck({ options, fetch: deps.fetch }),
    oauth: ({ users, affiliate, signUps }) => createOAuth({ ...deps, options, users, affiliate, signUps }),
    signIns: ({ users, tokens, audit }) => createProgramSignIns({ ...deps, options, users, tokens, audit }),
    accessTokens: () => createAccessTokens(deps),
    savedFilters: () => createSavedFilters(deps),
    discoverOidc: () => (url) => discover(url, carried(['https:', 'http:'])),
    setup: ({ users }) => createSetup({ ...deps, users, options, engine: deps.database.engine }),
    status: ({ setup }) => createStatus({ options, version: deps.version, startedAt, setupDone: setup.isDone }),
    tokens: ({ defaults }) => createTokens({ ...deps, defaults }),
    checkForUpdate: () => () => checkForUpdate(options.get('general_setting.release_url'), deps.version, deps.fetch),
    chatLinks: ({ tokens }) => createChatLinks({ options, tokens }),
    redemptions: ({ affiliate }) => createRedemptions({ ...deps, options, affiliate }),
    wallet: ({ users, affiliate, invoices }) => createWallet({ ...deps, options, users, affiliate, invoices }),
    invoices: () => createInvoices({ ...deps, options }),
    affiliate: () => createAffiliate({ ...deps, options, randomInt }),
    backups: () => backups,
    userFetch: () => reaching(['https:']),
    alertFetch: () => reaching(['https:', 'http:']),
    notify: ({ settings, sendMail, userFetch }) =>
      createNotify({ ...deps, sendMail, secretOf: settings.webhookSecret, fetch: userFetch }),
    leakStop: (all) => createLeakStop({ ...deps, ...notices(all), report }),
    quotaAlerts: (all) => createQuotaAlerts({ ...deps, ...notices(all), report }),
    budgetAlerts: (all) => createBudgetAlerts({ ...deps, ...notices(all), report }),
    alerts: (all) =>
      createOperatorAlerts({
        ...{ ...deps, ...notices(all), report },
        leakStop: all.leakStop,
        schedules: all.schedules,
        fetch: all.alertFetch,
        backupMissing: backups.missing,
      }),
    channels: () =>
      createChannels({
        ...deps,
        keyHealth:
          deps.statusOf === undefined ? null : async (id) => (await deps.statusOf?.([id], null, true))?.[0]?.keys ?? [],
        automaticEnable: () => options.get('AutomaticEnableChannelEnabled'),
        failureRules: () => ({
          enabled: options.get('AutomaticDisableChannelEnabled'),
          keywords: options.get('AutomaticDisableKeywords').map((word) => word.toLowerCase()),
        }),
      }),
    unsupportedMembers: () => createUnsupportedMembers({ database: deps.database, now: deps.now }),
    upstreamProbe:
      ({ unsupportedMembers }) =>
      async () => {
        const { createUpstreamProbe } = await import('../domain/channels/upstream-probe.ts');
        return createUpstreamProbe({
          repository: repository(),
          unsupported: unsupportedMembers,
          relayTest: deps.relayTest,
          ownRules: () => options.get('model_rules'),
          prices: (model) => resolvePrices(options.priceTables(), model, { group: 'default', userGroup: 'default' }),
        });
      },
    bulkTests: ({ channels }) =>
      createBulkTests({
        channels,
        slowSeconds: () => options.get('ChannelDisableThreshold'),
        automaticDisable: () => options.get('AutomaticDisableChannelEnabled'),
        ...{ turns: deps.turns, now: deps.now, report },
      }),
    virtualModels: () => createVirtualModels(deps),
    budgets: () => createBudgets(deps),
    chains: ({ virtualModels }) =>
      createChainExplanation({
        channels: repository(),
        virtualModels: virtualModels.list,
        priceTables: options.priceTables,
        acceptsUnset: () => options.get('SelfUseModeEnabled'),
        mayUse: (userGroup, group) => mayUseGroup(groupRules(options), userGroup, group),
      }),
    routes: ({ chains, unsupportedMembers, tokens, users }) =>
      createRoutes({
        repository: repository(),
        chains,
        unsupported: unsupportedMembers,
        statusOf: deps.statusOf ?? null,
        weights: () => ({ plainWeights: options.get('general_setting.plain_weights') }),
        relayTest: deps.relayTest,
        callerOfToken: async (name, userId) => {
          const token = await tokens.named(name, userId);
          const userGroup = (await users.find(token.user_id))?.group_name ?? 'default';
          const models = token.model_limits_enabled ? token.model_limits.split(',') : null;
          const channels = token.channels === undefined ? null : channelIdsIn(token.channels);
          const limits = { userGroup, models, channels };
          const rules = groupRules(options);
          if (!isGroupOrder(token.group, rules)) return { group: token.group || userGroup, ...limits };
          const groups = groupOrder(token.group, userGroup, rules);
          return { group: groups[0] ?? userGroup, groups, ...limits };
        },
      }),
    capabilities: ({ channels }) =>
      createCapabilities({ channel: channels.get, ownRules: () => options.get('model_rules') }),
    nodes: () => createNodes(deps.database, deps.collect),
    logs: () => createLogs(deps),
    conversations: () => createConversations(deps),
    cacheRates: () => createCacheRates(deps),
    statements: ({ users, tokens, logs, invoices }) =>
      createStatements({ ...deps, options, users, tokens, logs, invoices }),
    links: ({ users, invoices, statements }) => createLinks({ ...deps, users, invoices, statements }),
    schedules: ({ users, tokens, statements, links, sendMail }) =>
      createSchedules({ ...deps, options, users, tokens, statements, links, sendMail }),
    pricing: ({ logs }) => createPricing({ ...deps, options, logs }),
    proposals: ({ pricing, channels }) =>
      createProposals({
        ...{ options, pricing, fetch: carried(['https:']), now: deps.now },
        served: channels.enabledModels,
      }),
    taskLists: () => createTaskLists({ ...deps, options }),
    usage: () => createUsage(deps),
    traffic: () => createTraffic(deps),
    recentTraffic: () => createRecent(deps),
    channelStates: () => createChannelStates({ ...deps, options }),
    modelLevels: () => createModelLevels(deps),
    trafficRecorder: () => new TrafficRecorder({ ...deps, options }),
    practice: () => createPractice(options),
    priceList: ({ channels }) => createPriceList({ options, channels }),
    models: () => createModelTable({ ...deps, options }),
    tasks: () => ({
      ...createTasks({
        ...deps,
        baseUrlOf: (type) => providerByType(type)?.baseUrl ?? '',
        report,
      }),
      ...createKeptItems(deps.database, deps.now),
    }),
    setupCode: () => deps.setupCode,
    storage: () => deps.storage ?? (() => healthyStorage),
    relayThreads: () => deps.relayThreads ?? 0,
    cleanupEphemeralStore: () => deps.store.cleanup,
    maintenance: () => createMaintenance(deps),
    unknownProxy: () => createUnknownProxy(deps.now),
    provisioning: ({ users, budgets }) =>
      createProvisioning({
        ...deps,
        options,
        users,
        budgets,
        servicesOn: (database, passwords) => createServices({ ...partial, database, passwords }),
      }),
    verifyLedger:
      ({ logs }) =>
      async () => {
        const { checked, unequal, wrong } = await logs.verify({});
        const examples = wrong.map(({ id, quota, expected }) => `log ${id}: ${quota} <> ${expected ?? 'unpriced'}`);
        return [...reportsOf(await statsOf(deps.database)), logReport(checked, unequal, examples)];
      },
  });
}

/** What notifications of all kinds are made from. */
const notices = ({ audit, budgets, options, settings, notify, sendMail }: Parts) => ({
  audit,
  budgets,
  options,
  settings,
  notify,
  sendMail,
});
