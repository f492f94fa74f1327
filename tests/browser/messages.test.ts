/** The specification's messages, as somebody who reads Chinese sees them. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { zh } from '../../web/locales/zh.ts';
import { type Rule, rules } from '../spec/rules.ts';
import { figure } from '../support/figure.ts';
import { choose, openStage, type Stage } from './support.ts';

let stage: Stage;
let page: Page;
let url: string;
const seen = new Set<string>();

beforeAll(async () => {
  stage = await openStage();
  url = stage.url;
  page = await stage.newPage(await stage.newContext());
  await page.goto(stage.setupLink);
  await page.evaluate(() => localStorage.setItem('i18nextLng', 'zh'));
  await page.reload();
  const press = () => page.getByRole('button', { name: '初始化系统' }).click();
  await press();
  await sees('请输入管理员用户名');
  await page.getByLabel('用户名').fill('root');
  await page.getByLabel('密码', { exact: true }).fill('short');
  await press();
  await sees('密码长度至少为8个字符');
  await page.getByLabel('密码', { exact: true }).fill('password1');
  await page.getByLabel('确认密码').fill('password2');
  await press();
  await sees('两次输入的密码不一致');
  await page.getByLabel('确认密码').fill('password1');
  await press();
  await page.waitForURL('**/first');
});
afterAll(() => stage?.close());

/** The words are on the page; messages fade, so they are looked for at once. */
async function sees(words: string): Promise<void> {
  await page.getByText(words).first().waitFor({ timeout: 15_000 });
  seen.add(words);
}
const click = (name: string) => page.getByRole('button', { name, exact: true }).first().click();
const save = () => page.getByRole('dialog').locator('button[type=submit]').click();
/** The next calls of this address fail as given; null = the network itself. */
const failing = async (address: string, answer: object | null, work: () => Promise<void>) => {
  await page.route(address, (route) => (answer === null ? route.abort() : route.fulfill({ json: answer })));
  await work();
  await page.unroute(address);
};

test('channels', async () => {
  await page.goto(`${url}/channel/add`);
  const drawer = page.getByRole('dialog');
  await drawer.getByRole('button', { name: 'OpenAI', exact: true }).click();
  await save();
  await sees('请填写渠道名称和渠道密钥！');
  await drawer.getByRole('button', { name: '获取模型列表' }).click();
  await sees('请填写密钥');
  await drawer.getByLabel('名称', { exact: true }).fill('first');
  await drawer.getByLabel('密钥', { exact: true }).fill('sk-none');
  await drawer.getByLabel('API 地址').fill('http://127.0.0.1:1');
  await save();
  await sees('请至少选择一个模型！');
  await drawer.getByRole('button', { name: '获取模型列表' }).click();
  await sees('获取模型列表失败');
  await drawer.getByLabel('模型', { exact: true }).fill('gpt-4o, o3');
  await drawer.getByRole('button', { name: '填入', exact: true }).click();
  await drawer.getByLabel('模型', { exact: true }).fill('o3');
  await drawer.getByRole('button', { name: '填入', exact: true }).click();
  await sees('某些模型已存在！');
  expect(await drawer.getByRole('list', { name: '已选模型' }).getByRole('listitem').allInnerTexts()).toEqual([
    'gpt-4o',
    'o3',
  ]);
  await drawer.getByRole('button', { name: '高级设置' }).click();
  await drawer.getByLabel('模型映射').fill('{');
  await save();
  await sees('模型映射必须是合法的 JSON 格式！');
  await drawer.getByLabel('模型映射').fill('');
  await drawer.getByLabel('API 地址').fill('http://127.0.0.1:1/v1/');
  await save();
  await sees('带有 /v1 可能导致请求失败');
  await page.getByRole('dialog').getByRole('button', { name: '取消' }).last().click();
  await drawer.getByLabel('API 地址').fill('http://127.0.0.1:1/');
  await save();
  await sees('渠道创建成功！');
  await page.goto(`${url}/channel/edit/999`);
  await sees('渠道未找到，请刷新页面后重试。');
  await page.goto(`${url}/channel`);
  await page.getByRole('button', { name: 'first 的更多操作' }).click();
  await failing('**/api/channel/copy/*', { success: false, message: '不行', code: 'x' }, async () => {
    await page.getByRole('menuitem', { name: '复制' }).click();
    await sees('渠道复制失败: 不行');
  });
  await page.getByRole('button', { name: 'first 的更多操作' }).click();
  await page.getByRole('menuitem', { name: '复制' }).click();
  await sees('渠道复制成功');
  await page.getByLabel('选择当前所有行').check();
  await click('设置标签');
  await page.getByRole('dialog').getByRole('button', { name: '设置标签' }).click();
  await sees('标签不能为空！');
});

