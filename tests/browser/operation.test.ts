/** Channels, tokens, codes, wallet, logs, works, prices, playground, as the third document has them, tried in a browser. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { en } from '../../web/locales/en.ts';
import { zh } from '../../web/locales/zh.ts';
import { type Inside, openInside, stored } from './inside.ts';
import { choicesOf, choose, settled } from './support.ts';

let inside: Inside;
let page: Page;
let url: string;

beforeAll(async () => {
  inside = await openInside();
  ({ page } = inside);
  ({ url } = inside.stage);
  await inside.ask('POST', '/api/redemption/', { name: 'gift', quota: 500_000, count: 2 });
  for (let row = 0; row < 12; row++)
    await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${inside.key}` },
      body: JSON.stringify({ model: 'practice-small', messages: [{ role: 'user', content: 'hi' }] }),
    }).then((answer) => answer.text());
});
afterAll(() => inside?.stage.close());

const dialog = (): Locator => page.getByRole('dialog').last();
const heads = async (): Promise<string[]> =>
  (await page.locator('main thead th').allTextContents()).map((text) => text.trim()).filter((text) => text !== '');
const toastSays = (text: string) => page.locator('[data-sonner-toast]', { hasText: text }).first().waitFor();
const wide = (width = 1900) => page.setViewportSize({ width, height: 900 });

/** Texts in the language of the document. */
async function inChinese(work: () => Promise<void>): Promise<void> {
  await page.evaluate(() => localStorage.setItem('i18nextLng', 'zh'));
  await work();
  await page.evaluate(() => localStorage.setItem('i18nextLng', 'en'));
}

test('channels are searched; everything that is done to them opens', async () => {
  await wide();
  await inside.open('channel');
  await page.getByLabel(en.channels.search).first().waitFor();
  await page.getByRole('button', { name: en.table.addFilter, exact: true }).click();
  for (const label of [en.channels.group, en.channels.model, en.channels.status, en.channels.type])
    await page.locator('.menu').getByRole('button', { name: label, exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: en.table.columns }).click();
  await page.getByText(en.table.compact).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('tbody').getByRole('button', { name: 'Test practice' }).click();
  await dialog().getByLabel(en.channels.searchModels).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('tbody input[type=checkbox]').first().check();
  await page.locator('section.fixed').getByRole('button', { name: en.channels.setTag }).click();
  await dialog().getByLabel(en.channels.tag).fill('first');
  await dialog().getByRole('button', { name: en.channels.setTag }).click();
  await toastSays('first');
  await inside.open('channel?mode=tag');
  await page.locator('tbody').getByRole('button', { name: en.app.edit }).click();
  await dialog().getByLabel(en.channels.tag, { exact: true }).waitFor();
  await page.keyboard.press('Escape');
});

test('a channel that disabled itself says why and when; types and channels have fifteen colours', async () => {
  await page.route('**/api/channel/search*', async (route) => {
    const answer = (await (await route.fetch()).json()) as { data: object[] };
    const [first = {}] = answer.data;
    const more = Array.from({ length: 16 }, (_, at) => ({
      ...first,
      ...{ id: 100 + at, type: 1 + at, name: `c${at}`, tag: '' },
      ...(at === 0 ? { status: 3, other_info: '{"status_reason":"key revoked","status_time":1700000000}' } : {}),
    }));
    return route.fulfill({ json: { ...answer, data: more } });
  });
  await wide();
  await inside.open('channel');
  await page
    .getByText(/key revoked/)
    .first()
    .waitFor();
  expect(await page.locator('tbody').textContent()).toContain('2023-11-1');
  const colours = await page
    .locator('tbody span[style*=background]')
    .evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
  expect(colours.length).toBe(16);
  expect(new Set(colours).size).toBe(15);
  expect(colours[15]).toBe(colours[0]);
  await page.unroute('**/api/channel/search*');
});

