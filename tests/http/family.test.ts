/** Calls as scripts of this family of gateways make them, each answered as those scripts expect. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { figure } from '../support/figure.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

type Json = Record<string, unknown>;

let api: ApiFixture;
let upstream: Upstream;
let root: Headers;
let plain: Headers;
let rootId: number;
let plainId: number;
let channelId: number;
const secret = 'sk-family-upstream-key-0123456789';

beforeAll(async () => {
  api = await createApiFixture();
  upstream = await startUpstream((response) =>
    sendJson(response, {
      choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
    }),
  );
  rootId = (await api.addUser('root', 100)).id;
  plainId = (await api.addUser('plain', 1)).id;
  const scripts = async (id: number): Promise<Headers> => ({
    authorization: await api.gateway.services.users.newAccessToken(id),
    'new-api-user': String(id),
  });
  root = await scripts(rootId);
  plain = await scripts(plainId);
  await api.gateway.services.userManagement.update({ userId: rootId, username: 'root', role: 100 }, plainId, {
    add_quota: 5_000_000,
  });
  channelId = await api.gateway.channel(upstream.url, { key: secret, models: 'gpt-4o-mini,text-embedding-3-small' });
});
afterAll(async () => {
  await api.close();
  await upstream.stop();
});

const ask = async (method: string, path: string, body?: unknown, as: Headers = root) =>
  (await api.send(method, path, body, as)).body as Json & { data?: unknown };
const works = async (method: string, path: string, body?: unknown, as: Headers = root): Promise<unknown> => {
  const { status, body: answer } = await api.send(method, path, body, as);
  expect([method, path, status, answer.message, answer.success]).toEqual([method, path, 200, expect.anything(), true]);
  return answer.data;
};
const list = async (path: string, as: Headers = root): Promise<Json[]> => {
  const rows = await works('GET', path, undefined, as);
  expect(Array.isArray(rows)).toBe(true);
  return rows as Json[];
};
const relay = async (method: string, path: string, key: string, body?: unknown): Promise<Response> => {
  await api.gateway.sync();
  const request = new Request(`http://gateway${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return api.gateway.relay.handle(request, path.split('?')[0] ?? path, { ip: () => '127.0.0.1' });
};
const words = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
const token = async (fields: Json = {}): Promise<Json & { id: number; key: string }> =>
  (await works('POST', '/api/token/', { name: 't', remain_quota: 500_000, ...fields }, plain)) as Json & {
    id: number;
    key: string;
  };
const addChannel = async (body: Json): Promise<Json[]> => (await works('POST', '/api/channel/', body)) as Json[];
const fields = { type: 1, name: 'pushed', key: 'sk-one', models: 'gpt-4o', group: 'default', groups: ['default'] };
const optionOf = async (key: string): Promise<unknown> =>
  (await list('/api/option/')).find((option) => option.key === key)?.value;
const consumed = async () => {
  const { key } = await token({ name: 'spender' });
  expect((await relay('POST', '/v1/chat/completions', `sk-${key}`, words)).status).toBe(200);
  await api.gateway.ledger.drain();
};

/** Ids of all pages, as a newer script reads them. */
const newerRows = async (path: string, as: Headers = root): Promise<unknown[]> => {
  const ids: unknown[] = [];
  for (let p = 1; ; p++) {
    const page = (await works('GET', `${path}&p=${p}&page_size=3`, undefined, as)) as Json & { items: Json[] };
    expect(page).toMatchObject({ page: p, page_size: 3 });
    ids.push(...page.items.map(({ id }) => id));
    if (ids.length >= Number(page.total) || page.items.length === 0) return ids;
  }
};

