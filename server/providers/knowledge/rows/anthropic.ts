/** What Anthropic's models take, wherever they are served. */
import type { ModelRow } from '../row.ts';

const overview = 'https://platform.claude.com/docs/en/about-claude/models/overview';
const adaptive = 'https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html';
const opus55 = 'https://platform.claude.com/docs/en/models/opus-5-5/migration-guide';
/** From 4.7 on. */
const newer = /^claude-(?:(?:opus|sonnet|haiku)-(?:4[.-][7-9]|[5-9])|fable|mythos)/;
const images = ['image', 'pdf'];
/** `temperature` is deprecated for this model: 400. */
const sampling = ['temperature', 'topP', 'topK'] as const;

export const anthropicModels: readonly ModelRow[] = [
  // A name that no row knows is a newer one.
  {
    models: /^claude-/,
    thinking: 'adaptive',
    efforts: ['low', 'medium', 'high', 'max'],
    unsupported: sampling,
    source: overview,
    assumed: true,
  },
  { models: /^claude-(?:v?[1-4]|instant|(?:opus|sonnet|haiku)-4)/, supported: sampling, source: overview },
  { models: /^claude-(?:v?[12]|instant|3-(?:opus|sonnet|haiku)|3[.-]5)/, thinking: 'none', source: overview },
  {
    models: /^claude-/,
    provider: 'vertex',
    unsupported: ['schemaFormat'],
    source: 'https://github.com/anthropics/claude-code/issues/37746',
  },
  {
    models: /^claude-(?:v?2|instant|3|(?:opus|sonnet)-4(?:-0|-2025|@|$))/,
    unsupported: ['schemaFormat'],
    source: 'https://platform.claude.com/docs/en/build-with-claude/structured-outputs',
  },
  {
    models: /^claude-(?:3[.-]7|(?:opus|sonnet|haiku)-4|4)/,
    thinking: 'budget',
    budget: [1024, 128_000],
    inputs: images,
    source: 'https://platform.claude.com/docs/en/build-with-claude/extended-thinking',
  },
  {
    models: /^claude-(?:opus|sonnet|haiku)-4[.-]6/,
    thinking: 'adaptive',
    efforts: ['low', 'medium', 'high', 'max'],
    source: adaptive,
  },
  {
    models: newer,
    thinking: 'adaptive',
    efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
    source: 'https://github.com/NousResearch/hermes-agent/issues/11137',
  },
  { models: newer, unsupported: sampling, source: 'https://github.com/The-PR-Agent/pr-agent/issues/2456' },
  { models: newer, outputCap: 128_000, inputLimit: 1_000_000, inputs: images, source: overview },
  {
    models: /^claude-(?:(?:opus|sonnet|haiku)-(?:4[.-][6-9]|[5-9])|fable|mythos)/,
    unsupported: ['prefill'],
    source: 'https://github.com/Skyvern-AI/skyvern/pull/4795',
  },
  // They think by default.
  {
    models: /^claude-(?:opus|sonnet|haiku)-[5-9]/,
    thinkingByDefault: true,
    source: 'https://platform.claude.com/docs/en/models/opus-5/migration-guide',
  },
  // Neither `disabled` nor a budget is taken, and no call of a tool can be forced.
  {
    models: /^claude-(?:opus-5[.-][5-9]|opus-[6-9]|fable|mythos)/,
    thinkingRequired: true,
    thinkingByDefault: true,
    unsupported: ['forcedToolChoice'],
    source: opus55,
  },
  {
    models: /^claude-(?:sonnet|haiku)-5[.-][5-9]/,
    thinkingRequired: true,
    unsupported: ['forcedToolChoice'],
    source:
      'https://dev.to/persimmoq/claude-opus-55-sonnet-55-5-settings-that-return-400-when-you-only-change-the-model-name-5g36',
    assumed: true,
  },
  {
    models: /^claude-haiku-5[.-]5/,
    supported: ['forcedToolChoice'],
    source: 'https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json',
  },
];