test('numbers in the list have their limits; /v1 is asked about; related models are filled in; one save at a time', async () => {
  await wide();
  await page.evaluate(() => localStorage.setItem('channels-table-columns', '{"priority":true}'));
  await inside.open('channel');
  const priority = page.getByLabel('Priority of practice');
  await priority.fill('-5000');
  await page.keyboard.press('Enter');
  await page.locator('tbody [role=alert]').waitFor();
  await priority.fill('-999');
  await page.keyboard.press('Enter');
  await expect
    .poll(async () => ((await inside.ask('GET', '/api/channel/1')) as { priority: number }).priority)
    .toBe(-999);
  await inside.open('channel/add');
  await dialog().getByRole('searchbox').fill('openai');
  await dialog().getByRole('button', { name: 'OpenAI', exact: true }).click();
  await dialog().getByLabel(en.channels.name, { exact: true }).fill('asked');
  await dialog().getByLabel(en.channels.key, { exact: true }).fill('sk-asked');
  await dialog().getByRole('button', { name: en.channels.fillRelated }).click();
  const models = await dialog()
    .getByRole('list', { name: en.channels.chosenModels })
    .getByRole('listitem')
    .allInnerTexts();
  expect(models.length).toBeGreaterThan(3);
  expect(models.filter((name) => !/^(gpt-|text-)/.test(name))).toEqual([]);
  await dialog().getByLabel(en.channels.baseUrl).fill('https://api.example.com/v1');
  await dialog().getByRole('button', { name: en.app.save }).click();
  await page.getByRole('dialog').getByText(en.channels.v1Text).waitFor();
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/api/channel/', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    await held;
    return route.fulfill({ json: { success: false, message: 'later', code: 'x' } });
  });
  await page.locator('[role=dialog] .button-danger').click();
  const save = page.getByRole('dialog').getByRole('button', { name: en.app.save });
  // Marked as closed while the first one is under way; somebody may press it all the same.
  await save.click({ force: true });
  await dialog().getByText(en.channels.sentAlready).waitFor();
  expect(zh.channels.sentAlready).toBe('提交失败，请勿重复提交！');
  release();
  await dialog().getByText('later').waitFor();
  await page.unroute('**/api/channel/');
});

test('keys of providers are typed in their own form', async () => {
  const keys = {
    15: 'APIKey|SecretKey',
    18: 'APPID|APISecret|APIKey',
    22: 'APIKey-AppId',
    23: 'AppId|SecretId|SecretKey',
    33: 'Ak|Sk|Region',
  };
  const types = (await inside.ask('GET', '/api/channel/types')) as { type: number; key_hint: string; en: string }[];
  for (const [type, form] of Object.entries(keys)) {
    const wanted = types.find((one) => one.type === Number(type));
    expect([type, wanted?.key_hint.toLowerCase()]).toEqual([type, form.toLowerCase()]);
  }
});

test('tags gather the groups of their channels, default first', async () => {
  await inside.ask('PUT', '/api/channel/', { id: 1, tag: 'gathered', group: 'vip,default,alpha' });
  await inside.open('channel?mode=tag');
  await page.locator('tbody').getByText('default, alpha, vip').waitFor();
  await inside.ask('PUT', '/api/channel/', { id: 1, tag: '', group: 'default' });
});

