/** The process is killed while programs sign in: what was answered holds, what was not yet exchanged is forgotten and gives nothing, and nobody is signed in by it. */
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { createSite, type Serving, type Site } from './support.ts';

let site: Site;
let upstream: Upstream;
let serving: Serving;
let cookie: Readonly<Record<string, string>>;

beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, completion(10, 10)));
  site = createSite();
  await site.setUp(upstream.url);
  await site.ok(['option', 'set', 'agents.sign_in=true', 'SelfUseModeEnabled=true']);
  serving = await site.serve();
  cookie = await session();
});
afterEach(async () => {
  await serving.ended();
  expect((await site.run(['ledger', 'verify'])).code).toBe(0);
  await site.close();
  await upstream.stop();
});

const json = { 'content-type': 'application/json' };
async function session() {
  const body = JSON.stringify({ username: 'root', password: 'password1' });
  const response = await fetch(`${serving.url}/api/user/login`, { method: 'POST', headers: json, body });
  const { data } = (await response.json()) as { data: { id: number } };
  const sent = response.headers.getSetCookie().map((one) => one.split(';')[0]);
  return { ...json, cookie: sent.join('; '), 'new-api-user': String(data.id), 'sec-fetch-site': 'same-origin' };
}

interface Words {
  readonly error?: string;
  readonly user_code: string;
  readonly device_code: string;
  readonly access_token: string;
  readonly refresh_token: string;
}
const post = async (path: string, form: Record<string, string>): Promise<Words> => {
  const response = await fetch(serving.url + path, { method: 'POST', body: new URLSearchParams(form) });
  return (await response.json()) as Words;
};
const call = async (path: string, body: object) => {
  const sent = { method: 'POST', headers: cookie, body: JSON.stringify(body) };
  return (await (await fetch(serving.url + path, sent)).json()) as { success: boolean; data: { redirect: string } };
};
const begin = () => post('/oauth/device_authorization', { client_id: 'gateway', host: 'laptop' });
const decide = (code: string) => call('/api/device/decide', { code, approve: true });
const redeem = (code: string) =>
  post('/oauth/token', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: code });
const renew = (token: string) => post('/oauth/token', { grant_type: 'refresh_token', refresh_token: token });
const chat = async (token: string): Promise<number> => {
  const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
  const headers = { ...json, authorization: `Bearer ${token}` };
  return (await fetch(`${serving.url}/v1/chat/completions`, { method: 'POST', headers, body })).status;
};
const programs = async () => {
  const response = await fetch(`${serving.url}/api/device/`, { headers: cookie });
  return ((await response.json()) as { data: { items: readonly { readonly id: number }[] } }).data.items;
};
/** Without a word, and started anew. */
async function kill(): Promise<void> {
  serving.child.kill('SIGKILL');
  await serving.ended();
  serving = await site.serve();
}
const end = () => serving.child.kill('SIGTERM');

test('codes that wait or are approved are forgotten with the process, and give no key', async () => {
  const waiting = await begin();
  const approved = await begin();
  expect((await decide(approved.user_code)).success).toBe(true);
  await kill();
  expect([(await redeem(waiting.device_code)).error, (await redeem(approved.device_code)).error]).toEqual([
    'expired_token',
    'expired_token',
  ]);
  expect((await decide(waiting.user_code)).success).toBe(false);
  expect(await programs()).toEqual([]);
  // The program asks again, as `gateway login` does by itself.
  const again = await begin();
  expect((await decide(again.user_code)).success).toBe(true);
  expect(await chat((await redeem(again.device_code)).access_token)).toBe(200);
  end();
}, 60_000);

test('tokens that were given out and exchanged hold, and used codes and tokens stay used', async () => {
  const { user_code: code, device_code: device } = await begin();
  await decide(code);
  const first = await redeem(device);
  await kill();
  expect((await redeem(device)).error).toBe('expired_token');
  expect(await chat(first.access_token)).toBe(200);
  const second = await renew(first.refresh_token);
  await kill();
  expect((await renew(first.refresh_token)).error).toBe('invalid_grant');
  expect(await chat(second.access_token)).toBe(200);
  const third = await renew(second.refresh_token);
  expect(third.error).toBe(undefined);
  expect(await programs()).toHaveLength(1);
  end();
}, 60_000);

test('a sign-in that was ended, by the program or by its user, stays ended', async () => {
  const signIn = async () => {
    const { user_code: code, device_code: device } = await begin();
    await decide(code);
    return redeem(device);
  };
  const revoked = await signIn();
  await post('/oauth/revoke', { token: revoked.refresh_token });
  await kill();
  expect([await chat(revoked.access_token), (await renew(revoked.refresh_token)).error]).toEqual([
    401,
    'invalid_grant',
  ]);
  const kept = await signIn();
  const [{ id } = { id: 0 }] = await programs();
  expect((await call('/api/device/end', { id })).success).toBe(true);
  await kill();
  expect([await chat(kept.access_token), (await renew(kept.refresh_token)).error]).toEqual([401, 'invalid_grant']);
  end();
}, 60_000);

test('a code that the browser was given is forgotten with the process, and gives no key', async () => {
  const redirect = 'http://127.0.0.1:1455/callback';
  const verifier = 'v'.repeat(43);
  const request = {
    ...{ client_id: 'codex', redirect_uri: redirect, response_type: 'code', state: 'st' },
    ...{ code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' },
  };
  const exchange = (code: string) =>
    post('/oauth/token', {
      ...{ grant_type: 'authorization_code', code, client_id: 'codex', redirect_uri: redirect },
      code_verifier: verifier,
    });
  const approve = async () => {
    const { data } = await call('/api/device/authorize', { ...request, approve: true });
    return new URL(data.redirect).searchParams.get('code') ?? '';
  };
  const approved = await approve();
  await kill();
  expect((await exchange(approved)).error).toBe('invalid_grant');
  expect(await programs()).toEqual([]);
  const code = await approve();
  const given = await exchange(code);
  await kill();
  expect((await exchange(code)).error).toBe('invalid_grant');
  // A code that nobody remembers ends nothing.
  expect(await chat(given.access_token)).toBe(200);
  end();
}, 60_000);
