/** Which spelling of a path is answered by whom: programs never get a page, pages are never another way in. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { consolePages } from '../../server/contract/console-pages.ts';
import { pathKindOf } from '../../server/http/path-kind.ts';
import { createSite, type Site, sendRaw } from '../support/site.ts';

let site: Site;
beforeAll(async () => {
  site = await createSite();
});
afterAll(() => site.close());

const ask = (method: string, target: string, headers: readonly string[] = ['Host: gw.example']) =>
  sendRaw(site.port, [`${method} ${target} HTTP/1.1`, ...headers]);

const programs = [
  '/api',
  '/API/status',
  '/Api/status',
  '//api/status',
  '///api/status',
  '/./api/x',
  '/x/../api/nothing',
  '/\\api/status',
  '\\api/status',
  '/%61pi/status',
  '/%2561pi/status',
  '/%2Fapi/status',
  '/%5capi/status',
  '/api%2fstatus',
  '/api\\status',
  '/api;x=1/status',
  '/api%00/status',
  '/%09api/status',
  '/%EF%BD%81%EF%BD%90%EF%BD%89/status',
  '/api%20/status',
  '//api/user/epay/notify',
  '/API/user/epay/notify',
  '/api/nothing',
  '/api//status',
  '/api/%ff',
  '/api/user/%zz',
  '/health',
  '/metrics',
  '/livez',
  '/ping',
  '/HEALTHZ',
  '//readyz',
  '/readyz/db',
  '/v1',
  '/V1/models',
  '//v1/chat/completions',
  '/\\v1/models',
  '/V1BETA/models',
  '/v1/nothing',
  'http://other.example//api/status',
  'http://other.example/API/status',
  'http://other.example',
  'http://other.example?x=/api/status',
];

test.each(programs)('%s is never a page', async (target) => {
  if (!/other\.example($|\?)/.test(target)) {
    const { status, type, body } = await ask('GET', target);
    expect([target, type, status === 200 && !body.includes('"success":true')]).toEqual([
      target,
      status === 400 && body === '' ? '' : 'application/json',
      false,
    ]);
  }
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const { status, type } = await ask(method, target);
    expect([method, target, status >= 400 && status < 500, type === 'text/html']).toEqual([
      method,
      target,
      true,
      false,
    ]);
  }
});

test('another spelling of a call is not the call', async () => {
  for (const target of ['/API/status', '//api/status', '/%61pi/status', '/api%2fstatus', '/api;x/status'])
    expect([target, (await ask('GET', target)).status]).toEqual([target, 404]);
  expect((await ask('GET', '/api/Status')).status).toBe(404);
  expect((await ask('GET', '/api/status')).status).toBe(200);
  expect((await ask('GET', '/api/status/')).status).toBe(200);
});

const accepting = (accept: string) => ['Host: gw.example', `Accept: ${accept}`];

test.each([...consolePages, '/user/edit/1', '/channel/add', '/channel/edit/7', '/pricing/gpt-4o', '/chat', '/chat/3'])(
  '%s is a page, whatever is accepted',
  async (page) => {
    const target = page.replace(':id?', '1').replace(':id', '1').replace(':type', 'github');
    expect(pathKindOf(target)).toBe('console');
    for (const headers of [['Host: gw.example'], accepting('*/*'), accepting('text/html')])
      expect((await ask('GET', target, headers)).type).toBe('text/html');
  },
);

test.each(['/setup', '/apis', '/v10', '/a/api/b', '/chat/abc', '/channel/edit/x'])(
  '%s is no page: only a browser that goes there gets one',
  async (target) => {
    expect((await ask('GET', target, accepting('text/html,application/xhtml+xml'))).type).toBe('text/html');
    for (const headers of [['Host: gw.example'], accepting('*/*'), accepting('application/json')]) {
      const { status, type, body } = await ask('GET', target, headers);
      expect([status, type, JSON.parse(body)]).toEqual([
        404,
        'application/json',
        expect.objectContaining({ success: false, code: 'route_unknown' }),
      ]);
    }
  },
);

test.each([
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
  '/protocol',
  '/managed/settings',
  '/user/bootstrap',
  '/api/oauth/usage',
  '/mcp',
  '/openapi.json',
  '/info',
])('%s says in JSON that there is nothing, to browsers too', async (target) => {
  for (const headers of [['Host: gw.example'], accepting('text/html')]) {
    const { status, type } = await ask('GET', target, headers);
    expect([status, type]).toEqual([404, 'application/json']);
  }
});

test('browsers learn to come back over TLS where TLS is certain, and nowhere else', async () => {
  const replyTo = async (target: string, headers: readonly string[]) =>
    /strict-transport-security: max-age=\d{8}/.test((await ask('GET', target, headers)).headers);
  const both = async (headers: readonly string[]) => [
    await replyTo('/', headers),
    await replyTo('/api/status', headers),
  ];
  const proxied = ['Host: gw.example', 'X-Forwarded-Proto: https'];
  expect(await both(['Host: gw.example'])).toEqual([false, false]);
  expect(await both(proxied)).toEqual([false, false]);
  expect(await both(['Host: gw.example', 'X-Gateway-Tls: 1'])).toEqual([false, false]);
  await site.gateway.option('general_setting.trusted_proxies', '127.0.0.1');
  expect(await both(proxied)).toEqual([true, true]);
  expect(await both(['Host: gw.example', 'X-Forwarded-Proto: http'])).toEqual([false, false]);
  expect(await both(['Host: gw.example', 'X-Gateway-Tls: 1'])).toEqual([false, false]);
  await site.gateway.option('general_setting.trusted_proxies', '');
  await site.gateway.option('ServerAddress', 'https://gw.example');
  expect(await both(['Host: gw.example'])).toEqual([true, true]);
  expect(await both(['Host: localhost:3000'])).toEqual([false, false]);
  await site.gateway.option('ServerAddress', 'http://gw.example');
  expect(await both(['Host: gw.example'])).toEqual([false, false]);
});