test('tokens and codes are searched, made with the document’s choices, and keep their rules', async () => {
  await wide();
  await inside.open('token');
  const first = ((await inside.ask('GET', '/api/token/?p=0&size=1')) as { name: string; key: string }[])[0];
  const search = page.getByLabel(en.tokens.keyword);
  const asked = async (text: string) => {
    const found = page.waitForResponse((response) => response.url().includes('/api/token/search'));
    await search.fill(text);
    return new URL((await found).url()).searchParams;
  };
  const byName = await asked(first?.name ?? '');
  expect([byName.get('keyword'), byName.get('token') ?? '']).toEqual([first?.name, '']);
  const key = `sk-${first?.key.replace(/^sk-/, '')}`;
  const byKey = await asked(key);
  expect([byKey.get('keyword') ?? '', byKey.get('token')]).toEqual(['', key]);
  await page.locator('tbody tr[data-row]', { hasText: first?.name ?? '' }).waitFor();
  await inside.open('token?open=new');
  expect(await dialog().getByLabel(en.tokens.quota, { exact: true }).inputValue()).toBe('1.00');
  const until = dialog().getByText(/^Until \d/);
  const quick = async (name: string, seconds: number) => {
    await dialog().getByRole('radio', { name, exact: true }).click();
    // The time that was picked before may still stand there. The browser's zone is not this process's.
    const remaining = async () => {
      const end = ((await until.textContent()) ?? '').replace('Until ', '').replace(' ', 'T');
      return page.evaluate((text) => (new Date(text).getTime() - Date.now()) / 1000, end);
    };
    await expect.poll(async () => Math.abs((await remaining()) - seconds), { message: name }).toBeLessThan(30);
  };
  await quick(en.tokens.oneHour, 3600);
  await quick(en.tokens.oneDay, 86_400);
  await quick(en.tokens.oneMonth, 30 * 86_400);
  await dialog().getByRole('radio', { name: en.tokens.never, exact: true }).click();
  expect(await until.count()).toBe(0);
  for (const worth of ['$1', '$10', '$50', '$100', '$500', '$1,000']) {
    await dialog()
      .getByRole('button', { name: new RegExp(`^\\${worth}(\\.00)?$`) })
      .click();
    const shown = await dialog().getByLabel(en.tokens.quota, { exact: true }).inputValue();
    expect(Number(shown.replace(',', ''))).toBe(Number(worth.slice(1).replace(',', '')));
  }
  const count = dialog().getByLabel(en.tokens.count);
  expect(await choicesOf(count)).toEqual(expect.arrayContaining(['10', '20', '30', '100']));
  await dialog().getByLabel(en.tokens.name, { exact: true }).fill('many');
  await choose(count, '10');
  await dialog().getByRole('button', { name: en.tokens.create }).click();
  await page.locator('code', { hasText: /^sk-/ }).first().waitFor();
  const made = (await inside.ask('GET', '/api/token/search?keyword=many&token=')) as { name: string }[];
  const names = made.map(({ name }) => name);
  expect(names.length).toBe(10);
  expect(names.filter((name) => !/^many(-[A-Za-z0-9]{6})?$/.test(name))).toEqual([]);
  await inside.open('redemption');
  await page.getByLabel(en.redemption.keyword).waitFor();
  const menuOf = (row: Locator) => row.locator('button[aria-haspopup=menu]').first().click();
  await menuOf(page.locator('tbody'));
  await page.getByRole('menuitem', { name: en.app.disable }).click();
  const off = page.locator('tbody tr', { hasText: en.redemption.s2 });
  await menuOf(off);
  await page.getByRole('menuitem', { name: en.app.enable }).waitFor();
  await page.keyboard.press('Escape');
  expect(await off.getByRole('button', { name: en.app.edit }).count()).toBe(0);
  const copy = page.getByRole('button', { name: en.redemption.copyPicked });
  await page.locator('tbody input[type=checkbox]').first().check();
  await expect.poll(() => copy.isEnabled()).toBe(true);
  await page.locator('tbody input[type=checkbox]').first().uncheck();
  await expect.poll(() => copy.isEnabled()).toBe(false);
  await copy.click({ force: true });
  await toastSays(en.redemption.pickOne);
  await page.getByRole('button', { name: en.redemption.add }).click();
  await dialog().getByLabel(en.redemption.count).waitFor();
});

test('the wallet shows the balance, takes codes, and asks before a payment', async () => {
  await inside.set({ ServerAddress: url, PayAddress: 'https://pay.example', EpayId: '1000', EpayKey: 'secret' });
  await inside.open('topup');
  await page.locator('main').getByText(en.wallet.balance, { exact: true }).first().waitFor();
  await page.getByLabel(en.wallet.code, { exact: true }).waitFor();
  for (const name of [en.wallet.alipay, en.wallet.wechat]) {
    await page.getByRole('button', { name, exact: true }).click();
    await page.getByRole('dialog').getByText(en.wallet.confirmTitle).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: en.app.cancel }).click();
  }
});

