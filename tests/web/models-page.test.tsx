/** Models and prices as they are first shown, with what a gateway in memory answers: to administrators, to users, to visitors. */
import i18next from 'i18next';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Actor } from '../../server/http/call.ts';
import type { AdminModel, ModelView } from '../../web/features/pricing/model-rows.ts';
import { adminViewsOf, filtered, marginOf, matches, viewsOf } from '../../web/features/pricing/model-rows.ts';
import type { PriceList } from '../../web/features/pricing/price-rows.ts';
import { writeUser } from '../../web/lib/session.ts';
import { createTestGateway } from '../support/gateway.ts';
import { aroundPages, linksIn, reader, rendered } from './rendered.tsx';

let models: readonly AdminModel[];
let list: PriceList;
beforeAll(async () => {
  const gateway = await createTestGateway();
  const url = 'http://127.0.0.1:9';
  await gateway.channel(url, { name: 'discount', models: 'gpt-4o,house-7b,practice-x', setting: '{"cost_ratio":0.8}' });
  await gateway.channel(url, { name: 'second', models: 'gpt-4o-mini,claude-sonnet-4-5,drawing,vendor/odd name' });
  await gateway.call('ratio.set', {
    models: {
      drawing: { per_call: 0.04 },
      'vendor/odd name': { input: 1, output: 2 },
      'gpt-4o-mini': { input: 0.1, output: 0.4 },
    },
  });
  models = (await gateway.call('ratio.models', {})) as AdminModel[];
  const guest: Actor = { via: 'session', userId: 0, username: '', role: 0, group: '' };
  list = (await gateway.call('pricing.get', {}, guest)) as PriceList;
  await gateway.close();
  await aroundPages();
});
afterAll(() => vi.unstubAllGlobals());

const page = async (role: number, path = '/pricing'): Promise<string> => {
  writeUser(role === 0 ? null : reader(role));
  const { PricingPage } = await import('../../web/features/pricing/pricing-page.tsx');
  return rendered(<PricingPage />, { path, answers: { 'pricing,0': list, 'pricing,7': list, 'model-table': models } });
};
const row = (html: string, model: string): string => {
  const at = html.indexOf(`>${model}</a>`);
  return at < 0 ? '' : html.slice(at, html.indexOf('</tr>', at));
};
const words = (html: string): string => html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');

