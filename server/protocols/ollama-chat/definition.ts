/** The habits of Ollama's chat. */

import type { ProtocolDefinition } from '../definition.ts';
import { modelsSinceText } from '../shared/model-card.ts';
import { effortSuffix } from '../shared/suffix.ts';
import { embedFromOpenAi, embedToOpenAi, generateAsChat, generatePath, modelCard, version } from './other-calls.ts';

const claimed = /^\/api\/(?:chat|generate|embed|embeddings|tags|show|ps|version|pull|push|create|copy|delete)\/?$/;

export const definition: ProtocolDefinition = {
  label: 'Ollama Chat',
  systemPlace: { member: 'messages', form: 'turns' },
  routes: [
    { path: '/api/chat', operation: 'chat', streamsByDefault: true },
    { path: generatePath, operation: 'chat', streamsByDefault: true, asChat: generateAsChat },
    { path: '/api/embed', operation: 'embeddings' },
    { path: '/api/embeddings', operation: 'embeddings' },
  ],
  paths: ['/api/tags'],
  fixed: { '/api/version': { version }, '/api/ps': { models: [] } },
  modelDetails: { path: '/api/show', modelIn: ({ model, name }) => model ?? name, card: modelCard },
  absent: ['/api/pull', '/api/push', '/api/create', '/api/copy', '/api/delete'],
  // All others below are the console's.
  claims: (path) => claimed.test(path),
  embeddings: {
    operation: 'ollama_embeddings',
    common: { toRequest: embedToOpenAi, fromAnswer: embedFromOpenAi },
  },
  instructions: { turns: 'messages', isRisky: true },
  chatOperation: 'ollama_chat',
  limit: { names: [], nested: { objects: ['options'], names: ['num_predict'], choices: [] }, thoughts: [] },
  gate: { names: ['format', 'think', 'images'], objects: [], inObjects: ['num_ctx'] },
  countAnswer: (tokens) => ({ prompt_eval_count: tokens }),
  models: {
    named: (path) => (path === '/api/tags' || path === '/api/tags/' ? '' : null),
    isRequested: () => true,
    card: (id) => ({ name: id, model: id, modified_at: modelsSinceText, size: 0, digest: '', details: {} }),
    list: (models) => ({ models }),
  },
  suffix: effortSuffix((body, effort) => (body.think === undefined ? [['think', effort]] : [])),
};
