/** Programs in every place where somebody may write something, and in what models say: none runs, in any page. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { callFrom, openStage, type Stage, settled } from './support.ts';

/** What a place can hold decides how long a payload may be. */
const short = [
  '<svg onload=hit(1)>',
  '<b onclick=hit(2)>x',
  '"onfocus=hit(3) x="',
  "'-hit(4)-'",
  '{{hit(5)}}',
  '<%hit(6)%>',
  '<script>hit(7)',
  '</title><p id=h>',
  '<a href=//x>y',
  '\u202e<q>evil',
];
const markup = [
  ...short,
  '<script>hit(10)</script>',
  '<img src=x onerror=hit(11)>',
  '<img src=x onerror="hit(12)">',
  '<svg><script>hit(13)</script></svg>',
  '<svg><animate onbegin=hit(14) attributeName=x dur=1s>',
  '<iframe srcdoc="<script>parent.hit(15)</script>"></iframe>',
  '<iframe src="javascript:parent.hit(16)"></iframe>',
  '<a href="javascript:hit(17)">press</a>',
  '[press](javascript:hit(18))',
  '[press](data:text/html;base64,PHNjcmlwdD5oaXQoMTkpPC9zY3JpcHQ+)',
  '![x](x"onerror="hit(20))',
  '<math><mtext><table><mglyph><style><img src=x onerror=hit(21)>',
  '<noscript><p title="</noscript><img src=x onerror=hit(22)>">',
  '<form action="javascript:hit(23)"><button>go</button></form>',
  '<object data="javascript:hit(24)"></object><embed src="javascript:hit(24)">',
  '<details open ontoggle=hit(25)>',
  '<video><source onerror=hit(26)></video>',
  '<body onload=hit(27)>',
  '<input autofocus onfocus=hit(28)>',
  '<meta http-equiv="refresh" content="0;url=javascript:hit(29)">',
  '<base href="//evil.example/">',
  '<link rel=stylesheet href="javascript:hit(30)">',
  '<style>@import "javascript:hit(31)";</style>',
  '<div style="background:url(javascript:hit(32))">',
  '<template><script>hit(33)</script></template>',
  '```html\n<script>hit(34)</script>\n```',
  '`<img src=x onerror=hit(35)>`',
  '&lt;img src=x onerror=hit(36)&gt;',
  '<xss id=x tabindex=1 onactivate=hit(37) onfocusin=hit(37)>',
  '<scr<script>ipt>hit(38)</scr</script>ipt>',
];
const all = markup.join('\n\n');

let stage: Stage;
let page: Page;
let upstream: Upstream;
const hits: string[] = [];

const api = (method: string, path: string, body?: unknown) => callFrom(page, method, path, body);

