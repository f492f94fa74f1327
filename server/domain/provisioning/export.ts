/** The present state as a declarative file; secrets become references to environment variables. */
import type { Database } from '../../../db/open.ts';
import { createChannelsRepository } from '../../../db/repositories/channels.ts';
import { createTokensRepository } from '../../../db/repositories/tokens.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { ChannelStatus, Role, TokenStatus, UserStatus } from '../../contract/enums.ts';
import { optionRow } from '../../contract/options.ts';
import { priceOptionKeys } from '../../contract/pricing-tables.ts';
import { providerByType } from '../../providers/catalogue.ts';
import type { OptionsService } from '../options/service.ts';

const variable = (...parts: readonly (string | number)[]) => ({
  env: `GATEWAY_${parts.join('_')}`.toUpperCase().replace(/[^A-Z0-9]+/g, '_'),
});

/** What equals the default of a new object is left out. */
const told = (fields: Readonly<Record<string, unknown>>) =>
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

export async function exportSite(deps: {
  readonly database: Database;
  readonly options: OptionsService;
}): Promise<Record<string, unknown>> {
  const set = deps.options.list().filter((option) => option.isSet);
  const toldValue = (key: (typeof set)[number]['key'], value: string) =>
    ['ratios', 'json'].includes(optionRow(key).kind.name) ? objectOf(value) : value;
  const channels = (await createChannelsRepository(deps.database).all()).sort((a, b) => a.id - b.id);
  const users = await createUsersRepository(deps.database).all();
  const names = new Map(users.map((user) => [user.id, user.username]));
  const tokens = (await createTokensRepository(deps.database).all())
    .filter((token) => token.parent_id === 0 && names.has(token.user_id))
    .sort((a, b) => a.id - b.id);
  return {
    version: 1,
    options: Object.fromEntries(
      set
        .filter(({ key }) => !ratioMaps.includes(key))
        .map(({ key, value, secret }) => [key, secret ? variable('option', key) : toldValue(key, value)]),
    ),
    ratios: Object.fromEntries(
      set.filter(({ key }) => ratioMaps.includes(key)).map(({ key, value }) => [key, objectOf(value)]),
    ),
    users: users.map((user) => ({
      username: user.username,
      ...told({ display_name: user.display_name }),
      group: user.group_name,
      role: user.role >= Role.root ? 'root' : user.role >= Role.admin ? 'admin' : 'user',
      status: user.status === UserStatus.enabled ? 'enabled' : 'disabled',
    })),
    channels: channels.map((row) => ({
      name: row.name,
      type: providerByType(row.type)?.slug ?? row.type,
      key: variable('channel', row.id, 'key'),
      // One that was disabled by itself is wanted on.
      status:
        row.status === ChannelStatus.enabled
          ? 'enabled'
          : row.status === ChannelStatus.disabled
            ? 'disabled'
            : undefined,
      models: row.models.split(','),
      group: row.group_name.split(','),
      ...told({
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
      }),
    })),
    tokens: tokens.map((row) => ({
      name: row.name,
      owner: names.get(row.user_id),
      key: variable('token', row.id, 'key'),
      status: row.status === TokenStatus.enabled ? 'enabled' : 'disabled',
      quota: row.unlimited === 1 ? 'unlimited' : row.quota_limit,
      expires: row.expires_at,
      ...told({
        models: row.model_limits === '' ? '' : row.model_limits.split(','),
        allow_ips: row.allow_ips === '' ? '' : row.allow_ips.split('\n'),
        group: row.group_name,
        rpm_limit: row.rpm_limit,
        tpm_limit: row.tpm_limit,
        concurrency_limit: row.concurrency_limit,
      }),
    })),
  };
}
