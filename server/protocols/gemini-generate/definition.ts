/** The habits of Gemini's generateContent. */

import type { DialectRoute, ProtocolDefinition } from '../definition.ts';
import { present, record } from '../shared/json.ts';
import { namedBehind, sizeOf } from '../shared/model-card.ts';
import {
  embedAnswerFromOpenAi,
  embedAnswerToOpenAi,
  embedRequestFromOpenAi,
  embedRequestToOpenAi,
} from './embeddings.ts';
import { suffix } from './suffix.ts';

/** The same calls are served under both versions. */
const calls = (verb: string, operation: DialectRoute['operation'], stream: boolean): DialectRoute[] =>
  ['/v1beta', '/v1'].map((version) => ({ path: `${version}/models/{model}:${verb}`, operation, stream }));

export const definition: ProtocolDefinition = {
  label: 'Gemini generateContent',
  systemPlace: { member: 'systemInstruction', form: 'parts' },
  routes: [
    ...calls('generateContent', 'chat', false),
    ...calls('streamGenerateContent', 'chat', true),
    ...calls('countTokens', 'count_tokens', false),
    ...calls('embedContent', 'embeddings', false),
    ...calls('batchEmbedContents', 'embeddings', false),
  ],
  claims: (path) => path.startsWith('/v1beta/') || /^\/v1\/models\/.+:/.test(path),
  chatOperation: 'generate',
  streamOperation: 'stream',
  embeddings: {
    operation: 'embed_contents',
    // The one method has a content for its body, the other a list of requests. Source: https://ai.google.dev/api/embeddings
    called: (address, requested) =>
      requested.includes('batchEmbedContents') ? address : address.replace('batchEmbedContents', 'embedContent'),
    // The batch form is asked for, whichever the client used.
    common: {
      toRequest: embedRequestToOpenAi,
      fromAnswer: (answer, requested) => embedAnswerFromOpenAi(answer, Array.isArray(requested.requests)),
      upstream: { fromRequest: embedRequestFromOpenAi, toAnswer: embedAnswerToOpenAi },
    },
  },
  modelInPath: true,
  camelNames: true,
  limit: {
    names: [],
    nested: {
      objects: ['generationConfig', 'generation_config'],
      names: ['maxOutputTokens', 'max_output_tokens'],
      choices: ['candidateCount', 'candidate_count'],
    },
    thoughts: [
      ['thinkingConfig', 'thinkingBudget'],
      ['thinking_config', 'thinking_budget'],
    ],
  },
  matches: {
    turns: 'contents',
    members: [
      'generationConfig.temperature',
      'generationConfig.topP',
      'generationConfig.topK',
      'generationConfig.maxOutputTokens',
      'generationConfig.presencePenalty',
      'generationConfig.frequencyPenalty',
      'generationConfig.candidateCount',
      'generationConfig.thinkingConfig',
    ],
  },
  thoughts(body) {
    const config = record(body.generationConfig ?? body.generation_config);
    const thinking = record(config?.thinkingConfig ?? config?.thinking_config);
    return (thinking?.includeThoughts ?? thinking?.include_thoughts) === true ? 'words' : 'seals';
  },
  countOperation: 'count_contents',
  countAnswer: (tokens) => ({
    totalTokens: tokens,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }],
  }),
  models: {
    named: (path) => namedBehind(path, '/v1beta/models') ?? namedBehind(path, '/v1/models'),
    isRequested: (path, headers) => path.startsWith('/v1beta/') || headers.has('x-goog-api-key'),
    card: (id, { inputLimit, outputCap, thinking }) => ({
      name: `models/${id}`,
      version: '001',
      displayName: id,
      description: '',
      // Where they are unknown nothing is claimed.
      ...present({
        inputTokenLimit: inputLimit,
        outputTokenLimit: outputCap,
        thinking: thinking === null ? null : thinking !== 'none',
      }),
      supportedGenerationMethods: ['generateContent', 'countTokens'],
    }),
    list(cards, query) {
      const start = sizeOf(query.get('pageToken'), 0);
      const next = start + sizeOf(query.get('pageSize'), 50);
      return {
        models: cards.slice(start, next),
        ...(next < cards.length ? { nextPageToken: String(next) } : {}),
      };
    },
  },
  suffix,
  operator: {
    version: (settings, model) => settings.geminiVersion(model),
    change: (request, { geminiImagineModels, geminiSafety }) => ({
      ...request,
      ...(geminiImagineModels.has(request.model) ? { modalities: ['text', 'image'] } : {}),
      extra: { safetySettings: geminiSafety, ...request.extra },
    }),
  },
};
