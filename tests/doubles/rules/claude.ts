/** What single models of Claude refuse, wherever they are asked. */

import { valueAt } from '../../../server/practice/row-rules.ts';
import { invalid, type Rule } from '../rule.ts';
import { turnsOf } from './messages.ts';
import { rejected, when, worded } from './when.ts';

/** These think as they find fit and are told by effort alone. */
const newest = /claude-(?:opus-(?:4-[7-9]|[5-9])|sonnet-[5-9]|haiku-[5-9]|fable|mythos)/;
const adaptive = /claude-(?:opus-(?:4-[6-9]|[5-9])|sonnet-(?:4-[6-9]|[5-9])|haiku-[5-9]|fable|mythos)/;
const plain = /claude-(?:2|instant|3-(?:haiku|opus|sonnet|5))/;

/** https://platform.claude.com/docs/en/about-claude/models/overview */
const caps: readonly (readonly [RegExp, number])[] = [
  [/claude-3-(?:haiku|opus|sonnet)/, 4096],
  [/claude-(?:2|instant)/, 4096],
  [/claude-3-5/, 8192],
  [/claude-3-7/, 64_000],
  [/claude-opus-4(?:-[01](?!\d)|-2025(?:0514|0805)|@|$)/, 32_000],
  // https://github.com/0xPlaygrounds/rig/issues/2505
  [/claude-sonnet-4-6/, 128_000],
  [/claude-(?:opus-4-5|sonnet-4|haiku-4-5)/, 64_000],
  [/claude-/, 128_000],
];

const limit: Rule = {
  id: 'claude/longest-answer',
  source: 'https://platform.claude.com/docs/en/about-claude/models/overview',
  reject({ body, model }) {
    const cap = caps.find(([models]) => models.test(model))?.[1] ?? Number.POSITIVE_INFINITY;
    return Number(body.max_tokens) > cap
      ? invalid(
          `max_tokens: ${body.max_tokens} > ${cap}, which is the maximum allowed number of output tokens for ${model}`,
        )
      : null;
  },
};

/** The first that read instructions between turns. */
const instructed = /claude-(?:opus-(?:4-[89]|[5-9])|sonnet-[5-9]|haiku-[5-9]|fable|mythos)/;
const between = 'https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages';

export const claudeRules: readonly Rule[] = [
  limit,
  when(
    'claude/no-system-turns',
    'https://github.com/BerriAI/litellm/pull/32831',
    ({ model, body }) => !instructed.test(model) && turnsOf(body).some(({ role }) => role === 'system'),
    ({ model }) =>
      invalid(
        /opus-4-7/.test(model)
          ? "role 'system' is not supported on this model"
          : 'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
      ),
  ),
  when(
    'claude/system-turns-placed',
    between,
    ({ body }) => {
      const roles = turnsOf(body).map(({ role }) => role);
      return roles.some(
        (role, at) =>
          role === 'system' && (roles[at - 1] !== 'user' || (at + 1 < roles.length && roles[at + 1] !== 'assistant')),
      );
    },
    invalid(
      'messages: a `system` message must follow a `user` message and must be the last message or be followed by an `assistant` message.',
    ),
  ),
  rejected(
    'claude/sampling',
    'https://github.com/UKGovernmentBEIS/inspect_ai/issues/3721',
    { models: newest, members: 'temperature top_p top_k' },
    (member) => `\`${member}\` is deprecated for this model.`,
  ),
  when(
    'claude/one-sampling',
    'https://github.com/VicBilibily/GCMP/issues/29',
    ({ model, body }) =>
      /claude-(?:opus-4-[1-9]|sonnet-4|haiku-4)/.test(model) &&
      valueAt(body, 'temperature') !== undefined &&
      valueAt(body, 'top_p') !== undefined,
    invalid('`temperature` and `top_p` cannot both be specified for this model. Please use only one.'),
  ),
  when(
    'claude/no-budget',
    'https://github.com/cloudwego/eino-ext/pull/781',
    ({ model, body }) => newest.test(model) && valueAt(body, 'thinking.type') === 'enabled',
    invalid(
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    ),
  ),
  when(
    'claude/no-adaptive',
    'https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking',
    ({ model, body }) => !adaptive.test(model) && valueAt(body, 'thinking.type') === 'adaptive',
    invalid('adaptive thinking is not supported on this model'),
  ),
  when(
    'claude/no-thinking',
    'https://platform.claude.com/docs/en/build-with-claude/extended-thinking#supported-models',
    ({ model, body }) => plain.test(model) && valueAt(body, 'thinking.type') === 'enabled',
    invalid('thinking: Extra inputs are not permitted'),
  ),
  when(
    'claude/no-effort',
    'https://github.com/anthropics/claude-code/issues/30010',
    ({ model, body }) =>
      !adaptive.test(model) && !/opus-4-5/.test(model) && valueAt(body, 'output_config.effort') !== undefined,
    invalid('This model does not support the effort parameter.'),
  ),
  worded('claude/effort', 'https://platform.claude.com/docs/en/build-with-claude/effort', 'output_config.effort', [
    [/opus-4-5/, 'low medium high'],
    [/-4-6/, 'low medium high max'],
    [/./, 'low medium high xhigh max'],
  ]),
  when(
    'claude/no-prefill',
    'https://github.com/Skyvern-AI/skyvern/pull/4795',
    ({ model, body }) => adaptive.test(model) && turnsOf(body).at(-1)?.role === 'assistant',
    invalid('This model does not support assistant message prefill. The conversation must end with a user message.'),
  ),
  when(
    'claude/no-schema',
    'https://platform.claude.com/docs/en/build-with-claude/structured-outputs',
    ({ model, body }) =>
      /claude-(?:2|instant|3|opus-4-(?:0|2025)|sonnet-4-(?:0|2025))/.test(model) &&
      valueAt(body, 'output_config.format') !== undefined,
    ({ model }) => invalid(`'${model}' does not support output format.`),
  ),
];
