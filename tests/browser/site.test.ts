/** Routes, frame, ways in, accounts: what the first document says of the console, tried in a browser. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { en } from '../../web/locales/en.ts';
import { zh } from '../../web/locales/zh.ts';
import { type Inside, openInside, stored, widthOf } from './inside.ts';
import { settled } from './support.ts';

let inside: Inside;
let page: Page;
let url: string;

beforeAll(async () => {
  inside = await openInside();
  ({ page } = inside);
  ({ url } = inside.stage);
  await inside.ask('POST', '/api/user/', { username: 'ann', password: 'password1', display_name: 'Ann' });
});
afterAll(() => inside?.stage.close());

/** Has a cookie and does not know it yet: what it is told to be, it is. */
async function withSession(): Promise<Page> {
  const guest = await inside.guest();
  const login = { data: { username: 'root', password: 'password1' }, headers: { origin: url } };
  expect((await guest.request.post(`${url}/api/user/login`, login)).status()).toBe(200);
  return guest;
}

const heading = async (where: Page, path: string): Promise<string> => {
  await where.goto(`${url}/${path}`);
  await where.locator('main h1, main [role=alert]').first().waitFor();
  return (await where.locator('main h1').first().textContent()) ?? '';
};

test('pages for everybody open, the others ask for a login first', async () => {
  const guest = await inside.guest();
  const guarded =
    'channel channel/edit/1 channel/add token playground redemption user user/edit/1 user/edit setting personal topup log detail midjourney task';
  for (const path of guarded.split(' ')) {
    await guest.goto(`${url}/${path}`);
    await guest.waitForURL('**/login');
  }
  for (const path of ['', 'pricing', 'about', 'login', 'register', 'reset']) {
    await guest.goto(`${url}/${path}`);
    await settled(guest);
    expect(new URL(guest.url()).pathname).toBe(`/${path}`);
    expect(await guest.locator('main').textContent()).not.toContain(en.site.notFoundText);
  }
  // Unguarded, but of no use without an account: it says so and leads to the tokens, and so to the login.
  await guest.goto(`${url}/chat/0`);
  await guest.getByText(en.chat.login).waitFor();
  await guest.waitForURL('**/login');
  for (const path of guarded.split(' '))
    expect([path, await heading(page, path)]).not.toEqual([path, en.site.notFound]);
  await guest.close();
});

test('the top bar has the theme, the languages, and who is inside', async () => {
  await inside.open('');
  const bar = page.locator('header').first();
  const theme = await page.locator('html').getAttribute('data-theme');
  await bar.getByRole('button', { name: en.app.theme }).click();
  expect(await page.locator('html').getAttribute('data-theme')).not.toBe(theme);
  await bar.getByRole('button', { name: en.app.languageMenu }).click();
  for (const name of ['中文', 'English']) await page.getByRole('menuitem', { name }).waitFor();
  await page.keyboard.press('Escape');
  await bar.getByRole('button', { name: 'root' }).click();
  await page.getByRole('menuitem', { name: en.app.logout }).waitFor();
  await page.keyboard.press('Escape');
});

test('the language of the console is saved for its user: that of the page first, then the one that is picked', async () => {
  const saved = async () => ((await inside.ask('GET', '/api/user/self')) as { setting: string }).setting;
  const bar = page.locator('header').first();
  const pick = async (menu: string, name: string) => {
    await bar.getByRole('button', { name: menu }).click();
    await page.getByRole('menuitem', { name }).click();
  };
  await inside.open('');
  await expect.poll(saved).toContain('"language":"en"');
  await pick(en.app.languageMenu, '中文');
  await expect.poll(saved).toContain('"language":"zh"');
  await pick(zh.app.languageMenu, 'English');
  await expect.poll(saved).toContain('"language":"en"');
});

test('registration is not offered on a phone, nor where one person uses the site', async () => {
  const guest = await inside.guest();
  const link = guest.getByRole('banner').getByRole('link', { name: en.nav.register });
  await guest.goto(url);
  await link.waitFor();
  await guest.setViewportSize({ width: 599, height: 800 });
  await link.waitFor({ state: 'hidden' });
  await guest.setViewportSize({ width: 1280, height: 800 });
  await inside.set({ SelfUseModeEnabled: 'true' });
  await guest.goto(url);
  await guest.getByRole('banner').getByRole('link', { name: en.nav.login }).waitFor();
  expect(await link.count()).toBe(0);
  await inside.set({ SelfUseModeEnabled: 'false' });
  await guest.close();
});

