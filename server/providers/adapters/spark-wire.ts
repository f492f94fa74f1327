/** Spark's messages over the socket: one question, answers in pieces, every failure a code in the header. */
import type { ChatRequest, Message, UpstreamError } from '../../protocols/canonical.ts';
import type { Dropped } from '../../protocols/codec.ts';
import { number, present, record, records, text } from '../../protocols/shared/json.ts';
import { simpleWire } from '../../protocols/shared/simple-wire.ts';
import { objectSchema, portableName } from '../../protocols/shared/tools.ts';
import { usageOfTwo } from '../../protocols/shared/usage.ts';

type Item = Record<string, unknown>;

/** HTTP's word for the codes that say more than "it failed". Source: iFlytek's table of errors. */
const statuses: Readonly<Record<number, number>> = {
  10007: 429,
  10015: 401,
  10016: 401,
  10163: 400,
  10313: 401,
  10907: 400,
  11200: 401,
  11201: 429,
  11202: 429,
  11203: 429,
};
/** The question, the answer or both were found unfit. */
const unfit = new Set([10013, 10014, 10019]);

function errorIn(body: Item): UpstreamError | null {
  const header = record(body.header);
  const code = number(header?.code) ?? 0;
  if (code === 0) return null;
  return {
    status: unfit.has(code) ? 400 : (statuses[code] ?? 502),
    type: unfit.has(code) ? 'content_policy_violation' : null,
    code: String(code),
    message: text(header?.message) ?? 'the model failed',
  };
}

/** The wire has text alone: calls and their results are written as text. */
function encodeMessage({ role, parts }: Message, path: string, dropped: Dropped): Item[] {
  const words = parts.flatMap((part): string[] => {
    switch (part.type) {
      case 'text':
      case 'refusal':
        return [part.text];
      case 'tool-call':
        return [JSON.stringify({ name: portableName(part.name), arguments: part.arguments })];
      case 'tool-result':
        return part.content.flatMap((item) => (item.type === 'text' ? [item.text] : []));
      case 'reasoning':
        return [];
      default:
        dropped.push(`${path}: ${part.type} cannot be sent to the upstream`);
        return [];
    }
  });
  if (words.length === 0) return [];
  const speaker = role === 'assistant' ? 'assistant' : role === 'system' || role === 'developer' ? 'system' : 'user';
  return [{ role: speaker, content: words.join('\n') }];
}

function encodeRequest(request: ChatRequest, dropped: Dropped): Item {
  const tools = request.tools.flatMap((tool, index): Item[] => {
    if (tool.kind === 'function') {
      const { description, schema } = tool;
      return [present({ name: portableName(tool.name), description, parameters: objectSchema(schema) })];
    }
    dropped.push(`/tools/${index}: ${tool.name} cannot be sent to the upstream`);
    return [];
  });
  if (request.topP !== null) dropped.push('/top_p: not known to the upstream');
  if (request.stop.length > 0) dropped.push('/stop: not known to the upstream');
  const chat = present({ temperature: request.temperature, top_k: request.topK, max_tokens: request.maxTokens });
  const messages = request.messages.flatMap((message, index) => encodeMessage(message, `/messages/${index}`, dropped));
  return {
    header: present({ uid: request.user === null ? undefined : request.user.slice(0, 32) }),
    parameter: { chat },
    payload: {
      message: { text: messages },
      ...(tools.length === 0 || request.toolChoice === 'none' ? {} : { functions: { text: tools } }),
    },
  };
}

const isEnd = (body: Item): boolean => number(record(body.header)?.status) === 2;

export const sparkWire = simpleWire({
  encodeRequest,
  frame(body) {
    const error = errorIn(body);
    if (error !== null) return { error };
    const payload = record(body.payload);
    const decoded = records(record(payload?.choices)?.text);
    const joined = (name: string) => decoded.map((item) => text(item[name]) ?? '').join('');
    return {
      thought: joined('reasoning_content'),
      text: joined('content'),
      calls: decoded.flatMap(({ function_call }) => {
        const call = record(function_call);
        if (call === null) return [];
        return [{ id: null, name: text(call.name) ?? '', arguments: text(call.arguments) ?? '{}' }];
      }),
      usage: record(payload?.usage)?.text,
      ...(isEnd(body) ? { end: 'stop' as const } : {}),
    };
  },
  // The socket always answers in chunks.
  whole: () => ({}),
  readUsage: (stated) => usageOfTwo(stated, 'prompt_tokens', 'completion_tokens'),
  decodeError: (status, body) => ({
    status,
    type: null,
    code: null,
    message: text(body.message) ?? `bad response status code ${status}`,
  }),
  isLast: (body) => isEnd(body) || errorIn(body) !== null,
});
