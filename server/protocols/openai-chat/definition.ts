/** The habits of chat completions. */
import { opencodeList } from '../../contract/agents.ts';
import { endpointTypesOf } from '../../contract/endpoint-types.ts';
import type { ProtocolDefinition } from '../definition.ts';
import { thoughtBudgets } from '../shared/effort.ts';
import { present } from '../shared/json.ts';
import { modelsSince, namedBehind } from '../shared/model-card.ts';
import { effortSuffix } from '../shared/suffix.ts';

export const definition: ProtocolDefinition = {
  label: 'OpenAI Chat Completions',
  systemPlace: { member: 'messages', form: 'turns' },
  routes: [
    { path: '/v1/chat/completions', operation: 'chat' },
    { path: '/pg/chat/completions', operation: 'chat', session: true },
    { path: '/v1/embeddings', operation: 'embeddings' },
    { path: '/v1/engines/{model}/embeddings', operation: 'embeddings' },
  ],
  claims: () => false,
  chatOperation: 'chat',
  embeddings: { operation: 'embeddings', common: null },
  requestsUsage: true,
  limit: {
    names: ['max_completion_tokens', 'max_tokens'],
    legacyName: 'max_tokens',
    // llama.cpp lets its own name win; sources: its server's README, TGI's and Ollama's generate.
    others: ['n_predict', 'num_predict', 'max_new_tokens', 'max_output_tokens'],
    thoughts: thoughtBudgets,
  },
  gate: { names: ['enable_thinking', 'thinking_budget'], objects: [], inObjects: [] },
  instructions: { turns: 'messages', isRisky: true },
  // Source: https://platform.openai.com/docs/guides/prompt-caching
  cache: {
    turns: 'messages',
    unhashed: [
      ...['max_completion_tokens', 'max_tokens', 'metadata', 'n', 'seed', 'stop', 'store', 'stream', 'stream_options'],
      ...['temperature', 'top_p', 'user', 'safety_identifier'],
    ],
    elsewhere: [],
  },
  matches: {
    turns: 'messages',
    members: [
      'temperature',
      'top_p',
      'presence_penalty',
      'frequency_penalty',
      'stop',
      'seed',
      'n',
      'max_tokens',
      'max_completion_tokens',
      'reasoning_effort',
      'thinking',
      'enable_thinking',
      'parallel_tool_calls',
      'tool_choice',
      'response_format',
    ],
  },
  countAnswer: (tokens) => ({ input_tokens: tokens }),
  models: {
    named: (path) => namedBehind(path, '/v1/models'),
    isRequested: () => true,
    // The dialect has no words for limits; these are the ones that several hosts of it use.
    card: (id, { inputLimit, outputCap, inputs, outputs }) => ({
      id,
      object: 'model',
      created: modelsSince,
      owned_by: 'gateway',
      ...present({
        context_length: inputLimit,
        max_completion_tokens: outputCap,
        architecture: kindsOf(inputs, outputs),
      }),
      supported_endpoint_types: endpointTypesOf(id),
    }),
    list: (data, query) =>
      query.get('for') === 'opencode' ? opencodeList(data) : { object: 'list', success: true, data },
  },
  suffix: effortSuffix((body, effort) => (body.reasoning_effort === undefined ? [['reasoning_effort', effort]] : [])),
};

const kindsOf = (inputs: readonly string[] | null, outputs: readonly string[] | null): unknown =>
  inputs === null && outputs === null
    ? undefined
    : present({
        input_modalities: inputs === null ? undefined : ['text', ...inputs],
        output_modalities: outputs ?? undefined,
      });