test('administrators see price, cost, margin and channels, and change prices where they stand', async () => {
  const html = await page(100);
  const gpt = row(html, 'gpt-4o');
  expect(words(gpt)).toContain('OpenAI 128k 文本、图像、文件');
  expect(gpt).toMatch(/aria-label="gpt-4o 的输入 \$\/1M"[^>]*value="2\.50"/);
  expect(words(gpt)).toContain('2.00 / 8.00');
  expect(words(gpt)).toContain('20.0%');
  expect(gpt).toContain('href="/channel?model=gpt-4o"');
  // Sold below what it costs.
  expect(row(html, 'gpt-4o-mini')).toMatch(/text-danger">-50\.0%/);
  expect(row(html, 'drawing')).toMatch(/value="0\.04"[\s\S]*\/ 次/);
});

test('models without a price are in one line, with a price they might have, and not in the table', async () => {
  const html = await page(100);
  expect(html).toContain('2 个模型没有价格，请求会被拒绝。');
  expect(words(html)).toMatch(/house-7b → 参照同规模模型：\$[\d.]+ \/ \$[\d.]+ 应用/);
  expect(words(html)).toContain('practice-x → 免费 应用');
  expect(html).toContain('应用 2 条建议');
  expect(row(html, 'house-7b')).toBe('');
});

test('users and readers without a login see the same table without cost, margin, channels, use and fields', async () => {
  for (const html of [await page(1), await page(0)]) {
    expect(words(row(html, 'gpt-4o'))).toContain('OpenAI 128k 文本、图像、文件 2.50 10.00 1.25');
    for (const secret of ['成本', '毛利率', '7 天请求', '修改历史', '模拟调价', '没有价格', 'discount', '/channel'])
      expect(html).not.toContain(secret);
    expect(html).not.toContain('aria-label="gpt-4o 的输入');
  }
});

test('channels are offered to administrators alone where there are no models, and nobody is offered filters', async () => {
  const empty = async (role: number): Promise<string> => {
    writeUser(role === 0 ? null : reader(role));
    const { PricingPage } = await import('../../web/features/pricing/pricing-page.tsx');
    const none = { ...list, data: [] };
    return rendered(<PricingPage />, {
      path: '/pricing',
      answers: { 'pricing,0': none, 'pricing,7': none, 'model-table': [] },
    });
  };
  const pages = [await empty(100), await empty(1), await empty(0)];
  expect(pages.map((page) => page.includes('href="/channel/add"'))).toEqual([true, false, false]);
  // There is nothing to search, to narrow or to list.
  for (const page of pages) expect(page).not.toMatch(/type="search"|gateway model list/);
});

test('a group with a ratio shows its own prices, which are not typed there', async () => {
  const vip = { ...list, group_ratio: { default: 1, vip: 0.5 }, usable_group: { default: '', vip: '' } };
  writeUser(reader(100));
  const { PricingPage } = await import('../../web/features/pricing/pricing-page.tsx');
  const html = rendered(<PricingPage />, {
    path: '/pricing?group=vip',
    answers: { 'pricing,7': vip, 'model-table': models },
  });
  expect(words(row(html, 'gpt-4o'))).toContain('1.25 5.00');
  expect(html).not.toContain('aria-label="gpt-4o 的输入');
});

test('a model has a page: prices, how it is called, and for administrators its channels', async () => {
  const html = await page(100, '/pricing/gpt-4o');
  expect(words(html)).toMatch(/discount – .* 0 2\.00 \/ 8\.00/);
  expect(html).toContain('/v1/chat/completions');
  expect(html).toContain('&quot;model&quot;:&quot;gpt-4o&quot;');
  expect(linksIn(html)).toEqual(expect.arrayContaining(['/pricing', '/log?model=gpt-4o', '/token?new=1']));
  const guest = await page(0, '/pricing/gpt-4o');
  expect(words(guest)).toContain('default ×1 2.50 10.00 1.25');
  expect(guest).not.toContain('discount');
  expect(guest).not.toContain('/token?new=1');
});

test('the page of a model has its price before and after each change, and how long its channels took, each with its median', async () => {
  const now = Date.UTC(2026, 10, 25, 10, 30);
  vi.useFakeTimers({ toFake: ['Date'], now });
  writeUser(reader(100));
  const { PricingPage } = await import('../../web/features/pricing/pricing-page.tsx');
  const none = { mean: null, p50: null, p95: null };
  const channel = (id: number, name: string, first_token: object) => ({
    ...{ id, name, username: '', points: [], total: { requests: 1, first_token } },
  });
  const change = (id: number, before: object, after: object) => ({
    ...{ id, created_time: now / 1000 - id * 86_400, actor: 'root', reason: 'set' },
    before: { input: null, output: null, cached: null, per_call: null, ...before },
    after: { input: null, output: null, cached: null, per_call: null, ...after },
  });
  const changes = [
    change(1, { input: 5, output: 15 }, { input: 2.5, output: 10 }),
    change(2, { per_call: 0.04 }, { input: 5, output: 15 }),
    change(3, {}, { per_call: 0.04 }),
    change(4, { input: 7, output: 7 }, {}),
  ];
  const series = [
    channel(21, 'east', { mean: 300, p50: 310, p95: 900 }),
    channel(22, 'silent', none),
    channel(-1, 'the rest', { mean: 1, p50: 1, p95: 1 }),
  ];
  const shown = (some: { readonly changes: object; readonly series: object }) =>
    rendered(<PricingPage />, {
      path: '/pricing/gpt-4o',
      answers: { 'pricing,7': list, 'model-table': models, 'ratio,model-history,gpt-4o': some.changes },
      lists: [[['model-latency', 'gpt-4o', Date.UTC(2026, 10, 25, 11) / 1000], { series: some.series }]],
    });
  const html = shown({ changes, series });
  expect(words(html)).toContain('2026-11-24 root $5.00 / $15.00 → $2.50 / $10.00');
  expect(words(html)).toContain('2026-11-23 root $0.04 / 次 → $5.00 / $15.00');
  expect(words(html)).toContain('2026-11-22 root 无价格 → $0.04 / 次');
  // The oldest waits behind a button that counts all.
  expect(words(html)).not.toContain('2026-11-21');
  expect(words(html)).toContain('显示全部 4 条');
  expect(words(html)).toMatch(/east\s+0\.31 s/);
  expect(html).toContain('href="/channel/edit/21"');
  expect(html).not.toContain('silent');
  expect(html).not.toContain('the rest');
  const empty = shown({ changes: [], series: [] });
  expect(words(empty)).toContain('价格没有修改过。');
  expect(words(empty)).not.toContain('首字时间，7 天');
  vi.useRealTimers();
});

test('a name with a slash and a space has a page of its own, an unknown one says so', async () => {
  expect(await page(0)).toContain('href="/pricing/vendor%2Fodd%20name"');
  expect(words(await page(0, '/pricing/vendor%2Fodd%20name'))).toContain('1.00 2.00');
  expect(await page(0, '/pricing/nothing')).toContain('没有这个名称且已定价的模型。');
});

test('ratios are the second view, with their formula', async () => {
  const html = await page(1, '/pricing?view=ratios');
  expect(html).toContain('模型 1.25 · 补全 4 · 分组 1');
  expect(html).toMatch(/分组倍率.*模型倍率.*补全倍率/s);
});

const view = (more: Partial<ModelView>): ModelView => ({
  ...{ id: 1, model: 'm', maker: { zh: '甲', en: 'Acme' }, context: 128_000, longest: 1, takes: ['text'] },
  ...{ groups: ['default'], available: true, input: 2, output: 8, cached: null, perCall: null, admin: null },
  ...more,
});

test('margin is what is left of the price for the mix of words that was asked for', () => {
  const admin = { cost_input: 1, cost_output: 8, tokens_in: 0, tokens_out: 0 } as unknown as AdminModel;
  // Three words of a prompt for one of an answer: 14 are paid of them, 11 are spent.
  expect(marginOf(view({ admin }))).toBeCloseTo(1 - 11 / 14);
  expect(marginOf(view({ admin: { ...admin, tokens_in: 10 } }))).toBe(0.5);
  expect(marginOf(view({ admin: { ...admin, tokens_out: 10 } }))).toBe(0);
  expect(marginOf(view({ admin: { ...admin, cost_input: null } }))).toBeNull();
  expect(marginOf(view({ admin, input: 0, output: 0 }))).toBeNull();
  expect(marginOf(view({}))).toBeNull();
});

test.each([
  [{}, ['chat', 'draw', 'vast']],
  [{ q: 'vs' }, ['vast']],
  [{ q: 'acm' }, ['chat', 'draw', 'vast']],
  [{ takes: 'image' }, ['vast']],
  [{ out: '5' }, ['chat']],
  [{ context: '200000' }, ['vast']],
  [{ maker: 'Other' }, []],
] as const)('%j narrows the table', (asked, names) => {
  const rows = [
    view({ model: 'chat', output: 5 }),
    view({ model: 'draw', input: null, output: null, perCall: 1, context: null }),
    view({ model: 'vast', takes: ['text', 'image'], context: 1_000_000 }),
  ];
  const url = { get: (name: string) => (asked as Record<string, string>)[name] ?? '' };
  expect(filtered(rows, url).map(({ model }) => model)).toEqual(names);
});

test('letters are found in their order', () => {
  expect([matches('gpt-4o-mini', 'g4m'), matches('gpt-4o-mini', 'm4g'), matches('x', '')]).toEqual([true, false, true]);
});

test('administrators and everybody compute the same price of a group', () => {
  const shown = (all: readonly ModelView[]) =>
    all.map(({ model, input, output, cached, perCall }) => [model, input, output, cached, perCall]);
  const priced = { ...list, group_ratio: { default: 0.3 } };
  expect(shown(adminViewsOf(models, 'default', 0.3))).toEqual(shown(viewsOf(priced, 'default')));
});

test('what channels multiply prices by is beside the price that an administrator sets, and in the prices of each group', async () => {
  const ranged = {
    ...list,
    group_ratio: { default: 1, vip: 0.5 },
    data: list.data.map((item) =>
      item.model_name === 'gpt-4o'
        ? {
            ...item,
            enable_groups: ['default', 'vip'],
            channel_factors: { default: { least: 1, most: 1.5 }, vip: { least: 3, most: 3 } },
          }
        : item,
    ),
  };
  const vipToo = models.map((one) => ({ ...one, groups: ['default', 'vip'] }));
  const answers = { 'pricing,0': ranged, 'pricing,7': ranged, 'model-table': vipToo };
  const { PricingPage } = await import('../../web/features/pricing/pricing-page.tsx');
  const at = async (path: string, role: number) => {
    writeUser(role === 0 ? null : reader(role));
    return rendered(<PricingPage />, { path, answers });
  };
  const gpt = row(await at('/pricing', 100), 'gpt-4o');
  expect(gpt).toMatch(/aria-label="gpt-4o 的输入 \$\/1M"[^>]*value="2\.50"/);
  expect(words(gpt)).toContain('$2.50 至 $3.75，视渠道而定');
  expect(words(row(await at('/pricing', 100), 'gpt-4o-mini'))).not.toContain('渠道而定');
  expect(words(row(await at('/pricing', 0), 'gpt-4o'))).toContain('3.75 $2.50 起，视渠道而定');
  for (const role of [100, 0]) {
    const html = words(await at('/pricing/gpt-4o', role));
    expect(html).toContain('default ×1 3.75 $2.50 起，视渠道而定 15.00 $10.00 起，视渠道而定');
    expect(html).toContain('vip ×0.5 3.75 15.00');
  }
});

test('one part of a price that is typed leaves the others as many dollars as they are', async () => {
  const { priceWith } = await import('../../web/features/pricing/use-models.ts');
  const one = adminViewsOf(models, 'default', 1).find(({ model }) => model === 'gpt-4o');
  if (one === undefined) throw new Error('gpt-4o is not there');
  expect(priceWith(one, 'input', 5)).toEqual({ input: 5, output: 10, cached: 1.25 });
  expect(priceWith(one, 'output', 12)).toEqual({ input: 2.5, output: 12, cached: 1.25 });
  expect(priceWith(one, 'cached', 0.5)).toEqual({ input: 2.5, output: 10, cached: 0.5 });
  expect(priceWith(one, 'perCall', 1)).toEqual({ per_call: 1 });
});

test('a change by percent is one of every price there is', async () => {
  const { byPercent } = await import('../../web/features/pricing/simulate.tsx');
  const changed = byPercent(models, 10);
  expect(changed['gpt-4o']).toEqual({ input: 2.75, output: 11 });
  expect(changed.drawing).toEqual({ per_call: 0.044 });
  expect(changed['house-7b']).toBeUndefined();
});

test.each([
  ['gpt-4o', '/chat/completions'],
  ['text-embedding-3-small', '/embeddings'],
  ['dall-e-3', '/images/generations'],
])('%s is called at %s, from a shell, from Python and from JavaScript', async (model, path) => {
  const { snippetOf } = await import('../../web/components/call-example.tsx');
  for (const kind of ['curl', 'Python', 'JavaScript'] as const) {
    const text = snippetOf(kind, model, 'https://site.example');
    expect(text).toContain('https://site.example/v1');
    expect(text).toContain(path);
    expect(text).toContain(`"model":"${model}"`);
  }
});

test('compared models show the cheaper price and the larger context', async () => {
  const { Comparison } = await import('../../web/features/pricing/compare.tsx');
  const html = rendered(
    <Comparison models={[view({ model: 'dear' }), view({ model: 'cheap', input: 1, context: 1_000_000 })]} />,
  );
  expect([...html.matchAll(/<strong[^>]*>([^<]*)</g)].map(([, text]) => text)).toEqual(['1.00', '1M']);
  expect(html).not.toContain(i18next.t('pricing.margin'));
  const admin = { cost_input: 1, cost_output: 4, tokens_in: 0, tokens_out: 0, channels: [] } as unknown as AdminModel;
  const priced = rendered(<Comparison models={[view({ model: 'mine', admin }), view({ model: 'cheap' })]} />);
  expect(priced).toContain(i18next.t('pricing.margin'));
});

test('on a phone a model is two lines: its name with what it did, and its prices as one text', async () => {
  const { modelColumns } = await import('../../web/features/pricing/model-columns.tsx');
  const columns = (admin: boolean) => modelColumns({ t: i18next.t, admin, narrow: true, levels: { mine: 'slow' } });
  expect(columns(true).filter(({ key }) => key)).toHaveLength(1);
  const [card] = columns(false);
  const words = (row: ModelView) => rendered(<p>{card?.cell?.(row)}</p>).replace(/<[^>]*>/g, ' ');
  const bars = 'role="img"';
  const priced = view({ model: 'mine', input: 3, output: 15 });
  expect(words(priced)).toContain('较慢');
  expect(words(priced)).toContain('输入 $3.00 · 输出 $15.00 / 1M');
  expect(words({ ...priced, output: 0 })).toContain('输入 $3.00 / 1M');
  expect(words({ ...priced, input: null, output: null, perCall: 0.04 })).toContain('$0.04 / 次');
  expect(rendered(<p>{card?.cell?.(priced)}</p>)).not.toContain(bars);
  const admin = { bars: [] } as unknown as AdminModel;
  expect(rendered(<p>{card?.cell?.({ ...priced, admin })}</p>)).toContain(bars);
});

test('a margin of nothing is no warning', async () => {
  const { modelColumns } = await import('../../web/features/pricing/model-columns.tsx');
  const margin = modelColumns({ t: i18next.t, admin: true, narrow: false, levels: {} }).find(
    ({ id }) => id === 'margin',
  );
  const classOf = (cost: number) => {
    const admin = { cost_input: cost, cost_output: cost, tokens_in: 0, tokens_out: 0 } as unknown as AdminModel;
    return rendered(<p>{margin?.cell?.(view({ input: 10, output: 10, admin }))}</p>);
  };
  expect(classOf(10)).toContain('text-ink-3">0.0%');
  expect(classOf(9.5)).toContain('text-warning">5.0%');
  expect(classOf(11)).toContain('text-danger">-10.0%');
});
