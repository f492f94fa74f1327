/** The settings of the site, as the second document has them, tried in a browser. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OptionKey, optionRow } from '../../server/contract/options.ts';
import { en } from '../../web/locales/en.ts';
import { type Inside, openInside } from './inside.ts';
import { choicesOf, choose } from './support.ts';

let inside: Inside;
let page: Page;

beforeAll(async () => {
  inside = await openInside();
  ({ page } = inside);
  const models = Array.from({ length: 12 }, (_, at) => `unpriced-${at + 1}`).join(',');
  await inside.ask('POST', '/api/channel/', {
    ...{ type: 1, key: 'none', base_url: 'http://127.0.0.1:9', group: 'default', name: 'unpriced', models },
  });
});
afterAll(() => inside?.stage.close());

const field = (key: OptionKey): Locator => page.locator(`[data-option="${key}"]`);
/** A panel with its own save, by its title. */
const panel = (title: string): Locator =>
  page.locator('form', { has: page.getByRole('heading', { name: title, exact: true }) });
const save = (title: string) => panel(title).getByRole('button', { name: en.app.save, exact: true }).click();
const saved = () => page.locator('[data-sonner-toast][data-type=success]').first().waitFor();
/** What a panel lets one change, by its keys. */
const keysIn = (title: string): Promise<string[]> =>
  panel(title)
    .locator('[data-option]')
    .evaluateAll((all) => all.map((one) => one.getAttribute('data-option') ?? ''));

const sections: Readonly<Record<string, Readonly<Record<string, readonly OptionKey[]>>>> = {
  system: {
    [en.settings.panel.server]: ['ServerAddress'],
    [en.settings.panel.worker]: ['WorkerUrl', 'WorkerValidKey'],
    [en.settings.panel.payment]: [
      'PayAddress',
      'EpayId',
      'EpayKey',
      'Price',
      'MinTopUp',
      'TopupGroupRatio',
      'CustomCallbackAddress',
    ],
    [en.settings.panel.login]: [
      'PasswordLoginEnabled',
      'PasswordRegisterEnabled',
      'EmailVerificationEnabled',
      'RegisterEnabled',
    ],
    [en.settings.panel.domains]: [
      'EmailDomainRestrictionEnabled',
      'EmailAliasRestrictionEnabled',
      'EmailDomainWhitelist',
    ],
    [en.settings.panel.mail]: ['SMTPServer', 'SMTPPort', 'SMTPAccount', 'SMTPFrom', 'SMTPToken', 'SMTPSSLEnabled'],
    [en.settings.panel.oidc]: [
      'oidc.enabled',
      'oidc.client_id',
      'oidc.client_secret',
      'oidc.well_known',
      'oidc.authorization_endpoint',
      'oidc.token_endpoint',
      'oidc.user_info_endpoint',
    ],
    [en.settings.panel.github]: ['GitHubOAuthEnabled', 'GitHubClientId', 'GitHubClientSecret'],
    [en.settings.panel.linuxdo]: ['LinuxDOOAuthEnabled', 'LinuxDOClientId', 'LinuxDOClientSecret'],
    [en.settings.panel.wechat]: [
      'WeChatAuthEnabled',
      'WeChatServerAddress',
      'WeChatServerToken',
      'WeChatAccountQRCodeImageURL',
    ],
    [en.settings.panel.telegram]: ['TelegramOAuthEnabled', 'TelegramBotToken', 'TelegramBotName'],
    [en.settings.panel.bot]: ['TurnstileCheckEnabled', 'TurnstileSiteKey', 'TurnstileSecretKey'],
  },
  operation: {
    [en.settings.panel.general]: [
      'TopUpLink',
      'general_setting.docs_link',
      'QuotaPerUnit',
      'RetryTimes',
      'DisplayInCurrencyEnabled',
      'DisplayTokenStatEnabled',
      'DefaultCollapseSidebar',
      'DemoSiteEnabled',
      'SelfUseModeEnabled',
    ],
    [en.settings.panel.logs]: ['LogConsumeEnabled'],
    [en.settings.panel.dashboard]: ['DataExportEnabled', 'DataExportDefaultTime'],
    [en.settings.panel.quota]: ['QuotaForNewUser', 'PreConsumedQuota', 'QuotaForInviter', 'QuotaForInvitee'],
  },
};

