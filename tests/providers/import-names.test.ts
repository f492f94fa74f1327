/** Other gateways' numbers and names of providers, as their sources list them. */
import { expect, test } from 'vitest';
import { allProviders, providerByType } from '../../server/providers/catalogue.ts';
import { namesLoseDots, typeOfFamily, typeOfPrefix } from '../../server/providers/import-names.ts';

const slugOf = (type: number | null): string | null => (type === null ? null : (providerByType(type)?.slug ?? null));

test.each([
  [25, 'moonshot'],
  [27, 'minimax'],
  [28, 'mistral'],
  [29, 'groq'],
  [30, 'ollama'],
  [31, 'lingyiwanwu'],
  [33, 'aws'],
  [34, 'coze'],
  [35, 'cohere'],
  [36, 'deepseek'],
  [37, 'cloudflare'],
  [42, 'vertex'],
  [44, 'siliconflow'],
  [45, 'xai'],
  [47, 'baidu-v2'],
  [49, 'ali'],
  [50, 'custom'],
  [51, 'gemini'],
  [26, null],
  [99, null],
])('one-api’s %i is %s', (type, slug) => expect(slugOf(typeOfFamily('one-api', type))).toBe(slug));

test('new-api’s numbers are ours up to 48, where anything is served; later ones are its own', () => {
  for (const { type, operations } of allProviders)
    expect(typeOfFamily('new-api', type), String(type)).toBe(operations.length === 0 || type > 48 ? null : type);
  expect(slugOf(typeOfFamily('new-api', 49))).toBe('coze');
});

test.each([
  ['vertex_ai', 'vertex'],
  ['bedrock', 'aws'],
  ['dashscope', 'ali'],
  ['lm_studio', 'lm-studio'],
  ['ollama_chat', 'ollama'],
  ['hosted_vllm', 'vllm'],
  ['azure', 'azure'],
  ['azure_ai', 'azure'],
  ['openai', 'openai'],
  ['nobody', null],
])('LiteLLM’s %s is %s', (prefix, slug) => expect(slugOf(typeOfPrefix(prefix))).toBe(slug));

test('one provider’s deployments lose their dots', () => {
  const names = allProviders.filter(({ type }) => namesLoseDots(type)).map(({ slug }) => slug);
  expect(names).toEqual(['azure']);
});