test('the log has its sums, its filters, its kinds, rows that open and columns that are chosen', async () => {
  await wide();
  await inside.open('log');
  for (const text of [en.logs.quota, 'RPM', 'TPM'])
    await page.locator('main header, main').getByText(text).first().waitFor();
  await page.getByRole('radiogroup', { name: en.range.label }).waitFor();
  await page.getByRole('button', { name: en.table.addFilter, exact: true }).click();
  for (const label of [en.logs.model, en.logs.token, en.logs.user, en.logs.channel, en.logs.group])
    await page.getByRole('button', { name: label, exact: true }).first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: en.table.columns }).click();
  for (const name of [en.logs.retry, en.logs.channel]) await page.getByRole('checkbox', { name, exact: true }).check();
  await page.keyboard.press('Escape');
  const shown = await heads();
  for (const head of [en.logs.channel, en.logs.caller, en.logs.retry]) expect(shown).toContain(head);
  await page.locator('tbody tr[data-row]').first().click();
  await dialog().getByText(en.logs.bill, { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  // Ten of twelve and more; the length of a page is remembered for every table.
  await inside.open('log');
  const size = page.getByLabel(en.table.size);
  const sizes = [10, 20, 50, 100].map((count) => en.table.perPage.replace('{{count}}', String(count)));
  expect(await choicesOf(size)).toEqual(expect.arrayContaining(sizes));
  await choose(size, en.table.perPage.replace('{{count}}', '50'));
  expect(await stored(page, 'page-size')).toBe('50');
  await page.evaluate(() => localStorage.setItem('page-size', '10'));
});

const drawing = (more: object) => ({
  ...{
    id: 1,
    created_at: 1,
    submit_time: 1_700_000_000_000,
    finish_time: 1_700_000_030_000,
    channel_id: 7,
    mj_id: 'm1',
  },
  ...{ action: 'IMAGINE', code: 1, status: 'SUCCESS', progress: '100%', image_url: '/logo.svg', prompt: 'a cat' },
  ...{ prompt_en: 'one cat', fail_reason: '', ...more },
});

