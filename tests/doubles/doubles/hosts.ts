/** Fireworks, SiliconFlow and Volcengine: other makers' models behind one address, each host with its own bounds. */

import { valueAt } from '../../../server/practice/row-rules.ts';
import { record } from '../../../server/protocols/shared/json.ts';
import type { Double } from '../double.ts';
import { invalid } from '../rule.ts';
import { qwen, systemFirst } from '../rules/template.ts';
import { when, worded } from '../rules/when.ts';
import { bracketed } from '../shape.ts';
import { chatDouble, thinksWhen } from './chat.ts';
import { zhipu } from './china.ts';
import { error, fallback, open, paired } from './lax.ts';

const fireworksEfforts = 'https://github.com/anomalyco/models.dev/pull/2132';

export const fireworks: Double = chatDouble({
  name: 'fireworks',
  path: '/inference/v1/chat/completions',
  base: '/inference',
  source: 'https://docs.fireworks.ai/api-reference/post-chatcompletions',
  form: {
    ...open,
    closed: true,
    members: `${fallback} top_k min_p repetition_penalty reasoning_effort reasoning_history thinking stream_options metadata prompt_cache_key service_tier prediction`,
    roles: 'system developer user assistant tool',
    parts: 'text image_url',
    assistant: 'reasoning_content name',
    tool: 'name',
  },
  // https://github.com/web-infra-dev/midscene/issues/1322
  error: ({ kind, path, expected }) =>
    invalid(
      kind === 'unknown'
        ? `Extra inputs are not permitted, field: '${bracketed(path)}'`
        : `Input should be ${expected}, field: '${bracketed(path)}'`,
    ),
  habits: {
    thoughts: 'reasoning_content',
    thinks: (model, body) => body.reasoning_effort !== 'none' && thinksWhen(/glm|kimi|qwen3p|minimax/)(model, body),
    usageInLast: true,
  },
  rules: [
    worded('fireworks/effort', fireworksEfforts, 'reasoning_effort', [
      [/(?:glm|kimi)-/, 'none'],
      [/deepseek-v4/, 'none high max'],
      [/minimax-m2|gpt-oss/, 'low medium high'],
      [/qwen3p/, 'none low medium high'],
    ]),
    paired('fireworks', 'https://docs.fireworks.ai/guides/function-calling'),
    systemFirst(
      'fireworks/system-first',
      'https://github.com/BerriAI/litellm/pull/39852',
      qwen,
      invalid('jinja template rendering failed. System message must be at the beginning.', {
        code: 'invalid_request_error',
      }),
    ),
  ],
  complain: ({ message, type = 'invalid_request_error', code }) => ({
    error: { object: 'error', type, code: code ?? type, message },
  }),
});

export const siliconflow: Double = chatDouble({
  name: 'siliconflow',
  path: '/v1/chat/completions',
  source: 'https://docs.siliconflow.cn/cn/api-reference/chat-completions/chat-completions',
  form: {
    ...open,
    roles: 'system user assistant tool',
    parts: 'text image_url',
    formats: 'text json_object json_schema',
  },
  error,
  habits: {
    thoughts: 'reasoning_content',
    thinks: (model, body) => /qwen3|glm|deepseek-(?:r1|v[34])|hunyuan/i.test(model) && body.enable_thinking !== false,
    usageInLast: true,
  },
  rules: [
    when(
      'siliconflow/no-degrees',
      'https://docs.siliconflow.cn/cn/api-reference/chat-completions/chat-completions',
      ({ body }) => valueAt(body, 'reasoning_effort') === 'none',
      invalid('Value error, reasoning_effort', { code: '20015' }),
    ),
    paired('siliconflow', 'https://docs.siliconflow.cn/cn/userguide/guides/function-calling'),
  ],
  complain: ({ message, code }) => ({ code: Number(code ?? 20015), message, data: null }),
});

export const volcengine: Double = chatDouble({
  name: 'volcengine',
  path: '/api/v3/chat/completions',
  source: 'https://www.volcengine.com/docs/82379/1494384',
  form: { ...open, roles: 'system user assistant tool', parts: 'text image_url video_url' },
  error: ({ path, expected }) =>
    invalid(`The parameter \`${bracketed(path)}\` specified in the request is not valid: expected ${expected}`, {
      code: 'InvalidParameter',
    }),
  habits: {
    thoughts: 'reasoning_content',
    thinks: (model, body) => /seed|thinking/.test(model) && record(body.thinking)?.type !== 'disabled',
  },
  rules: [
    worded('volcengine/effort', 'https://www.volcengine.com/docs/82379/1494384', 'reasoning_effort', [
      [/./, 'minimal low medium high'],
    ]),
    paired('volcengine', 'https://www.volcengine.com/docs/82379/1262342'),
  ],
});

/** The older type of the same provider, whose keys sign a token. */
export const zhipuSigned: Double = { ...zhipu, name: 'zhipu-signed', slug: 'zhipu' };
