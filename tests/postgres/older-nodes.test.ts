/** What nodes of an older version would do wrong is refused while one lives, and names it; what they have no part in goes on. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newestPostgres } from '../../db/schema/migrations.ts';
import { createChannels } from '../../server/domain/channels/service.ts';
import { createOptions } from '../../server/domain/options/service.ts';
import { createVault } from '../../server/domain/secrets/vault.ts';
import { createTokens } from '../../server/domain/tokens/service.ts';
import { createVirtualModels } from '../../server/domain/virtual-models/service.ts';
import { openSite, type Site } from './site.ts';

let site: Site;
const vault = createVault(Buffer.alloc(32, 7));
const parts = async () => {
  const deps = { database: site.database, vault, now: Date.now };
  return {
    models: createVirtualModels(deps),
    options: await createOptions(deps),
    tokens: createTokens(deps),
    channels: createChannels({
      ...{ ...deps, fetch, automaticEnable: () => false },
      relayTest: () => Promise.reject(new Error('nothing is tested')),
      failureRules: () => ({ enabled: false, keywords: [] }),
    }),
  };
};
let at: Awaited<ReturnType<typeof parts>>;

const node = (name: string, schema: string, state = 'live', until = '1 hour') =>
  site.rows(
    `INSERT INTO nodes (node, schema, state, expires_at) VALUES ($1, $2, $3, now() + interval '${until}')`,
    ...[name, schema, state],
  );
const before = (schema: string) => node('before', schema);
const refused = (code: string, params: object = {}) => ({ code, params: { name: 'before', ...params } });
const made = {
  type: 1,
  key: 'k1\nk2\nk3',
  setting: '{"key_mode":"turn"}',
  base_url: 'http://127.0.0.1:9',
  models: 'm',
};
const channel = async (fields: object = {}) => {
  const [one] = await at.channels.create({ ...made, name: 'one', ...fields });
  return one?.id ?? 0;
};

beforeAll(async () => {
  site = await openSite();
  at = await parts();
  await site.rows("INSERT INTO users (id, username, password_hash, created_at) VALUES (1, 'u1', 'x', 1)");
});
afterAll(() => site.drop());
beforeEach(async () => {
  await site.rows('DELETE FROM nodes');
  // Those of now, and those that are gone, hold nothing up.
  await node('of now', newestPostgres);
  await node('over', '0006-code-expiry', 'live', '-1 second');
  await node('gone', '0006-code-expiry', 'expired');
});

test('a key gets no groups in order, which an older node would refuse', async () => {
  const { tokens } = at;
  const { id } = await tokens.create(1, { name: 'ci', group: 'vip,default' });
  await before('0024-any');
  for (const group of ['default,vip', 'auto', 'cheapest']) {
    await expect(tokens.update(id, null, { group }, false)).rejects.toMatchObject(refused('token_groups_node'));
    await expect(tokens.create(1, { name: 'x', group })).rejects.toMatchObject(refused('token_groups_node'));
  }
  // As it is, and one alone.
  expect(await tokens.update(id, null, { group: 'vip,default' }, false)).toMatchObject({ group: 'vip,default' });
  expect(await tokens.update(id, null, { group: 'vip' }, false)).toMatchObject({ group: 'vip' });
});

test('a virtual model is neither made nor changed nor enabled, and is disabled and removed', async () => {
  const { models } = at;
  const targets = [{ model: 'm' }];
  const { id } = await models.create({ name: 'coder', targets });
  const off = await models.create({ name: 'off', targets, enabled: false });
  await before('0014-channel-facts');
  const no = refused('virtual_model_node');
  await expect(models.create({ name: 'other', targets })).rejects.toMatchObject(no);
  await expect(models.update(id, { targets: [{ model: 'n' }] })).rejects.toMatchObject(no);
  await expect(models.update(off.id, { enabled: true })).rejects.toMatchObject(no);
  expect(await models.update(id, { targets })).toMatchObject({ changed: false });
  expect(await models.update(id, { enabled: false })).toMatchObject({ changed: true });
  await models.remove(id);
  expect((await models.list()).map(({ name }) => name)).toEqual(['off']);
});

test.each<[string, object, string]>([
  ['rules on bodies', { param_override: '{"operations":[{"mode":"delete","path":"a"}]}' }, 'operations'],
  ['headers', { header_override: '{"x-a":"1"}' }, 'header_override'],
  [
    'headers with conditions',
    { header_override: '{"x-a":{"mode":"set","value":"1","conditions":{"user":"a"}}}' },
    'header_override',
  ],
  ['a system prompt', { setting: '{"system_prompt":"be brief"}' }, 'system_prompt'],
  ['a price factor', { setting: '{"channel_factor":2}' }, 'channel_factor'],
  ['a time limit of its own', { setting: '{"first_byte_seconds":9}' }, 'first_byte_seconds'],
])('of a channel an older node would not act on %s: it is not set', async (_what, fields, setting) => {
  const [plain, has] = [await channel(), await channel(fields)];
  await before('0024-any');
  const no = refused('channel_setting_node', { setting });
  await expect(at.channels.update(plain, fields, 'owner')).rejects.toMatchObject(no);
  await expect(channel(fields)).rejects.toMatchObject(no);
  // It keeps what it has, loses it, and gets what older nodes know.
  expect(await at.channels.update(has, { ...fields, weight: 3 }, 'owner')).toMatchObject({ changed: true });
  const known = { setting: '{"proxy":"http://127.0.0.1:8"}', param_override: '{"a":1}' };
  expect(await at.channels.update(has, known, 'owner')).toMatchObject({ changed: true });
});

test('a key of a channel is not switched off while an older node would go on using it, and is switched on', async () => {
  const id = await channel();
  const [first, second] = await at.channels.keys(id);
  await at.channels.switchKey(id, first?.key_id ?? '', false);
  await before('0012-paid-in');
  await at.channels.switchKey(id, first?.key_id ?? '', true);
  const no = refused('channel_key_node');
  await expect(at.channels.switchKey(id, second?.key_id ?? '', false)).rejects.toMatchObject(no);
  await expect(at.channels.update(id, { keys_off: second?.key_id })).rejects.toMatchObject(no);
  await expect(channel({ keys_off: second?.key_id })).rejects.toMatchObject(no);
});

test('rules for all channels are not set, and are taken away', async () => {
  const rules = '{"operations":[{"mode":"delete","path":"a"}]}';
  await at.options.set('request_rules', rules, 100);
  await before('0024-any');
  await expect(at.options.set('request_rules', rules.replace('"a"', '"b"'), 100)).rejects.toMatchObject(
    refused('request_rules_node'),
  );
  expect(at.options.list().find(({ key }) => key === 'request_rules')?.value).toBe(rules);
  await at.options.set('SystemName', 'another', 100);
  await at.options.set('request_rules', '{}', 100);
});
