/** The list of models as Codex reads it. */
import { expect, test } from 'vitest';
import { codexEntries } from '../../scripts/knowledge.ts';
import { codexCard, codexList } from '../../server/protocols/openai-responses/codex-catalogue.ts';
import codexModels from '../../server/protocols/openai-responses/codex-models.json' with { type: 'json' };
import { type Target, unknownTarget } from '../../server/protocols/target.ts';
import { sharedGateway } from '../support/shared-gateway.ts';

const { gateway, key, upstream } = await sharedGateway();

/** Without one of them Codex 0.171.0 reads nothing of the list: dropped one by one. */
const needed = [
  'slug',
  'display_name',
  'supported_reasoning_levels',
  'shell_type',
  'visibility',
  'supported_in_api',
  'priority',
  'support_verbosity',
  'truncation_policy',
  'experimental_supported_tools',
  'base_instructions',
];

/** What needs a service of OpenAI's behind it. */
const notServed = [
  'prefer_websockets',
  'use_responses_lite',
  'tool_mode',
  'multi_agent_version',
  'supports_search_tool',
  'service_tiers',
  'available_in_plans',
  'model_messages',
  'minimal_client_version',
];

const list = (query: string, headers: Record<string, string> = {}, of = key) => {
  const request = new Request(`http://gateway/v1/models${query}`, {
    headers: { authorization: `Bearer sk-${of}`, ...headers },
  });
  return gateway.relay.handle(request, '/v1/models', { ip: () => '127.0.0.1' });
};
const version = '?client_version=0.171.0';

test('Codex gets its own list, of the models of its key that write, each with its true window; everybody else the usual one', async () => {
  await gateway.channel(upstream.url, { models: 'gpt-6.2-sol,gpt-5.5,deepseek-chat,text-embedding-3-small' });
  const { models } = (await (await list(version)).json()) as { models: Record<string, unknown>[] };
  expect(models.map(({ slug }) => slug)).toEqual(['deepseek-chat', 'gpt-5.5', 'gpt-6.2-sol']);
  for (const card of models) {
    expect(needed.filter((name) => card[name] === undefined)).toEqual([]);
    expect(notServed.filter((name) => card[name] !== undefined)).toEqual([]);
  }
  expect(models[1]).toMatchObject({
    display_name: 'GPT-5.5',
    default_reasoning_level: 'medium',
    context_window: 272_000,
  });
  expect(await (await list('')).json()).toMatchObject({ object: 'list' });
  expect(
    await (
      await list(version, {}, (await gateway.token({ model_limits_enabled: true, model_limits: 'gpt-5.5' })).key)
    ).json(),
  ).toMatchObject({
    models: [{ slug: 'gpt-5.5' }],
  });
});

test('Codex is told to ask over a socket only where the operator has sockets', async () => {
  await gateway.channel(upstream.url, { models: 'gpt-5.5,deepseek-chat' });
  const preferred = async () => {
    const { models } = (await (await list(version)).json()) as { models: Record<string, unknown>[] };
    return models.map((card) => card.prefer_websockets);
  };
  expect(await preferred()).toEqual([undefined, undefined]);
  await gateway.option('general_setting.responses_sockets', 'true');
  expect(await preferred()).toEqual([true, true]);
  await gateway.option('general_setting.responses_sockets', 'false');
});

test('the list has a tag by which Codex asks whether it is the same', async () => {
  await gateway.channel(upstream.url, { models: 'gpt-5.5' });
  const etag = (await list(version)).headers.get('etag') ?? '';
  expect(etag).toMatch(/^"[0-9a-f]+"$/);
  const same = await list(version, { 'if-none-match': etag });
  expect([same.status, await same.text()]).toEqual([304, '']);
  for (const tags of [`W/${etag}`, `"another", ${etag}`])
    expect((await list(version, { 'if-none-match': tags })).status, tags).toBe(304);
  await gateway.channel(upstream.url, { models: 'gpt-6.2-sol' });
  expect((await list(version, { 'if-none-match': etag })).status).toBe(200);
});

test('a window is the smaller one of the site’s and of Codex’s own, and modest where neither is known', () => {
  const windowOf = (id: string, inputLimit: number | null) =>
    codexCard(id, { ...unknownTarget, inputLimit }).context_window;
  expect(windowOf('gpt-6.2-sol', null)).toBe(500_000);
  expect(windowOf('gpt-6.2-sol', 200_000)).toBe(200_000);
  expect(windowOf('gpt-6.2-sol', 900_000)).toBe(500_000);
  expect(windowOf('claude-sonnet-4-5', 200_000)).toBe(200_000);
  expect(windowOf('unheard-of', null)).toBe(128_000);
});

test('efforts that Codex does not know, and pictures that a model does not take, are not offered', () => {
  const card = codexCard('other', { ...unknownTarget, efforts: ['none', 'low', 'sideways'], inputs: ['audio'] });
  expect(card).toMatchObject({
    supported_reasoning_levels: [{ effort: 'none' }, { effort: 'low' }],
    default_reasoning_level: 'none',
    input_modalities: ['text'],
  });
});

test('a name of OpenAI’s that another model serves here offers no pictures where that one takes none', () => {
  const card = (inputs: readonly string[] | null) => codexCard('gpt-5.5', { ...unknownTarget, inputs } as Target);
  expect(card(['text'])).toMatchObject({ input_modalities: ['text'] });
  expect(card(null)).toMatchObject({ input_modalities: ['text', 'image'] });
});

test('twenty models take no more than 64 KB', () => {
  const names = [...codexModels.map(({ slug }) => slug), ...Array.from({ length: 20 }, (_, at) => `other-model-${at}`)];
  const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
  const cards = names.slice(0, 20).map((id) => codexCard(id, { ...unknownTarget, efforts }));
  expect(JSON.stringify(codexList(cards)).length).toBeLessThan(64 * 1024);
});

test('of Codex’s own list its hidden models, delegation and instructions are left out', () => {
  const entry = {
    slug: 'a',
    input_modalities: ['text'],
    visibility: 'list',
    model_messages: {},
    supported_reasoning_levels: [{ effort: 'max' }, { effort: 'ultra' }],
  };
  expect(codexEntries({ codex: [entry, { ...entry, visibility: 'hide' }] })).toEqual([
    { slug: 'a', supported_reasoning_levels: [{ effort: 'max' }], input_modalities: ['text'] },
  ]);
});
