/** Azure OpenAI: deployments with a dated version, or the `v1` paths that need none. A deployment is called as the model, or as the channel's mapping says. */
import type { Adapter } from '../adapter.ts';

const paths: Readonly<Record<string, string>> = {
  chat: 'chat/completions',
  responses: 'responses',
  completions: 'completions',
  embeddings: 'embeddings',
  images: 'images/generations',
  image_edits: 'images/edits',
  speech: 'audio/speech',
  transcriptions: 'audio/transcriptions',
  translations: 'audio/translations',
};
const fallbackVersion = '2024-12-01-preview';

/** Of an operation at a deployment. @returns null for operations that Azure does not have. */
export function azureUrl(operation: string, baseUrl: string, model: string, other: string): string | null {
  const path = paths[operation];
  if (path === undefined || baseUrl === '') return null;
  const version = other.trim() === '' ? fallbackVersion : other.trim();
  // Models of all makers, called by their names: https://learn.microsoft.com/azure/ai-foundry/model-inference/concepts/endpoints
  if (baseUrl.endsWith('/models')) return `${baseUrl}/${path}?api-version=${encodeURIComponent(version)}`;
  // Kept responses exist below v1 alone.
  if (version === 'v1' || operation === 'responses') return `${baseUrl}/openai/v1/${path}`;
  const deployment = encodeURIComponent(model);
  return `${baseUrl}/openai/deployments/${deployment}/${path}?api-version=${encodeURIComponent(version)}`;
}

/** Azure's own name of a model whose deployments usually have the same name: https://learn.microsoft.com/azure/ai-foundry/openai/concepts/models */
const defaultName = (model: string): string => model.replace(/^gpt-3\.5-/, 'gpt-35-');

export const azure: Adapter = {
  endpoint({ row, baseUrl, model, mapped, other }) {
    const url = azureUrl(row, baseUrl, mapped ? model : defaultName(model), other);
    return url === null ? null : { url };
  },
};