test('tokens and the clipboard', async () => {
  await page.goto(`${url}/token`);
  await click('复制所选令牌');
  await sees('请至少选择一个令牌！');
  await page.goto(`${url}/token?open=new`);
  const drawer = page.getByRole('dialog');
  await drawer.getByLabel('名称', { exact: true }).fill('laptop');
  await drawer.getByRole('radio', { name: '日期…' }).click();
  await drawer.getByLabel('过期时间').fill('tomorrow');
  await page.keyboard.press('Tab');
  await sees('过期时间格式错误！');
  await drawer.getByLabel('过期时间').fill('-1');
  await save();
  await sees('令牌创建成功，请在列表页面点击复制获取令牌！');
  await page.goto(`${url}/token`);
  await click('复制');
  await sees('已复制到剪贴板！');
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'));
  });
  await click('复制');
  await sees('无法复制到剪贴板，请手动复制');
  expect(await page.getByRole('dialog').locator('textarea').inputValue()).toMatch(/^sk-\w{48}$/);
  await page.goto(`${url}/token?open=1`);
  await save();
  await sees('令牌更新成功！');
});

test('wallet and codes', async () => {
  await page.goto(`${url}/topup`);
  await click('兑换');
  await sees('请输入兑换码！');
  // Nothing that cannot be used is offered: its place says why.
  expect(await page.getByRole('button', { name: '支付宝' }).count()).toBe(0);
  await sees('超级管理员未设置充值链接！');
  await sees('管理员未开启在线充值！');
  await page.getByRole('textbox', { name: '兑换码', exact: true }).fill('nothing');
  await failing('**/api/user/topup', null, async () => {
    await click('兑换');
    await sees('请求失败');
  });
  const code = await page.evaluate(async () => {
    const answer = await fetch('/api/redemption/', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'new-api-user': '1' },
      body: JSON.stringify({ name: 'gift', quota: 5, count: 1 }),
    });
    return ((await answer.json()) as { data: string[] }).data[0] ?? '';
  });
  await page.getByRole('textbox', { name: '兑换码', exact: true }).fill(code);
  await click('兑换');
  await sees('兑换成功！');
  await page.goto(`${url}/redemption`);
  await click('添加兑换码');
  await save();
  await sees('兑换码创建成功！');
});

