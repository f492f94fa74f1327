/** A person approves a program in the browser: signed out at first, on a phone, by keyboard alone, in both languages. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { en } from '../../web/locales/en.ts';
import { zh } from '../../web/locales/zh.ts';
import { logIn, openStage, type Stage, settled, shot, violationsOn } from './support.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
  const ok = async (args: readonly string[], input = '') => {
    const ran = await stage.sandbox.run(args, input);
    if (ran.code !== 0) throw new Error(ran.err);
  };
  await ok(['setup', '--username', 'root', '--password-stdin'], 'password1\n');
  await ok(['option', 'set', 'agents.sign_in=true']);
});
afterAll(() => stage?.close());

interface Codes {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
}
const post = async (path: string, form: Record<string, string>) => {
  const response = await fetch(`${stage.url}${path}`, { method: 'POST', body: new URLSearchParams(form) });
  return (await response.json()) as Codes & { readonly error?: string; readonly access_token?: string };
};
const begin = (host: string): Promise<Codes> => post('/oauth/device_authorization', { client_id: 'gateway', host });
const redeem = (code: string) =>
  post('/oauth/token', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: code });

/** Nothing is wider than the screen, and nothing breaks a rule. */
async function isSound(page: Page): Promise<void> {
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  expect(await violationsOn(page)).toEqual([]);
}
const focusedText = (page: Page): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? '');

test.each([
  ['en', en],
  ['zh', zh],
] as const)(
  'a program is approved on a phone in %s, by keyboard, after the login that comes between',
  async (language, words) => {
    const page = await stage.newPage(await stage.newContext(true));
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${stage.url}/login`);
    await page.evaluate((name) => localStorage.setItem('i18nextLng', name), language);
    const { device_code: device, user_code: code, verification_uri_complete: address } = await begin('laptop');
    await page.goto(address);
    // The login leads back, with the code in the field.
    await page.waitForURL('**/login**');
    await page.locator('input[name=username]').fill('root');
    await page.locator('input[name=password]').fill('password1');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/device**');
    await settled(page);
    const field = page.locator('input[name=code]');
    expect(await field.inputValue()).toBe(code);
    await isSound(page);
    await shot(page, `device-code-${language}-390.png`);

    await field.focus();
    await page.keyboard.press('Enter');
    await page.getByText('laptop').first().waitFor();
    await settled(page);
    // Enter pressed twice approves nothing: the heading has the focus.
    expect(await focusedText(page)).toContain('laptop');
    await page.keyboard.press('Enter');
    await settled(page);
    expect(await page.getByText(words.device.approved).count()).toBe(0);
    await isSound(page);
    await shot(page, `device-decision-${language}-390.png`);

    await page.keyboard.press('Tab');
    expect(await focusedText(page)).toBe(words.device.approve);
    await page.keyboard.press('Enter');
    await page.getByText(words.device.approved).waitFor();
    expect(await focusedText(page)).toBe(words.device.approved);
    await isSound(page);
    expect((await redeem(device)).access_token).toMatch(/^gas_/);
    await page.context().close();
  },
);

test.each([
  ['en', en],
  ['zh', zh],
] as const)(
  'a program that sent the browser is approved on a small screen in %s, and the browser comes back to it with its code',
  async (language, words) => {
    const came: URLSearchParams[] = [];
    const program = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://127.0.0.1');
      if (pathname === '/callback') came.push(searchParams);
      response.end('signed in');
    });
    await new Promise<void>((done) => program.listen(0, '127.0.0.1', done));
    const redirect = `http://127.0.0.1:${(program.address() as AddressInfo).port}/callback`;
    const verifier = 'v'.repeat(64);
    const asked = {
      ...{ response_type: 'code', client_id: 'codex', redirect_uri: redirect, state: 'one' },
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    };
    const page = await stage.newPage(await stage.newContext(true));
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${stage.url}/login`);
    await page.evaluate((name) => localStorage.setItem('i18nextLng', name), language);
    await page.goto(`${stage.url}/oauth/authorize?${new URLSearchParams(asked)}`);
    // The login leads back, with the request still in the address.
    await page.waitForURL('**/login**');
    await page.locator('input[name=username]').fill('root');
    await page.locator('input[name=password]').fill('password1');
    await page.keyboard.press('Enter');
    await page.getByText('Codex').first().waitFor();
    await settled(page);
    expect(await focusedText(page)).toContain('Codex');
    await isSound(page);
    await shot(page, `device-browser-${language}-390.png`);
    await page.keyboard.press('Tab');
    expect(await focusedText(page)).toBe(words.device.approve);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${redirect}?**`);
    expect(came.map((sent) => [...sent.keys()])).toEqual([['code', 'state']]);
    const exchanged = { grant_type: 'authorization_code', client_id: 'codex', redirect_uri: redirect };
    const sent = { ...exchanged, code: came[0]?.get('code') ?? '', code_verifier: verifier };
    expect((await post('/oauth/token', sent)).access_token).toMatch(/^gas_/);

    // Where it is listed.
    await page.goto(`${stage.url}/connect`);
    await page.getByText('Codex on').first().waitFor();
    await settled(page);
    await isSound(page);
    await shot(page, `programs-${language}-390.png`, { fullPage: true });
    await page.context().close();
    program.close();
  },
);

test('a code is typed as the program shows it, a wrong one is said to be wrong beside the field, and one is denied', async () => {
  const page = await stage.newPage(await stage.newContext(true));
  await page.setViewportSize({ width: 390, height: 844 });
  await logIn(page, stage.url, 'root', 'password1');
  await page.goto(`${stage.url}/device`);
  const field = page.getByLabel(en.device.code);
  await field.fill('bbbb-bbbb');
  await page.keyboard.press('Enter');
  await page.getByText('This code is wrong or no longer valid').waitFor();
  await isSound(page);
  const { device_code: device, user_code: code } = await begin('phone');
  await field.fill(code.toLowerCase());
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: en.device.deny }).click();
  await page.getByText(en.device.denied).waitFor();
  expect((await redeem(device)).error).toBe('access_denied');
  await page.context().close();
});

test('the page is shown in no frame of another site', async () => {
  const { headers } = await fetch(`${stage.url}/device`);
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
});