test('the sidebar is 200 or 60 pixels wide, remembers it, and is away on some pages and on phones', async () => {
  const bar = `nav[aria-label="${en.app.menu}"]`;
  for (const path of ['', 'chat/0']) {
    await page.goto(`${url}/${path}`);
    await page.locator('main').waitFor();
    expect(await page.locator(bar).count()).toBe(0);
  }
  await inside.open('token');
  expect(await widthOf(page, bar)).toBe(200);
  await page.locator(bar).getByRole('button', { name: en.nav.fold }).click();
  expect(await widthOf(page, bar)).toBe(60);
  expect(await stored(page, 'default_collapse_sidebar')).toBe('true');
  await inside.open('token');
  expect(await widthOf(page, bar)).toBe(60);
  await page.setViewportSize({ width: 600, height: 800 });
  expect(await page.locator(bar).isVisible()).toBe(true);
  await page.setViewportSize({ width: 599, height: 800 });
  expect(await page.locator(bar).isVisible()).toBe(false);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.evaluate(() => localStorage.removeItem('default_collapse_sidebar'));
  await inside.set({ DefaultCollapseSidebar: 'true' });
  await inside.open('token');
  expect(await widthOf(page, bar)).toBe(60);
  await inside.set({ DefaultCollapseSidebar: 'false' });
});

test('the footer is the credit with the version, or what the site has written', async () => {
  await inside.open('token');
  const version = ((await inside.ask('GET', '/api/status')) as { version: string }).version;
  await page.getByText(`${en.app.credit} ${version}`).waitFor();
  await inside.set({ Footer: '<b>our own foot</b>' });
  await inside.open('token');
  await page.frameLocator('iframe').first().getByText('our own foot').waitFor();
  expect(await page.getByText(`${en.app.credit} ${version}`).count()).toBe(0);
  await inside.set({ Footer: '' });
});

test('services to log in with are offered as the site has them', async () => {
  const services = {
    GitHubOAuthEnabled: 'GitHub',
    'oidc.enabled': 'OIDC',
    LinuxDOOAuthEnabled: 'Linux DO',
    WeChatAuthEnabled: en.account.wechat,
    TelegramOAuthEnabled: 'Telegram',
  };
  const button = (name: string) => en.account.with.replace('{{name}}', name);
  const guest = await inside.guest();
  for (const path of ['login', 'register']) {
    await guest.goto(`${url}/${path}`);
    await settled(guest);
    for (const name of Object.values(services))
      expect([name, await guest.getByRole('button', { name: button(name) }).count()]).toEqual([name, 0]);
  }
  await inside.set({
    ...{ GitHubClientId: 'id', GitHubClientSecret: 'secret', LinuxDOClientId: 'id', LinuxDOClientSecret: 'secret' },
    ...{
      'oidc.client_id': 'id',
      'oidc.client_secret': 'secret',
      'oidc.authorization_endpoint': 'https://id.example/a',
    },
    ...{ 'oidc.token_endpoint': 'https://id.example/t', 'oidc.user_info_endpoint': 'https://id.example/u' },
    ...{ TelegramBotToken: '12345:secret', TelegramBotName: 'bot', WeChatServerAddress: 'https://wechat.example' },
    ...{ WeChatServerToken: 'token', WeChatAccountQRCodeImageURL: 'https://wechat.example/code.png' },
    ...Object.fromEntries(Object.keys(services).map((key) => [key, 'true'])),
  });
  for (const path of ['login', 'register']) {
    await guest.goto(`${url}/${path}`);
    await settled(guest);
    for (const name of Object.values(services)) await guest.getByRole('button', { name: button(name) }).waitFor();
    await guest.getByRole('button', { name: button(en.account.wechat) }).click();
    const modal = guest.getByRole('dialog');
    expect(await modal.getByRole('img').getAttribute('src')).toBe('https://wechat.example/code.png');
    await modal.getByLabel(en.account.code).waitFor();
    expect(await modal.textContent()).toMatch(/three minutes|3 minutes/);
  }
  await inside.set(Object.fromEntries(Object.keys(services).map((key) => [key, 'false'])));
  await guest.close();
});