/** Name and proof of each call. */
const calls: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['access token, bare', () => works('GET', '/api/user/self')],
  [
    'access token behind Bearer',
    () => works('GET', '/api/user/self', undefined, { ...root, authorization: `Bearer ${root.authorization}` }),
  ],
  [
    'access token behind bearer in small letters',
    () => works('GET', '/api/user/self', undefined, { ...root, authorization: `bearer ${root.authorization}` }),
  ],
  [
    'the user header in the playground’s spelling',
    () =>
      works('GET', '/api/user/self', undefined, {
        authorization: root.authorization ?? '',
        'New-Api-User': String(rootId),
      }),
  ],
  [
    'no user header',
    async () => {
      const answer = await api.send('GET', '/api/user/self', undefined, { authorization: root.authorization ?? '' });
      expect([answer.status, answer.body.success]).toEqual([401, false]);
    },
  ],
  ['the header of a visitor on a public call', () => works('GET', '/api/status', undefined, { 'new-api-user': '-1' })],
  [
    'a wrong access token is 401',
    async () =>
      expect((await api.send('GET', '/api/user/self', undefined, { ...root, authorization: 'x' })).status).toBe(401),
  ],
  [
    'a role that is too low is a business failure',
    async () => {
      const answer = await api.send('GET', '/api/user/', undefined, plain);
      expect([answer.status, answer.body.success]).toEqual([200, false]);
    },
  ],
  [
    'login answers the record that is stored',
    async () =>
      expect(await works('POST', '/api/user/login', { username: 'plain', password: 'password1' }, {})).toMatchObject({
        id: plainId,
        username: 'plain',
        display_name: expect.anything(),
        role: 1,
        status: 1,
        group: 'default',
      }),
  ],
  ['the invitation code', async () => expect(await works('GET', '/api/user/aff', undefined, plain)).toMatch(/^\w+$/)],
  ['models one may use', async () => expect(await list('/api/user/models', plain)).toContain('gpt-4o-mini')],
  [
    'groups one may use',
    async () =>
      expect(await works('GET', '/api/user/self/groups', undefined, plain)).toMatchObject({
        default: { desc: expect.any(String), ratio: 1 },
      }),
  ],
  // tokens
  ['a token key comes without its prefix', async () => expect((await token()).key).toMatch(/^[A-Za-z0-9]{48}$/)],
  [
    'a client adds the prefix itself',
    async () =>
      expect((await relay('POST', '/v1/chat/completions', `sk-${(await token()).key}`, words)).status).toBe(200),
  ],
  [
    'a script adds it once more',
    async () =>
      expect((await relay('POST', '/v1/chat/completions', `sk-sk-${(await token()).key}`, words)).status).toBe(200),
  ],
  [
    'an administrator brings keys of his own, with the prefix',
    async () => {
      const key = 'FamilyPushedKey0123456789abcdefghijklmnopqrstuvw';
      expect(await works('POST', '/api/token/', { name: 'own', key: `sk-${key}` })).toMatchObject({ key });
      expect((await relay('GET', '/v1/models', `sk-${key}`)).status).toBe(200);
    },
  ],
  [
    'token row',
    async () =>
      expect(await token()).toMatchObject({
        status: 1,
        group: '',
        expired_time: -1,
        model_limits: '',
        DeletedAt: null,
      }),
  ],
  [
    'a token whose quota field was emptied',
    async () => expect(await token({ remain_quota: null })).toMatchObject({ remain_quota: 500_000 }),
  ],
  ['token list, 0-based', async () => expect((await list('/api/token/?p=0&size=3', plain)).length).toBe(3)],
  ['token list past its end', async () => expect(await list('/api/token/?p=99&size=10', plain)).toEqual([])],
  [
    'token search by the whole key with prefix',
    async () => {
      const { id, key } = await token();
      expect(await list(`/api/token/search?keyword=&token=sk-${key}`, plain)).toMatchObject([{ id }]);
    },
  ],
  [
    'token switched off and on',
    async () => {
      const { id } = await token();
      expect(await works('PUT', '/api/token/?status_only=true', { id, status: 2 }, plain)).toMatchObject({ status: 2 });
      expect(await works('PUT', '/api/token/?status_only=true', { id, status: 1 }, plain)).toMatchObject({ status: 1 });
    },
  ],
  [
    'a used-up token is filled by its whole record, status 4 and all',
    async () => {
      const { id } = await token({ remain_quota: 0 });
      const used = (await works('GET', `/api/token/${id}`, undefined, plain)) as Json;
      expect(used.status).toBe(4);
      expect(await works('PUT', '/api/token/', { ...used, remain_quota: 9_000 }, plain)).toMatchObject({ status: 1 });
      const { key } = used as { key: string };
      expect((await relay('POST', '/v1/chat/completions', `sk-${key}`, words)).status).toBe(200);
    },
  ],
  [
    'token deleted with a slash behind its id',
    async () => works('DELETE', `/api/token/${(await token()).id}/`, undefined, plain),
  ],
  // channels
  [
    'channel list is an array',
    async () => expect((await list('/api/channel/?p=0&page_size=10&id_sort=false')).length).toBeGreaterThan(0),
  ],
  [
    'channel row',
    async () =>
      expect((await list('/api/channel/?p=0&page_size=100')).find(({ id }) => id === channelId)).toMatchObject({
        balance: 0,
        other_info: '',
        model_mapping: '',
        tag: expect.anything(),
        key: '',
      }),
  ],
  [
    'a key is pushed, one channel a line',
    async () => expect((await addChannel({ ...fields, key: 'sk-one\nsk-two' })).length).toBe(2),
  ],
  [
    'the newer form: single',
    async () => {
      const [made, ...more] = await addChannel({ mode: 'single', channel: { ...fields, name: 'newer' } });
      expect([made?.name, more.length]).toEqual(['newer', 0]);
    },
  ],
  [
    'the newer form: batch',
    async () => expect((await addChannel({ mode: 'batch', channel: { ...fields, key: 'sk-a\nsk-b' } })).length).toBe(2),
  ],
  [
    'the newer form: many keys in one channel',
    async () => {
      const [made, ...more] = await addChannel({
        mode: 'multi_to_single',
        multi_key_mode: 'turn',
        channel: { ...fields, key: 'sk-a\nsk-b', setting: '{"force_format":true}' },
      });
      expect(more).toEqual([]);
      expect(JSON.parse(String(made?.setting))).toEqual({ force_format: true, key_mode: 'turn' });
    },
  ],
  [
    'channel search by a part of its address',
    async () =>
      expect(
        (await list(`/api/channel/search?keyword=${upstream.url.slice(7)}&group=&model=`)).map(({ id }) => id),
      ).toEqual([channelId]),
  ],
  [
    'channel search by the whole key',
    async () =>
      expect((await list(`/api/channel/search?keyword=${secret}&group=&model=`)).map(({ id }) => id)).toEqual([
        channelId,
      ]),
  ],
  [
    'channel search after choosing no group',
    async () => expect((await list('/api/channel/search?keyword=up&group=null&model=')).length).toBeGreaterThan(0),
  ],
  [
    'tag mode pages by tag and leaves out what has none',
    async () => {
      await addChannel({ ...fields, name: 'tagged', tag: 'blue' });
      const rows = await list('/api/channel/?p=0&page_size=10&id_sort=true&tag_mode=true');
      expect(rows.map(({ tag }) => tag)).toEqual(['blue']);
    },
  ],
  [
    'a channel switched off',
    async () => {
      const [made] = await addChannel(fields);
      expect(await works('PUT', '/api/channel/', { id: made?.id, status: 2 })).toMatchObject({
        status: 2,
        name: 'pushed',
      });
    },
  ],
  [
    'a channel saved with an empty key keeps its key',
    async () => {
      await works('PUT', '/api/channel/', { id: channelId, name: 'renamed', key: '' });
      expect((await list(`/api/channel/search?keyword=${secret}`)).length).toBe(1);
    },
  ],
  ['a channel’s priority from a text field', () => works('PUT', '/api/channel/', { id: channelId, priority: '5' })],
  ['channel groups', async () => expect(await list('/api/group/')).toContain('default')],
  [
    'model catalogue',
    async () => expect((await list('/api/channel/models'))[0]).toMatchObject({ id: expect.any(String) }),
  ],
  ['models by type', async () => expect(await works('GET', '/api/models')).toMatchObject({ 1: expect.any(Array) })],
  [
    'channel test answers seconds beside the verdict',
    async () =>
      expect(await ask('GET', `/api/channel/test/${channelId}?model=`)).toMatchObject({
        success: true,
        time: expect.any(Number),
      }),
  ],
  ['channels fixed', async () => expect(await works('POST', '/api/channel/fix', {})).toEqual(expect.any(Number))],
  // options
  [
    'options are strings',
    async () => expect((await list('/api/option/')).every(({ value }) => typeof value === 'string')).toBe(true),
  ],
  [
    'an option without a value stays as it is',
    async () => {
      await works('PUT', '/api/option/', { key: 'RetryTimes', value: '2' });
      await works('PUT', '/api/option/', { key: 'RetryTimes' });
      await works('PUT', '/api/option/', { key: 'RetryTimes', value: null });
      expect(await optionOf('RetryTimes')).toBe('2');
    },
  ],
  [
    'a secret without a value stays stored',
    async () => {
      await works('PUT', '/api/option/', { key: 'TelegramBotToken', value: '1:abc' });
      await works('PUT', '/api/option/', { key: 'TelegramBotToken' });
      expect(api.gateway.services.options.get('TelegramBotToken')).toBe('1:abc');
    },
  ],
  [
    'a bare number and a bare switch',
    async () => {
      await works('PUT', '/api/option/', { key: 'claude.thinking_adapter_budget_tokens_percentage', value: 0.7 });
      await works('PUT', '/api/option/', { key: 'DrawingEnabled', value: true });
    },
  ],
  [
    'the old chat links',
    async () => {
      await works('PUT', '/api/option/', { key: 'ChatLink', value: 'https://chat.example/{key}' });
      await works('PUT', '/api/option/', { key: 'ChatLink2', value: '' });
      expect(await works('GET', '/api/status')).toMatchObject({
        chat_link: 'https://chat.example/{key}',
        chat_link2: '',
      });
    },
  ],
  [
    'an unknown option',
    async () =>
      expect(await ask('PUT', '/api/option/', { key: 'Nonsense', value: '1' })).toMatchObject({ success: false }),
  ],
  // redemption codes
  [
    'codes are made',
    async () => {
      const codes = (await works('POST', '/api/redemption/', { name: 'gift', quota: 1000, count: 2 })) as string[];
      expect(codes.length).toBe(2);
      expect(await works('POST', '/api/user/topup', { key: codes[0] }, plain)).toBe(1000);
    },
  ],
  [
    'code rows',
    async () => {
      const { items, page } = (await works('GET', '/api/redemption/?p=0&page_size=10')) as {
        items: Json[];
        page: number;
      };
      expect([page, items[0]?.count, items[0]?.DeletedAt]).toEqual([1, 0, null]);
    },
  ],
  // logs
  [
    'log rows',
    async () => {
      await consumed();
      const data = (await works(
        'GET',
        '/api/log/?p=1&page_size=10&type=0&username=&token_name=&model_name=&start_timestamp=0&end_timestamp=NaN&channel=&group=',
      )) as { items: Json[]; page_size: number };
      expect([typeof data.items[0]?.other, data.page_size]).toEqual(['string', 10]);
    },
  ],
  [
    'log rows by a part of the model’s name',
    async () => {
      await consumed();
      const found = async (name: string) =>
        ((await works('GET', `/api/log/?p=1&page_size=10&model_name=${encodeURIComponent(name)}`)) as { total: number })
          .total;
      expect(await found('%4o-m%')).toBeGreaterThan(0);
      expect(await found('gpt-4o-mini%')).toBeGreaterThan(0);
      expect([await found('%nothing%'), await found('gpt_4o%')]).toEqual([0, 0]);
    },
  ],
  [
    'log rows after choosing no group',
    async () => {
      await consumed();
      const rows = (await works('GET', '/api/log/self/?p=1&page_size=10&group=null', undefined, plain)) as {
        total: number;
      };
      expect(rows.total).toBeGreaterThan(0);
    },
  ],
  [
    'log search',
    async () => {
      await consumed();
      expect((await list('/api/log/search?keyword=gpt-4o-mini')).length).toBeGreaterThan(0);
      expect((await list('/api/log/search?keyword=2')).every(({ type }) => type === 2)).toBe(true);
      expect(await list('/api/log/search?keyword=nothing')).toEqual([]);
    },
  ],
  [
    'search of one’s own log',
    async () => {
      await consumed();
      const rows = await list('/api/log/self/search?keyword=spender', plain);
      expect([rows.length > 0, rows.every(({ channel, username }) => channel === 0 && username === 'plain')]).toEqual([
        true,
        true,
      ]);
    },
  ],
  [
    'log statistics',
    async () =>
      expect(await works('GET', '/api/log/self/stat?type=0', undefined, plain)).toMatchObject({
        rpm: expect.any(Number),
      }),
  ],
  [
    'log of a token by its key',
    async () =>
      expect(await ask('GET', `/api/log/token?key=sk-${(await token()).key}`, undefined, {})).toMatchObject({
        data: expect.any(Array),
      }),
  ],
  [
    'usage rows',
    async () => {
      await consumed();
      const now = Math.floor(Date.now() / 1000);
      const window = `start_timestamp=${now - 7 * 86_400}&end_timestamp=${now + 3600}&default_time=day`;
      expect((await list(`/api/data/self/?${window}`, plain))[0]).toMatchObject({
        id: 1,
        user_id: plainId,
        model_name: 'gpt-4o-mini',
      });
    },
  ],
  // prices, models
  [
    'price rows',
    async () => {
      const { data } = (await ask('GET', '/api/pricing', undefined, {})) as { data: Json[] };
      expect(data.find(({ model_name }) => model_name === 'gpt-4o-mini')).toMatchObject({
        owner_by: '',
        enable_groups: ['default'],
        supported_endpoint_types: expect.arrayContaining(['openai', 'anthropic']),
      });
      expect(data.find(({ model_name }) => model_name === 'text-embedding-3-small')).toMatchObject({
        supported_endpoint_types: ['embeddings'],
      });
    },
  ],
  [
    'models of a key name their endpoints',
    async () => {
      const { data } = (await (await relay('GET', '/v1/models', `sk-${(await token()).key}`)).json()) as {
        data: Json[];
      };
      expect(data.find(({ id }) => id === 'gpt-4o-mini')).toMatchObject({
        supported_endpoint_types: expect.arrayContaining(['openai']),
      });
    },
  ],
  // what newer scripts call
  [
    'usage of a token by its key',
    async () => {
      const { key } = await token({ name: 'newer', model_limits_enabled: true, model_limits: 'gpt-4o,gpt-4o-mini' });
      const byKey = (authorization: string) => api.send('GET', '/api/usage/token/', undefined, { authorization });
      expect((await byKey(`Bearer sk-${key}`)).body).toEqual({
        code: true,
        message: 'ok',
        data: {
          object: 'token_usage',
          name: 'newer',
          total_granted: 500_000,
          total_used: 0,
          total_available: 500_000,
          unlimited_quota: false,
          model_limits: { 'gpt-4o': true, 'gpt-4o-mini': true },
          model_limits_enabled: true,
          expires_at: 0,
          day: { used: 0, limit: 0 },
          month: { used: 0, limit: 0 },
          balance: expect.any(Number),
          quota_per_unit: 500_000,
          display_in_currency: true,
        },
      });
      expect(await byKey('Bearer sk-nobody')).toMatchObject({ status: 401, body: { success: false } });
      expect((await api.send('GET', '/api/usage/token', undefined, {})).status).toBe(401);
    },
  ],
  [
    'log of a token by its key in Authorization',
    async () => {
      const { key } = await token({ name: 'logged' });
      await relay('POST', '/v1/chat/completions', `sk-${key}`, words);
      await api.gateway.ledger.drain();
      expect(await list('/api/log/token', { authorization: `Bearer sk-${key}` })).toMatchObject([
        { token_name: 'logged', model_name: 'gpt-4o-mini' },
      ]);
      // Whoever holds one key sees nothing of another that its owner gave the same name.
      const { key: alike } = await token({ name: 'logged' });
      expect(await list('/api/log/token', { authorization: `Bearer sk-${alike}` })).toEqual([]);
      expect((await api.send('GET', '/api/log/token', undefined, { authorization: 'Bearer sk-x' })).status).toBe(401);
    },
  ],
  [
    'ratios of the models that are served',
    async () => {
      const { data: prices } = (await ask('GET', '/api/pricing', undefined, {})) as { data: Json[] };
      const mini = prices.find(({ model_name: name }) => name === 'gpt-4o-mini');
      const ratios = (await works('GET', '/api/ratio_config', undefined, {})) as Record<string, Json>;
      expect(ratios.model_ratio?.['gpt-4o-mini']).toBe(mini?.model_ratio);
      expect(ratios.completion_ratio?.['gpt-4o-mini']).toBe(mini?.completion_ratio);
      expect(Object.keys(ratios)).toEqual(['model_ratio', 'completion_ratio', 'cache_ratio', 'model_price']);
    },
  ],
  [
    'ways to top up, before and after payment is set up',
    async () => {
      const info = () => works('GET', '/api/user/topup/info', undefined, plain);
      expect(await info()).toMatchObject({ enable_online_topup: false, pay_methods: [], min_topup: 1, discount: {} });
      for (const [key, value] of Object.entries({
        ServerAddress: 'https://ai.example.com',
        PayAddress: 'https://pay.example.com',
        EpayId: '1',
        EpayKey: 'k',
      }))
        await works('PUT', '/api/option/', { key, value });
      expect(await info()).toMatchObject({
        enable_online_topup: true,
        enable_stripe_topup: false,
        pay_methods: [{ type: 'alipay' }, { type: 'wxpay' }],
      });
    },
  ],
  [
    'the second factor of an account that has none',
    async () =>
      expect(await works('GET', '/api/user/2fa/status', undefined, plain)).toEqual({ enabled: false, locked: false }),
  ],
  ['monitors', async () => expect(await list('/api/uptime/status', {})).toEqual([])],
  ['prefill groups', async () => expect(await list('/api/prefill_group?type=model')).toEqual([])],
  [
    'vendors',
    async () =>
      expect(await works('GET', '/api/vendors/?p=1&page_size=20')).toEqual({
        items: [],
        page: 1,
        page_size: 20,
        total: 0,
      }),
  ],
  [
    'token pages of both generations: each row once, in the same order',
    async () => {
      for (const name of ['a', 'b', 'c', 'd', 'e']) await token({ name });
      const wanted = (await list('/api/token/?p=0&size=100', plain)).map(({ id }) => id);
      const oldRows: unknown[] = [];
      for (let p = 0; ; p++) {
        const rows = await list(`/api/token/?p=${p}&size=3`, plain);
        oldRows.push(...rows.map(({ id }) => id));
        if (rows.length < 3) break;
      }
      expect(oldRows).toEqual(wanted);
      expect(await newerRows('/api/token/?', plain)).toEqual(wanted);
      expect(await newerRows('/api/token/search?keyword=', plain)).toEqual(
        (await list('/api/token/search?keyword=', plain)).map(({ id }) => id),
      );
    },
  ],
  [
    'channel pages of both generations: each row once, in the same order',
    async () => {
      await addChannel({ ...fields, key: 'sk-p1\nsk-p2\nsk-p3' });
      const wanted = (await list('/api/channel/?p=0&page_size=100')).map(({ id }) => id);
      const console = async (p: number) =>
        list(`/api/channel/?p=${p}&page_size=3&id_sort=false&tag_mode=false`).then((rows) => rows.map(({ id }) => id));
      expect([...(await console(0)), ...(await console(1))]).toEqual(wanted.slice(0, 6));
      expect(await newerRows('/api/channel/?')).toEqual(wanted);
      const found = await list('/api/channel/search?keyword=pushed&group=&model=');
      expect(await newerRows('/api/channel/search?keyword=pushed&group=&model=&')).toEqual(found.map(({ id }) => id));
    },
  ],
  // what else is called
  [
    'drawings',
    async () => expect(await list('/api/mj/?p=0&channel_id=&mj_id=&start_timestamp=1&end_timestamp=NaN')).toEqual([]),
  ],
  [
    'tasks',
    async () =>
      expect(await list('/api/task/self?p=0&task_id=&start_timestamp=1&end_timestamp=NaN', plain)).toEqual([]),
  ],
  [
    'a payment callback where nothing is set up',
    async () => {
      const response = await fetch(`${api.base}/api/user/epay/notify?out_trade_no=1`);
      expect([response.status, await response.text()]).toEqual([200, 'fail']);
    },
  ],
  [
    'edits are answered, not forgotten',
    async () => {
      const response = await relay('POST', '/v1/edits', `sk-${(await token()).key}`, {
        model: 'x',
        input: 'a',
        instruction: 'b',
      });
      expect(response.status).toBe(501);
    },
  ],
  [
    'drawings by mode',
    async () => {
      const type = providerBySlug('midjourney')?.type ?? 0;
      await addChannel({ ...fields, type, name: 'mj', base_url: upstream.url, models: 'mj_imagine', key: 'sk-mj' });
      await works('PUT', '/api/option/', { key: 'ModelPrice', value: '{"mj_imagine":0.01}' });
      upstream.script((response) => sendJson(response, { code: 1, description: 'ok', result: '77' }));
      const { key } = await token();
      for (const mode of ['mj-fast', 'mj-turbo', 'fast', 'relax', 'turbo']) {
        const answer = await relay('POST', `/${mode}/mj/submit/imagine`, `sk-${key}`, { prompt: 'a cat' });
        expect([mode, answer.status, await answer.json()]).toEqual([mode, 200, expect.objectContaining({ code: 1 })]);
      }
      await api.gateway.ledger.drain();
      expect((await list('/api/mj/self/?p=0', plain))[0]).toMatchObject({
        description: 'ok',
        state: '',
        buttons: '',
        properties: '{}',
      });
      upstream.script((response) => sendJson(response, { code: 24, description: 'banned words' }));
      await relay('POST', '/fast/mj/submit/imagine', `sk-${key}`, { prompt: 'a cat' });
      await api.gateway.ledger.drain();
      const { items } = (await works('GET', '/api/log/self/?p=1&page_size=1&type=5', undefined, plain)) as {
        items: Json[];
      };
      expect(items[0]?.content).toContain('banned words');
    },
  ],
  [
    'a report of a drawing without its proof',
    async () => {
      const response = await relay('POST', '/mj/notify', `sk-${(await token()).key}`, { id: '77', status: 'FAILURE' });
      expect([response.status, await response.json()]).toEqual([403, expect.objectContaining({ code: 4 })]);
    },
  ],
];

test.each(calls)('family: %s', async (_name, run) => void (await run()));

test('family: sixty calls', () => {
  figure(`${calls.length} calls of the family’s scripts`);
  expect(calls.length).toBeGreaterThanOrEqual(60);
});
