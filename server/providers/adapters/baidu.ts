/** Baidu Qianfan's first API: `APIKey|SecretKey` buys a token for the query, the path names the model, errors come with status 200. */
import { AppError } from '../../contract/errors.ts';
import type { Message } from '../../protocols/canonical.ts';
import { flag, guardedLookup, number, present, record, records, text } from '../../protocols/shared/json.ts';
import { simpleWire } from '../../protocols/shared/simple-wire.ts';
import { usageOfTwo } from '../../protocols/shared/usage.ts';
import type { Adapter, AuthInput, CustomForm, Outgoing } from '../adapter.ts';
import { embeddingList, textsOf } from '../forms/embedding-list.ts';

/** Paths of models whose name is not their path. Source: Baidu's published list of endpoints. */
const endpoints: Readonly<Record<string, string>> = {
  'ERNIE-4.0-8K': 'completions_pro',
  'ERNIE-4.0': 'completions_pro',
  'ERNIE-Bot-4': 'completions_pro',
  'ERNIE-3.5-8K': 'completions',
  'ERNIE-Bot': 'completions',
  'ERNIE-Bot-8K': 'ernie_bot_8k',
  'ERNIE-Bot-turbo': 'eb-instant',
  'ERNIE-Speed-8K': 'ernie_speed',
  'ERNIE-Lite-8K-0922': 'eb-instant',
  'ERNIE-Lite-8K-0308': 'ernie-lite-8k',
  'BLOOMZ-7B': 'bloomz_7b1',
  'Embedding-V1': 'embedding-v1',
  'bge-large-zh': 'bge_large_zh',
  'bge-large-en': 'bge_large_en',
  'tao-8k': 'tao_8k',
};

const statusOf = (code: number | null): number =>
  code === 17 || code === 18 || code === 19 || code === 336501
    ? 429
    : code === 110 || code === 111 || code === 14 || code === 6
      ? 401
      : 400;

const errorIn = (body: Record<string, unknown>) => {
  const code = number(body.error_code);
  if (code === null) return null;
  return { status: statusOf(code), type: null, code: String(code), message: text(body.error_msg) ?? 'refused' };
};

const wordsOf = ({ parts }: Message): string => parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n');

const wire = simpleWire({
  encodeRequest(request, dropped) {
    if (request.tools.length > 0) dropped.push('/tools: not known to the upstream');
    const system = request.messages.filter(({ role }) => role === 'system' || role === 'developer').map(wordsOf);
    const turns: { role: string; content: string }[] = [];
    for (const message of request.messages) {
      if (message.role === 'system' || message.role === 'developer') continue;
      const role = message.role === 'assistant' ? 'assistant' : 'user';
      const last = turns.at(-1);
      // Turns must alternate.
      if (last?.role === role) last.content += `\n${wordsOf(message)}`;
      else turns.push({ role, content: wordsOf(message) });
    }
    return present({
      messages: turns,
      system: system.length === 0 ? undefined : system.join('\n'),
      stream: request.stream ? true : undefined,
      temperature: request.temperature,
      top_p: request.topP,
      max_output_tokens: request.maxTokens,
      stop: request.stop.length === 0 ? undefined : request.stop,
      user_id: request.user,
    });
  },
  frame: (body) => ({
    error: errorIn(body),
    text: text(body.result),
    usage: body.usage,
    ...(flag(body.is_end) === true ? { end: 'stop' as const } : {}),
  }),
  whole: (body) => ({ error: errorIn(body), text: text(body.result), usage: body.usage }),
  readUsage: (stated) => usageOfTwo(stated, 'prompt_tokens', 'completion_tokens'),
  decodeError: (status, body) =>
    errorIn(body) ?? {
      status,
      type: null,
      code: null,
      message: text(body.error_msg) ?? `bad response status code ${status}`,
    },
});

const errorTypes: Readonly<Record<number, string>> = { 401: 'authentication_error', 429: 'rate_limit_error' };

const embeddings: CustomForm = {
  encode: (requested) => present({ input: textsOf(requested), user_id: requested.body.user }),
  decode(answer, requested) {
    const body = record(answer) ?? {};
    const error = errorIn(body);
    if (error !== null) {
      const { message, code, status } = error;
      return { error: { message, type: errorTypes[status] ?? 'invalid_request_error', code } };
    }
    const vectors = records(body.data).map(({ embedding }) => embedding);
    return embeddingList(vectors, requested, number(record(body.usage)?.total_tokens));
  },
};

async function auth(request: Outgoing, { key, token }: AuthInput): Promise<Outgoing> {
  const [clientId, clientSecret, ...more] = key.split('|');
  if (!clientId || !clientSecret || more.length > 0) throw new AppError('upstream_key');
  const query = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  });
  const { origin } = new URL(request.url);
  const access = await token({
    id: `baidu ${clientId}`,
    url: `${origin}/oauth/2.0/token?${query}`,
    headers: {},
    body: '',
    read(answer) {
      const found = text(record(answer)?.access_token);
      return found === null ? null : { token: found, seconds: number(record(answer)?.expires_in) ?? 86_400 };
    },
  });
  return { ...request, url: `${request.url}?access_token=${encodeURIComponent(access)}` };
}

export const baidu: Adapter = {
  protocol: ({ operation }) =>
    operation === 'chat' ? { wire } : operation === 'embeddings' ? { form: embeddings } : null,
  endpoint({ operation, baseUrl, model }) {
    if (operation !== 'chat' && operation !== 'embeddings') return null;
    const path = guardedLookup(endpoints, model) ?? model.toLowerCase();
    return { url: `${baseUrl}/rpc/2.0/ai_custom/v1/wenxinworkshop/${operation}/${encodeURIComponent(path)}` };
  },
  auth,
};
