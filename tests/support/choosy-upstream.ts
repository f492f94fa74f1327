/** An upstream that refuses what it was told to, in the words of three kinds of servers, and takes everything else. */
import { probeFormOf } from '../../server/providers/knowledge/probe-questions.ts';
import type { Plan } from '../doubles/plan.ts';
import { sealsOf } from '../doubles/seal.ts';
import type { Wire } from '../doubles/wire.ts';
import { cohereWire } from '../doubles/wires/cohere.ts';
import { generateWire } from '../doubles/wires/generate.ts';
import { ollamaWire } from '../doubles/wires/ollama.ts';
import { completion, type Received, type Script, sendJson, sendStream } from './upstream.ts';

type Members = Readonly<Record<string, unknown>>;

/** Whether a body asks what a question asks: it has all the members that the question puts in. */
function asks(body: unknown, members: unknown): boolean {
  if (Array.isArray(members))
    return (
      Array.isArray(body) && members.every((member, at) => asks(body[at], member)) && body.length === members.length
    );
  if (typeof members !== 'object' || members === null) return body === members;
  if (typeof body !== 'object' || body === null) return false;
  return Object.entries(members).every(([name, value]) => asks((body as Members)[name], value));
}

export type Manner = 'param' | 'quotes' | 'place' | 'google' | 'message' | 'text';

const refusal = (id: string, manner: Manner): unknown => {
  if (manner === 'param')
    return { error: { message: `Unsupported parameter: ${id}`, type: 'invalid_request_error', param: id } };
  if (manner === 'quotes') return { error: { message: `'${id}' is not supported`, type: 'invalid_request_error' } };
  if (manner === 'google')
    return {
      error: { code: 400, message: `Invalid JSON payload received. Unknown name "${id}"`, status: 'INVALID_ARGUMENT' },
    };
  if (manner === 'message') return { id: 'a', message: `unknown field: ${id}` };
  if (manner === 'text') return { error: `unknown field: ${id}` };
  return { type: 'error', error: { type: 'invalid_request_error', message: `${id}: Extra inputs are not permitted` } };
};

/** Ends of the paths of dialects that the upstream has. */
const dialects = {
  '/chat/completions': 'openai-chat',
  '/responses': 'openai-responses',
  '/messages': 'anthropic-messages',
  ':generateContent': 'gemini-generate',
  ':streamGenerateContent': 'gemini-generate',
  '/v2/chat': 'cohere-chat',
  '/api/chat': 'ollama-chat',
} as const;
const wires = { 'gemini-generate': generateWire, 'cohere-chat': cohereWire, 'ollama-chat': ollamaWire } as const;

/** @param refused ids of questions, and of dialects that are not served. */
export function choosyUpstream(refused: ReadonlySet<string>, manner: Manner): Script {
  return (response, { path, body: bytes }: Received) => {
    const body = JSON.parse(bytes.toString('utf8')) as Members;
    const dialect = Object.entries(dialects).find(([end]) => path.split('?')[0]?.endsWith(end))?.[1];
    if (dialect === undefined || refused.has(dialect))
      return sendJson(response, { error: { message: 'not found' } }, 404);
    const { questions } = probeFormOf(dialect);
    const streamed = body.stream === true || path.includes(':streamGenerateContent');
    const asked = questions.filter(
      ({ id, members, streamed: byPath }) =>
        id !== 'plain' && asks(body, members) && (byPath !== true || path.includes(':streamGenerateContent')),
    );
    // Questions that put more in are meant by it, and not those whose members are a part of theirs.
    const meant = asked.toSorted((a, b) => JSON.stringify(b.members).length - JSON.stringify(a.members).length)[0];
    if (meant !== undefined && refused.has(meant.id)) return sendJson(response, refusal(meant.id, manner), 400);
    if (dialect === 'anthropic-messages') return answerMessages(response, body);
    if (dialect === 'openai-responses') return answerResponses(response, body);
    if (dialect !== 'openai-chat') return answerAs(wires[dialect], response, body, streamed);
    if (body.stream !== true) return sendJson(response, completion(12, 2));
    const chunk = (delta: unknown, finish: string | null) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    return sendStream(response, [
      Buffer.from(chunk({ role: 'assistant', content: 'ok' }, null)),
      Buffer.from(`${chunk({}, 'stop')}data: [DONE]\n\n`),
    ]);
  };
}

type Response = Parameters<Script>[0];

function answerAs(wire: Wire, response: Response, body: Members, stream: boolean): unknown {
  const usage = { prompt: 12, cached: 0, output: 2, thought: 0 };
  const plan: Plan = { words: ['ok'], thoughts: [], calls: [], usage };
  const received = wire.receive(body, stream, 'm');
  const context = { model: 'm', seals: sealsOf('choosy'), received, body, breaks: false, overCached: false };
  if (!stream) return sendJson(response, wire.whole(plan, context));
  response.writeHead(200, { 'content-type': wire.contentType });
  return response.end(Buffer.concat(wire.frames(plan, context).map((frame) => Buffer.from(frame))));
}

function answerMessages(response: Response, { stream }: Members): unknown {
  const usage = { input_tokens: 12, output_tokens: 2 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', usage };
  if (stream !== true) return sendJson(response, { ...message, content: [{ type: 'text', text: 'ok' }] });
  const events = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ];
  return sendStream(
    response,
    events.map((event) => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)),
  );
}

function answerResponses(response: Response, { stream }: Members): unknown {
  const usage = { input_tokens: 12, output_tokens: 2, total_tokens: 14 };
  const output = [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] }];
  const whole = { id: 'resp_1', object: 'response', status: 'completed', model: 'm', output, usage };
  if (stream !== true) return sendJson(response, whole);
  const events = [
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [], usage: null } },
    { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'ok' },
    { type: 'response.completed', response: whole },
  ];
  return sendStream(
    response,
    events.map((event) => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)),
  );
}
