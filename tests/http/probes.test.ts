/** Questions of supervisors: who is alive, and who may be sent requests. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createConnections, defaultConnectionLimits } from '../../server/http/connections.ts';
import { type HttpServer, openHttpServer } from '../../server/http/http-server.ts';
import { createSite, type Site } from '../support/site.ts';

let site: Site;
let door: HttpServer;
let sells = true;
let outOfLeases = false;
let leasesMs: number | null = null;

beforeAll(async () => {
  site = await createSite();
  door = openHttpServer({
    host: '127.0.0.1',
    port: 0,
    relay: site.gateway.relay,
    mayServe: () => sells,
    isOutOfLeases: () => outOfLeases,
    leasesMs: () => leasesMs,
    connections: createConnections(defaultConnectionLimits, null, Date.now),
    // Nobody listens there: a probe does not need the API's thread.
    controlSocket: '/nonexistent',
    isTrustedProxy: () => false,
    consoleAsset: () => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }),
  });
});
afterAll(async () => {
  await door.stop(0);
  await site.close();
});

const ask = async (path: string, method = 'GET') => {
  const response = await fetch(`http://127.0.0.1:${door.port}${path}`, { method });
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    stored: response.headers.get('cache-control'),
    retryAfter: response.headers.get('retry-after'),
    body: text === '' ? null : (JSON.parse(text) as unknown),
  };
};

const json = { type: 'application/json; charset=utf-8', stored: 'no-store' };
const well = { status: 200, ...json, body: { ok: true } };

test('alive and ready differ: with a failing disk no requests are accepted, and there is no reason to restart', async () => {
  expect(await ask('/healthz')).toMatchObject(well);
  expect(await ask('/readyz')).toMatchObject(well);
  sells = false;
  expect(await ask('/healthz')).toMatchObject(well);
  expect(await ask('/readyz')).toMatchObject({
    status: 503,
    ...json,
    retryAfter: '5',
    body: { ok: false, hindrances: ['storage'] },
  });
  sells = true;
  expect(await ask('/readyz')).toMatchObject(well);
});

test('a node without database, whose leases cover no request, is not ready and says so', async () => {
  outOfLeases = true;
  expect(await ask('/healthz')).toMatchObject(well);
  expect(await ask('/readyz')).toMatchObject({ status: 503, body: { ok: false, hindrances: ['leases'] } });
  outOfLeases = false;
  expect(await ask('/readyz')).toMatchObject(well);
});

test('a node without database says for how many seconds it serves from leases', async () => {
  leasesMs = 17_999;
  expect(await ask('/healthz')).toMatchObject(well);
  expect(await ask('/readyz')).toEqual({ ...well, retryAfter: null, body: { ok: true, leases: { seconds: 17 } } });
  // What is in the way is said instead.
  outOfLeases = true;
  expect(await ask('/readyz')).toMatchObject({ status: 503, body: { ok: false, hindrances: ['leases'] } });
  outOfLeases = false;
  leasesMs = null;
  expect(await ask('/readyz')).toMatchObject(well);
});

test('a probe is a question and nothing else', async () => {
  expect(await ask('/readyz', 'HEAD')).toMatchObject({ status: 200, body: null });
  expect(await ask('/healthz', 'POST')).toMatchObject({ status: 405, body: null });
  expect(await ask('/readyz?verbose')).toMatchObject(well);
});

test('before it stops everything is served, but for the answer to balancers', async () => {
  door.leave();
  expect(await ask('/healthz')).toMatchObject(well);
  expect(await ask('/readyz')).toMatchObject({ status: 503, body: { ok: false, hindrances: ['draining'] } });
  const page = await fetch(`http://127.0.0.1:${door.port}/`);
  expect([page.status, page.headers.get('connection')]).toEqual([200, 'close']);
  expect((await fetch(`http://127.0.0.1:${door.port}/v1/models`)).status).toBe(401);
});

test('while it stops the process is alive and takes nothing', async () => {
  door.drain();
  expect(await ask('/healthz')).toMatchObject(well);
  expect(await ask('/readyz')).toMatchObject({ status: 503, body: { ok: false, hindrances: ['draining'] } });
});
