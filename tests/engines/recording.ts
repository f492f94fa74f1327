/** Repositories that record what they were called with and what they answered, so that two engines can be compared. */
import { createEphemeralStore } from '../../db/ephemeral-stores.ts';
import type { Database } from '../../db/open.ts';
import { createAccessTokensRepository } from '../../db/repositories/access-tokens.ts';
import { createAffiliateRepository } from '../../db/repositories/affiliate.ts';
import { createAlertsRepository } from '../../db/repositories/alerts.ts';
import { createAuditRepository } from '../../db/repositories/audit.ts';
import { createBackupsRepository } from '../../db/repositories/backups.ts';
import { createChangesRepository } from '../../db/repositories/changes.ts';
import { createChannelsRepository } from '../../db/repositories/channels.ts';
import { createConversationsRepository } from '../../db/repositories/conversations.ts';
import { createCredentialsRepository } from '../../db/repositories/credentials.ts';
import { createLogsRepository } from '../../db/repositories/logs.ts';
import { createOptionsRepository } from '../../db/repositories/options.ts';
import { createPasskeysRepository } from '../../db/repositories/passkeys.ts';
import { createPriceVersionsRepository } from '../../db/repositories/price-versions.ts';
import { createRedemptionsRepository } from '../../db/repositories/redemptions.ts';
import { createSavedFiltersRepository } from '../../db/repositories/saved-filters.ts';
import { createSecondFactorsRepository } from '../../db/repositories/second-factor.ts';
import { createSessionsRepository } from '../../db/repositories/sessions.ts';
import { createSignInsRepository } from '../../db/repositories/sign-ins.ts';
import { createTasksRepository } from '../../db/repositories/tasks.ts';
import { createTokensRepository } from '../../db/repositories/tokens.ts';
import { createTopUpsRepository } from '../../db/repositories/top-ups.ts';
import { createTrafficRepository } from '../../db/repositories/traffic.ts';
import { createUsageRepository } from '../../db/repositories/usage.ts';
import { createUsersRepository } from '../../db/repositories/users.ts';
import { createWebhookSecretsRepository } from '../../db/repositories/webhook-secrets.ts';

export interface Recorded {
  readonly call: string;
  readonly requested: readonly unknown[];
  readonly answered: unknown;
}

const repositoriesOf = (database: Database, now: () => number) => ({
  accessTokens: createAccessTokensRepository(database),
  affiliate: createAffiliateRepository(database),
  alerts: createAlertsRepository(database),
  audit: createAuditRepository(database, (entry, before) => `${before.length}:${entry.action}`),
  backups: createBackupsRepository(database),
  changes: createChangesRepository(database),
  channels: createChannelsRepository(database),
  credentials: createCredentialsRepository(database),
  logs: createLogsRepository(database),
  conversations: createConversationsRepository(database),
  memos: createEphemeralStore(database, (text) => text, now),
  options: createOptionsRepository(database),
  passkeys: createPasskeysRepository(database),
  priceVersions: createPriceVersionsRepository(database),
  redemptions: createRedemptionsRepository(database),
  savedFilters: createSavedFiltersRepository(database),
  secondFactors: createSecondFactorsRepository(database),
  sessions: createSessionsRepository(database),
  signIns: createSignInsRepository(database),
  tokens: createTokensRepository(database),
  topUps: createTopUpsRepository(database),
  traffic: createTrafficRepository(database),
  usage: createUsageRepository(database),
  users: createUsersRepository(database),
  webhookSecrets: createWebhookSecretsRepository(database),
  tasks: createTasksRepository(database),
});

export type Repositories = ReturnType<typeof repositoriesOf>;

/** @param clock epoch milliseconds. */
export function listening(database: Database, clock = { at: 0 }) {
  const received: Recorded[] = [];
  const all = repositoriesOf(database, () => clock.at);
  const wrapped = Object.entries(all).map(([name, repository]) => [
    name,
    Object.fromEntries(
      Object.entries(repository).map(([method, call]) => [
        method,
        async (...requested: unknown[]) => {
          const note = (answered: unknown) => received.push({ call: `${name}.${method}`, requested, answered });
          try {
            const answered = await (call as (...args: unknown[]) => unknown)(...requested);
            note(answered instanceof Map ? [...answered].sort() : answered);
            return answered;
          } catch (error) {
            // Each engine has its own words for what it refuses.
            note('refused');
            throw error;
          }
        },
      ]),
    ),
  ]);
  const methods = Object.entries(all).flatMap(([name, one]) => Object.keys(one).map((method) => `${name}.${method}`));
  return { repositories: Object.fromEntries(wrapped) as Repositories, heard: received, methods };
}
