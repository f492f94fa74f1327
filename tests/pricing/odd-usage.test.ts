/** One odd member never makes a whole usage worthless: totals hold, details are cut to them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { priceFields, promptTokensOf, quotaOf, recompute } from '../../server/contract/pricing/charge.ts';
import { defaultPriceText } from '../../server/contract/pricing/defaults.ts';
import { compilePriceTables, resolvePrices } from '../../server/contract/pricing/tables.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { parseJson } from '../../server/protocols/shared/json.ts';

const total = fc.integer({ min: 1, max: 2_000_000 });
/** Anything a careless upstream may write where a count belongs. */
const odd = fc.oneof(
  fc.integer({ min: -5, max: 4_000_000 }),
  fc.double(),
  fc.constantFrom<unknown>(null, undefined, '12', '', true, [], {}, 1e18, Number.NaN),
);
const details = (...names: string[]) => fc.record(Object.fromEntries(names.map((name) => [name, odd])));
const written = (usage: { output: number; reasoning: number; audioOutput: number }) =>
  usage.output + usage.reasoning + usage.audioOutput;
const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('OpenAI’s totals hold whatever the details say', () => {
  const inner = details(
    'cached_tokens',
    'cache_write_tokens',
    'audio_tokens',
    'image_tokens',
    'video_tokens',
    'reasoning_tokens',
  );
  fc.assert(
    fc.property(total, total, inner, inner, odd, (prompt, output, read, made, hit) => {
      const chat = {
        prompt_tokens: prompt,
        completion_tokens: output,
        prompt_tokens_details: read,
        completion_tokens_details: made,
        prompt_cache_hit_tokens: hit,
        server_side_tool_usage_details: { web_search_calls: hit },
      };
      const usage = codecs['openai-chat'].upstream.readUsage(json({ usage: chat }));
      expect(usage && [promptTokensOf(usage), written(usage)]).toEqual([prompt, output]);
      const response = {
        input_tokens: prompt,
        output_tokens: output,
        input_tokens_details: read,
        output_tokens_details: made,
      };
      const other = codecs['openai-responses'].upstream.readUsage(json({ usage: response }));
      expect(other && [promptTokensOf(other), written(other)]).toEqual([prompt, output]);
    }),
    { numRuns: 2_000 },
  );
});

test('Google’s totals hold whatever the details say', () => {
  const list = fc.array(fc.record({ modality: fc.constantFrom('TEXT', 'AUDIO', 'IMAGE', 7), tokenCount: odd }), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(total, total, odd, list, list, (prompt, candidates, cached, read, made) => {
      const usageMetadata = {
        promptTokenCount: prompt,
        candidatesTokenCount: candidates,
        cachedContentTokenCount: cached,
        promptTokensDetails: read,
        candidatesTokensDetails: made,
      };
      const usage = codecs['gemini-generate'].upstream.readUsage(json({ usageMetadata }));
      expect(usage && [promptTokensOf(usage), written(usage)]).toEqual([prompt, candidates]);
    }),
    { numRuns: 2_000 },
  );
});

test('Anthropic’s input and output hold whatever stands beside them', () => {
  fc.assert(
    fc.property(
      total,
      total,
      details('cache_read_input_tokens', 'cache_creation_input_tokens'),
      details('ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens'),
      odd,
      fc.array(fc.oneof(odd, details('input_tokens', 'output_tokens')), { maxLength: 3 }),
      (input, output, cache, creation, thinking, iterations) => {
        const usage = codecs['anthropic-messages'].upstream.readUsage(
          json({
            usage: {
              input_tokens: input,
              output_tokens: output,
              ...cache,
              cache_creation: creation,
              output_tokens_details: { thinking_tokens: thinking },
              server_tool_use: { web_search_requests: thinking },
              iterations,
            },
          }),
        );
        expect(usage).not.toBeNull();
        // A list of calls may add to what the totals say, never take away.
        expect(usage && promptTokensOf(usage)).toBeGreaterThanOrEqual(input);
        expect(usage && written(usage)).toBeGreaterThanOrEqual(output);
      },
    ),
    { numRuns: 2_000 },
  );
});

const recordings = resolve(import.meta.dirname, '../../../shared/recordings');

/** Every usage in a recording with what the provider itself says of it. */
function* usagesIn(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const isUsage = key === 'usage' && typeof inner === 'object' && inner !== null && !Array.isArray(inner);
    if (isUsage) yield inner as Record<string, unknown>;
    yield* usagesIn(inner);
  }
}

test.skipIf(!existsSync(recordings))('recorded usages are read whole, their iterations summed, and recomputed', () => {
  const prices = resolvePrices(compilePriceTables(defaultPriceText, 0), 'claude-sonnet-4-6', {
    group: 'default',
    userGroup: 'default',
  });
  if (prices === null) throw new Error('no prices');
  let seen = 0;
  let several = 0;
  for (const name of readdirSync(recordings, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(json|chunks\.txt)$/.test(name)) continue;
    const texts = readFileSync(join(recordings, name), 'utf8');
    for (const text of name.endsWith('.json') ? [texts] : texts.split('\n')) {
      if (!text.includes('"usage"')) continue;
      for (const reported of usagesIn(parseJson(text))) {
        const isAnthropic = name.startsWith('anthropic');
        const isOpenAi = /^(openai|azure|groq|deepseek|mistral|moonshotai|perplexity|alibaba)/.test(name);
        const input = Number(reported.prompt_tokens ?? reported.input_tokens ?? 0);
        const output = Number(reported.completion_tokens ?? reported.output_tokens ?? 0);
        if (!(isAnthropic || isOpenAi) || input + output === 0) continue;
        const { upstream } = codecs[isAnthropic ? 'anthropic-messages' : 'openai-chat'];
        const usage = upstream.readUsage({ usage: reported });
        if (usage === null) throw new Error(`${name}: ${JSON.stringify(reported)}`);
        const listed = Array.isArray(reported.iterations) ? (reported.iterations as Record<string, number>[]) : [];
        const sum = (key: string, min: number) =>
          Math.max(
            min,
            listed.reduce((all, one) => all + (one[key] ?? 0), 0),
          );
        const cache = isAnthropic
          ? Number(reported.cache_read_input_tokens ?? 0) + Number(reported.cache_creation_input_tokens ?? 0)
          : 0;
        expect([name, promptTokensOf(usage), written(usage)]).toEqual([
          name,
          sum('input_tokens', input) + cache,
          sum('output_tokens', output),
        ]);
        expect(recompute(priceFields(usage, prices))?.quota).toBe(quotaOf(usage, prices));
        seen++;
        if (listed.length > 1) several++;
      }
    }
  }
  expect(seen).toBeGreaterThan(100);
  expect(several).toBeGreaterThan(3);
});