test('an invitation is kept, and sent with the registration', async () => {
  const guest = await inside.guest();
  await guest.goto(`${url}/login?aff=Ab12`);
  await settled(guest);
  expect(await stored(guest, 'aff')).toBe('Ab12');
  await guest.goto(`${url}/register?aff=Cd34`);
  await settled(guest);
  expect(await stored(guest, 'aff')).toBe('Cd34');
  await guest.getByRole('main').getByRole('link', { name: en.account.haveAccount }).waitFor();
  let sent = '';
  await guest.route('**/api/user/register*', (route) => {
    sent = route.request().postData() ?? '';
    return route.fulfill({ json: { success: true, message: '', data: null } });
  });
  await guest.getByLabel(en.setup.username).fill('bob');
  await guest.getByLabel(en.login.password, { exact: true }).fill('password1');
  await guest.getByLabel(en.account.password2).fill('password1');
  await guest.getByRole('button', { name: en.account.register }).click();
  await guest.waitForURL('**/login');
  expect(JSON.parse(sent)).toMatchObject({ username: 'bob', aff_code: 'Cd34' });
  await guest.close();
});

test('where addresses are checked the form wants a code, and asks for one every 30 seconds', async () => {
  await inside.set({ EmailVerificationEnabled: 'true' });
  const guest = await inside.guest();
  await guest.route('**/api/verification*', (route) =>
    route.fulfill({ json: { success: true, message: '', data: null } }),
  );
  await guest.clock.install();
  await guest.goto(`${url}/register`);
  await guest.getByLabel(en.account.email).fill('bob@example.com');
  await guest.getByLabel(en.account.code).waitFor();
  await guest.getByRole('button', { name: en.account.sendCode }).click();
  const again = (seconds: number) =>
    guest.getByRole('button', { name: en.account.again.replace('{{seconds}}', `${seconds}`) });
  await again(30).waitFor();
  expect(await again(30).isDisabled()).toBe(true);
  await guest.clock.runFor(29_000);
  await again(1).waitFor();
  await guest.clock.runFor(1500);
  await guest.getByRole('button', { name: en.account.sendCode }).waitFor();
  await inside.set({ EmailVerificationEnabled: 'false' });
  await guest.close();
});

test('the form is not sent before the bot check is done', async () => {
  const guest = await inside.guest();
  const calls: string[] = [];
  guest.on('request', (request) => {
    if (request.method() === 'POST') calls.push(request.url());
  });
  await guest.route('https://challenges.cloudflare.com/**', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: '' }),
  );
  await guest.route('**/api/status', async (route) => {
    const answer = (await (await route.fetch()).json()) as { data: object };
    return route.fulfill({
      json: { ...answer, data: { ...answer.data, turnstile_check: true, turnstile_site_key: 'site-key' } },
    });
  });
  await guest.goto(`${url}/login`);
  await guest.getByLabel(en.login.username).fill('ann');
  await guest.getByLabel(en.login.password, { exact: true }).fill('password1');
  await guest.getByRole('button', { name: en.login.submit, exact: true }).click();
  await guest.getByText(en.account.botWait).waitFor();
  await guest.goto(`${url}/register`);
  await guest.getByLabel(en.setup.username).fill('bob');
  await guest.getByLabel(en.login.password, { exact: true }).fill('password1');
  await guest.getByLabel(en.account.password2).fill('password1');
  await guest.getByRole('button', { name: en.account.register }).click();
  await guest.getByText(en.account.botWait).waitFor();
  expect(calls).toEqual([]);
  await guest.close();
});

test('a login with the default password shows a warning', async () => {
  const guest = await withSession();
  const user = await inside.ask('GET', '/api/user/self');
  await guest.route('**/api/user/login*', (route) =>
    route.fulfill({ json: { success: true, message: '', data: user } }),
  );
  await guest.goto(`${url}/login`);
  await guest.getByLabel(en.login.username).fill('root');
  await guest.getByLabel(en.login.password, { exact: true }).fill('123456');
  await guest.getByRole('button', { name: en.login.submit, exact: true }).click();
  await guest.getByRole('dialog').getByText(en.account.defaultText).waitFor();
  await guest.close();
});

