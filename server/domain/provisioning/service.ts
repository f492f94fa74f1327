/** Applies a declarative file in one transaction. A dry run is the same work, rolled back: plan and deed cannot differ. */
import type { Database } from '../../../db/open.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { openSandboxOf } from '../../../db/sandbox.ts';
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { type ProvisionChange, provisionDocument } from '../../contract/provision.ts';
import type { BudgetsService } from '../budgets/service.ts';
import type { ChannelsService, KeyOwner } from '../channels/service.ts';
import type { UnsupportedMembersService } from '../channels/unsupported-members.ts';
import type { OptionsService } from '../options/service.ts';
import type { RedemptionsService } from '../redemptions/service.ts';
import type { Vault } from '../secrets/vault.ts';
import type { SchedulesService } from '../statements/schedules.ts';
import type { TokensService } from '../tokens/service.ts';
import type { Credentials } from '../users/credentials.ts';
import type { Passwords } from '../users/password.ts';
import type { UsersService } from '../users/service.ts';
import type { VirtualModelsService } from '../virtual-models/service.ts';
import { applyBudgets } from './budgets.ts';
import { applyChannels } from './channels.ts';
import { applyCodes } from './codes.ts';
import { exportSite } from './export.ts';
import { applyOptions } from './options.ts';
import { preparePasswords } from './password.ts';
import { applyTokens, applyUsers, type Grant } from './people.ts';
import { applySchedules } from './schedules.ts';
import { checkScope, type ProvisionScope, withoutPasswords } from './scope.ts';
import { applyVirtualModels } from './virtual-models.ts';

/** Services on one database. */
export interface ProvisionedServices {
  readonly options: OptionsService;
  readonly channels: ChannelsService;
  readonly virtualModels: VirtualModelsService;
  readonly budgets: BudgetsService;
  readonly unsupportedMembers: UnsupportedMembersService;
  readonly users: UsersService;
  readonly credentials: Credentials;
  readonly tokens: TokensService;
  readonly redemptions: RedemptionsService;
  readonly schedules: SchedulesService;
}

export interface ProvisionOrder {
  readonly document: unknown;
  readonly dryRun: boolean;
  readonly prune: boolean;
  readonly actor: string;
  /** Who may send stored keys of channels elsewhere without naming them. */
  readonly keyOwner: KeyOwner;
  /** What the caller's access token may do; absent = everything. */
  readonly scope?: ProvisionScope | undefined;
}

export type ProvisioningService = ReturnType<typeof createProvisioning>;

/** Balances of new users that the ledger has not granted yet, written with the users themselves. */
const grantsDue = 'provision_grants';

export function createProvisioning(deps: {
  readonly database: Database;
  readonly options: OptionsService;
  readonly users: UsersService;
  readonly budgets: Pick<BudgetsService, 'catchUp'>;
  readonly vault: Vault;
  readonly passwords: Passwords;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly servicesOn: (database: Database, passwords: Passwords) => Promise<ProvisionedServices>;
}) {
  /** The ledger writes money alone, after the transaction; a kill in between is made up for by the next call. */
  const grant = async (due: string): Promise<void> => {
    if (due === '') return;
    for (const { userId, quota } of JSON.parse(due) as readonly Grant[]) await deps.users.startingQuota(userId, quota);
    // Another node may have written its own meanwhile.
    if ((await deps.options.meta(grantsDue)) === due) await deps.options.setMeta(grantsDue, '');
  };

  return {
    export: (balances: boolean) => exportSite(deps, balances),
    /** All or nothing. @throws AppError params_invalid, scope_too_small and whatever the single steps throw. */
    async apply({ document, dryRun, prune, actor, keyOwner, scope }: ProvisionOrder): Promise<ProvisionChange[]> {
      const parsed = provisionDocument.safeParse(document);
      if (!parsed.success) {
        const [issue] = parsed.error.issues;
        throw new AppError('params_invalid', { detail: `${issue?.path.map(String).join('.')}: ${issue?.message}` });
      }
      const users = createUsersRepository(deps.database);
      if (scope !== undefined) await checkScope(parsed.data, { prune, dryRun, scope, users });
      const expected = scope !== undefined && dryRun ? withoutPasswords(parsed.data) : parsed.data;
      const label = expected.label ?? '';
      if (prune && label === '') throw new AppError('params_invalid', { detail: '--prune: label' });
      const passwords = await preparePasswords(deps.passwords, expected.users ?? [], users.findByLogin);
      if (!dryRun) await grant((await deps.options.meta(grantsDue)) ?? '');
      let due = '';
      const database = await openSandboxOf(deps.database);
      try {
        const services = await deps.servicesOn(database, passwords);
        const all = { ...deps, ...services, database, passwords };
        const now = Math.floor(deps.now() / 1000);
        const options = await applyOptions(services.options, expected, actor);
        const quotaPerUnit = services.options.get('QuotaPerUnit');
        const people = await applyUsers(all, expected.users ?? [], quotaPerUnit);
        const channels = await applyChannels(all, expected.channels ?? [], { label, prune, keyOwner });
        const virtual = await applyVirtualModels(services.virtualModels, expected.virtual_models ?? []);
        const tokens = await applyTokens(all, expected.tokens ?? [], { label, prune, quotaPerUnit, now });
        const root = await services.users.firstWithRole(Role.root);
        const codes = await applyCodes(all, expected.codes ?? [], { creator: root?.id ?? 0, quotaPerUnit, now });
        const budgets = await applyBudgets(all, expected.budgets ?? [], quotaPerUnit);
        const schedules = await applySchedules(all, expected.schedules ?? []);
        const pending = people.grants.length === 0 ? '' : JSON.stringify(people.grants);
        if (pending !== '') await services.options.setMeta(grantsDue, pending);
        // A site that has its administrator from a file needs no set-up page.
        if (root !== undefined && (await services.options.meta('setup_at')) === undefined)
          await services.options.setMeta('setup_at', String(now));
        if (!dryRun) {
          await database.commit();
          due = pending;
        }
        const things = [...channels, ...virtual, ...tokens, ...codes, ...budgets, ...schedules];
        return [...options, ...people.changes, ...things];
      } finally {
        await database.close();
        if (!dryRun) {
          await deps.options.reload();
          await deps.budgets.catchUp();
          await grant(due);
        }
      }
    },
  };
}
