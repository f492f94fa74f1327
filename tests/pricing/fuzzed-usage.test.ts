import { expect, test } from 'vitest';
import { priceFields, promptTokensOf, quotaOf, recompute } from '../../server/contract/pricing/charge.ts';
import { defaultPriceText } from '../../server/contract/pricing/defaults.ts';
import { compilePriceTables, resolvePrices } from '../../server/contract/pricing/tables.ts';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecFor } from '../../server/protocols/registry.ts';
import { bucketsOf } from '../../server/protocols/shared/usage.ts';
import { often } from '../support/often.ts';
import { randomOf } from '../support/random.ts';

const rounds = often(5000, 100_000, 'USAGE_ROUNDS');
const seed = Number(process.env.USAGE_SEED ?? 1);
/** Largest prompt and largest answer any reported usage may claim. */
const context = 20_000_000;

const random = randomOf(seed);
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

const names: Readonly<Record<ProtocolId, { outer: (usage: unknown) => unknown; counts: string[]; details: string[] }>> =
  {
    'openai-chat': {
      outer: (usage) => ({ usage }),
      counts: ['prompt_tokens', 'completion_tokens', 'total_tokens', 'prompt_cache_hit_tokens', 'cached_tokens'],
      details: ['prompt_tokens_details', 'completion_tokens_details'],
    },
    'openai-responses': {
      outer: (usage) => ({ usage }),
      counts: ['input_tokens', 'output_tokens', 'total_tokens'],
      details: ['input_tokens_details', 'output_tokens_details'],
    },
    'anthropic-messages': {
      outer: (usage) => ({ usage }),
      counts: ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
      details: ['cache_creation', 'server_tool_use'],
    },
    'gemini-generate': {
      outer: (usageMetadata) => ({ usageMetadata }),
      counts: [
        'promptTokenCount',
        'candidatesTokenCount',
        'totalTokenCount',
        'thoughtsTokenCount',
        'cachedContentTokenCount',
        'toolUsePromptTokenCount',
      ],
      details: ['promptTokensDetails', 'candidatesTokensDetails'],
    },
    'ollama-chat': {
      outer: (usage) => ({ done: true, ...(usage as object) }),
      counts: ['prompt_eval_count', 'eval_count'],
      details: [],
    },
    'cohere-chat': {
      outer: (usage) => ({ usage }),
      counts: ['cached_tokens'],
      details: ['billed_units', 'tokens'],
    },
  };
const detailNames = [
  'cached_tokens',
  'audio_tokens',
  'image_tokens',
  'video_tokens',
  'reasoning_tokens',
  'cache_write_tokens',
  'ephemeral_5m_input_tokens',
  'ephemeral_1h_input_tokens',
  'web_search_requests',
  'tokenCount',
  'modality',
];

const strange = [-1, -0, 0.5, 1e18, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, '5', '', null, true, [], {}, [7]];
const value = (): unknown =>
  random() < 0.25 ? pick<unknown>(strange) : Math.floor(10 ** (random() * 9)) * (random() < 0.03 ? -1 : 1);
const some = (keys: readonly string[]) =>
  Object.fromEntries(keys.filter(() => random() < 0.7).map((key) => [key, value()]));

function usageObject(protocol: ProtocolId): unknown {
  const { counts, details } = names[protocol];
  if (random() < 0.02) return pick<unknown>(strange);
  const nested = details
    .filter(() => random() < 0.6)
    .map((key) => [key, random() < 0.2 ? [some(detailNames), some(detailNames)] : some(detailNames)] as const);
  return { ...some(counts), ...Object.fromEntries(nested) };
}

const tables = compilePriceTables(defaultPriceText, 0);
const prices = ['gpt-4o-mini', 'o3', 'gpt-4o-audio-preview', 'claude-sonnet-4-20250514', 'gemini-2.5-pro'].flatMap(
  (model) => {
    const found = resolvePrices(tables, model, { group: 'default', userGroup: 'default' });
    return found === null ? [] : [found];
  },
);

test(`${rounds} invented usage objects: refused, or whole, within the largest context, and charged within its price`, () => {
  expect(prices.length).toBeGreaterThan(3);
  let accepted = 0;
  for (let round = 0; round < rounds; round++) {
    const protocol = pick(Object.keys(names) as ProtocolId[]);
    const object = usageObject(protocol);
    const usage = codecFor(protocol).upstream.readUsage(names[protocol].outer(object));
    if (usage === null) continue;
    accepted++;
    const { toolCalls } = usage;
    const buckets = bucketsOf(usage);
    const counts = [...Object.values(buckets), ...Object.values(toolCalls)];
    const at = `seed ${seed}, round ${round}: ${protocol} ${JSON.stringify(object)}`;
    if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0)) throw new Error(at);
    const written = usage.output + usage.reasoning + usage.audioOutput;
    // Totals and their details may each go up to the largest context.
    if (promptTokensOf(usage) > 3 * context || written > 2 * context) throw new Error(at);
    const price = pick(prices);
    const charge = quotaOf(usage, price);
    // No token costs more than the dearest kind of it, rounded up once; the dearest tool is far below a dollar.
    const dearest = Math.max(
      1,
      price.completionRatio,
      price.cacheWrite1hRatio,
      price.imageRatio,
      price.audioRatio * Math.max(1, price.audioCompletionRatio),
    );
    const tier = Math.max(
      1,
      ...price.tiers.map((one) => (one.prices.modelRatio * Math.max(1, one.prices.completionRatio)) / price.modelRatio),
    );
    const calls = Object.values(toolCalls).reduce((sum, one) => sum + one, 0);
    const bound =
      1 +
      (promptTokensOf(usage) + written) * price.modelRatio * price.groupRatio * dearest * tier +
      calls * price.quotaPerUnit;
    if (!Number.isSafeInteger(charge) || charge < 0 || charge > bound) throw new Error(`${at} charged ${charge}`);
    if (round % 10 === 0) expect([at, recompute(priceFields(usage, price))?.quota]).toEqual([at, charge]);
  }
  expect(accepted).toBeGreaterThan(rounds / 50);
});
