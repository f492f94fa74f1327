/** Hosts that pass over what they do not know, and refuse what they know to be wrong. */

import { valueAt } from '../../../server/practice/row-rules.ts';
import { record, records } from '../../../server/protocols/shared/json.ts';
import type { Double } from '../double.ts';
import { invalid } from '../rule.ts';
import { alternating, messagesOf } from '../rules/chat-order.ts';
import { rootUnion } from '../rules/schemas.ts';
import { rejected, when, worded } from '../rules/when.ts';
import { chatDouble, messagesDoor, responsesDoor, thinksWhen } from './chat.ts';
import { error, open, paired } from './lax.ts';

export const together: Double = chatDouble({
  name: 'together',
  path: '/v1/chat/completions',
  source: 'https://docs.together.ai/reference/chat-completions-1',
  form: { ...open, roles: 'system user assistant tool', parts: 'text image_url video_url input_audio' },
  error,
  // https://github.com/BerriAI/litellm/issues/8675
  habits: {
    thoughts: 'reasoning',
    thinks: thinksWhen(/gpt-oss|thinking|deepseek/i),
    textBeside: true,
    usageInLast: true,
  },
  rules: [
    worded('together/effort', 'https://docs.together.ai/docs/openai-api-compatibility', 'reasoning_effort', [
      [/./, 'low medium high'],
    ]),
    paired('together', 'https://docs.together.ai/docs/function-calling'),
  ],
});

export const perplexity: Double = chatDouble({
  name: 'perplexity',
  path: '/chat/completions',
  source: 'https://docs.perplexity.ai/api-reference/chat-completions-post',
  form: {
    ...open,
    roles: 'system user assistant tool',
    parts: 'text image_url file',
    formats: 'text json_schema regex',
  },
  error,
  habits: {
    thoughts: 'think-tag',
    thinks: (model) => model.includes('reasoning'),
    deltaBeside: true,
    usageInLast: true,
    more: {
      citations: ['https://example.com/source'],
      search_results: [{ title: 'Source', url: 'https://example.com/source' }],
    },
  },
  rules: [
    alternating(
      'perplexity/alternation',
      'https://github.com/perplexityai/api-discussion/issues/265',
      invalid('After the (optional) system message(s), user and assistant roles should be alternating.', {
        type: 'invalid_message',
      }),
    ),
    when(
      'perplexity/last-message',
      'https://docs.perplexity.ai/api-reference/chat-completions-post',
      ({ body }) => !['user', 'tool'].includes(String(messagesOf(body).at(-1)?.role)),
      invalid('Last message must have role `user` or `tool`.', { type: 'invalid_message' }),
    ),
    when(
      'perplexity/tools',
      'https://github.com/pipecat-ai/pipecat/pull/4862',
      ({ body }) => records(body.tools).length > 0,
      invalid('Tool calling is not supported for this model', { type: 'invalid_parameter' }),
    ),
    when(
      'perplexity/effort',
      'https://docs.getbifrost.ai/providers/supported-providers/perplexity',
      ({ body }) => {
        const effort = valueAt(body, 'reasoning_effort');
        return effort !== undefined && !['minimal', 'low', 'medium', 'high'].includes(String(effort));
      },
      invalid('reasoning_effort must be one of minimal, low, medium, high', { type: 'invalid_parameter' }),
    ),
  ],
  complain: ({ status, message, type = 'invalid_parameter' }) => ({ error: { message, type, code: status } }),
});

/** https://docs.x.ai/developers/tools/overview */
const xaiTools =
  /^(?:function|web_search|x_search|code_interpreter|code_execution|file_search|collections_search|mcp|image_generation)$/;

const always = /grok-(?:3-mini|4)(?!.*non-reasoning)/;

