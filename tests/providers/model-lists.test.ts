/** The models that types of channels offer: views of the packages' data, with what retires. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { listsAreFresh } from '../../scripts/generate-model-lists.ts';
import handLists from '../../scripts/prices/model-lists.json' with { type: 'json' };
import { defaultPriceTables } from '../../server/contract/pricing/defaults.ts';
import { resolvePrices } from '../../server/contract/pricing/tables.ts';
import { allProviders, knowsModel, offeredOn, providerBySlug } from '../../server/providers/catalogue.ts';
import { detailsOf } from '../../server/providers/knowledge/explanation.ts';
import { type ModelFacts, unpackKnowledge } from '../../server/providers/knowledge/facts.ts';
import { lastDayOf, makerOf } from '../../server/providers/makers.ts';

const { date, models } = unpackKnowledge(readFileSync('server/providers/knowledge/data/models.json', 'utf8'));
const offered = (slug: string, day = date): readonly string[] =>
  offeredOn(day).find((provider) => provider.slug === slug)?.models ?? [];
const tables = defaultPriceTables(Date.parse(date));
const isPriced = (model: string): boolean => resolvePrices(tables, model, { group: '', userGroup: '' }) !== null;

test('the shipped lists are made of the data at hand', () => {
  expect(listsAreFresh()).toBe(true);
});

test.each([
  ['openai', 'gpt-6.2-sol gpt-6.2-astra gpt-6.1-sol gpt-6-luna gpt-5.6 gpt-5.5 gpt-image-2.6-flare'],
  ['anthropic', 'claude-opus-5-5 claude-sonnet-5-5 claude-haiku-5-5 claude-fable-5-2'],
  ['gemini', 'gemini-4-argon gemini-4-hydrogen gemini-3.8-flash'],
  ['aws', 'claude-opus-5-5 claude-sonnet-5-5 claude-haiku-5-5 claude-fable-5-1'],
  ['vertex', 'claude-opus-5-5@default gemini-4-argon'],
  ['xai', 'grok-4.7'],
  ['moonshot', 'kimi-k3'],
  ['zhipu-v4', 'glm-5.3'],
  ['ali', 'qwen3.8-max'],
  ['deepseek', 'deepseek-v4-pro'],
  ['mistral', 'mistral-large-4'],
])('%s offers the models of today, each with a price', (slug, names) => {
  for (const name of names.split(' ')) {
    expect(offered(slug)).toContain(name);
    expect([name, isPriced(name)]).toEqual([name, true]);
  }
});

test('a model that was taken away is not offered, is known by its day, and keeps its price', () => {
  const gone = allProviders.flatMap(({ slug, retired }) =>
    [...retired].flatMap(([name, day]) => (day <= date ? [{ slug, name }] : [])),
  );
  expect(gone.length).toBeGreaterThan(30);
  expect(gone).toContainEqual({ slug: 'openai', name: 'gpt-4' });
  for (const { slug, name } of gone) {
    expect(offered(slug)).not.toContain(name);
    expect(knowsModel(slug, name)).toBe(true);
    const price = models[slug]?.[name]?.price?.input;
    if (price !== undefined) expect([name, isPriced(name)]).toEqual([name, true]);
  }
});

test('the last day of a model is named where it is explained, and is that of its maker where nobody asks at whom', () => {
  const [maker, host] = ['openai', 'azure'].map((slug) => providerBySlug(slug)?.retired.get('gpt-4o') ?? '');
  expect(maker).toMatch(/^\d{4}-\d\d-\d\d$/);
  expect(host).not.toBe(maker);
  expect(detailsOf('azure', 'gpt-4o', [])).toContainEqual(expect.objectContaining({ member: 'retired', value: host }));
  expect(detailsOf('openai', 'gpt-4o', [])).toContainEqual(
    expect.objectContaining({ member: 'retired', value: maker }),
  );
  expect(detailsOf('openai', 'gpt-6.2-sol', []).map(({ member }) => member)).not.toContain('retired');
  expect(lastDayOf('gpt-4o')).toBe(maker);
  expect(lastDayOf('gpt-6.2-sol')).toBeNull();
  expect(lastDayOf('nobody-has-it')).toBeNull();
});

test('a model whose last day comes leaves the list on that day', () => {
  const day = providerBySlug('anthropic')?.retired.get('claude-sonnet-4-5') ?? '';
  expect(day > date).toBe(true);
  const before = new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10);
  expect(offered('anthropic', before)).toContain('claude-sonnet-4-5');
  expect(offered('anthropic', day)).not.toContain('claude-sonnet-4-5');
  expect(offered('anthropic', day)).toContain('claude-opus-5-5');
  expect(offeredOn(day).find(({ slug }) => slug === 'anthropic')?.formerModels).toContain('claude-sonnet-4-5');
  expect(offered('anthropic', before)).toContain('claude-sonnet-4-5');
});

test('every model of the former hand-made list is offered, or known as former', () => {
  for (const [slug, names] of Object.entries(handLists.lists))
    for (const name of names.split(' ')) expect([name, knowsModel(slug, name)]).toEqual([name, true]);
});

test('a list without rows in the packages is the one by hand', () => {
  const { siliconflow, baidu } = handLists.lists;
  expect(models.siliconflow).toBeUndefined();
  expect(offered('siliconflow')).toEqual(siliconflow.split(' '));
  expect(offered('baidu')).toEqual(baidu.split(' '));
});

test('a name that one package keeps after the model is gone is not offered', () => {
  const kept = (facts: ModelFacts | undefined) => facts?.by === 'single' && facts.takes === undefined;
  expect(kept(models.openai?.['gpt-4-32k'])).toBe(true);
  expect(offered('openai')).not.toContain('gpt-4-32k');
  expect(offered('openai').filter((name) => name.startsWith('ft:'))).toEqual([]);
});

test('a model’s maker is named, not the first host that has it', () => {
  expect(makerOf('kimi-k2.6')?.en).toBe('Moonshot');
  expect(makerOf('deepseek-v4-flash')?.en).toBe('DeepSeek');
  expect(makerOf('gpt-3.5-turbo-16k-0613')?.en).toBe('OpenAI');
});
