import { expect, test } from 'vitest';
import {
  allProviders,
  offeredProviders,
  providerBySlug,
  providerByType,
  providers,
} from '../../server/providers/catalogue.ts';
import { endpointFor, keyHeader, type Provider } from '../../server/providers/provider.ts';

const row = (slug: string): Provider => {
  const found = providerBySlug(slug);
  if (found === undefined) throw new Error(slug);
  return found;
};
const address = (slug: string, baseUrl = '', operation = 'chat', other = '') =>
  endpointFor(row(slug), operation, { baseUrl, model: 'some/model', other });

test('every type number of the wire contract has one row', () => {
  const unused = [28, 29, 30, 32];
  const numbers = Array.from({ length: 48 }, (_, index) => index + 1).filter((type) => !unused.includes(type));
  expect(numbers.filter((type) => providerByType(type) === undefined)).toEqual([]);
  for (const type of unused) expect(providerByType(type)).toBeUndefined();
});

test('a channel of one’s own is called as in the wire contract', () => {
  expect(providerByType(8)).toMatchObject({ slug: 'custom', label: { zh: '自定义渠道', en: 'Custom' } });
});

test('numbers and names are used once', () => {
  expect(new Set(allProviders.map(({ type }) => type)).size).toBe(allProviders.length);
  expect(new Set(allProviders.map(({ slug }) => slug)).size).toBe(allProviders.length);
});

test.each(allProviders.map((provider) => [provider.slug, provider] as const))(
  '%s is a sound row',
  (_slug, provider) => {
    expect(provider.label.zh).not.toBe('');
    expect(provider.label.en).toMatch(/^[\x20-\x7e]+$/);
    if (provider.baseUrl !== '') expect(new URL(provider.baseUrl).origin).not.toBe('null');
    expect(provider.baseUrl.endsWith('/')).toBe(false);
    expect(new Set(provider.models).size).toBe(provider.models.length);
    expect(new Set(provider.operations).size).toBe(provider.operations.length);
    for (const operation of provider.operations) expect(provider.paths[operation]).toMatch(/^\//);
    if (provider.operations.length === 0) {
      for (const operation of Object.keys(provider.paths))
        expect(endpointFor(provider, operation, { baseUrl: 'http://x', model: 'm', other: '' })).toBeNull();
    }
  },
);

test('every provider of the wire contract is served', () => {
  expect(providers).toEqual(allProviders);
});

test.each([
  ['openai', '', 'chat', 'https://api.openai.com/v1/chat/completions'],
  ['openai', 'https://proxy.example', 'embeddings', 'https://proxy.example/v1/embeddings'],
  ['openai', 'https://proxy.example/v1/', 'chat', 'https://proxy.example/v1/chat/completions'],
  ['openai', 'https://proxy.example/v1/chat/completions', 'chat', 'https://proxy.example/v1/chat/completions'],
  ['openai', '', 'rerank', null],
  ['ali', '', 'chat', 'https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions'],
  ['zhipu-v4', '', 'chat', 'https://open.bigmodel.cn/api/paas/v4/chat/completions'],
  ['perplexity', '', 'chat', 'https://api.perplexity.ai/chat/completions'],
  ['minimax', '', 'chat', 'https://api.minimaxi.com/v1/text/chatcompletion_v2'],
  ['volcengine', '', 'chat', 'https://ark.cn-beijing.volces.com/api/v3/chat/completions'],
  ['github-models', '', 'chat', 'https://models.github.ai/inference/chat/completions'],
  ['deepseek', '', 'completions', 'https://api.deepseek.com/beta/completions'],
  // Bases as people paste them: with what the path repeats, with another way to the same version, hosts called like a path.
  [
    'ali',
    'https://proxy.example/compatible-mode/v1',
    'chat',
    'https://proxy.example/compatible-mode/v1/chat/completions',
  ],
  [
    'volcengine',
    'https://ark.cn-beijing.volces.com/api/v3/',
    'chat',
    'https://ark.cn-beijing.volces.com/api/v3/chat/completions',
  ],
  [
    'zhipu-v4',
    'https://open.bigmodel.cn/api/coding/paas/v4',
    'chat',
    'https://open.bigmodel.cn/api/coding/paas/v4/chat/completions',
  ],
  ['openai', 'https://proxy.example/v1/chat/completions', 'embeddings', 'https://proxy.example/v1/embeddings'],
  ['ollama', 'http://localhost:11434/v1', 'chat', 'http://localhost:11434/api/chat'],
  ['deepseek', 'http://v1', 'chat', 'http://v1/v1/chat/completions'],
  ['xinference', '', 'chat', null],
  ['custom', 'https://own.example', 'chat', 'https://own.example/v1/chat/completions'],
  ['custom', 'https://own.example/v1', 'chat', 'https://own.example/v1/chat/completions'],
  ['custom', 'https://own.example/run/{model}', 'chat', 'https://own.example/run/some%2Fmodel'],
] as const)('address of %s at "%s" for %s', (slug, baseUrl, operation, url) => {
  expect(address(slug, baseUrl, operation)).toBe(url);
});

test('how each kind of key is sent', () => {
  expect(keyHeader(row('openai'))).toEqual({ name: 'authorization', before: 'Bearer ' });
  expect(keyHeader(row('azure'))).toEqual({ name: 'api-key', before: '' });
  expect(keyHeader(row('anthropic'))).toEqual({ name: 'x-api-key', before: '' });
  expect(keyHeader(row('tencent'))).toBeNull();
});

test('keys of several parts', () => {
  expect(row('tencent').keyHint).toBe('AppId|SecretId|SecretKey');
});

test('what most people look for is offered first, and nothing is lost', () => {
  expect(offeredProviders.slice(0, 3).map(({ slug }) => slug)).toEqual(['openai', 'anthropic', 'gemini']);
  expect(offeredProviders.toSorted((a, b) => a.type - b.type)).toEqual(providers);
});
