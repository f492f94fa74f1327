/** Tencent Hunyuan's own API: OpenAI's form with capital letters, signed with TC3. Keys are `AppId|SecretId|SecretKey`. */
import { AppError } from '../../contract/errors.ts';
import type { ChatRequest } from '../../protocols/canonical.ts';
import type { Dropped, StreamReader, UpstreamHalf } from '../../protocols/codec.ts';
import { openaiChat } from '../../protocols/openai-chat/codec.ts';
import { parseExact, record, text } from '../../protocols/shared/json.ts';
import type { Adapter, AuthInput, Outgoing, Wire } from '../adapter.ts';
import { signTc3 } from '../signing/tc3.ts';

const snake = (name: string): string => name.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
const pascal = (name: string): string => name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** What stands in schemas and arguments is the client's and keeps its spelling. */
const opaque = new Set(['Parameters', 'parameters']);

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename));
  const object = record(value);
  if (object === null) return value;
  return Object.fromEntries(
    Object.entries(object).map(([name, member]) => [rename(name), opaque.has(name) ? member : renamed(member, rename)]),
  );
}

/** OpenAI's form of an answer; errors come with status 200 inside of `Response`. */
function plain(body: unknown): unknown {
  const outer = record(body);
  const response = record(renamed(record(outer?.Response) ?? outer, snake)) ?? {};
  const error = record(response.error) ?? record(response.error_msg);
  return error === null ? response : { error: { message: text(error.message) ?? text(error.msg), code: error.code } };
}

const plainText = (source: string): string => {
  const parsed = parseExact(source);
  return parsed === undefined ? source : JSON.stringify(plain(parsed));
};

const inner = openaiChat.upstream;
const upstream: UpstreamHalf = {
  decodeResponse: (body) => inner.decodeResponse(plain(body)),
  reader(): StreamReader {
    const reader = inner.reader();
    return {
      feed: ({ event, data }) => reader.feed({ event, data: plainText(data) }),
      end: () => reader.end(),
      get frameKind() {
        return reader.frameKind === 'terminal' ? ('terminal' as const) : ('plain' as const);
      },
    };
  },
  decodeError: (status, body) => inner.decodeError(status, plainText(body)),
  readUsage: (body) => inner.readUsage(plain(body)),
  markers: null,
};

const wire: Wire = {
  upstream,
  encodeRequest(request: ChatRequest, dropped: Dropped) {
    const { max_tokens: limit, stream_options: _, ...body } = openaiChat.translation.encodeRequest(request, dropped);
    if (limit !== undefined) dropped.push('/max_tokens: not known to the upstream');
    return renamed(body, pascal) as Record<string, unknown>;
  },
};

function auth(request: Outgoing, { key, nowMs }: AuthInput): Outgoing {
  const [appId, secretId, secretKey, ...more] = key.split('|');
  if (!appId || !secretId || !secretKey || more.length > 0) throw new AppError('upstream_key');
  const at = Math.floor(nowMs / 1000);
  const action = 'ChatCompletions';
  const authorization = signTc3({
    host: new URL(request.url).host,
    service: 'hunyuan',
    action,
    body: request.body,
    secretId,
    secretKey,
    at,
  });
  const headers = { 'x-tc-action': action, 'x-tc-version': '2023-09-01', 'x-tc-timestamp': String(at) };
  return { ...request, headers: { ...request.headers, ...headers, authorization } };
}

export const tencent: Adapter = {
  protocol: () => ({ wire }),
  endpoint: ({ operation, baseUrl }) => (operation === 'chat' ? { url: `${baseUrl}/` } : null),
  auth,
};