beforeAll(async () => {
  upstream = await startUpstream((response, { body }) => {
    // Names that are refused are told back as an upstream tells them.
    if (body.includes('refuse-this')) {
      response.writeHead(400, { 'content-type': 'application/json' });
      return void response.end(JSON.stringify({ error: { message: all, type: 'invalid_request_error', code: '<b>' } }));
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const frame = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
    response.write(
      frame({ choices: [{ index: 0, delta: { content: `that is all of it\n\n${all}` }, finish_reason: null }] }),
    );
    response.end(`${frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}data: [DONE]\n\n`);
  });
  stage = await openStage();
  // Without the page's policy: it would hide what nothing else stops.
  const context = await stage.browser.newContext({ locale: 'en-US', bypassCSP: true, reducedMotion: 'reduce' });
  await context.exposeFunction('hit', (n: unknown) => void hits.push(String(n)));
  page = await stage.newPage(context);
  page.on('dialog', (dialog) => {
    hits.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(stage.setupLink);
  await page.getByLabel('Username').fill('root');
  await page.getByLabel('Password', { exact: true }).fill('password1');
  await page.getByLabel('Confirm password').fill('password1');
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.waitForURL('**/first');
});
afterAll(async () => {
  await stage?.close();
  await upstream?.stop();
});

/** What would run, or lead to something that does. */
const running = (): string[] =>
  [...document.querySelectorAll('*')].flatMap((one) => [
    ...one.getAttributeNames().flatMap((name) => {
      const value = one.getAttribute(name) ?? '';
      return /^on/i.test(name) || /^\s*javascript:/i.test(value) ? [`${one.tagName} ${name}=${value}`] : [];
    }),
    ...(one.tagName === 'SCRIPT' && (one.textContent ?? '').includes('hit(') ? ['an inline script'] : []),
  ]);

/** Every place that keeps text, and how much of it was taken. */
async function fill(): Promise<number> {
  let kept = 0;
  const put = async (method: string, path: string, body: unknown, count: number) => {
    if ((await api(method, path, body)).success) kept += count;
  };
  for (const key of [
    'Notice',
    'About',
    'HomePageContent',
    'Footer',
    'SystemName',
    'SensitiveWords',
    'AutomaticDisableKeywords',
  ])
    await put(
      'PUT',
      '/api/option/',
      { key, value: key === 'SystemName' ? markup.join(' ').slice(0, 1000) : all },
      markup.length,
    );
  await put(
    'PUT',
    '/api/option/',
    {
      key: 'GroupRatio',
      value: JSON.stringify(Object.fromEntries([['default', 1], ...markup.map((name) => [name, 1])])),
    },
    markup.length,
  );
  await put(
    'PUT',
    '/api/option/',
    {
      key: 'ModelRatio',
      value: JSON.stringify(Object.fromEntries([['m', 1], ['refuse-this', 1], ...markup.map((name) => [name, 1])])),
    },
    markup.length,
  );
  for (const [at, text] of short.entries()) {
    await put('POST', '/api/token/', { name: text, unlimited_quota: true }, 1);
    await put('POST', '/api/redemption/', { name: text, quota: 1, count: 1 }, 1);
    await put('POST', '/api/user/', { username: text.slice(0, 12), password: 'password1', display_name: text }, 1);
    await put(
      'POST',
      '/api/channel/',
      {
        type: 1,
        name: text,
        key: 'k',
        base_url: upstream.url,
        models: `m,refuse-this,${text.replaceAll(',', '')}`,
        group: 'default',
        tag: text,
        test_model: text,
        priority: at,
      },
      3,
    );
  }
  return kept;
}

test('300 payloads in every stored field, log and answer: none runs, even without the page’s policy', async () => {
  const kept = await fill();
  const token = (await api('POST', '/api/token/', { name: 'plain', unlimited_quota: true })).data as { key: string };
  for (const model of ['m', 'refuse-this', ...short])
    await fetch(`${stage.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer sk-${token.key}`,
        'content-type': 'application/json',
        'user-agent': '<script>hit(40)</script>',
      },
      body: JSON.stringify({ model, user: short[0], messages: [{ role: 'user', content: all }] }),
    }).then((response) => response.text());
  expect(kept + markup.length * 2 + short.length).toBeGreaterThanOrEqual(300);
  const found: string[] = [];
  const check = async (place: string) => {
    for (const frame of page.frames())
      for (const one of await frame.evaluate(running).catch(() => [])) found.push(`${place}: ${one}`);
  };
  for (const path of [
    '',
    'token',
    'channel',
    'redemption',
    'user',
    'log',
    'setting',
    'detail',
    'pricing',
    'about',
    'playground',
    'topup',
    'personal',
    'midjourney',
    'task',
  ]) {
    await page.goto(`${stage.url}/${path}`);
    await settled(page).catch(() => undefined);
    await check(path);
    // What opens when somebody looks closer.
    await page
      .locator('tbody tr')
      .first()
      .click({ timeout: 500 })
      .catch(() => undefined);
  }
  await page.goto(`${stage.url}/playground`);
  await settled(page);
  await expect.poll(() => page.getByLabel('Model').inputValue()).not.toBe('');
  await page.getByLabel('Model').fill('m');
  await page.getByPlaceholder('Say something').fill('say it');
  await page.keyboard.press('Enter');
  await page.getByText('that is all of it').last().waitFor({ timeout: 20_000 });
  await page.waitForTimeout(300);
  await check('the answer');
  expect(found).toEqual([]);
  expect(hits).toEqual([]);
});
