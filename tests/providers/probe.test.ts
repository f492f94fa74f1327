/** What a test of a channel asks, for every provider with the models it starts with. */
import { expect, test } from 'vitest';
import { providers } from '../../server/providers/catalogue.ts';
import { probeRows } from '../../server/providers/knowledge/probe.ts';
import { probeFor, probeModel, probePrice } from '../../server/providers/probe.ts';
import type { Provider } from '../../server/providers/provider.ts';

const providerOf = (slug: string): Provider => {
  const found = providers.find((one) => one.slug === slug);
  if (found === undefined) throw new Error(slug);
  return found;
};
const requested = (slug: string, model: string) =>
  probeFor(providerOf(slug), { model, upstream: model, stream: false });

/** Works that are ordered and fetched later are never tested by asking. */
const orders = new Set(['midjourney', 'midjourney-plus', 'suno']);
/** No list of prices has their models: what is asked is short enough, whatever it costs. */
const unlisted = new Set(['ollama', 'tencent', 'moka', 'xinference']);

const listed = providers.filter(({ models }) => models.length > 0);

test.each(listed.map((provider) => [provider.slug, provider] as const))(
  'a test of %s asks one cheap question of a model of its list',
  (slug, provider) => {
    const model = probeModel(provider, provider.models);
    if (orders.has(slug)) return void expect(model).toBeNull();
    expect(provider.models).toContain(model);
    const probe = probeFor(provider, { model: model ?? '', upstream: model ?? '', stream: false });
    expect(probe?.path).toMatch(/^\/v1\/(?:chat\/completions|embeddings|rerank)$/);
    const price = probePrice(provider, model ?? '');
    expect([slug, price === null]).toEqual([slug, unlisted.has(slug)]);
    expect(price ?? 0).toBeLessThanOrEqual(0.001);
    const { max_tokens = 0, max_completion_tokens = 0 } = (probe?.body ?? {}) as Record<string, number>;
    expect(max_tokens + max_completion_tokens).toBeLessThanOrEqual(price === null ? 16 : 512);
  },
);

test('the table of what is asked and what it costs at list', () => {
  const table = listed.map((provider) => {
    const model = probeModel(provider, provider.models);
    const price = model === null ? null : probePrice(provider, model);
    return [provider.slug, model ?? '-', price === null ? '-' : `$${price.toFixed(7)}`].join('  ');
  });
  if (process.env.SHOW_PROBES === '1') console.log(table.join('\n'));
  expect(table).toHaveLength(listed.length);
});

test('pictures, films, research runs and retired models are asked only by name', () => {
  const { models: offered, formerModels } = providerOf('openai');
  const models = [...offered, ...formerModels];
  const picked = new Set<string>();
  for (let left = models; ; ) {
    const model = probeModel(providerOf('openai'), left);
    if (model === null) break;
    picked.add(model);
    left = left.filter((name) => name !== model);
  }
  const never = models.filter((name) => !picked.has(name));
  expect(never).toEqual(expect.arrayContaining(['gpt-image-1-mini', 'chatgpt-image-latest', 'dall-e-3', 'whisper-1']));
  expect(never).toEqual(
    expect.arrayContaining(['o3-deep-research', 'o4-mini-deep-research', 'gpt-4o-realtime-preview']),
  );
  expect([...picked].some((name) => /image|dall-e|deep-research|realtime|whisper|audio/.test(name))).toBe(false);
  expect(probeModel(providerOf('openai'), ['gpt-image-1.5', 'o3-deep-research'])).toBeNull();
});

test.each([
  ['openai', 'gpt-5', '/v1/chat/completions', { max_completion_tokens: 512 }],
  ['openai', 'o4-mini', '/v1/chat/completions', { max_completion_tokens: 512 }],
  ['openai', 'gpt-5-chat-latest', '/v1/chat/completions', { max_completion_tokens: 16 }],
  ['openai', 'gpt-4.1', '/v1/chat/completions', { max_tokens: 16 }],
  ['openai', 'gpt-5-codex', '/v1/responses', { max_output_tokens: 512, store: false }],
  ['openai', 'o3-pro', '/v1/responses', { max_output_tokens: 512 }],
  ['openai', 'gpt-5.2-pro', '/v1/responses', {}],
  ['openai', 'davinci-002', '/v1/completions', { prompt: 'hi', max_tokens: 16 }],
  ['openai', 'gpt-3.5-turbo-instruct', '/v1/completions', {}],
  ['openai', 'gpt-4o-audio-preview', '/v1/chat/completions', { modalities: ['text', 'audio'] }],
  ['openai', 'gpt-image-1.5', '/v1/images/generations', { n: 1 }],
  ['openai', 'text-embedding-3-small', '/v1/embeddings', {}],
  ['openai', 'text-moderation-latest', '/v1/moderations', {}],
  ['openai', 'tts-1', '/v1/audio/speech', {}],
  ['perplexity', 'sonar', '/v1/chat/completions', { disable_search: true }],
  ['jina', 'jina-clip-v1', '/v1/embeddings', { input: [{ text: 'hi' }] }],
  ['siliconflow', 'BAAI/bge-reranker-v2-m3', '/v1/rerank', {}],
  ['siliconflow', 'netease-youdao/bce-embedding-base_v1', '/v1/embeddings', {}],
  ['siliconflow', 'black-forest-labs/FLUX.1-schnell', '/v1/images/generations', {}],
])('%s %s is asked by %s with %j', (slug, model, path, body) =>
  expect(requested(slug, model)).toMatchObject({ path, body: { model, ...body } }),
);

test.each(['gpt-4o-realtime-preview', 'whisper-1', 'sora-2'])('%s cannot be asked in one small request', (model) =>
  expect(requested('openai', model)).toBeNull(),
);

test('a model is judged by the name that it is mapped to', () => {
  const names = ['cheap', 'fine'];
  const upstream = (name: string) => (name === 'cheap' ? 'gpt-image-1.5' : 'gpt-4.1-nano');
  expect(probeModel(providerOf('openai'), names, upstream)).toBe('fine');
});

test('every row about probes has a source outside of this project', () =>
  expect(probeRows.filter(({ source }) => !/^https:\/\//.test(source))).toEqual([]));