test('a callback of another service exchanges its code and state, and goes on by the response', async () => {
  const come = async (type: string, answer: object) => {
    const guest = await withSession();
    let requested = '';
    let answerNow: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      answerNow = resolve;
    });
    await guest.route(`**/api/oauth/${type}?*`, async (route) => {
      requested = route.request().url();
      await held;
      return route.fulfill({ json: answer });
    });
    await guest.goto(`${url}/oauth/${type}?code=c0de&state=st4te`);
    await guest.getByText(en.account.processing).waitFor();
    answerNow();
    await guest.waitForURL((to) => !to.pathname.startsWith('/oauth'));
    expect(Object.fromEntries(new URL(requested).searchParams)).toEqual({ code: 'c0de', state: 'st4te' });
    return guest;
  };
  const user = await inside.ask('GET', '/api/user/self');
  for (const type of ['github', 'oidc', 'linuxdo']) {
    const guest = await come(type, { success: true, message: '', data: user });
    await guest.getByText(en.account.welcome).first().waitFor();
    expect(JSON.parse((await stored(guest, 'user')) ?? '{}')).toMatchObject({ username: 'root' });
    expect(new URL(guest.url()).pathname).toBe('/token');
    await guest.close();
  }
  const rejected = await come('github', { success: false, message: 'the code is used up', code: 'x' });
  await rejected
    .getByText(/the code is used up/)
    .first()
    .waitFor();
  await rejected
    .getByText(new RegExp(en.account.failed.replace('.', '\\.')))
    .first()
    .waitFor();
  await rejected.close();
  // Somebody inside comes out at the settings; who may not see those, at their own.
  await page.route('**/api/oauth/github?*', (route) =>
    route.fulfill({ json: { success: false, message: 'not this time', code: 'x' } }),
  );
  await page.goto(`${url}/oauth/github?code=c&state=s`);
  await page.waitForURL('**/setting');
  await page
    .getByText(/not this time/)
    .first()
    .waitFor();
  await page.unroute('**/api/oauth/github?*');
  const guest = await withSession();
  await guest.goto(`${url}/nowhere`);
  await guest.evaluate((text) => localStorage.setItem('user', text), JSON.stringify({ ...(user as object), role: 1 }));
  await guest.goto(`${url}/setting`);
  await guest.waitForURL('**/personal');
  await guest.close();
});

test('users are searched, narrowed to a group, shown with all their figures, and acted on', async () => {
  await inside.open('user');
  await page.getByRole('searchbox', { name: en.users.keyword }).waitFor();
  await page.getByRole('button', { name: en.users.group, exact: true }).first().click();
  await page.getByRole('option', { name: 'vip', exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: en.users.add }).waitFor();
  await page.setViewportSize({ width: 1900, height: 800 });
  const { id, username, group, role, status, quota, used, requests, invited } = en.users;
  // A narrow window has fewer of them.
  await page.getByRole('columnheader', { name: invited }).waitFor();
  // The column that sorts has an arrow besides.
  const heads = (await page.locator('thead th').allTextContents()).map((text) => text.replace(/[↑↓]/, '').trim());
  for (const head of [id, username, group, role, status, quota, used, requests, invited]) expect(heads).toContain(head);
  const row = page.locator('tbody tr', { hasText: 'ann' });
  expect(await row.textContent()).toContain('Ann');
  await row.getByRole('button', { name: en.app.edit }).waitFor();
  const more = async (name: string) => {
    await row.getByRole('button', { name: en.table.moreOf.replace('{{name}}', 'ann') }).click();
    await page.getByRole('menuitem', { name: en.users.close }).waitFor();
    await page.getByRole('menuitem', { name }).click();
  };
  await more(en.users.ban);
  await row.getByText(en.users.banned).waitFor();
  await more(en.app.enable);
  await row.getByText(en.users.active).waitFor();
  await more(en.users.promote);
  await row.getByText(en.users.role10).waitFor();
  await more(en.users.demote);
  await row.getByText(en.users.role1).waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole('searchbox', { name: en.users.keyword }).fill('ann');
  await page.locator('tbody tr', { hasText: 'root' }).waitFor({ state: 'detached' });
});