test('settings', async () => {
  await page.goto(`${url}/setting?tab=other`);
  const panel = page.locator('form').filter({ hasText: '系统名称' });
  const store = () => panel.getByRole('button', { name: '保存', exact: true }).click();
  await store();
  await sees('你似乎并没有修改什么');
  await panel.getByLabel('聊天配置: JSON', { exact: true }).click();
  await panel.getByRole('textbox', { name: '聊天配置', exact: true }).fill('{');
  await store();
  await sees('请检查输入');
  await sees('不是合法的 JSON 字符串');
  await panel.getByRole('textbox', { name: '聊天配置', exact: true }).fill('[]');
  await panel.getByRole('textbox', { name: '系统名称', exact: true }).fill('网关');
  await failing('**/api/option/', { success: false, message: '不行', code: 'x' }, async () => {
    await store();
    await page.getByText('保存失败', { exact: true }).waitFor();
    seen.add('保存失败');
  });
  await failing('**/api/option/', null, async () => {
    await store();
    await sees('保存失败，请重试');
  });
  await panel.getByRole('textbox', { name: 'Logo 图片地址', exact: true }).fill('https://site.example/logo.png');
  let calls = 0;
  await page.route('**/api/option/', (route) =>
    calls++ === 0 ? route.fulfill({ json: { success: false, message: '不行', code: 'x' } }) : route.continue(),
  );
  await store();
  await sees('部分保存失败，请重试');
  await page.unroute('**/api/option/');
  await store();
  await sees('保存成功');
  await failing('**/api/option/details', null, async () => {
    await page.goto(`${url}/setting?tab=system`);
    await sees('刷新失败');
  });
  await failing('**/api/ratio/unset', null, async () => {
    await page.goto(`${url}/setting?tab=operation&block=unset_models`);
    await sees('获取启用模型失败');
  });
});

test('prices, tags and people', async () => {
  await page.goto(`${url}/setting?tab=operation&block=visual`);
  await click('添加模型');
  const drawer = page.getByRole('dialog');
  await drawer.getByLabel('模型名称').fill('gpt-4o');
  await drawer.getByLabel('输入价格').fill('much');
  await drawer.getByRole('button', { name: '确定' }).click();
  await sees('模型名称已存在');
  await sees('请输入数字');
  await page.evaluate(() =>
    fetch('/api/channel/', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'new-api-user': '1' },
      body: JSON.stringify({ type: 1, name: 'tagged', key: 'k', models: 'nobody-priced-me', tag: 'blue' }),
    }),
  );
  await page.goto(`${url}/setting?tab=operation&block=unset_models`);
  const fill = () => page.getByRole('button', { name: /^设置选中的模型/ }).click();
  await page.getByLabel('nobody-priced-me').waitFor();
  await fill();
  await sees('请先选择需要批量设置的模型');
  await page.getByLabel('nobody-priced-me').check();
  await fill();
  await sees('请输入填充值');
  await page.getByRole('textbox', { name: '固定价格' }).last().fill('x');
  await fill();
  await sees('请输入有效的数字');
  await page.getByRole('textbox', { name: '固定价格' }).last().fill('');
  await choose(page.getByLabel('批量设置方式'), zh.prices.fill.both);
  await fill();
  await sees('请输入模型倍率和补全倍率');

  await page.goto(`${url}/channel?mode=tag`);
  await page
    .getByRole('button', { name: /编辑标签 blue|编辑/ })
    .first()
    .click();
  await save();
  await sees('没有任何修改！');
  await drawer.getByLabel('优先级').fill('1.5');
  await save();
  await sees('优先级必须是整数！');
  await drawer.getByLabel('优先级').fill('2');
  await drawer.getByLabel('权重').fill('-1');
  await save();
  await sees('权重必须是非负整数！');
  await drawer.getByLabel('权重').fill('3');
  await save();
  await sees('渠道更新成功！');

  await page.evaluate(() =>
    fetch('/api/user/', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'new-api-user': '1' },
      body: JSON.stringify({ username: 'ann', password: 'password1' }),
    }),
  );
  await page.goto(`${url}/user?q=ann`);
  await page.locator('tbody tr', { hasText: 'ann' }).locator('button[aria-haspopup=menu]').click();
  await page.getByRole('menuitem', { name: '提升' }).click();
  await sees('操作成功完成！');
});

test('most of the console’s messages were on the page', () => {
  const quoted = (rules as readonly Rule[]).flatMap(({ at, message = '' }) =>
    at !== 'server' && /\p{Script=Han}/u.test(message) ? [message.replace(/\.\.\.$/, '')] : [],
  );
  const shown = quoted.filter((message) => [...seen].some((words) => words.startsWith(message)));
  figure(`${shown.length} of ${quoted.length} messages of the console seen in a browser`);
  expect(shown.length).toBeGreaterThanOrEqual(45);
});