test.each(Object.keys(sections))('sections of the tab %s have a save of their own and these options', async (tab) => {
  await inside.open(`setting?tab=${tab}`);
  for (const [title, keys] of Object.entries(sections[tab] ?? {})) {
    // Those below the window come one after the other.
    await panel(title).waitFor();
    // What is switched on as a whole is a line that opens.
    for (const name of [en.settings.setUpNamed, en.settings.editNamed]) {
      const opener = panel(title).getByRole('button', { name: name.replace('{{name}}', title), exact: true });
      if ((await opener.count()) > 0) await opener.click();
    }
    const found = await keysIn(title);
    expect([title, keys.filter((key) => !found.includes(key))]).toEqual([title, []]);
    expect([title, await panel(title).getByRole('button', { name: en.app.save, exact: true }).count()]).toEqual([
      title,
      1,
    ]);
  }
});

test('only administrators have the tabs', async () => {
  await inside.open('setting');
  const tabs = page.getByRole('navigation', { name: en.settings.title }).locator('ul:first-child > li > button');
  expect(await tabs.allTextContents()).toEqual(Object.values(en.settings.tab));
  const user = await page.evaluate(() => localStorage.getItem('user') ?? '');
  await page.evaluate(
    (text) => localStorage.setItem('user', JSON.stringify({ ...(JSON.parse(text) as object), role: 1 })),
    user,
  );
  await page.goto(`${inside.stage.url}/setting`);
  await page.locator('main h1').waitFor();
  expect(await tabs.count()).toBe(0);
  await page.evaluate((text) => localStorage.setItem('user', text), user);
});