test('drawings: times, tags, bars, pictures and reasons as the document has them', async () => {
  const actions = 'IMAGINE UPSCALE VARIATION HIGH_VARIATION LOW_VARIATION PAN DESCRIBE BLEND UPLOAD SHORTEN'.split(' ');
  const rows = [
    drawing({ channel_name: 'east' }),
    drawing({ id: 2, finish_time: 1_700_000_061_000, code: 21, status: 'IN_PROGRESS', progress: '40%', channel_id: 8 }),
    drawing({
      id: 3,
      code: 22,
      status: 'FAILURE',
      progress: '70%',
      fail_reason: 'the picture was refused',
      action: 'DANCE',
    }),
    ...actions.slice(0, 7).map((action, at) => drawing({ id: 4 + at, action, code: 0 })),
  ];
  await page.route('**/api/mj/?*', (route) =>
    route.fulfill({ json: { success: true, message: '', data: rows }, headers: { 'x-total-count': '12' } }),
  );
  await page.evaluate(() => localStorage.setItem('page-size', '10'));
  await wide(2400);
  await inside.open('midjourney');
  const { submitted, taken, type, drawingId, code, status, progress, image, prompt, reason } = en.tasks;
  expect(await heads()).toEqual([
    `${image} / ${prompt}`,
    `${type} / ${drawingId}`,
    `${status} / ${code}`,
    progress,
    `${submitted} / ${taken}`,
    en.logs.channel,
    reason,
  ]);
  const row = (at: number) => page.locator('tbody tr[data-row]').nth(at);
  const color = (where: Locator) => where.evaluate((one) => getComputedStyle(one).color);
  const [quick, slow] = [row(0).getByText('30.0 s'), row(1).getByText('1 min 1 s')];
  expect(await color(quick)).not.toBe(await color(slow));
  expect(await quick.getAttribute('class')).toContain('success');
  expect(await slow.getAttribute('class')).toContain('danger');
  await row(0).getByRole('button', { name: 'east', exact: true }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('7');
  for (const [at, text] of [en.tasks.c1, en.tasks.c21, en.tasks.c22, en.tasks.c0].entries())
    await row(at).getByText(text, { exact: true }).waitFor();
  await row(2).getByText(en.tasks.unknown, { exact: true }).waitFor();
  await row(3).getByText(en.tasks.a_IMAGINE, { exact: true }).waitFor();
  const bar = (at: number) =>
    row(at)
      .locator('[style*=width]')
      .evaluate((one) => getComputedStyle(one).backgroundColor);
  expect(await bar(2)).not.toBe(await bar(1));
  await page.getByText('1–10 of 12').waitFor();
  expect(await choicesOf(page.getByLabel(en.table.size))).toEqual(
    [10, 20, 50, 100].map((count) => en.table.perPage.replace('{{count}}', String(count))),
  );
  await row(0).getByRole('img', { name: en.tasks.see }).click();
  await dialog().getByRole('img').waitFor();
  await page.keyboard.press('Escape');
  await row(2).getByText('the picture was refused').click();
  await dialog().getByText('the picture was refused').waitFor();
  await page.keyboard.press('Escape');
  await page.unroute('**/api/mj/?*');
});

test('tasks: a ring or the text, the platform, and the whole record on a click', async () => {
  const task = {
    id: 1,
    created_at: 1,
    submit_time: 1_700_000_000,
    finish_time: 1_700_000_090,
    channel_id: 3,
    platform: 'suno',
  };
  const rows = [
    { ...task, action: 'MUSIC', task_id: 't1', status: 'SUCCESS', progress: '100%', fail_reason: '' },
    { ...task, id: 2, action: 'LYRICS', task_id: 't2', status: 'FAILURE', progress: 'queued', fail_reason: 'no voice' },
  ];
  await page.route('**/api/task/?*', (route) =>
    route.fulfill({ json: { success: true, message: '', data: rows }, headers: { 'x-total-count': '2' } }),
  );
  await wide(2000);
  await inside.open('task');
  const { submitted, finished, progress, taken, platform, type, taskId, status, reason } = en.tasks;
  expect(await heads()).toEqual([
    submitted,
    finished,
    progress,
    taken,
    en.logs.channel,
    platform,
    type,
    taskId,
    status,
    reason,
  ]);
  const row = (at: number) => page.locator('tbody tr[data-row]').nth(at);
  expect(await row(0).locator('svg circle').count()).toBe(2);
  expect(await row(1).locator('svg circle').count()).toBe(0);
  await row(1).getByText('queued', { exact: true }).waitFor();
  await row(0).getByText('suno', { exact: true }).waitFor();
  await row(0).getByText('1 min 30 s').waitFor();
  await row(1).getByText('t2').click();
  expect(JSON.parse((await dialog().locator('pre').textContent()) ?? '{}')).toEqual(rows[1]);
  await page.keyboard.press('Escape');
  await page.unroute('**/api/task/?*');
});

test('prices: search, copying, columns, other groups, and a picture of what ratios are', async () => {
  await inside.set({ ModelRatio: JSON.stringify({ 'practice-small': 1, 'practice-large': 2 }) });
  await wide();
  await inside.open('pricing?view=ratios');
  const copy = page.getByRole('button', { name: en.pricing.copyChosen });
  expect(await copy.isDisabled()).toBe(true);
  const { available, model, type, groups, ratio, price } = en.pricing;
  expect((await heads()).slice(-6)).toEqual([available, model, type, groups, ratio, price]);
  await page.locator('tbody input[type=checkbox]').first().check();
  await copy.click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  await page.locator('tbody').getByRole('button', { name: copied, exact: true }).waitFor();
  await page.getByRole('searchbox').fill('prsml');
  await page.locator('tbody').getByText('practice-small').waitFor();
  await page.locator('tbody').getByText('practice-large').waitFor({ state: 'detached' });
  await page.locator('tbody').getByRole('button', { name: 'practice-small', exact: true }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('practice-small');
  await page.locator('tbody').getByRole('button', { name: 'default', exact: true }).first().click();
  await toastSays('default');
  const head = page.locator('thead th', { hasText: available });
  await head.getByRole('button').click();
  expect(await head.getAttribute('aria-sort')).toBe('ascending');
  await page.getByRole('button', { name: en.pricing.help }).click();
  await dialog().getByRole('img', { name: en.pricing.helpText }).waitFor();
  expect(await page.getByLabel(en.table.size).count()).toBe(0);
});

test('two models are compared with three presses; a price is typed where it stands and taken back', async () => {
  await inside.set({ ModelRatio: JSON.stringify({ 'practice-small': 1, 'practice-large': 2 }) });
  await wide();
  await inside.open('pricing');
  for (const at of [0, 1]) await page.locator('tbody input[type=checkbox]').nth(at).check();
  await page.getByRole('button', { name: en.pricing.compare }).click();
  await dialog().locator('strong', { hasText: '2.00' }).first().waitFor();
  await page.keyboard.press('Escape');
  const input = page.getByLabel(`${en.pricing.in} of practice-small`, { exact: true });
  expect(await input.inputValue()).toBe('2.00');
  await input.fill('3.5');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: en.app.undo }).click();
  await expect.poll(() => input.inputValue()).toBe('2.00');
  await page.locator('tbody').getByRole('link', { name: 'practice-large', exact: true }).click();
  await page.getByText('"model":"practice-large"').waitFor();
});

