/** The habits of Cohere's second chat API. */

import type { ProtocolDefinition } from '../definition.ts';
import { effortSuffix } from '../shared/suffix.ts';

export const definition: ProtocolDefinition = {
  label: 'Cohere Chat',
  systemPlace: { member: 'messages', form: 'turns' },
  routes: [{ path: '/v2/chat', operation: 'chat' }],
  claims: (path) => path.startsWith('/v2/chat'),
  chatOperation: 'cohere_chat',
  limit: { names: ['max_tokens'], thoughts: [['thinking', 'token_budget']] },
  gate: { names: ['documents'], objects: [], inObjects: [] },
  countAnswer: (tokens) => ({ tokens }),
  // The dialect has no words of effort.
  suffix: effortSuffix(() => []),
};
