/** Passkeys with Chromium's virtual authenticator, and what else a reader keeps on the personal page. */
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { logIn, openStage, type Stage, violationsOn } from './support.ts';

let stage: Stage;
let page: Page;
let url: string;
let device: CDPSession;
let authenticatorId: string;

beforeAll(async () => {
  stage = await openStage();
  // Passkeys belong to a name, never to a bare address.
  url = stage.url.replace('127.0.0.1', 'localhost');
  const context = await stage.newContext();
  page = await stage.newPage(context);
  await page.goto(stage.setupLink.replace('127.0.0.1', 'localhost'));
  await page.getByLabel('Username').fill('root');
  await page.getByLabel('Password', { exact: true }).fill('password1');
  await page.getByLabel('Confirm password').fill('password1');
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.waitForURL('**/first');
  device = await context.newCDPSession(page);
  await device.send('WebAuthn.enable');
  ({ authenticatorId } = await device.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  }));
});
afterAll(() => stage?.close());

const credentials = async () => (await device.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
const card = (name: string) => page.getByRole('region', { name, exact: true });
const logOut = async () => {
  await page.evaluate(() => localStorage.removeItem('user'));
  // An open page that finds its session ended goes to the login by itself, in the middle of whatever comes next.
  await page.goto('about:blank');
  const left = await page.request.post(`${url}/api/user/logout`, { headers: { origin: url } });
  expect(left.status()).toBe(200);
  await page.goto(`${url}/login`);
};

test('a passkey is added, logs in without a password, and is of no use once removed', async () => {
  await page.goto(`${url}/personal`);
  const passkeys = card('Passkeys');
  await passkeys.getByPlaceholder('Name of the passkey').fill('laptop');
  await passkeys.getByRole('button', { name: 'Add a passkey' }).click();
  await passkeys.getByText('Never used').waitFor();
  const [made, ...more] = await credentials();
  expect(more).toEqual([]);
  expect(made).toMatchObject({ rpId: 'localhost', isResidentCredential: true });

  await logOut();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.waitForURL('**/token');
  expect((await credentials())[0]?.signCount).toBeGreaterThan(made?.signCount ?? 0);
  await page.goto(`${url}/personal`);
  await passkeys.getByText(/last used/).waitFor();

  // Somebody who cannot be verified at the device stays outside.
  await logOut();
  await device.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.waitForTimeout(800);
  expect(page.url()).toContain('/login');
  await device.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });

  await logIn(page, url, 'root', 'password1');
  await page.goto(`${url}/personal`);
  await passkeys.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await passkeys.getByText('Never used').waitFor({ state: 'detached' });
  await logOut();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByText('The passkey could not be verified').waitFor();
  expect(page.url()).toContain('/login');
  await logIn(page, url, 'root', 'password1');
});

test('an access token is made with scopes, shown once, reads and changes nothing', async () => {
  await page.goto(`${url}/personal`);
  const tokens = card('Scoped access tokens');
  await tokens.getByRole('button', { name: 'New access token' }).click();
  const drawer = page.getByRole('dialog');
  await drawer.getByLabel('Name').fill('backup');
  expect(await violationsOn(page)).toEqual([]);
  await drawer.getByRole('button', { name: 'Create' }).click();
  const token = (await drawer.locator('code').textContent()) ?? '';
  expect(token).toMatch(/^gat_[\w-]{43}$/);
  await drawer.getByRole('button', { name: 'Close' }).click();
  await tokens.getByText('backup').waitFor();
  expect(await tokens.textContent()).not.toContain(token);
  const ask = (method: string, path: string) =>
    fetch(url + path, { method, headers: { authorization: token, 'new-api-user': '1' } });
  expect((await ask('GET', '/api/user/')).status).toBe(200);
  expect((await ask('POST', '/api/token/')).status).toBe(403);
  await tokens.getByRole('button', { name: 'Remove access token backup' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await tokens.getByText('backup').waitFor({ state: 'detached' });
  expect((await ask('GET', '/api/user/')).status).toBe(401);
});

test('a filter is saved and found again in another browser', async () => {
  await page.goto(`${url}/user?q=roo&sort=-id`);
  await page.getByRole('button', { name: 'Saved filters' }).click();
  await page.getByLabel('Name of the filter').fill('my roots');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('button', { name: 'my roots', exact: true }).waitFor();
  const elsewhere = await stage.newPage(await stage.newContext());
  await logIn(elsewhere, url, 'root', 'password1');
  await elsewhere.goto(`${url}/user`);
  await elsewhere.getByRole('button', { name: 'Saved filters' }).click();
  // The library's own focus guards around an open panel are hidden on purpose.
  expect((await violationsOn(elsewhere)).filter((error) => !error.includes('headlessui-focus-sen'))).toEqual([]);
  await elsewhere.getByRole('button', { name: 'my roots', exact: true }).click();
  await elsewhere.waitForURL('**/user?q=roo&sort=-id');
  await elsewhere.getByRole('button', { name: 'Saved filters' }).click();
  await elsewhere.getByRole('button', { name: 'Remove filter my roots' }).click();
  await elsewhere.getByRole('button', { name: 'my roots', exact: true }).waitFor({ state: 'detached' });
});