test('turning password login off is asked about; cancelling leaves it on', async () => {
  await inside.open('setting?tab=system');
  const box = field('PasswordLoginEnabled');
  expect(await box.isChecked()).toBe(true);
  await box.click();
  await page.getByRole('dialog').getByRole('button', { name: en.app.cancel }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(await box.isChecked()).toBe(true);
  await box.click();
  await page.getByRole('dialog').getByRole('button', { name: en.settings.confirm }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(await box.isChecked()).toBe(false);
});

test('domains are added and removed one by one', async () => {
  await inside.open('setting?tab=system');
  const list = panel(en.settings.panel.domains);
  const title = en.settings.panel.domains;
  await list.getByRole('button', { name: en.settings.editNamed.replace('{{name}}', title) }).click();
  await field('EmailDomainWhitelist').fill('one.example');
  await list.getByRole('button', { name: en.settings.addEntry, exact: true }).click();
  await field('EmailDomainWhitelist').fill('two.example');
  await page.keyboard.press('Enter');
  await list.getByRole('button', { name: 'Remove one.example' }).click();
  await save(en.settings.panel.domains);
  await saved();
  const options = (await inside.ask('GET', '/api/option/')) as { key: string; value: string }[];
  expect(options.find(({ key }) => key === 'EmailDomainWhitelist')?.value).toContain('two.example');
  expect(options.find(({ key }) => key === 'EmailDomainWhitelist')?.value).not.toContain('one.example');
});

test('switches are saved before the rest, one call each', async () => {
  await inside.open('setting?tab=operation');
  const sent: string[] = [];
  const watch = (request: { method: () => string; postData: () => string | null }) => {
    if (request.method() === 'PUT') sent.push((JSON.parse(request.postData() ?? '{}') as { key: string }).key);
  };
  page.on('request', watch);
  await field('RetryTimes').fill('2');
  await field('DisplayTokenStatEnabled').click();
  await field('DefaultCollapseSidebar').click();
  await save(en.settings.panel.general);
  await saved();
  expect(sent.slice(0, 2).sort()).toEqual(['DefaultCollapseSidebar', 'DisplayTokenStatEnabled']);
  expect(sent.slice(2)).toEqual(['RetryTimes']);
  page.off('request', watch);
  await inside.set({ DefaultCollapseSidebar: 'false' });
});

test('logs are deleted up to a chosen time, quota per unit is warned about, payment wants the address first', async () => {
  await inside.open('setting?tab=operation');
  await page.getByLabel(en.settings.clearUntil).waitFor();
  await page.getByRole('button', { name: en.settings.clearLogs }).click();
  await page.getByRole('dialog').getByRole('button', { name: en.settings.clearLogs }).click();
  await page.getByText(en.settings.logsCleared.replace('{{count}}', '0')).waitFor();
  await panel(en.settings.panel.general).getByText(en.settings.unitWarning).waitFor();
  await inside.open('setting?tab=system');
  await field('EpayId').fill('1000');
  await save(en.settings.panel.payment);
  await page.getByText(en.settings.addressFirst).waitFor();
});

test('what depends on a switch is closed while that is off', async () => {
  await inside.open('setting?tab=models');
  for (const [master, slave] of [
    ['gemini.thinking_adapter_enabled', 'gemini.thinking_adapter_budget_tokens_percentage'],
    ['claude.thinking_adapter_enabled', 'claude.thinking_adapter_budget_tokens_percentage'],
    ['general_setting.ping_interval_enabled', 'general_setting.ping_interval_seconds'],
  ] as const) {
    const on = optionRow(master).fallback === 'true';
    expect([slave, await field(slave).isEnabled()]).toEqual([slave, on]);
    await field(master).click();
    expect([slave, await field(slave).isEnabled()]).toEqual([slave, !on]);
  }
});

test('a map is edited row by row or pasted as JSON, and is refused with a name that is there twice', async () => {
  await inside.open('setting?tab=operation&block=model');
  const key = 'GroupRatio';
  const { en: label } = optionRow(key).label;
  const name = (at: number) => field(key).getByLabel(en.settings.map.name).nth(at);
  const stored = async () =>
    JSON.parse(
      ((await inside.ask('GET', '/api/option/')) as { key: string; value: string }[]).find((one) => one.key === key)
        ?.value ?? '{}',
    ) as unknown;
  const block = page.locator('form', { has: field(key) });
  const add = page.getByRole('button', { name: en.settings.map.add, exact: true });
  await page.getByLabel(`${label}: JSON`, { exact: true }).click();
  await field(key).fill('{"default": 1, "vip": 0.8}');
  await page.getByLabel(`${label}: JSON`, { exact: true }).click();
  expect(await field(key).getByRole('listitem').count()).toBe(2);
  await field(key).locator('xpath=..').locator(add).click();
  // The new row is typed into at once.
  await expect.poll(() => name(0).evaluate((input) => input === document.activeElement)).toBe(true);
  await page.keyboard.type('vip');
  await block.getByRole('button', { name: en.app.save, exact: true }).click();
  expect(await name(0).getAttribute('aria-invalid')).toBe('true');
  await page.getByText(en.settings.map.twice).waitFor();
  await name(0).fill('staff');
  await field(key).getByLabel('Value of staff').fill('0.5');
  await field(key).getByLabel('Remove vip').click();
  const bar = page.getByRole('region', { name: en.settings.unsaved });
  await bar.getByText(label).waitFor();
  await bar.getByRole('button', { name: en.settings.saveAll }).click();
  await saved();
  expect(await stored()).toEqual({ staff: 0.5, default: 1 });
  await inside.set({ [key]: '{"default":1,"vip":1,"svip":1}' });
});

test('changes of two tabs wait together and are stored together', async () => {
  await inside.open('setting?tab=operation');
  await field('RetryTimes').fill('3');
  await page.getByRole('button', { name: en.settings.tab.other, exact: true }).click();
  await field('SystemName').fill('Two tabs');
  const bar = page.getByRole('region', { name: en.settings.unsaved });
  await bar.getByText(optionRow('RetryTimes').label.en).waitFor();
  await bar.getByRole('button', { name: en.settings.saveAll }).click();
  await bar.waitFor({ state: 'detached' });
  const options = (await inside.ask('GET', '/api/option/')) as { key: string; value: string }[];
  const value = (key: string) => options.find((one) => one.key === key)?.value;
  expect([value('RetryTimes'), value('SystemName')]).toEqual(['3', 'Two tabs']);
  await inside.set({ RetryTimes: '0', SystemName: 'New API' });
});

test('prices are edited as maps, and put back to what is shipped', async () => {
  await inside.open('setting?tab=operation&block=model');
  for (const key of ['ModelPrice', 'ModelRatio', 'CacheRatio', 'CompletionRatio'] as const)
    expect([key, await field(key).getAttribute('aria-label')]).toEqual([key, optionRow(key).label.en]);
  await inside.set({ ModelRatio: '{"only-this": 1}' });
  await inside.open('setting?tab=operation&block=model');
  await page.getByRole('button', { name: en.prices.reset }).click();
  await page.getByRole('dialog').getByRole('button', { name: en.prices.reset, exact: true }).click();
  await saved();
  const options = (await inside.ask('GET', '/api/option/')) as { key: string; value: string }[];
  const ratios = options.find(({ key }) => key === 'ModelRatio')?.value ?? '{}';
  expect(Object.keys(JSON.parse(ratios) as object).length).toBeGreaterThan(10);
});

test('the list of prices is searched and paged; a price rules ratios out; prices and ratios are one', async () => {
  await inside.open('setting?tab=operation&block=visual');
  const table = page.getByRole('region', { name: en.prices.visual });
  expect(await table.locator('th').allTextContents()).toEqual([
    en.prices.name,
    en.prices.fixed,
    en.prices.ratio,
    en.prices.completion,
    // The first stands on a phone, where both prices are one column.
    `${en.prices.dollars}${en.prices.inputHead}`,
    en.prices.outputHead,
    en.app.actions,
  ]);
  expect(await table.locator('tbody tr').count()).toBe(10);
  const first = await table.locator('tbody tr td').first().textContent();
  await page.getByRole('button', { name: en.app.next }).last().click();
  expect(await table.locator('tbody tr td').first().textContent()).not.toBe(first);
  await page.getByRole('button', { name: en.prices.add }).click();
  const dialog = page.getByRole('dialog');
  const at = (label: string) => dialog.getByLabel(label, { exact: true });
  await at(en.prices.name).fill('a-model');
  await at(en.prices.input).fill('3');
  await at(en.prices.output).fill('12');
  await dialog.getByText('ratio 1.5', { exact: true }).waitFor();
  await dialog.getByText('ratio 4', { exact: true }).waitFor();
  await at(en.prices.asRatio).check();
  expect(await at(en.prices.ratio).inputValue()).toBe('1.5');
  await at(en.prices.perRequest).check();
  expect(await at(en.prices.ratio).isDisabled()).toBe(true);
  expect(await at(en.prices.completion).isDisabled()).toBe(true);
  await at(en.prices.price).fill('0');
  await dialog.getByRole('button', { name: en.prices.take }).click();
  await dialog.getByText(en.prices.zeroPrice).waitFor();
  await at(en.prices.price).fill('0.25');
  await dialog.getByRole('button', { name: en.prices.take }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByLabel(en.prices.search).fill('a-model');
  expect(await table.locator('tbody tr').first().locator('td').allTextContents()).toEqual(
    expect.arrayContaining(['a-model', '0.25', '$0.25 per request']),
  );
  await table.getByRole('button', { name: en.table.moreOf.replace('{{name}}', 'a-model') }).click();
  await page.getByRole('menuitem', { name: 'Delete a-model' }).click();
  await table.getByText('a-model', { exact: true }).waitFor({ state: 'detached' });
});

test('models without a price stand ten to a page, and several are priced at once', async () => {
  await inside.open('setting?tab=operation&block=unset_models');
  const block = page.getByRole('region', { name: en.settings.panel.pricing });
  const boxes = block.locator('tbody input[type=checkbox]');
  await boxes.first().waitFor();
  expect(await boxes.count()).toBe(10);
  expect(await choicesOf(block.getByLabel(en.prices.pageSize))).toEqual(['10', '20', '50', '100']);
  expect(await choicesOf(block.getByLabel(en.prices.fillMode))).toEqual(Object.values(en.prices.fill));
  const names = await block.locator('tbody td').allTextContents();
  await boxes.nth(0).check();
  await boxes.nth(1).check();
  await choose(block.getByLabel(en.prices.fillMode), en.prices.fill.both);
  await block.getByLabel(en.prices.ratio, { exact: true }).fill('2');
  await block.getByLabel(en.prices.completion, { exact: true }).fill('3');
  await block.getByRole('button', { name: /\(2\)/ }).first().click();
  await block.getByRole('button', { name: /^Save \(/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: en.app.save }).click();
  await saved();
  const options = (await inside.ask('GET', '/api/option/')) as { key: string; value: string }[];
  const map = (name: string) =>
    JSON.parse(options.find(({ key }) => key === name)?.value ?? '{}') as Record<string, number>;
  for (const name of names.slice(0, 2)) {
    expect([name, map('ModelRatio')[name], map('CompletionRatio')[name]]).toEqual([name, 2, 3]);
    expect(await block.getByText(name, { exact: true }).count()).toBe(0);
  }
});
