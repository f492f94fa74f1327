/** Ollama's calls beside its chat: generation as a chat of one turn, embeddings, and what it says of its models. */
import { AppError } from '../../contract/errors.ts';
import { type Json, number, parseJson, present, record, records } from '../shared/json.ts';
import { modelsSinceText } from '../shared/model-card.ts';
import type { Target } from '../target.ts';

export const generatePath = '/api/generate';

const reject = (detail: string): never => {
  throw new AppError('body_invalid', { detail });
};

/** What else it holds goes along, for upstreams that know it. @throws AppError body_invalid. */
export function generateAsChat(body: Json): Json {
  // Turns belong to the chat; the server ignores them here.
  const { prompt = '', system, images, messages: _, ...more } = body;
  if (typeof prompt !== 'string') reject('prompt must be text');
  if (system !== undefined && typeof system !== 'string') reject('system must be text');
  const turn = present({ role: 'user', content: prompt, images });
  return {
    ...more,
    messages: system === undefined || system === '' ? [turn] : [{ role: 'system', content: system }, turn],
  };
}

/** An object of a chat's answer as one of a generation's; errors are the same in both. */
export function generated(text: string): string {
  const { message, ...more } = record(parseJson(text)) ?? {};
  const fields = record(message);
  if (fields === null) return text;
  const { content = '', thinking } = fields;
  return JSON.stringify(present({ ...more, response: content, thinking }));
}

/** The older path takes one text as `prompt`. */
export const embedToOpenAi = (body: Json, model: string): Record<string, unknown> =>
  present({ model, input: body.input ?? body.prompt, dimensions: body.dimensions, encoding_format: 'float' });

export function embedFromOpenAi(answer: unknown, requested: Json, model: string): unknown {
  const vectors = records(record(answer)?.data).map(({ embedding }) => embedding);
  if (requested.input === undefined) return { embedding: vectors[0] ?? [] };
  const tokens = number(record(record(answer)?.usage)?.prompt_tokens) ?? undefined;
  return present({ model, embeddings: vectors, prompt_eval_count: tokens });
}

/** Clients refuse servers that are older than what they were written for. */
export const version = '0.12.0';

/** What clients look for: what it can do, and how much it reads. */
export function modelCard({ unsupported, inputs, inputLimit, thinking }: Target): Record<string, unknown> {
  const capabilities = [
    'completion',
    ...(unsupported.has('tools') ? [] : ['tools']),
    ...(inputs?.includes('image') === true ? ['vision'] : []),
    ...(thinking === null || thinking === 'none' ? [] : ['thinking']),
  ];
  return {
    modelfile: '',
    parameters: '',
    template: '',
    details: { parent_model: '', format: '', family: '', families: [], parameter_size: '', quantization_level: '' },
    model_info: present({ 'general.architecture': 'gateway', 'gateway.context_length': inputLimit }),
    capabilities,
    modified_at: modelsSinceText,
  };
}
