/** `gateway statusline`: what an agent shows below its prompt. */

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lineOf, statusline } from '../../cli/commands/connection/statusline.ts';
import type { Context } from '../../cli/context.ts';
import { writeContexts } from '../../cli/contexts.ts';
import { keep } from '../../cli/sign-in.ts';

const unlimited = {
  object: 'token_usage' as const,
  name: 'k',
  total_granted: 0,
  total_used: 0,
  total_available: 0,
  unlimited_quota: true,
  model_limits: {},
  model_limits_enabled: false,
  expires_at: 0,
  day: { used: 210_000, limit: 0 },
  month: { used: 4_000_000, limit: 0 },
  balance: 20_000_000,
  quota_per_unit: 500_000,
  display_in_currency: true,
};
const english = (_zh: string, en: string): string => en;
const chinese = (zh: string): string => zh;

test('without a budget the line names the spend of the day and the balance', () => {
  expect(lineOf(unlimited, english)).toBe('today $0.42 · balance $40.00');
  expect(lineOf(unlimited, chinese)).toBe('今日 $0.42 · 余额 $40.00');
});

test.each([
  [1_849_999, 'today $3.70 of $5.00'],
  [1_874_999, 'today $3.75 of $5.00'],
  [1_875_000, 'today $3.75 of $5.00 (75 %)'],
  [2_500_000, 'today $5.00 of $5.00 (100 %)'],
])('of a budget of a day %i are shown as: %s', (used, words) => {
  expect(lineOf({ ...unlimited, day: { used, limit: 2_500_000 } }, english)).toBe(`${words} · balance $40.00`);
});

test('the budget of a month and the limit of the key stand where there are any', () => {
  const usage = {
    ...unlimited,
    month: { used: 4_000_000, limit: 5_000_000 },
    unlimited_quota: false,
    total_available: 500_000,
  };
  expect(lineOf(usage, english)).toBe(
    'today $0.42 · this month $8.00 of $10.00 (80 %) · key $1.00 left · balance $40.00',
  );
});

test('a site that shows no currency shows quota', () => {
  expect(lineOf({ ...unlimited, display_in_currency: false }, english)).toBe('today 210.0k · balance 20.0M');
});

let home: string;
let site: Server;
let url: string;
let asked: string[];
let status: number;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'statusline-'));
  asked = [];
  status = 200;
  site = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ data: unlimited }));
  });
  await new Promise<void>((done) => site.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
});
afterEach(() => {
  site.close();
  rmSync(home, { recursive: true });
});

async function shown(more: Readonly<Record<string, string>> = {}): Promise<string> {
  let line = '';
  const output = {
    object(_value: unknown, [first = '']: readonly string[]) {
      line = first;
    },
  };
  const env = { HOME: home, GATEWAY_NO_KEYRING: '1', ...more };
  await statusline({ env, flags: {}, language: 'en', say: english, output } as unknown as Context, {}, '', []);
  return line;
}
const signedIn = async () => {
  writeContexts({ HOME: home }, { current: 'work', contexts: { work: { url, token: '', user: 1, signedIn: 'ann' } } });
  const end = Date.now() + 3_600_000;
  await keep({ HOME: home, GATEWAY_NO_KEYRING: '1' }, 'work', { refresh: 'r', access: 'gas_a', renewAt: end, end });
};

test('the line is asked for with the key that the agent has, else as whoever is signed in, and in one request', async () => {
  await signedIn();
  expect(await shown()).toBe('today $0.42 · balance $40.00');
  expect(await shown({ ANTHROPIC_BASE_URL: `${url}/`, ANTHROPIC_AUTH_TOKEN: 'sk-b' })).toContain('today');
  expect(asked).toEqual(['GET /api/usage/token/ Bearer gas_a', 'GET /api/usage/token/ Bearer sk-b']);
});

test('the line says that a user is signed out, or that the site is away', async () => {
  expect(await shown()).toBe('Signed out: run gateway login URL');
  await signedIn();
  status = 401;
  expect(await shown()).toBe(`Signed out: run gateway login ${url}`);
  status = 503;
  expect(await shown()).toContain('Cannot reach the server');
});
