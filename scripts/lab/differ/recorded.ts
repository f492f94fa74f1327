/** Requests and replies that were recorded or written by hand: the project's fixtures, and folders that are named on the command line. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures } from '../../../tests/protocols/fixtures.ts';
import { type Case, type ModelOutput, markOf, type RecordedReply, type Reply } from './case.ts';
import { mainToken } from './site.ts';

type Json = Record<string, unknown>;

const defaults: ModelOutput = {
  thoughts: [],
  words: ['Hello', ' there'],
  calls: [],
  finish: 'stop',
  usage: { prompt: 12, output: 2, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
  choices: 1,
  model: 'upstream-model',
  tier: null,
};

const contentTypeOf = (streamed: boolean) => (streamed ? 'text/event-stream' : 'application/json');

/** The dialect of a whole answer or of a stream's first event. */
function dialectOfAnswer(sample: unknown): string | null {
  if (typeof sample !== 'object' || sample === null) return null;
  const body = sample as Json;
  const type = String(body.type ?? '');
  if (type === 'message' || type === 'message_start') return 'anthropic-messages';
  if (type.startsWith('response.') || body.object === 'response') return 'openai-responses';
  if (Array.isArray(body.choices)) return 'openai-chat';
  if (Array.isArray(body.candidates)) return 'gemini-generate';
  if (type === 'message-start' || typeof body.finish_reason === 'string') return 'cohere-chat';
  return null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @param folder of recorded answers: `*.json` whole, `*.chunks.txt` one payload of a stream a line; null = none at hand. */
export function recordedResponses(folder: string | null): readonly RecordedReply[] {
  const own = fixtures.flatMap(({ dialect, response, stream }): RecordedReply[] => [
    ...(response === null
      ? []
      : [{ dialect, streamed: false, contentType: contentTypeOf(false), body: JSON.stringify(response) }]),
    ...(stream === null
      ? []
      : [{ dialect, streamed: true, contentType: contentTypeOf(true), body: Buffer.from(stream).toString('utf8') }]),
  ]);
  if (folder === null) return own;
  const files = [...new Bun.Glob('**/*.{json,chunks.txt}').scanSync({ cwd: folder })].sort();
  return [
    ...own,
    ...files.flatMap((name): RecordedReply[] => {
      const source = readFileSync(join(folder, name), 'utf8');
      if (name.endsWith('.json')) {
        const dialect = dialectOfAnswer(parsed(source));
        return dialect === null ? [] : [{ dialect, streamed: false, contentType: contentTypeOf(false), body: source }];
      }
      const lines = source.split('\n').filter((line) => line.trim() !== '');
      const dialect = dialectOfAnswer(parsed(lines[0] ?? ''));
      if (dialect === null) return [];
      const body = lines
        .map((line) => {
          const type = (parsed(line) as Json | null)?.type;
          return `${typeof type === 'string' ? `event: ${type}\n` : ''}data: ${line}\n\n`;
        })
        .join('');
      return [{ dialect, streamed: true, contentType: contentTypeOf(true), body }];
    }),
  ];
}

const paths: Readonly<Record<string, string>> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
};
/** A model whose channel speaks the dialect. */
const pathsByKind: Readonly<Record<string, string>> = {
  'openai-chat': 'practice.0',
  'openai-responses': 'openai.1',
  'anthropic-messages': 'anthropic.0',
  'gemini-generate': 'gemini.0',
};

const replyOf = (recorded: RecordedReply | null): Reply => ({
  modelOutput: defaults,
  recorded,
  variant: { kind: 'none' },
  chunks: 0,
});

