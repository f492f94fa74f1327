/** For each member that multiplies work: a request with little of it and one with much, on a gateway with the models that `multiplied-work.test.ts` has. */

/** @param by what `much` costs more than `little` at least, in quota. */
export interface Multiplying {
  readonly vendor: string;
  readonly member: string;
  readonly path: string;
  readonly little: object;
  readonly much: object;
  readonly by: number;
}

/** Members that are held for elsewhere than in a request over HTTP, or by a form, with the test that shows it. */
export const shownElsewhere: Readonly<Record<string, string>> = {
  'realtime response.max_output_tokens': 'tests/relay/turns.test.ts',
  'images image': 'tests/relay/multiplied-work.test.ts',
};

const many = (item: unknown, count = 20): unknown[] => Array.from({ length: count }, () => item);
const turn = { role: 'user', content: 'hi' };
const part = (more: object) => ({
  contents: [
    {
      role: 'user',
      parts: [{ inlineData: { mimeType: 'video/mp4', data: `AAAAIGZ0eXBpc29t${'A'.repeat(80_000)}` }, ...more }],
    },
  ],
});
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];

type Sample = readonly [member: string, little: object, much: object, by: number];

const samples = (vendor: string, path: string, common: object, ...list: Sample[]): Multiplying[] =>
  list.map(([member, little, much, by]) => ({
    ...{ vendor, member, path, by },
    little: { ...common, ...little },
    much: { ...common, ...much },
  }));

const limit = (member: string): Sample => [member, { [member]: 100 }, { [member]: 5000 }, 4900];

export const multiplying: readonly Multiplying[] = [
  ...samples(
    'chat completions',
    '/v1/chat/completions',
    { model: 'own', messages: [turn] },
    ['n', { max_tokens: 1000, n: 1 }, { max_tokens: 1000, n: 8 }, 7000],
    limit('max_tokens'),
    limit('max_completion_tokens'),
  ),
  ...samples(
    'completions',
    '/v1/completions',
    { model: 'own', max_tokens: 1000 },
    ['n', { prompt: 'x', n: 1 }, { prompt: 'x', n: 8 }, 7000],
    ['best_of', { prompt: 'x', best_of: 1 }, { prompt: 'x', best_of: 8 }, 7000],
    ['prompt', { prompt: 'x' }, { prompt: many('x') }, 19_000],
    ['prompt[]', { prompt: [1] }, { prompt: many('x') }, 19_000],
    ['prompt[][]', { prompt: [[1]] }, { prompt: many([1]) }, 19_000],
    ['max_tokens', { prompt: 'x', max_tokens: 100 }, { prompt: 'x', max_tokens: 5000 }, 4900],
  ),
  ...samples('responses', '/v1/responses', { model: 'own', input: 'hi' }, limit('max_output_tokens'), [
    'tools[].max_num_results',
    { max_output_tokens: 1, tools: [{ type: 'file_search', vector_store_ids: ['v'], max_num_results: 1 }] },
    { max_output_tokens: 1, tools: [{ type: 'file_search', vector_store_ids: ['v'], max_num_results: 50 }] },
    5 * 25_000,
  ]),
  ...samples(
    'embeddings',
    '/v1/embeddings',
    { model: 'called' },
    ['input', { input: 'x' }, { input: many('x') }, 19_000],
    ['input[]', { input: [1] }, { input: many('x') }, 19_000],
    ['input[][]', { input: [[1]] }, { input: many([1]) }, 19_000],
  ),
  ...samples(
    'images',
    '/v1/images/generations',
    { model: 'picture-model', prompt: 'x' },
    ['n', { n: 1 }, { n: 8 }, 7 * 6000],
    ['partial_images', { partial_images: 0 }, { partial_images: 3 }, 300],
    ['frame_count', { output_format: 'gif', frame_count: 9 }, { output_format: 'gif', frame_count: 16 }, 7 * 6000],
  ),
  ...samples('moderations', '/v1/moderations', { model: 'called' }, [
    'input',
    { input: 'x' },
    { input: many('x') },
    19_000,
  ]),
  ...samples(
    'messages',
    '/v1/messages',
    { model: 'claude-haiku-4-5', messages: [turn], max_tokens: 100 },
    limit('max_tokens'),
    [
      'tools[].max_uses',
      { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }] },
      { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 50 }] },
      45 * 5000,
    ],
    [
      'tools[].max_tokens',
      { tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-4-5', max_tokens: 1000 }] },
      { tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-4-5', max_tokens: 30_000 }] },
      5 * 25_000,
    ],
    ['fallbacks', { fallbacks: [] }, { fallbacks: [{ model: 'claude-opus-4-5' }] }, 100],
    [
      'fallbacks[].max_tokens',
      { fallbacks: [{ model: 'claude-opus-4-5', max_tokens: 100 }] },
      { fallbacks: [{ model: 'claude-opus-4-5', max_tokens: 30_000 }] },
      29_000,
    ],
    [
      'thinking.budget_tokens',
      { thinking: { type: 'enabled', budget_tokens: 1024 } },
      { thinking: { type: 'enabled', budget_tokens: 30_000 } },
      25_000,
    ],
    [
      'mcp_servers',
      { mcp_servers: [] },
      { mcp_servers: [{ type: 'url', url: 'https://a.example', name: 'a' }] },
      50_000,
    ],
    [
      'context_management.edits',
      { context_management: { edits: [] } },
      { context_management: { edits: [{ type: 'compact_20260112' }] } },
      50,
    ],
  ),
  ...samples(
    'generateContent',
    '/v1beta/models/gemini-2.5-flash:generateContent',
    {},
    [
      'config.candidateCount',
      { contents, generationConfig: { maxOutputTokens: 1000, candidateCount: 1 } },
      { contents, generationConfig: { maxOutputTokens: 1000, candidateCount: 8 } },
      7000,
    ],
    [
      'config.maxOutputTokens',
      { contents, generationConfig: { maxOutputTokens: 100 } },
      { contents, generationConfig: { maxOutputTokens: 5000 } },
      4900,
    ],
    ['contents[].parts[].videoMetadata.fps', part({}), part({ videoMetadata: { fps: 24 } }), 20_000],
    ['contents[].parts[].mediaResolution.numTokens', part({}), part({ mediaResolution: { numTokens: 3000 } }), 20_000],
  ),
  ...samples('generateContent', '/v1beta/models/called:batchEmbedContents', {}, [
    'contents',
    { requests: [{ content: contents[0] }] },
    { requests: many({ content: contents[0] }) },
    19_000,
  ]),
  ...samples('rerank', '/v1/rerank', { model: 'ranker', query: 'q' }, [
    'documents',
    { documents: ['x'] },
    { documents: many('x', 1000) },
    9000,
  ]),
  ...samples('ollama', '/api/chat', { model: 'own', messages: [turn], stream: false }, [
    'options.num_predict',
    { options: { num_predict: 100 } },
    { options: { num_predict: 5000 } },
    4900,
  ]),
  ...samples('ollama', '/api/embed', { model: 'called' }, ['input', { input: 'x' }, { input: many('x') }, 19_000]),
];
