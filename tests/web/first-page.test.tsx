/** The way to the first answer as it stands at each step. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Channel, Log, Token } from '../../server/contract/entities.ts';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { keyStarts } from '../../server/providers/key-starts.ts';
import { smallModel } from '../../web/lib/small-model.ts';
import { aroundPages, linksIn, reader, rendered } from './rendered.tsx';

beforeEach(() => aroundPages(reader(100)));
afterEach(() => vi.unstubAllGlobals());

const channel = { id: 3, name: 'practice', models: 'practice-small,practice-large' } as unknown as Channel;
const token = { id: 5, name: 'first', key: 'k', unlimited_quota: true, model_limits_enabled: false } as Token;
const facts = { frt: 120, ms: 740, model_ratio: 0.5, group_ratio: 1, completion_ratio: 3 };
const row = {
  ...{ id: 9, model_name: 'practice-small', quota: 21, prompt_tokens: 1200, completion_tokens: 24, use_time: 1 },
  other: JSON.stringify(facts),
} as unknown as Log;

const page = async (progress: object): Promise<string> => {
  const { FirstPage } = await import('../../web/features/setup/first-page.tsx');
  return rendered(<FirstPage />, {
    path: '/first',
    answers: {
      'first-steps': progress,
      'first-key,5': { key: 'abcdefgh' },
      status: { setup: true, quota_per_unit: 500_000, self_use_mode_enabled: true },
    },
  });
};
const begun = { channel: null, token: null, request: false, row: null };
const openSteps = (html: string): number => html.split('aria-current="step"').length - 1;

test('without an upstream the key of a provider is asked for, and the practice upstream stands beside it', async () => {
  const html = await page(begun);
  expect(openSteps(html)).toBe(1);
  expect(html).toContain('服务商密钥');
  expect(html).toContain('使用模拟上游');
  expect(html).toContain('第 2 步，共 4 步');
  expect(html).not.toContain('sk-abcdefgh');
});

test('with upstream and key the key is shown with its snippets, and a request can be sent for the reader', async () => {
  const html = await page({ ...begun, channel, token });
  expect(html).toContain('practice · 2 个模型');
  expect(html).toContain('sk-abcdefgh');
  expect(html).toContain('https://site.example/v1/chat/completions');
  expect(html).toContain('替我发一个测试请求');
  expect(html).not.toContain('服务商密钥');
});

test('the first request comes with its times, its cost and the way to its row', async () => {
  const html = await page({ channel, token, request: true, row });
  expect(html).toContain('首字 0.12 s，共 0.74 s');
  expect(html).toContain('输入 1,200 → 输出 24');
  expect(html).toContain('$0.000042');
  expect(html).not.toContain('等待第一个请求');
  expect(linksIn(html)).toEqual(expect.arrayContaining(['/log?open=9', '/detail', '/channel/add']));
  expect(html).toMatch(/<a(?=[^>]*href="\/detail")(?=[^>]*button-primary)[^>]*>前往数据看板</);
});

test('a small model that talks is asked, and none that draws or embeds', () => {
  expect(smallModel(['text-embedding-3-small', 'dall-e-3', 'gpt-5', 'gpt-5-mini'])).toBe('gpt-5-mini');
  expect(smallModel(['gpt-4o-mini-tts', 'deepseek-r1'])).toBe('deepseek-r1');
  expect(smallModel(['text-embedding-3-small'])).toBe('text-embedding-3-small');
  expect(smallModel([])).toBe('');
});

test('a key says whose it is, where only one provider has such keys', async () => {
  const { providerOf } = await import('../../web/lib/key-provider.ts');
  const types = Object.entries(keyStarts).map(([slug, key_starts]) => ({ slug, key_starts }));
  const of = (key: string) => providerOf(key, types)?.slug;
  expect([of(' sk-ant-api03-x'), of('sk-or-v1-x'), of('AIzaSyX'), of('gsk_x')]).toEqual([
    'anthropic',
    'openrouter',
    'gemini',
    'groq',
  ]);
  expect(of('sk-1234')).toBeUndefined();
});

test('beginnings of keys are those of providers there are, each of one alone', () => {
  const all = Object.values(keyStarts).flat();
  for (const start of all) expect(all.filter((other) => other.startsWith(start))).toEqual([start]);
  for (const slug of Object.keys(keyStarts)) expect(providerBySlug(slug)?.slug).toBe(slug);
});
