/** The call of a log row as a curl command; the key and the prompt are not stored, so both are left to fill in. */
import type { Log } from '../../../server/contract/entities.ts';

const messages = [{ role: 'user', content: '...' }];
/** Bodies by how the path ends; chat is the rest. */
const bodies: readonly (readonly [RegExp, (log: Log) => object])[] = [
  [/\/responses$/, (log) => ({ model: log.model_name, stream: log.is_stream, input: '...' })],
  [/\/messages$/, (log) => ({ model: log.model_name, max_tokens: 1024, stream: log.is_stream, messages })],
  [/generateContent$|countTokens$/i, () => ({ contents: [{ role: 'user', parts: [{ text: '...' }] }] })],
  [/embedContent$/, () => ({ content: { parts: [{ text: '...' }] } })],
  [/\/embeddings$|\/moderations$/, (log) => ({ model: log.model_name, input: '...' })],
  [/rerank$/, (log) => ({ model: log.model_name, query: '...', documents: ['...'] })],
  [/\/images\/generations$/, (log) => ({ model: log.model_name, prompt: '...' })],
  [/\/audio\/speech$/, (log) => ({ model: log.model_name, input: '...', voice: 'alloy' })],
  [/\/v1\/completions$/, (log) => ({ model: log.model_name, prompt: '...' })],
  [/./, (log) => ({ model: log.model_name, stream: log.is_stream, messages })],
];

/** @param path as the log row names it; absent = chat completions. */
export function curlOf(log: Log, path: string | undefined, origin: string): string {
  const chat = path === undefined || path === '/pg/chat/completions';
  const real = (chat ? '/v1/chat/completions' : path).replace('{model}', encodeURIComponent(log.model_name));
  const [, body] = bodies.find(([pattern]) => pattern.test(real)) ?? [];
  return [
    `curl ${origin}${real}`,
    `  -H "Authorization: Bearer $KEY"`,
    `  -H "Content-Type: application/json"`,
    `  -d '${JSON.stringify(body?.(log) ?? {})}'`,
  ].join(' \\\n');
}