export const xai: Double = chatDouble({
  name: 'xai',
  path: '/v1/chat/completions',
  source: 'https://docs.x.ai/docs/api-reference#chat-completions',
  form: { ...open, roles: 'system developer user assistant tool', parts: 'text image_url file' },
  error,
  habits: { thoughts: 'reasoning_content', thinks: thinksWhen(/grok-3-mini|grok-4\.3/) },
  rules: [
    when(
      'xai/effort',
      'https://github.com/NousResearch/hermes-agent/pull/23435',
      ({ body, model }) =>
        valueAt(body, 'reasoning_effort') !== undefined &&
        !/grok-3-mini|grok-4\.[3-9]|grok-4\.20-multi|grok-[5-9]/.test(model),
      ({ model }) => invalid(`Model ${model} does not support parameter reasoningEffort.`),
    ),
    worded('xai/effort-words', 'https://docs.x.ai/developers/model-capabilities/text/reasoning', 'reasoning_effort', [
      [/grok-3-mini/, 'low high'],
      [/grok-4\.3/, 'none low medium high'],
      [/grok-4\.20-multi/, 'low medium high xhigh'],
      [/grok-4\.5/, 'low medium high'],
      [/grok-4\.[6-9]/, 'low medium high xhigh'],
    ]),
    rejected(
      'xai/penalties',
      'https://github.com/open-webui/open-webui/issues/21266',
      { models: /grok-[3-9]/, members: 'presence_penalty frequency_penalty' },
      (member, model) =>
        `Model ${model} does not support parameter ${member === 'presence_penalty' ? 'presencePenalty' : 'frequencyPenalty'}.`,
    ),
    rejected(
      'xai/stop',
      'https://docs.x.ai/developers/model-capabilities/text/reasoning',
      { models: always, members: 'stop' },
      (_, model) => `Model ${model} does not support parameter stop.`,
    ),
    paired('xai', 'https://docs.x.ai/docs/guides/function-calling'),
  ],
  complain: ({ message }) => ({ code: 'Client specified an invalid argument', error: message }),
  doors: [
    responsesDoor('/v1/responses', thinksWhen(/grok-3-mini|grok-4\.[3-9]/), [
      {
        id: 'xai/responses-tools',
        source: 'https://github.com/kittors/CliRelay/issues/696',
        reject({ body }) {
          const unknown = records(body.tools).find(({ type }) => !xaiTools.test(String(type)));
          return unknown === undefined
            ? null
            : {
                status: 422,
                message: `Failed to deserialize the JSON body into the target type: unknown variant \`${unknown.type}\``,
              };
        },
      },
      when(
        'xai/external-web-access',
        'https://github.com/NOirBRight/CodexHub/issues/517',
        ({ body }) => records(body.tools).some((tool) => tool.external_web_access !== undefined),
        invalid('Argument not supported: external_web_access'),
      ),
      when(
        'xai/empty-thoughts',
        'https://github.com/Wei-Shaw/sub2api/issues/4237',
        ({ body }) => records(body.input).some(({ type, content }) => type === 'reasoning' && content === null),
        {
          status: 422,
          message:
            'Failed to deserialize the JSON body into the target type: data did not match any variant of untagged enum ModelInput',
        },
      ),
      {
        id: 'xai/tool-unions',
        source: 'https://github.com/lidge-jun/opencodex/issues/1105',
        reject({ body }) {
          const union = records(body.tools).find(
            ({ parameters }) => record(parameters)?.type === undefined && rootUnion(parameters),
          );
          return union === undefined
            ? null
            : invalid(
                `${union.name}: tool parameter root must be an object type (root schema is an anyOf/oneOf union with a non-object branch)`,
              );
        },
      },
      when(
        'xai/responses-effort',
        'https://github.com/NousResearch/hermes-agent/pull/23435',
        ({ body, model }) =>
          valueAt(body, 'reasoning.effort') !== undefined &&
          !/grok-3-mini|grok-4\.[3-9]|grok-4\.20-multi|grok-[5-9]/.test(model),
        ({ model }) => invalid(`Model ${model} does not support parameter reasoningEffort.`),
      ),
      when(
        'xai/instructions',
        'https://docs.x.ai/docs/guides/responses-api',
        ({ body }) =>
          valueAt(body, 'instructions') !== undefined && valueAt(body, 'previous_response_id') !== undefined,
        invalid('instructions cannot be given together with previous_response_id'),
      ),
    ]),
  ],
});

/** https://openrouter.ai/docs/api/api-reference/responses/create-responses */
const openrouterTools =
  /^(?:function|custom|web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?|file_search|computer_use_preview|code_interpreter|mcp|image_generation|local_shell|shell|apply_patch|openrouter:.+)$/;

export const openrouter: Double = chatDouble({
  name: 'openrouter',
  base: '/api',
  path: '/api/v1/chat/completions',
  source: 'https://openrouter.ai/docs/api-reference/chat-completion',
  form: { ...open, roles: 'system developer user assistant tool', parts: 'text image_url input_audio file' },
  error,
  habits: {
    thoughts: 'reasoning_details',
    thinks: (_, body) => body.reasoning_effort !== undefined || record(body.reasoning) !== null,
  },
  rules: [
    worded('openrouter/effort', 'https://github.com/Darkatse/TauriTavern/pull/85', 'reasoning_effort', [
      [/./, 'xhigh high medium low minimal none'],
    ]),
    worded('openrouter/nested-effort', 'https://github.com/Darkatse/TauriTavern/pull/85', 'reasoning.effort', [
      [/./, 'xhigh high medium low minimal none'],
    ]),
    when(
      'openrouter/one-effort',
      'https://github.com/danny-avila/LibreChat/issues/6076',
      ({ body }) => valueAt(body, 'reasoning') !== undefined && valueAt(body, 'reasoning_effort') !== undefined,
      invalid('Only one of "reasoning" and "reasoning_effort" may be provided'),
    ),
    paired('openrouter', 'https://openrouter.ai/docs/guides/features/tool-calling'),
  ],
  complain: ({ status, message, code }) => ({ error: { message, code: code ?? status } }),
  doors: [
    responsesDoor('/api/v1/responses', (_, body) => record(body.reasoning) !== null, [
      when(
        'openrouter/responses-tools',
        'https://github.com/openai/codex/issues/18228',
        ({ body }) => records(body.tools).some(({ type }) => !openrouterTools.test(String(type))),
        invalid('Invalid Responses API request', { code: 'invalid_prompt' }),
      ),
    ]),
    messagesDoor(
      'openrouter',
      '/api/v1/messages',
      'https://openrouter.ai/docs/api/api-reference/anthropic-messages/create-messages',
      // Its published schema names three.
      { roles: ['user', 'assistant', 'system'] },
    ),
  ],
});
