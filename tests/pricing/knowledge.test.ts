import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { Merge } from '../../scripts/knowledge/merge.ts';
import overrides from '../../scripts/knowledge/overrides.json' with { type: 'json' };
import { type Knowledge, packKnowledge, unpackKnowledge } from '../../server/providers/knowledge/facts.ts';
import { factsOfGenai, factsOfLitellm } from '../../server/providers/knowledge/package-rows.ts';

const path = 'server/providers/knowledge/data/models.json';
const text = readFileSync(path, 'utf8');
const today = '2026-11-28';

test('the data is small, names its day and its sources with their licences, and no host of a registry', () => {
  expect(gzipSync(text, { level: 9 }).length).toBeLessThan(120 * 1024);
  const { date, sources } = unpackKnowledge(text);
  expect(date).toMatch(/^\d{4}-\d\d-\d\d$/);
  expect(sources.map(({ name, licence }) => [name, licence])).toEqual([
    ['litellm', 'MIT'],
    ['genai-prices', 'MIT'],
    ['@openai/codex', 'Apache-2.0'],
  ]);
  for (const { version } of sources) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  expect(text).not.toMatch(/npmjs|pypi|pythonhosted|registry\./);
});

test('packed knowledge unpacks to the same', () => {
  const knowledge: Knowledge = {
    date: today,
    sources: [{ name: 'a', version: '1.0.0', licence: 'MIT' }],
    models: {
      p: {
        m: { kind: 'chat', by: 'agreed', price: { input: 1 }, takes: ['text', 'image'], efforts: ['low'] },
        n: { kind: 'chat', by: 'single', takes: ['text', 'image'] },
      },
    },
  };
  expect(unpackKnowledge(packKnowledge(knowledge))).toEqual(knowledge);
  expect(packKnowledge(knowledge).match(/"image"/g)).toHaveLength(1);
});

test('each override says which page was read, where, when and why', () => {
  const { models } = unpackKnowledge(text);
  for (const { provider, models: names, page, address, read, reason } of overrides) {
    expect([page, reason].every((words) => words.length > 5)).toBe(true);
    expect(address).toMatch(/^https:\/\//);
    expect(read).toMatch(/^\d{4}-\d\d-\d\d$/);
    for (const name of names) expect(models[provider]?.[name]?.by).toBe('override');
  }
});

const merged = (first: ReturnType<typeof factsOfLitellm>, second: ReturnType<typeof factsOfGenai>) => {
  const merge = new Merge('p', 'm');
  return { facts: merge.facts(first, second), figures: merge.disagreements.map(({ figure }) => figure) };
};
const litellm = (row: object) => factsOfLitellm({ mode: 'chat', ...row });
const genai = (prices: object, more: object = {}) => factsOfGenai({ prices, ...more }, today);

test('two sources that agree count as agreed, one alone as single, and of two that differ the dearer holds and is named', () => {
  const one = litellm({ input_cost_per_token: 2e-6, output_cost_per_token: 8e-6 });
  expect(merged(one, genai({ input_mtok: 2, output_mtok: 8 }))).toMatchObject({ facts: { by: 'agreed' }, figures: [] });
  expect(new Merge('p', 'm').facts(one, undefined).by).toBe('single');
  expect(merged(one, genai({ input_mtok: 3, output_mtok: 7 }))).toMatchObject({
    facts: { by: 'dearer', price: { input: 3, output: 8 } },
    figures: ['input', 'output'],
  });
});

test('a zero in a list is not known, not free', () => {
  expect(litellm({ input_cost_per_token: 0, output_cost_per_token: 0 }).price).toBeUndefined();
  expect(genai({ input_mtok: 0, output_mtok: 0 }).price).toBeUndefined();
});

test('a bound that one source counts in and the other does not is counted in', () => {
  const one = litellm({ input_cost_per_token: 2e-6, input_cost_per_token_above_200k_tokens: 4e-6 });
  const other = genai({ input_mtok: { base: 2, tiers: [{ start: 199_999, price: 4 }] } });
  expect(merged(one, other)).toMatchObject({ facts: { steps: [{ above: 199_999, input: 4 }] }, figures: [] });
});

test('a tier is one factor where it is one over all kinds and steps, else its prices', () => {
  const base = { input_cost_per_token: 2e-6, output_cost_per_token: 8e-6, cache_read_input_token_cost: 2e-7 };
  const flex = { input_cost_per_token_flex: 1e-6, output_cost_per_token_flex: 4e-6 };
  expect(litellm({ ...base, ...flex, cache_read_input_token_cost_flex: 1e-7 }).tiers).toEqual({ flex: 0.5 });
  expect(litellm({ ...base, ...flex, cache_read_input_token_cost_flex: 2e-7 }).tiers).toEqual({
    flex: { price: { input: 1, output: 4, cache_read: 0.2 } },
  });
});

test('a price that begins later has its day, one that a source has too early does not hold yet', () => {
  const dated = [
    { prices: { input_mtok: 2, output_mtok: 10 } },
    { constraint: { start_date: '2026-12-01' }, prices: { input_mtok: 4, output_mtok: 20 } },
  ];
  const other = genai(dated);
  expect(other).toMatchObject({ price: { input: 2 }, dates: [{ from: '2026-12-01', price: { input: 4 } }] });
  const early = litellm({ input_cost_per_token: 4e-6, output_cost_per_token: 2e-5 });
  expect(merged(early, other)).toMatchObject({ facts: { price: { input: 2, output: 10 } }, figures: [] });
  expect(factsOfGenai({ prices: dated }, '2026-12-01')).toMatchObject({ price: { input: 4 } });
});

test('hourly prices hold at their dearest, and the hours are named', () => {
  const hourly = [
    { prices: { input_mtok: 0.5 } },
    { constraint: { start_time: '01:00:00', end_time: '04:00:00' }, prices: { input_mtok: 1 } },
  ];
  expect(genai(hourly)).toMatchObject({
    price: { input: 1 },
    off_peak: { price: { input: 0.5 }, hours: 'outside of 01:00-04:00 UTC' },
  });
});

test('cache writes are known by their lives', () => {
  expect(
    litellm({
      input_cost_per_token: 2e-6,
      cache_creation_input_token_cost: 2.5e-6,
      cache_creation_input_token_cost_above_12hr: 5e-6,
    }).price,
  ).toMatchObject({ write_5m: 2.5, write_30m: 2.5, write_12h: 5 });
  expect(litellm({ input_cost_per_token: 3e-6, cache_creation_input_token_cost_above_1hr: 6e-6 }).price).toMatchObject({
    write_1h: 6,
  });
});

test('the whole window and the longest prompt are two figures', () => {
  const one = litellm({ input_cost_per_token: 2e-6, max_input_tokens: 922_000, max_output_tokens: 128_000 });
  const other = genai({ input_mtok: 2 }, { context_window: 1_050_000 });
  expect(merged(one, other).facts).toMatchObject({
    window: 1_050_000,
    longest_input: 922_000,
    longest_answer: 128_000,
  });
});
