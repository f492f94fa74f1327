import { expect, test } from 'vitest';
import { limitsAreFresh } from '../../scripts/generate-model-limits.ts';
import { modelLimits, unknownModel } from '../../server/contract/model-limits.ts';

test('the shipped limits are generated from the data at hand', () => {
  expect(limitsAreFresh()).toBe(true);
});

test.each([
  // Longest answers as their makers' documents say.
  ['gpt-4o', 16_384, false],
  ['gpt-4o-mini', 16_384, false],
  ['gpt-4o-mini-2024-07-18', 16_384, false],
  ['openai/gpt-4o', 16_384, false],
  ['gpt-5', 128_000, true],
  ['o3-mini-high', 100_000, true],
  ['claude-sonnet-4-5-20250929', 64_000, true],
  ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 64_000, true],
  ['claude-sonnet-4-5-thinking', 64_000, true],
  ['gemini-2.5-pro', 65_536, true],
])('%s writes %i tokens at most', (model, output, thinks) => {
  expect(modelLimits(model)).toMatchObject({ output, thinking: thinks, known: true });
});

test('an unknown model has the documented default', () => {
  for (const name of ['', 'gpt', 'my-own-model', 'x'.repeat(1000), '-', 'a/b/c'])
    expect(modelLimits(name)).toBe(unknownModel);
  expect(modelLimits('my-own-model-thinking')).toMatchObject({ output: unknownModel.output, thinking: true });
});

test('limits of names that clients choose do not pile up', () => {
  for (let n = 0; n < 20_000; n++) modelLimits(`made-up-${n}`);
  expect(modelLimits('gpt-4o').output).toBe(16_384);
});