/** Every fixture's request with every answer of its own dialect's fixtures in turn, and each answer for each client dialect. */
export function fixtureCases(from: number, responses: readonly RecordedReply[]): readonly Case[] {
  const cases: Case[] = [];
  const add = (
    name: string,
    dialect: string,
    model: string,
    body: Json,
    streamed: boolean,
    reply: RecordedReply | null,
  ) => {
    const id = from + cases.length;
    const mark = markOf(id);
    const gemini = dialect === 'gemini-generate';
    const text = JSON.stringify(gemini ? body : { ...body, model, ...(streamed ? { stream: true } : {}) });
    const path = gemini
      ? `/v1beta/models/${model}:${streamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
      : (paths[dialect] ?? '');
    // The mark stands in the first words of the conversation.
    const marked = text.replace(/"(text|content|input)":"(?=[^"])/, `$&${mark} `);
    cases.push({
      id,
      name,
      request: {
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json', authorization: `Bearer sk-${mainToken(id)}` },
        body: marked.includes(mark) ? marked : `{"x_mark":"${mark}",${text.slice(1)}`,
      },
      responses: [replyOf(reply)],
    });
  };
  const ask: Readonly<Record<string, Json>> = {
    'openai-chat': { messages: [{ role: 'user', content: 'Hi' }] },
    'openai-responses': { input: 'Hi' },
    'anthropic-messages': { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
    'gemini-generate': { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  };
  for (const { name, dialect, request } of fixtures) {
    if (request === null || pathsByKind[dialect] === undefined) continue;
    for (const home of Object.keys(pathsByKind))
      for (const streamed of [false, true]) {
        const fitting = responses.filter((reply) => reply.dialect === home && reply.streamed === streamed);
        const reply = fitting[cases.length % Math.max(1, fitting.length)] ?? null;
        add(`fixture ${name} → ${home}`, dialect, pathsByKind[home] ?? '', request, streamed, reply);
      }
  }
  for (const reply of responses) {
    const home = pathsByKind[reply.dialect];
    if (home === undefined) continue;
    for (const [client, body] of Object.entries(ask))
      add(`recorded ${reply.dialect} for ${client}`, client, home, body, reply.streamed, reply);
  }
  return cases;
}

/** Headers that belong to the connection they were recorded on. */
const connectionHeaders: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'accept-encoding',
  'transfer-encoding',
  'upgrade',
  'authorization',
  'x-api-key',
  'x-goog-api-key',
]);

/** Requests of real clients. @param folder of files `{method, url, headers: [name, value][], body}`; null = none at hand. */
export function captureCases(from: number, folder: string | null): readonly Case[] {
  if (folder === null) return [];
  const cases: Case[] = [];
  for (const file of readdirSync(folder).sort()) {
    const capture = parsed(readFileSync(join(folder, file), 'utf8')) as {
      readonly method?: string;
      readonly url?: string;
      readonly headers?: readonly (readonly [string, string])[];
      readonly body?: unknown;
    } | null;
    if (capture?.method === undefined || capture.url === undefined || !Array.isArray(capture.headers)) continue;
    if (capture.headers.some(([name]) => name.toLowerCase() === 'upgrade')) continue;
    const headers: Record<string, string> = {};
    for (const [name, value] of capture.headers)
      if (!connectionHeaders.has(name.toLowerCase())) headers[name.toLowerCase()] = value;
    for (const model of [null, 'openai.1', 'anthropic.0', 'gemini.0', 'practice.0']) {
      const id = from + cases.length;
      const mark = markOf(id);
      const credential = capture.headers.find(([name]) => ['x-api-key', 'x-goog-api-key'].includes(name.toLowerCase()));
      if (credential === undefined) headers.authorization = `Bearer sk-${mainToken(id)}`;
      else headers[credential[0].toLowerCase()] = `sk-${mainToken(id)}`;
      const bare = capture.method === 'GET' || capture.method === 'HEAD' || capture.body == null;
      const text = typeof capture.body === 'string' ? capture.body : JSON.stringify(capture.body);
      const named = bare || model === null ? text : text.replace(/"model":"[^"]*"/, `"model":"${model}"`);
      const marked = bare ? null : named.replace(/"(text|content|input|prompt|query)":"(?=[^"])/, `$&${mark} `);
      const url = model === null ? capture.url : capture.url.replace(/(?<=\/models\/)[^:?]+(?=:)/, model);
      cases.push({
        id,
        name: `capture ${file.replace('.json', '')}`,
        request: { method: capture.method, path: url, headers: { ...headers }, body: marked },
        responses: [replyOf(null)],
      });
      if (bare) break;
    }
  }
  return cases;
}
