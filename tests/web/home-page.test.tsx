/** The front door: for strangers, and for the one who writes it. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { writeUser } from '../../web/lib/session.ts';
import { aroundPages, linksIn, reader, rendered } from './rendered.tsx';

beforeEach(() => aroundPages());
afterEach(() => vi.unstubAllGlobals());

const priced = (name: string, some: object) => ({
  ...{ model_name: name, quota_type: 0, model_ratio: 1.25, model_price: 0, completion_ratio: 4, cache_ratio: 1 },
  ...{ enable_groups: ['default'], owner_by: '', supported_endpoint_types: [] },
  ...{ maker: null, context: null, ...some },
});
const known = { maker: { zh: '开放', en: 'Open' }, context: 400_000 };
const home = async (more: object = {}, content = '', about: object = known) => {
  const { HomePage } = await import('../../web/features/site/home-page.tsx');
  return rendered(<HomePage />, {
    answers: {
      home: content,
      status: { quota_per_unit: 500_000, system_name: 'Acme', register_enabled: true, ...more },
      'home-prices': {
        ...{ success: true, message: '', group_ratio: {}, usable_group: {} },
        data: [
          priced('dead', {}),
          priced('gpt-5', about),
          priced('draw', { quota_type: 1, model_price: 0.04 }),
          ...Array.from({ length: 12 }, (_, at) => priced(`m${at}`, {})),
        ],
      },
      'model-levels': { dead: 'bad', 'gpt-5': 'good', draw: 'slow' },
    },
  });
};

test('a reader without a login sees models with prices and status, the best first, how they are called, and the ways in', async () => {
  const page = await home();
  expect(page).toContain('$2.50');
  expect(page).toContain('$10.00');
  expect(page).toContain('每次 $0.04');
  const order = ['gpt-5', 'draw', 'dead'].map((name) => page.indexOf(`>${name}<`));
  expect(order).toEqual(order.toSorted((one, other) => one - other));
  expect(page.slice(page.indexOf('>dead<'))).toMatch(/status-bad[^<>]*>失败/);
  expect(page).toMatch(/>开放<.*>400k</s);
  expect(page).toContain('https://site.example/v1/messages');
  expect(page).toContain('全部 15 个模型与价格');
  expect(page).not.toContain('>m11<');
  expect(linksIn(page)).toEqual(['/register', '/pricing', '/pricing', '/api-docs']);
  expect(page).not.toContain('编辑');
});

test('what the site is and the way in come before the base URL, it before the command and the models, and both can be copied', async () => {
  const page = await home();
  const [base, models, command] = ['>https://site.example/v1<', 'id="home-models"', '>curl '].map((one) =>
    page.indexOf(one),
  );
  for (const [before, text] of ['填入下面的地址', 'href="/register"'].map((one) => [page.indexOf(one), one] as const))
    expect([text, before > 0 && before < (base ?? 0)]).toEqual([text, true]);
  expect(command).toBeGreaterThan(base ?? 0);
  expect(models).toBeGreaterThan(command ?? 0);
  expect(page.slice(base, command)).toMatch(/<button[^>]*>.*复制</s);
  expect(page).toContain('aria-label="复制命令"');
  for (const language of ['curl', 'Python', 'JavaScript']) expect(page).toContain(`>${language}</span>`);
});

test('a column that would say nothing of any model is left out', async () => {
  expect(await home()).toContain('上下文');
  expect(await home({}, '', {})).not.toContain('上下文');
});

test('the login stands in the place of registration where that is off', async () => {
  for (const more of [{ register_enabled: false }, { self_use_mode_enabled: true }])
    expect(linksIn(await home(more))).toEqual(['/login', '/pricing', '/pricing', '/api-docs']);
});

test('the introduction is the administrator’s, who alone can change it where it stands', async () => {
  expect(await home({ home_text: 'Models for **Acme**' })).toContain('Models for **Acme**');
  writeUser(reader(10));
  expect(await home()).not.toContain('编辑');
  writeUser(reader(100));
  expect(await home()).toContain('编辑');
});

test('a home page of one’s own wins', async () => {
  const page = await home({ home_text: 'not this' }, '# Ours');
  expect(page).not.toContain('not this');
  expect(page).not.toContain('/v1/messages');
});

const about = async (content: string): Promise<string> => {
  const { AboutPage } = await import('../../web/features/site/about-page.tsx');
  const maker = { zh: '开放', en: 'Open' };
  return rendered(<AboutPage />, {
    path: '/about',
    answers: {
      about: content,
      status: { system_name: 'Acme', version: 'v9', server_address: 'https://site.example' },
      'home-prices': { data: [priced('gpt-5', { maker }), priced('gpt-6', { maker }), priced('own', {})] },
    },
  });
};

test('an unwritten About page says what the site is, and offers root to write it', async () => {
  const page = await about('');
  for (const text of [
    'Acme 汇集',
    '>https://site.example/v1<',
    '>3<',
    '>v9<',
    '>MIT<',
    '>开放<',
    'curl https://site.example/v1/',
  ])
    expect(page).toContain(text);
  expect(linksIn(page)).toEqual(['/pricing', '/api-docs', '/login']);
  expect(page).not.toContain('管理员暂时未设置任何关于内容');
  writeUser(reader(100));
  expect(await about('')).toMatch(/href="\/setting\?q=About".*编写此页<.*管理员暂时未设置任何关于内容/s);
  const own = await about('We relay');
  expect(own).not.toContain('Acme 汇集');
  expect(own).not.toContain('编写此页');
});
