/** AWS Bedrock: signed calls, exact names, Claude in its own form and the rest by Converse. */

import { valueAt } from '../../../server/practice/row-rules.ts';
import { list, record, records } from '../../../server/protocols/shared/json.ts';
import type { Caller, Door, Double } from '../double.ts';
import { invalid, type Refusal, type Rule } from '../rule.ts';
import { claudeRules } from '../rules/claude.ts';
import { converseRules } from '../rules/converse.ts';
import {
  messagesBasics,
  messagesLimits,
  messagesShape,
  signedThoughts,
  thinkingRules,
  turnsOf,
} from '../rules/messages.ts';
import { when } from '../rules/when.ts';
import { checkSigV4 } from '../sigv4-check.ts';
import { claudeWire, converseWire } from '../wires/bedrock.ts';

/** The account that this double knows: `Ak|Sk|Region`. */
export const bedrockAccount = { accessKey: 'AKIAPRACTICE', secretKey: 'practice/secret+key' };
const apiKey = 'bedrock-practice-key';

const reference =
  'https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html';

/** https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html */
const claudeIds =
  /^anthropic\.claude-(?:v2(?::1)?|instant-v1|3-(?:haiku-20240307|sonnet-20240229|opus-20240229)-v1:0|3-5-sonnet-(?:20240620-v1|20241022-v2):0|3-5-haiku-20241022-v1:0|3-7-sonnet-20250219-v1:0|(?:sonnet|opus)-4-20250514-v1:0|opus-4-1-20250805-v1:0|sonnet-4-5-20250929-v1:0|haiku-4-5-20251001-v1:0|opus-4-5-20251101-v1:0|opus-4-6-v1|sonnet-4-6|opus-4-[7-9]|opus-[5-9](?:-\d)?|sonnet-[5-9]|haiku-[5-9]|fable-[5-9])$/;
const otherIds =
  /^(?:amazon\.nova-|meta\.llama|mistral\.|cohere\.command|deepseek\.|openai\.gpt-oss|qwen\.|ai21\.|moonshot|minimax\.|zai\.|google\.gemma|nvidia\.|writer\.)/;
/** Offered through profiles alone. https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html */
const profiled = /claude-(?:3-7|(?:opus|sonnet|haiku|fable)-\d)/;

const spans: Readonly<Record<string, RegExp>> = {
  us: /^(?:us-(?:east|west)|ca-)/,
  eu: /^eu-/,
  apac: /^ap-/,
  jp: /^ap-northeast-[13]$/,
  au: /^ap-southeast-[24]$/,
  'us-gov': /^us-gov-/,
  global: /^(?!us-gov)/,
};
/** Newer models are not offered across all of Asia. */
const noApac = /claude-(?:sonnet-4-5|haiku-4-5|opus-4-[1-9]|sonnet-4-6|sonnet-[5-9]|opus-[5-9])/;

const regionIn = (headers: Headers): string =>
  /Credential=[^/]+\/\d{8}\/([^/]+)\//.exec(headers.get('authorization') ?? '')?.[1] ?? 'us-east-1';

const unknownName = invalid('The provided model identifier is invalid.', { type: 'ValidationException' });

const names: Rule = {
  id: 'bedrock/names',
  source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html',
  reject({ model, headers }) {
    const [, span, id = model] = /^(us-gov|us|eu|apac|jp|au|global)\.(.+)$/.exec(model) ?? [];
    if (model.startsWith('arn:')) return null;
    if (!claudeIds.test(id) && !otherIds.test(id)) return unknownName;
    if (span === undefined)
      return profiled.test(id)
        ? invalid(
            `Invocation of model ID ${id} with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model.`,
          )
        : null;
    if (spans[span]?.test(regionIn(headers)) !== true) return unknownName;
    return span === 'apac' && noApac.test(id) ? unknownName : null;
  },
};

/** https://github.com/BerriAI/litellm/pull/19877, verified there against AWS's documents. */
const betas =
  /^(?:computer-use-2024-10-22|computer-use-2025-01-24|token-efficient-tools-2025-02-19|interleaved-thinking-2025-05-14|output-128k-2025-02-19|dev-full-thinking-2025-05-14|context-1m-2025-08-07|context-management-2025-06-27|effort-2025-11-24|tool-search-tool-2025-10-19|tool-examples-2025-10-29)$/;

