/** The habits of Ollama's chat. */
import { modelsSinceText } from '../shared/model-card.ts';
import { effortSuffix } from '../shared/suffix.ts';
import type { Traits } from '../traits.ts';

export const traits: Traits = {
  label: 'Ollama Chat',
  routes: [{ path: '/api/chat', operation: 'chat', streamsUnlessTold: true }],
  paths: ['/api/tags'],
  claims: (path) => path === '/api/chat' || path === '/api/tags',
  chatOperation: 'ollama_chat',
  limit: { names: [], nested: { objects: ['options'], names: ['num_predict'], choices: [] }, thoughts: [] },
  gate: { names: ['format', 'think', 'images'], objects: [], inObjects: ['num_ctx'] },
  countAnswer: (tokens) => ({ prompt_eval_count: tokens }),
  models: {
    named: (path) => (path === '/api/tags' || path === '/api/tags/' ? '' : null),
    asks: () => true,
    card: (id) => ({ name: id, model: id, modified_at: modelsSinceText, size: 0, digest: '', details: {} }),
    list: (models) => ({ models }),
  },
  suffix: effortSuffix((body, effort) => (body.think === undefined ? [['think', effort]] : [])),
};
