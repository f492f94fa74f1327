/** Models with prices, costs, channels and use through the API: what is computed, what is stored, and who may see it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { counterAt, type TrafficCounter, trafficCounters } from '../../server/contract/traffic.ts';
import { type ModelDetails, type ModelRow, suggestionFor } from '../../server/domain/pricing/models.ts';
import type { Actor } from '../../server/http/call.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream } from '../support/upstream.ts';

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await createTestGateway();
});
afterEach(() => gateway.close());

const url = 'http://127.0.0.1:9';
const rows = async (): Promise<ModelRow[]> => (await gateway.call('ratio.models', {})) as ModelRow[];
const row = async (model: string): Promise<ModelRow | undefined> => (await rows()).find((one) => one.model === model);
const stored = async (key: string): Promise<Record<string, number>> =>
  JSON.parse(gateway.services.options.text(key as 'ModelRatio'));
const user: Actor = { via: 'session', userId: 2, username: 'someone', role: 1, group: 'default' };

test('a model says who makes it, what it takes, and what it costs per million tokens', async () => {
  await gateway.channel(url, { models: 'gpt-4o,claude-sonnet-4-5' });
  expect(await row('gpt-4o')).toMatchObject({
    ...{ maker: { en: 'OpenAI' }, context: 128_000, input: 2.5, output: 10, cached: 1.25, per_call: null },
    takes: ['text', 'image', 'file'],
    groups: ['default'],
  });
  expect(await row('claude-sonnet-4-5')).toMatchObject({ maker: { en: 'Anthropic Claude' }, input: 3, output: 15 });
});

test('cost is the list price of the model sent upstream, as much of it as the channel pays, at the dearest channel tried first', async () => {
  const setting = JSON.stringify({ cost_ratio: 0.8 });
  await gateway.channel(url, { name: 'discount', models: 'gpt-4o', priority: 5, setting });
  await gateway.channel(url, {
    name: 'full',
    models: 'gpt-4o,mine',
    priority: 5,
    model_mapping: '{"mine":"gpt-4o-mini"}',
  });
  await gateway.channel(url, { name: 'later', models: 'gpt-4o', priority: 1, setting: '{"cost_ratio":9}' });
  const gpt = await row('gpt-4o');
  expect(gpt?.channels.map(({ name, input, output }) => [name, input, output])).toEqual([
    ['discount', 2, 8],
    ['full', 2.5, 10],
    ['later', 22.5, 90],
  ]);
  expect([gpt?.cost_input, gpt?.cost_output]).toEqual([2.5, 10]);
  expect(await row('mine')).toMatchObject({ cost_input: 0.15, cost_output: 0.6, input: null });
  // What the operator asks does not change what the upstream does.
  await gateway.call('ratio.set', { models: { 'gpt-4o': { input: 5, output: 20 } } });
  expect(await row('gpt-4o')).toMatchObject({ input: 5, output: 20, cost_input: 2.5, cost_output: 10 });
});

test('disabled channels serve nothing, and cost of which nothing is known is unknown', async () => {
  const id = await gateway.channel(url, { models: 'some-private-model,gpt-4o' });
  expect(await row('some-private-model')).toMatchObject({
    cost_input: null,
    cost_output: null,
    maker: null,
    takes: [],
  });
  await gateway.call('channel.status_many', { ids: [id], status: 2 });
  expect(await rows()).toEqual([]);
});

test('use of the last seven days stands beside a model, with bars of the last day', async () => {
  const id = await gateway.channel(url, { models: 'gpt-4o' });
  const hour = Math.floor(Date.now() / 3_600_000) * 3600;
  const counts = (given: Partial<Record<TrafficCounter, number>>): number[] => {
    const all = trafficCounters.map(() => 0);
    for (const [name, value] of Object.entries(given)) all[counterAt(name as TrafficCounter)] = value ?? 0;
    return all;
  };
  const window = (at: number, given: Partial<Record<TrafficCounter, number>>) => ({
    ...{ at, routes: [], streaks: [], saves: [], places: [] },
    callers: [[1, 1, 'gpt-4o', counts(given)]] as const,
  });
  gateway.services.trafficRecorder.add([
    window(hour - 30 * 86_400, { requests: 1000, tokens_in: 9 }),
    window(hour - 2 * 86_400, { requests: 40, tokens_in: 400, tokens_out: 80, charge: 7 }),
    window(hour - 3600, { requests: 10, error_upstream: 6, error_client_left: 3 }),
    window(hour, { requests: 10, error_client_left: 9 }),
  ]);
  await gateway.services.trafficRecorder.flush();
  const found = await row('gpt-4o');
  expect(found).toMatchObject({ requests: 60, tokens_in: 400, tokens_out: 80, charge: 7 });
  expect(found?.bars.map(({ level }) => level[0]).join('')).toBe(`${'n'.repeat(23)}bg`);
  expect(found?.channels.map((one) => one.id)).toEqual([id]);
});

test('prices are set in dollars, come back as they were typed, and leave other models alone', async () => {
  await gateway.channel(url, { models: 'gpt-4o,house-model,drawing' });
  const before = await stored('ModelRatio');
  const models = { 'house-model': { input: 0.07, output: 0.21, cached: 0.007 }, drawing: { per_call: 0.04 } };
  const { version, changes } = (await gateway.call('ratio.set', { models })) as { version: number; changes: unknown[] };
  expect(changes).toHaveLength(4);
  expect(await row('house-model')).toMatchObject({ input: 0.07, output: 0.21, cached: 0.007 });
  expect(await row('drawing')).toMatchObject({ per_call: 0.04, input: null });
  expect(await stored('ModelRatio')).toEqual({ ...before, 'house-model': 0.035 });
  // The history knows it, and goes back.
  const { items } = (await gateway.call('ratio.history', { p: 1, page_size: 10 })) as {
    items: { id: number; actor: string }[];
  };
  expect(items[0]?.id).toBe(version);
  await gateway.call('ratio.rollback', { version });
  expect(await stored('ModelRatio')).toEqual(before);
  // The same once more changes nothing and makes no version; from tokens to calls the ratio goes.
  await gateway.call('ratio.set', { models: { drawing: { input: 1, output: 2 } } });
  expect(await gateway.call('ratio.set', { models: { drawing: { input: 1, output: 2 } } })).toMatchObject({
    version: null,
  });
  await gateway.call('ratio.set', { models: { drawing: { per_call: 1 } } });
  expect((await stored('ModelRatio')).drawing).toBeUndefined();
  await gateway.call('ratio.set', { models: { drawing: null } });
  expect(await row('drawing')).toMatchObject({ per_call: null, input: null });
});

test.each([
  [{ 'gpt-4o': { input: -1 } }],
  [{ 'gpt-4o': { input: 'free' } }],
  [{ '': { input: 1 } }],
  [{ 'gpt-4o': {} }],
])('%j is no price', async (models) => {
  const before = await stored('ModelRatio');
  await expect(gateway.call('ratio.set', { models })).rejects.toMatchObject({ code: 'params_invalid' });
  expect(await stored('ModelRatio')).toEqual(before);
});

test('cost, margin and channels are for administrators alone; everybody sees prices and what models take', async () => {
  await gateway.channel(url, { name: 'secret-upstream', models: 'gpt-4o' });
  for (const [id, input] of [
    ['ratio.models', {}],
    ['ratio.facts', { models: ['gpt-4o'] }],
    ['ratio.set', { models: { 'gpt-4o': { input: 0 } } }],
    ['ratio.simulate', { models: { 'gpt-4o': { input: 0 } } }],
  ] as const)
    await expect(gateway.call(id, input, user)).rejects.toThrow();
  expect(await row('gpt-4o')).toMatchObject({ input: 2.5 });
  const list = (await gateway.call('pricing.get', {}, user)) as { data: Record<string, unknown>[] };
  expect(list.data[0]).toMatchObject({ maker: { en: 'OpenAI' }, context: 128_000, takes: ['text', 'image', 'file'] });
  expect(JSON.stringify(list)).not.toMatch(/cost|secret-upstream/);
});

test('models are known by their names alone, served or not', async () => {
  const found = (await gateway.call('ratio.facts', { models: ['gpt-4o-mini', 'never-heard-of'] })) as ModelDetails[];
  expect(found.map(({ model, input, context }) => [model, input, context])).toEqual([
    ['gpt-4o-mini', 0.15, 128_000],
    ['never-heard-of', null, null],
  ]);
});

test('a simulation of single prices counts what past requests would have cost, and stores nothing', async () => {
  const upstream = await startUpstream((response) => sendJson(response, completion(1000, 500)));
  await gateway.channel(upstream.url, { models: 'gpt-4o,gpt-4o-mini' });
  const { key } = await gateway.token();
  for (const model of ['gpt-4o', 'gpt-4o-mini']) {
    const response = await gateway.chat(key, { model, messages: [{ role: 'user', content: 'hi' }] });
    await response.text();
  }
  await upstream.stop();
  const charged = new Map((await gateway.logs()).map(({ model_name, quota }) => [model_name, quota]));
  const models = { 'gpt-4o': { input: 5, output: 20 } };
  const answer = (await gateway.call('ratio.simulate', { models })) as { models: object[]; requests: number };
  const [one = 0, other = 0] = [charged.get('gpt-4o'), charged.get('gpt-4o-mini')];
  expect(one).toBeGreaterThan(other);
  expect(answer).toMatchObject({ requests: 2, before: one + other, after: 2 * one + other });
  expect(await row('gpt-4o')).toMatchObject({ input: 2.5 });
});

test.each([
  ['practice-model', { input: 0, output: 0, like: '' }],
  ['gpt-4o-2030-01-01', { input: 2.5, output: 10, like: 'gpt-4o' }],
  ['openai/gpt-4o-mini', { input: 0.15, output: 0.6, like: 'gpt-4o-mini' }],
])('%s without a price is suggested one', (model, wanted) => {
  expect(suggestionFor(model, 0)).toMatchObject(wanted);
});

test('an open model is suggested the price of others of its size, and nothing is suggested of what says no size', () => {
  const found = suggestionFor('house-finetune-70b', 0);
  expect(found?.like).toBe('');
  expect(found?.input ?? 0).toBeGreaterThan(0);
  expect(suggestionFor('house-finetune', 0)).toBeNull();
});