const betasOf = (body: Readonly<Record<string, unknown>>, headers: Headers): readonly string[] => [
  ...list(body.anthropic_beta).map(String),
  ...(headers.get('anthropic-beta') ?? '').split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()])),
];

const knownBetas: Rule = {
  id: 'bedrock/betas',
  source: 'https://github.com/anthropics/claude-code/issues/49370',
  reject: ({ body, headers, model }) =>
    betasOf(body, headers).some(
      (name) => !betas.test(name) || (/opus-4-[7-9]/.test(model) && name !== 'interleaved-thinking-2025-05-14'),
    )
      ? invalid('invalid beta flag')
      : null,
};

const extra = (member: string): Refusal => invalid(`${member}: Extra inputs are not permitted`);
const newer = /claude-(?:opus-(?:4-[6-9]|[5-9])|sonnet-(?:4-[6-9]|[5-9])|fable)/;

const members: readonly Rule[] = [
  when(
    'bedrock/effort',
    'https://github.com/anthropics/claude-code-action/issues/1005',
    ({ body, headers, model }) =>
      valueAt(body, 'output_config.effort') !== undefined &&
      !newer.test(model) &&
      !betasOf(body, headers).includes('effort-2025-11-24'),
    extra('output_config.effort'),
  ),
  when(
    'bedrock/context-management',
    'https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-context-management.html',
    ({ body, headers }) =>
      valueAt(body, 'context_management') !== undefined &&
      !betasOf(body, headers).includes('context-management-2025-06-27'),
    extra('context_management'),
  ),
  when(
    'bedrock/deferred-tools',
    'https://github.com/anthropics/claude-code/issues/82549',
    ({ body, headers }) =>
      records(body.tools).some((tool) => tool.defer_loading !== undefined) &&
      !betasOf(body, headers).includes('tool-search-tool-2025-10-19'),
    extra('tools.0.custom.defer_loading'),
  ),
  when(
    'bedrock/version',
    reference,
    ({ body }) => body.anthropic_version !== 'bedrock-2023-05-31',
    invalid('Invalid API version'),
  ),
  when(
    'bedrock/linked-pictures',
    reference,
    ({ body }) =>
      turnsOf(body).some(({ blocks }) =>
        blocks.some(({ type, source }) => type === 'image' && record(source)?.type === 'url'),
      ),
    extra('messages.0.content.0.image.source.base64.url'),
  ),
];

const claude: readonly Rule[] = [
  names,
  messagesShape('bedrock/form', reference, {
    more: 'anthropic_version anthropic_beta output_config context_management',
    model: false,
    // Which models know the third is said below.
    roles: ['user', 'assistant', 'system'],
  }),
  knownBetas,
  ...members,
  ...messagesBasics,
  signedThoughts,
  ...thinkingRules,
  ...claudeRules,
  ...messagesLimits,
];

async function admit(caller: Caller): Promise<Refusal | null> {
  const given = caller.headers.get('authorization') ?? '';
  if (given.startsWith('Bearer '))
    return given === `Bearer ${apiKey}`
      ? null
      : { status: 403, message: 'Invalid API Key format', type: 'AccessDeniedException' };
  const checked = checkSigV4(caller, bedrockAccount);
  return 'wrong' in checked ? { status: 403, message: checked.wrong, type: 'InvalidSignatureException' } : null;
}

const door = (verb: string, stream: boolean, wire: Door['wire'], rules: readonly Rule[]): Door => ({
  path: `/model/{model}/${verb}`,
  wire,
  rules,
  stream,
});

export const bedrock: Double = {
  name: 'bedrock',
  slug: 'aws',
  // Signatures are the same on every platform: https://platform.claude.com/docs/en/build-with-claude/extended-thinking#thinking-encryption
  maker: 'anthropic',
  base: '',
  admit,
  doors: [
    door('invoke', false, claudeWire, claude),
    door('invoke-with-response-stream', true, claudeWire, claude),
    door('converse', false, converseWire, [names, ...converseRules]),
    door('converse-stream', true, converseWire, [names, ...converseRules]),
  ],
  complain: ({ message, type = 'ValidationException' }) => ({ __type: type, message }),
};