test('the playground folds its settings on a phone, says that a session ended, and starts as documented', async () => {
  await page.setViewportSize({ width: 390, height: 800 });
  await inside.open('playground');
  const model = page.getByLabel(en.playground.model, { exact: true });
  await model.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: en.settings.title }).click();
  await model.waitFor({ state: 'visible' });
  await page.setViewportSize({ width: 1280, height: 800 });
  await inside.open('playground?expired=true');
  await toastSays(en.login.expired);
  await inside.ask('PUT', '/api/channel/', { id: 1, models: 'practice-small,gpt-4o-mini' });
  await inside.open('playground');
  await expect.poll(() => model.inputValue()).toBe('gpt-4o-mini');
  expect(await page.getByRole('textbox', { name: en.playground.temperature }).inputValue()).toBe('0');
  expect(await page.getByLabel(en.playground.maxTokens).inputValue()).toBe('0');
  expect(await page.getByLabel(en.playground.system).getAttribute('placeholder')).toBe(en.playground.defaultSystem);
  let sent = '{}';
  await page.route('**/pg/chat/completions', (route) => {
    sent = route.request().postData() ?? '';
    return route.continue();
  });
  await page.getByLabel(en.playground.maxTokens).fill('12.7');
  await page.getByPlaceholder(en.playground.say).fill('hello');
  await page.keyboard.press('Enter');
  await page.getByText(`${en.playground.maxTokens}: `).waitFor();
  expect(sent).toBe('{}');
  await page.getByLabel(en.playground.maxTokens).fill('12');
  await page.getByPlaceholder(en.playground.say).press('Enter');
  await expect.poll(() => sent).not.toBe('{}');
  expect(JSON.parse(sent)).toMatchObject({ model: 'gpt-4o-mini', temperature: 0, max_tokens: 12, stream: true });
  await page.unroute('**/pg/chat/completions');
});

test('a chat link without a token says so and leads to the tokens; broken links are reported', async () => {
  await inside.set({ Chats: '[{"a chat":"https://chat.example/?key={key}"}]' });
  const other = await inside.guest();
  await inside.ask('POST', '/api/user/', { username: 'nokey', password: 'password1', display_name: 'x' });
  await other.goto(`${url}/login`);
  await other.getByLabel(en.login.username).fill('nokey');
  await other.getByLabel(en.login.password, { exact: true }).fill('password1');
  await other.getByRole('button', { name: en.login.submit, exact: true }).click();
  await other.waitForURL('**/token');
  // Time stands still but for what is let pass.
  await other.clock.install();
  await other.clock.pauseAt(Date.now() + 3_600_000);
  await other.goto(`${url}/chat/0`);
  while (!(await other.locator('main [role=alert]').isVisible())) await other.clock.runFor(5);
  await other.clock.runFor(1400);
  expect(new URL(other.url()).pathname).toBe('/chat/0');
  await other.clock.runFor(200);
  await other.waitForURL('**/token');
  await other.route('**/api/status', async (route) => {
    const answer = (await (await route.fetch()).json()) as { data: object };
    return route.fulfill({ json: { ...answer, data: { ...answer.data, chats: '{broken' } } });
  });
  await other.clock.resume();
  await other.goto(`${url}/token`);
  await settled(other);
  await other.locator('[data-sonner-toast]', { hasText: en.chat.parseFailed }).waitFor();
  await other.close();
});

