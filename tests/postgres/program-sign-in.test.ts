/** Two nodes as processes of their own, and programs that sign in at either of them while one is killed: what was begun, approved or given out on one holds at the other. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openServingSite, type ServingNode, type ServingSite } from './serving.ts';

let site: ServingSite;
let first: ServingNode;
let second: ServingNode;
let cookie: Readonly<Record<string, string>>;

const json = { 'content-type': 'application/json' };
beforeAll(async () => {
  site = await openServingSite();
  first = await site.start();
  await first.client.call('setup.run', {
    ...{ username: 'root', password: 'password1', confirmPassword: 'password1' },
  } as never);
  await first.client.call('option.set', { key: 'agents.sign_in', value: 'true' });
  second = await site.start();
  const body = JSON.stringify({ username: 'root', password: 'password1' });
  const response = await fetch(`${second.url}/api/user/login`, { method: 'POST', headers: json, body });
  const sent = response.headers.getSetCookie().map((one) => one.split(';')[0]);
  cookie = { ...json, cookie: sent.join('; '), 'new-api-user': '1', 'sec-fetch-site': 'same-origin' };
});
afterAll(() => site.close());

interface Words {
  readonly error?: string;
  readonly user_code: string;
  readonly device_code: string;
  readonly access_token: string;
  readonly refresh_token: string;
}
const post = async (node: ServingNode, path: string, form: Record<string, string>): Promise<Words> => {
  const response = await fetch(node.url + path, { method: 'POST', body: new URLSearchParams(form) });
  return (await response.json()) as Words;
};
const begin = (node: ServingNode) =>
  post(node, '/oauth/device_authorization', { client_id: 'gateway', host: 'laptop' });
const decide = async (node: ServingNode, code: string) => {
  const body = JSON.stringify({ code, approve: true });
  const response = await fetch(`${node.url}/api/device/decide`, { method: 'POST', headers: cookie, body });
  return ((await response.json()) as { success: boolean }).success;
};
const redeem = (node: ServingNode, code: string) =>
  post(node, '/oauth/token', {
    ...{ grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: code },
  });
const renew = (node: ServingNode, token: string) =>
  post(node, '/oauth/token', { grant_type: 'refresh_token', refresh_token: token });
/** 401 = the token is nobody's; without a channel there is nothing else to be had. */
const isKnown = async (node: ServingNode, token: string): Promise<boolean> => {
  const response = await fetch(`${node.url}/v1/models`, { headers: { authorization: `Bearer ${token}` } });
  return response.status === 200;
};
/** Killed without a word, and another in its place. */
async function replaceFirst(): Promise<void> {
  await first.stop('SIGKILL');
  first = await site.start();
}

test('a code that waits outlives the node it was begun on, is approved on another, and serves once on a third', async () => {
  const waiting = await begin(first);
  await replaceFirst();
  expect((await redeem(second, waiting.device_code)).error).toBe('authorization_pending');
  expect(await decide(second, waiting.user_code)).toBe(true);
  await replaceFirst();
  const given = await redeem(first, waiting.device_code);
  expect(given.error).toBe(undefined);
  // Replayed on the other one.
  expect((await redeem(second, waiting.device_code)).error).toBe('expired_token');
  expect(await decide(first, waiting.user_code)).toBe(false);
  await expect.poll(() => isKnown(second, given.access_token)).toBe(true);

  const next = await renew(second, given.refresh_token);
  await replaceFirst();
  expect((await renew(first, given.refresh_token)).error).toBe('invalid_grant');
  const last = await renew(first, next.refresh_token);
  expect(last.error).toBe(undefined);
  await post(second, '/oauth/revoke', { token: last.refresh_token });
  await expect.poll(() => isKnown(first, last.access_token)).toBe(false);
  expect((await renew(first, last.refresh_token)).error).toBe('invalid_grant');
}, 120_000);
