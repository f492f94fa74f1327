/** Applies a declarative file in one transaction. A dry run is the same work, rolled back: plan and deed cannot differ. */
import type { Database } from '../../../db/open.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { openSandboxOf } from '../../../db/sandbox.ts';
import { AppError } from '../../contract/errors.ts';
import { type ProvisionChange, provisionDocument } from '../../contract/provision.ts';
import type { ChannelsService, KeyHolder } from '../channels/service.ts';
import type { OptionsService } from '../options/service.ts';
import type { Vault } from '../secrets/vault.ts';
import type { TokensService } from '../tokens/service.ts';
import type { Credentials } from '../users/credentials.ts';
import type { Passwords } from '../users/passwords.ts';
import type { UsersService } from '../users/service.ts';
import { applyChannels } from './channels.ts';
import { exportSite } from './export.ts';
import { applyOptions } from './options.ts';
import { preparePasswords } from './passwords.ts';
import { applyTokens, applyUsers } from './people.ts';

/** Services on one database. */
export interface ProvisionedServices {
  readonly options: OptionsService;
  readonly channels: ChannelsService;
  readonly users: UsersService;
  readonly credentials: Credentials;
  readonly tokens: TokensService;
}

export interface ProvisionOrder {
  readonly document: unknown;
  readonly dryRun: boolean;
  readonly prune: boolean;
  readonly actor: string;
  /** Who may send stored keys of channels elsewhere without naming them. */
  readonly holder: KeyHolder;
}

export type ProvisioningService = ReturnType<typeof createProvisioning>;

export function createProvisioning(deps: {
  readonly database: Database;
  readonly options: OptionsService;
  readonly vault: Vault;
  readonly passwords: Passwords;
  readonly servicesOn: (database: Database, passwords: Passwords) => Promise<ProvisionedServices>;
}) {
  return {
    export: () => exportSite(deps),
    /** All or nothing. @throws AppError params_invalid and whatever the single steps throw. */
    async apply({ document, dryRun, prune, actor, holder }: ProvisionOrder): Promise<ProvisionChange[]> {
      const parsed = provisionDocument.safeParse(document);
      if (!parsed.success) {
        const [issue] = parsed.error.issues;
        throw new AppError('params_invalid', { detail: `${issue?.path.map(String).join('.')}: ${issue?.message}` });
      }
      const wanted = parsed.data;
      const label = wanted.label ?? '';
      if (prune && label === '') throw new AppError('params_invalid', { detail: '--prune: label' });
      const { findByLogin } = createUsersRepository(deps.database);
      const passwords = await preparePasswords(deps.passwords, wanted.users ?? [], findByLogin);
      const database = await openSandboxOf(deps.database);
      try {
        const services = await deps.servicesOn(database, passwords);
        const all = { ...deps, ...services, database, passwords };
        const changes = [
          ...(await applyOptions(services.options, wanted, actor)),
          ...(await applyUsers(all, wanted.users ?? [])),
          ...(await applyChannels(all, wanted.channels ?? [], { label, prune, holder })),
          ...(await applyTokens(all, wanted.tokens ?? [], label, prune)),
        ];
        if (!dryRun) await database.commit();
        return changes;
      } finally {
        await database.close();
        if (!dryRun) await deps.options.reload();
      }
    },
  };
}