test('drawers of users have their fields; quota may be taken away, bindings are only read', async () => {
  await inside.open('user/edit');
  await page.getByRole('dialog').getByLabel(en.users.username).waitFor();
  const labels = () => page.getByRole('dialog').locator('label').allTextContents();
  expect(await labels()).toEqual([en.users.username, en.users.displayName, en.users.password]);
  await inside.open('user/edit/2');
  await page.getByRole('dialog').getByLabel(en.users.addQuota).waitFor();
  expect(await labels()).toEqual([
    en.users.addQuota,
    en.users.username,
    en.users.displayName,
    en.users.password,
    en.users.group,
  ]);
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByLabel(en.users.password, { exact: true }).inputValue()).toBe('');
  expect(await dialog.locator('dl input').count()).toBe(0);
  for (const name of ['email', 'github_id', 'oidc_id', 'wechat_id', 'telegram_id', 'linux_do_id'] as const)
    await dialog.locator('dt', { hasText: en.users[name] }).first().waitFor();
  const quota = async () => ((await inside.ask('GET', '/api/user/2')) as { quota: number }).quota;
  await inside.ask('PUT', '/api/user/', {
    id: 2,
    username: 'ann',
    display_name: 'Ann',
    group: 'default',
    add_quota: 5000,
  });
  const before = await quota();
  await dialog.getByLabel(en.users.addQuota).fill('-$0.004');
  await dialog.getByRole('button', { name: en.app.save }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await quota()).toBe(before - 2000);
});

test('the own page has balance, invitation, bindings, alerts, models, and what is done to an account', async () => {
  const code = (await inside.ask('GET', '/api/user/aff')) as string;
  await inside.open('personal');
  const main = page.locator('main');
  for (const text of [en.personal.balance, en.personal.bindings, en.personal.notifications, en.personal.acceptUnset])
    await main.getByText(text, { exact: true }).first().waitFor();
  expect(await page.getByLabel(en.personal.invite).last().inputValue()).toBe(`${url}/register?aff=${code}`);
  await main.getByRole('link', { name: en.personal.transfer }).waitFor();
  const lines = await main.locator('dl dt').allTextContents();
  for (const name of [en.account.email, en.account.wechat, 'Telegram', 'GitHub', 'OIDC', 'Linux DO'])
    expect(lines).toContain(name);
  // Red, and for the super administrator alone.
  const tag = main.getByText(en.users.role100, { exact: true }).first();
  const red = await tag.evaluate((one) => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.className = 'text-danger';
    const [wanted, found] = [getComputedStyle(probe).color, getComputedStyle(one).color];
    probe.remove();
    return wanted === found;
  });
  expect(red).toBe(true);
  await page.getByRole('button', { name: en.personal.accessToken }).click();
  const token = await page.getByRole('dialog').getByRole('textbox').inputValue();
  expect(token).not.toBe('');
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(token);
  await page.keyboard.press('Escape');
});

test('closing the account wants its name, a new password the same text twice', async () => {
  await inside.open('personal');
  const dialog = page.getByRole('dialog');
  const calls: string[] = [];
  const watch = (request: { method: () => string; url: () => string }) => {
    if (request.method() !== 'GET') calls.push(request.url());
  };
  page.on('request', watch);
  await page.locator('main').getByRole('button', { name: en.personal.close }).click();
  await dialog.getByRole('textbox').fill('somebody');
  await dialog.getByRole('button', { name: en.personal.close }).click();
  await page.getByText(en.personal.typeName).first().waitFor();
  await page.keyboard.press('Escape');
  await page.locator('main').getByRole('button', { name: en.personal.changePassword }).click();
  await dialog.getByLabel(en.account.newPassword).fill('password2');
  await dialog.getByLabel(en.account.password2).fill('password3');
  await dialog.getByRole('button', { name: en.personal.changePassword }).click();
  await dialog.getByText(en.account.passwordsDiffer).waitFor();
  expect(calls).toEqual([]);
  page.off('request', watch);
});