test('success is reported in the specification’s words', () =>
  inChinese(async () => {
    await wide();
    await inside.open('channel/edit/1');
    await dialog().getByRole('button', { name: zh.app.save }).click();
    await toastSays('渠道更新成功！');
    await inside.open('channel/add');
    await dialog().getByRole('searchbox').fill('practice');
    await page.keyboard.press('Enter');
    await dialog().getByLabel(zh.channels.name, { exact: true }).fill('second');
    await dialog().getByLabel(zh.channels.key, { exact: true }).fill('none');
    await dialog().getByLabel(zh.channels.baseUrl, { exact: true }).fill(inside.stage.upstream);
    await dialog().getByLabel(zh.channels.models, { exact: true }).fill('practice-small');
    await page.keyboard.press('Enter');
    await dialog().getByRole('button', { name: zh.app.save }).click();
    await toastSays('渠道创建成功！');
    await page.locator('tbody tr', { hasText: 'second' }).locator('button[aria-haspopup=menu]').click();
    await page.getByRole('menuitem', { name: zh.channels.copy, exact: true }).click();
    await toastSays('渠道复制成功');
    await inside.open('token?open=new');
    await dialog().getByLabel(zh.tokens.name, { exact: true }).fill('spoken');
    await dialog().getByRole('button', { name: zh.tokens.create }).click();
    await toastSays('令牌创建成功，请在列表页面点击复制获取令牌！');
    await inside.open('token?open=1');
    await dialog().getByRole('button', { name: zh.app.save }).click();
    await toastSays('令牌更新成功！');
    await inside.open('redemption');
    await page.getByRole('button', { name: zh.redemption.add }).click();
    await dialog().getByRole('button', { name: zh.app.save }).click();
    await toastSays('兑换码创建成功！');
    const codes = (await inside.ask('GET', '/api/redemption/?p=1&page_size=10')) as { items: { key: string }[] };
    await inside.open('redemption');
    await page.locator('tbody').getByRole('button', { name: zh.app.edit }).first().click();
    await dialog().getByRole('button', { name: zh.app.save }).click();
    await toastSays('兑换码更新成功！');
    await inside.open('topup');
    await page.getByLabel(zh.wallet.code, { exact: true }).fill(codes.items[0]?.key ?? '');
    await page.getByRole('button', { name: zh.wallet.redeemAction, exact: true }).click();
    await toastSays('兑换成功！');
    await inside.open('user');
    await inside.ask('POST', '/api/user/', { username: 'gone', password: 'password1', display_name: 'x' });
    await inside.open('user');
    await page.locator('tbody tr', { hasText: 'gone' }).locator('button[aria-haspopup=menu]').click();
    await page.getByRole('menuitem', { name: zh.users.close }).click();
    await page.locator('[role=dialog] .button-danger').click();
    await toastSays('操作成功完成！');
  }));

test('a statement is printed without what stands around it, and dark on white on a dark screen too', async () => {
  await inside.open('statement');
  await page.getByRole('table', { name: en.statement.title }).waitFor();
  const dark = (theme: 'dark' | 'light') =>
    page.evaluate((name) => {
      document.documentElement.dataset.theme = name;
    }, theme);
  const inks = () =>
    page.locator('article.paper *').evaluateAll((all) => [...new Set(all.map((one) => getComputedStyle(one).color))]);
  await page.emulateMedia({ media: 'print' });
  const onPaper = await inks();
  await dark('dark');
  expect(await inks()).toEqual(onPaper);
  for (const around of ['nav', 'h1', '.statement', '.statement-bar'])
    expect([around, await page.locator(around).first().isVisible()]).toEqual([around, false]);
  await page.emulateMedia({ media: 'screen' });
  await dark('light');
});
