/** Rights that others gave away: who may do what, to whom, and how it is shown. */
import { afterAll, beforeAll, expect } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { incident } from './incident.ts';

let api: ApiFixture;
let root: { id: number; headers: Headers };
let admin: { id: number; headers: Headers };
let user: { id: number; headers: Headers };
let other: { id: number; headers: Headers };

beforeAll(async () => {
  api = await createApiFixture();
  root = await api.addUser('root', 100);
  admin = await api.addUser('admin', 10);
  user = await api.addUser('user', 1);
  other = await api.addUser('other', 1);
});
afterAll(() => api.close());

const rowOf = (id: number) =>
  api.gateway.database.query.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const balanceOf = async (id: number) => (await api.gateway.services.users.find(id))?.balance;
const rejected = ({ status, body }: { status: number; body: { success?: boolean } }) =>
  expect(status >= 400 || body.success === false).toBe(true);

incident('CVE-2026-64859', 'the list of users carried everybody’s management token, the owner’s too', async () => {
  const made = await api.send('POST', '/api/user/token', {}, root.headers);
  const token = String(made.body.data);
  for (const path of ['/api/user/?p=1', `/api/user/${root.id}`, '/api/user/search?keyword=root'])
    for (const headers of [admin.headers, root.headers]) {
      const text = JSON.stringify((await api.send('GET', path, undefined, headers)).body);
      expect(text).not.toContain(token);
      expect(text).not.toMatch(/password_hash|access_token"|token_hash|argon2/);
    }
});

incident('one-api#2425', 'an administrator read the owner’s row, and with it the owner’s token', async () => {
  const { body } = await api.send('GET', `/api/user/${root.id}`, undefined, admin.headers);
  expect(JSON.stringify(body.data ?? {})).not.toMatch(/token":"[^"]|secret/);
});

incident('CVE-2026-64866', 'an administrator took the passkeys of equals and of the owner away', async () => {
  const equal = await api.addUser('equal', 10);
  for (const target of [root, equal]) {
    const { username } = await rowOf(target.id);
    rejected(await api.send('POST', '/api/user/2fa/reset', { id: target.id }, admin.headers));
    rejected(await api.send('POST', '/api/user/manage', { id: target.id, action: 'disable' }, admin.headers));
    rejected(await api.send('PUT', '/api/user/', { id: target.id, username, password: 'taken-over-1' }, admin.headers));
    expect((await rowOf(target.id)).status).toBe(1);
    await api.login(username, 'password1');
  }
});

incident(
  'CVE-2026-64865',
  'a user wrote a quota of its choice into the own row, and the cache believed it',
  async () => {
    const before = await balanceOf(user.id);
    await api.send('PUT', '/api/user/self', { display_name: 'me', quota: 999_999_999, used_quota: -1 }, user.headers);
    expect(await balanceOf(user.id)).toBe(before);
  },
);

incident('CVE-2026-47102', 'a user wrote the own role', async () => {
  for (const more of [{ role: 100 }, { user_role: 'admin' }, { group: 'vip' }, { id: root.id, display_name: 'x' }])
    await api.send('PUT', '/api/user/self', { display_name: 'me', ...more }, user.headers);
  const { role, group_name: group } = await rowOf(user.id);
  expect([role, group]).toEqual([1, 'default']);
  expect((await rowOf(root.id)).display_name).not.toBe('x');
});

incident('CVE-2026-47101', 'a key was stored with rights that its maker did not have', async () => {
  const { body } = await api.send(
    'POST',
    '/api/token/',
    { name: 't', user_id: root.id, allowed_routes: ['/api/*'], role: 100 },
    user.headers,
  );
  const made = body.data as { key?: string } | undefined;
  const rows = await api.gateway.database.query.selectFrom('tokens').select('user_id').execute();
  expect(rows.every(({ user_id }) => user_id !== root.id)).toBe(true);
  rejected(await api.send('GET', '/api/user/', undefined, { authorization: `Bearer sk-${made?.key}` }));
});

incident('CVE-2026-45349', 'a number in the address was enough to read what another user has', async () => {
  const made = await api.send('POST', '/api/token/', { name: 'theirs' }, other.headers);
  const { id, key } = made.body.data as { id: number; key: string };
  for (const [method, path, body] of [
    ['GET', `/api/token/${id}`, undefined],
    ['PUT', '/api/token/', { id, name: 'mine now' }],
    ['POST', `/api/token/${id}/rotate`, {}],
    ['DELETE', `/api/token/${id}`, undefined],
  ] as const) {
    const answer = await api.send(method, path, body, user.headers);
    rejected(answer);
    expect(JSON.stringify(answer.body)).not.toContain(key);
  }
  expect((await api.send('GET', `/api/token/${id}`, undefined, other.headers)).body).toMatchObject({ success: true });
});

incident('CVE-2026-44553', 'who had been demoted went on as an administrator until the session ended', async () => {
  const fading = await api.addUser('fading', 10);
  expect((await api.send('GET', '/api/user/?p=1', undefined, fading.headers)).body.success).toBe(true);
  await api.send('POST', '/api/user/manage', { id: fading.id, action: 'demote' }, root.headers);
  rejected(await api.send('GET', '/api/user/?p=1', undefined, fading.headers));
});

incident('CVE-2026-32879', 'the second step before a secret is shown could be left out', async () => {
  const stored = await api.gateway.services.channels.create({
    type: 1,
    name: 'c',
    key: 'sk-shown-to-nobody-123',
    models: 'm',
    base_url: '',
  });
  const id = stored[0]?.id ?? 0;
  for (const path of [
    `/api/channel/${id}`,
    '/api/channel/?p=0',
    `/api/channel/${id}?key=true`,
    `/api/channel/${id}/key`,
  ])
    for (const headers of [admin.headers, root.headers])
      for (const method of ['GET', 'POST'])
        expect(
          JSON.stringify((await api.send(method, path, method === 'POST' ? {} : undefined, headers)).body),
        ).not.toContain('sk-shown-to-nobody-123');
});

incident(
  'CVE-2026-42271',
  'calls that try something out before it is saved asked for a key and not for a role',
  async () => {
    for (const [method, path, body] of [
      ['POST', '/api/channel/try', { type: 1, base_url: 'http://127.0.0.1:1', key: 'k', models: 'm' }],
      ['POST', '/api/channel/fetch_models', { type: 1, base_url: 'http://127.0.0.1:1', key: 'k' }],
      ['GET', '/api/channel/test/1', undefined],
      ['POST', '/api/option/oidc_discovery', { address: 'http://127.0.0.1:1' }],
      ['POST', '/api/provision/', {}],
    ] as const)
      for (const headers of [user.headers, {}]) rejected(await api.send(method, path, body, headers));
  },
);

incident('Portkey gateway, May 2026', 'pages and calls of the log were open to anybody', async () => {
  for (const path of [
    '/api/log/',
    '/api/log/self',
    '/api/log/stat',
    '/api/log/tail',
    '/api/log/export',
    '/api/audit/',
    '/api/data/',
    '/api/option/',
  ])
    expect((await api.send('GET', path)).status).toBe(401);
  rejected(await api.send('GET', '/api/log/', undefined, user.headers));
});

incident('sub2api#3839 (setup)', 'a stranger who came first, or once more, became the owner', async () => {
  for (const body of [
    { username: 'mallory', password: 'password1', confirmPassword: 'password1', SelfUseModeEnabled: true },
    { username: 'mallory', password: 'password1', code: '' },
    { username: 'mallory', password: 'password1', code: '0'.repeat(16) },
  ])
    rejected(await api.send('POST', '/api/setup', body));
  const { body } = await api.send('POST', '/api/user/login', { username: 'mallory', password: 'password1' });
  expect(body.success).toBe(false);
});

incident('CVE-2026-25591', 'signs for “anything” in a search kept the database busy', async () => {
  await api.send('POST', '/api/token/', { name: 'plain' }, user.headers);
  // Each stands for one letter at most, never for “anything”.
  for (const keyword of ['%%%%%%', '%x', 'pl%%%n', '%'.repeat(2000), '\\%', "' OR 1=1 --"]) {
    const { body } = await api.send(
      'GET',
      `/api/token/search?keyword=${encodeURIComponent(keyword)}`,
      undefined,
      user.headers,
    );
    expect([keyword, JSON.stringify(body.data ?? [])]).toEqual([keyword, expect.not.stringContaining('plain')]);
  }
});

incident('CVE-2026-44342', 'following a link bound another’s address to the account that was logged in', async () => {
  const { 'new-api-user': _, ...cookieAlone } = user.headers;
  for (const path of [
    '/api/oauth/email/bind?email=m%40evil.example&code=1',
    '/api/oauth/wechat/bind?code=1',
    '/api/user/logout',
    '/api/user/token',
  ]) {
    expect(
      (await api.send('GET', path, undefined, { ...cookieAlone, 'sec-fetch-site': 'cross-site' })).status,
    ).toBeGreaterThanOrEqual(400);
    expect(
      (
        await api.send('GET', path, undefined, {
          ...user.headers,
          'sec-fetch-site': 'cross-site',
          origin: 'https://evil.example',
        })
      ).status,
    ).toBeGreaterThanOrEqual(400);
  }
  expect((await api.send('GET', '/api/user/self', undefined, user.headers)).body.success).toBe(true);
});

incident('CVE-2025-34291', 'any origin was answered with leave to send cookies along', async () => {
  for (const origin of ['https://evil.example', 'null', 'http://localhost:3000']) {
    const { headers } = await api.send('OPTIONS', '/api/user/self', undefined, {
      ...user.headers,
      origin,
      'access-control-request-method': 'PUT',
    });
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('access-control-allow-origin')).toBeNull();
  }
});

incident(
  'one-api#2409',
  'a stranger’s login call sent the server’s token to an address somebody had typed in',
  async () => {
    const requested: string[] = [];
    const listener = Bun.serve({
      port: 0,
      fetch: (request) => {
        requested.push(request.url);
        return new Response('{}');
      },
    });
    await api.gateway.option('WeChatServerAddress', `http://127.0.0.1:${listener.port}`);
    await api.gateway.option('WeChatServerToken', 'planted-token');
    await api.send('GET', '/api/oauth/wechat?code=123');
    expect(requested).toEqual([]);
    await listener.stop(true);
  },
);

incident('litellm#40095', 'a limit that was named for one kind of user held for no other', async () => {
  await api.gateway.services.options.set('GroupLimits', '{"default":{"rpm":1}}', 100);
  await api.gateway.sync();
  const made = await Promise.all(
    [user, other].map(
      async ({ headers }) =>
        (await api.send('POST', '/api/token/', { name: 'n', unlimited_quota: true }, headers)).body.data as {
          key: string;
        },
    ),
  );
  await api.gateway.sync();
  const ask = (key: string) =>
    api.gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'x' }] });
  const statuses: number[] = [];
  for (const { key } of [...made, ...made]) statuses.push((await ask(key)).status);
  expect(statuses.slice(1)).not.toContain(200);
});