test('an address is bound with a code, which is asked for every 30 seconds; alerts have their fields', async () => {
  await inside.open('personal');
  const main = page.locator('main');
  const labels = [en.personal.threshold, en.personal.noticeEmail, en.personal.acceptUnset];
  for (const label of labels) await main.getByLabel(label, { exact: true }).waitFor();
  expect(await page.locator('#thresholds option').count()).toBe(4);
  await main.getByText(en.personal.webhook, { exact: true }).click();
  for (const label of [en.personal.webhookUrl, en.personal.webhookSecret])
    await main.getByLabel(label, { exact: true }).waitFor();
  await page.route('**/api/verification*', (route) =>
    route.fulfill({ json: { success: true, message: '', data: null } }),
  );
  await main.getByRole('button', { name: `${en.account.email}: ${en.personal.bind}` }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(en.account.code).waitFor();
  await dialog.getByLabel(en.account.email).fill('root@example.com');
  await dialog.getByRole('button', { name: en.account.sendCode }).click();
  await dialog.getByRole('button', { name: /(30|29|28)/ }).waitFor();
  await page.unroute('**/api/verification*');
});

test('browser storage uses the names of the family', async () => {
  await page.evaluate(() => localStorage.removeItem('aff'));
  await inside.set({
    Chats: '[{"a chat":"https://chat.example/#{key}"}]',
    ...{ TopUpLink: 'https://shop.example', ServerAddress: url, MinTopUp: '2' },
    ...{ DrawingEnabled: 'true', 'general_setting.docs_link': 'https://docs.example' },
  });
  await inside.open('channel');
  await page.getByLabel(en.channels.idSort).check();
  await page.getByRole('button', { name: en.app.theme }).click();
  await page.getByRole('button', { name: en.nav.fold }).click();
  await inside.open('register?aff=Zz99').catch(() => undefined);
  const kept = await page.evaluate(() => Object.keys(localStorage));
  const wanted =
    'user status channel_models chats theme-mode default_collapse_sidebar mj_notify_enabled enable_data_export enable_drawing enable_task i18nextLng id-sort server_address top_up_link min_topup enable_online_topup aff';
  for (const name of wanted.split(' ')) expect(kept).toContain(name);
  expect(JSON.parse((await stored(page, 'channel_models')) ?? '{}')).toHaveProperty('1');
  await page.evaluate(() => localStorage.removeItem('default_collapse_sidebar'));
});

test('an unreachable server is reported, also during set-up', async () => {
  const guest = await inside.guest();
  await guest.route('**/api/status', (route) => route.abort());
  await guest.goto(url);
  await guest.getByText(en.app.unreachable).waitFor();
  await guest.close();
  expect(zh.app.unreachable).not.toBe(en.app.unreachable);
});

test('set-up says why it failed, may be tried again, and reloads the console after 1.5 s', async () => {
  const guest = await inside.guest();
  let mode: 'status' | 'network' | 'refused' | 'fine' = 'status';
  let done = false;
  await guest.route('**/api/status', async (route) => {
    const answer = (await (await route.fetch()).json()) as { data: object };
    return route.fulfill({ json: { ...answer, data: { ...answer.data, setup: done } } });
  });
  await guest.route('**/api/setup', async (route) => {
    if (route.request().method() === 'GET') {
      if (mode === 'status') return route.abort();
      return route.fulfill({
        json: { success: true, message: '', data: { status: false, root_init: true, database_type: 'sqlite' } },
      });
    }
    if (mode === 'network') return route.abort();
    if (mode === 'refused') return route.fulfill({ json: { success: false, message: 'the disk is full', code: 'x' } });
    done = true;
    return route.fulfill({ json: { success: true, message: '', data: null } });
  });
  await guest.goto(`${url}/token`);
  await guest.waitForURL('**/setup');
  await guest.getByText(en.setup.loadFailed).waitFor({ timeout: 20_000 });
  mode = 'network';
  await guest.getByRole('button', { name: en.app.retry }).click();
  const run = guest.getByRole('button', { name: en.setup.run, exact: true });
  await run.click();
  await guest.getByText(en.setup.failed).waitFor();
  expect(await run.isEnabled()).toBe(true);
  mode = 'refused';
  await run.click();
  await guest.getByText('the disk is full').waitFor();
  mode = 'fine';
  await guest.clock.install();
  await guest.clock.pauseAt(Date.now() + 3_600_000);
  await guest.evaluate(() => Object.assign(window, { before: true }));
  await run.click();
  await guest.getByText(en.setup.done).waitFor();
  await guest.clock.runFor(1300);
  expect(await guest.evaluate(() => 'before' in window)).toBe(true);
  await guest.clock.runFor(300);
  await guest.waitForFunction(() => !('before' in window));
  // Once it is done there is no way back to it.
  await guest.clock.resume();
  await guest.goto(`${url}/setup`);
  await guest.waitForURL((to) => to.pathname === '/');
  await guest.close();
});

test('copied text is shown, a key only by its ends', async () => {
  await inside.open('personal');
  await page
    .locator('main')
    .getByRole('region', { name: en.personal.invite })
    .getByRole('button', { name: en.app.copy })
    .click();
  await page
    .locator('[data-sonner-toast]', { hasText: en.app.copied })
    .getByText(/register\?aff=/)
    .waitFor();
  await inside.open('token');
  await page.locator('tbody').getByRole('button', { name: en.app.copy }).first().click();
  const toast = page.locator('[data-sonner-toast]', { hasText: en.app.copied });
  await toast.getByText(/^sk-.{4}….{4}$/).waitFor();
});
