/** The habits of chat completions. */
import { endpointTypesOf } from '../../contract/endpoint-types.ts';
import { modelsSince, namedBehind } from '../shared/model-card.ts';
import { effortSuffix } from '../shared/suffix.ts';
import type { Traits } from '../traits.ts';

export const traits: Traits = {
  label: 'OpenAI Chat Completions',
  routes: [
    { path: '/v1/chat/completions', operation: 'chat' },
    { path: '/pg/chat/completions', operation: 'chat', session: true },
    { path: '/v1/embeddings', operation: 'embeddings' },
    { path: '/v1/engines/{model}/embeddings', operation: 'embeddings' },
  ],
  claims: () => false,
  chatOperation: 'chat',
  embeddings: { operation: 'embeddings', common: null },
  asksForUsage: true,
  limit: {
    names: ['max_completion_tokens', 'max_tokens'],
    older: 'max_tokens',
    thoughts: [
      ['thinking', 'budget_tokens'],
      ['reasoning', 'max_tokens'],
    ],
  },
  countAnswer: (tokens) => ({ input_tokens: tokens }),
  models: {
    named: (path) => namedBehind(path, '/v1/models'),
    asks: () => true,
    card: (id) => ({
      id,
      object: 'model',
      created: modelsSince,
      owned_by: 'gateway',
      supported_endpoint_types: endpointTypesOf(id),
    }),
    list: (data) => ({ object: 'list', success: true, data }),
  },
  suffix: effortSuffix((body, effort) => (body.reasoning_effort === undefined ? [['reasoning_effort', effort]] : [])),
};
