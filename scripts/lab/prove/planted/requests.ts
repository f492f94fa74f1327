/** The requests that meet planted defects: dialects × upstreams × forms, each against a gateway in memory with two channels. */
import { join } from 'node:path';

type GatewayModule = typeof import('../../../../tests/support/gateway.ts');
type Gateway = Awaited<ReturnType<GatewayModule['createTestGateway']>>;

export interface Ran {
  readonly status: number;
  readonly text: string;
  /** Words of the answer that the client got. */
  readonly words: number;
  /** It ends as its dialect ends. */
  readonly isComplete: boolean;
  /** The client reads that the gateway failed, with the request's id. */
  readonly saysInternal: boolean;
  readonly charged: number;
  /** Quota of the prompt alone, at most. */
  readonly prompt: number;
  readonly reported: readonly { readonly error: unknown; readonly requestId: string }[];
  readonly requestIds: readonly string[];
  /** Log rows of a request that came as far as an upstream; what is refused before is bounded in its rows. */
  readonly rows: number | null;
  /** A channel is thought worse of. */
  readonly harmed: boolean;
  /** Calls of channels beyond the first. */
  readonly otherCalls: number;
  /** What stayed open or held; null = nothing. */
  readonly trouble: string | null;
}

const words = Array.from({ length: 30 }, (_, at) => `word${at}`);
const wordMark = /word\d+/g;
const promptLimit = 400;
export const noEnd = 'no end within 4 s';
const stepMs = 50;

const data = (value: unknown, name = ''): string =>
  `${name === '' ? '' : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta: object, finish: string | null) =>
  data({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
const openaiUsage = { prompt_tokens: 9, completion_tokens: words.length, total_tokens: 9 + words.length };
const streams: Readonly<Record<string, readonly string[]>> = {
  openai: [
    chunk({ role: 'assistant', content: '' }, null),
    ...words.map((word) => chunk({ content: `${word} ` }, null)),
    chunk({}, 'stop'),
    data({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [],
      usage: openaiUsage,
    }),
    'data: [DONE]\n\n',
  ],
  anthropic: [
    data(
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 9, output_tokens: 1 },
        },
      },
      'message_start',
    ),
    data({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, 'content_block_start'),
    ...words.map((word) =>
      data(
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: `${word} ` } },
        'content_block_delta',
      ),
    ),
    data({ type: 'content_block_stop', index: 0 }, 'content_block_stop'),
    data(
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 30 } },
      'message_delta',
    ),
    data({ type: 'message_stop' }, 'message_stop'),
  ],
  gemini: words.map((word, at) =>
    data({
      candidates: [
        {
          index: 0,
          content: { role: 'model', parts: [{ text: `${word} ` }] },
          ...(at === words.length - 1 ? { finishReason: 'STOP' } : {}),
        },
      ],
      ...(at === words.length - 1
        ? { usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 30, totalTokenCount: 39 } }
        : {}),
    }),
  ),
};
const text = words.join(' ');
const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' };
const part = { type: 'output_text', annotations: [], text: '' };
const response = (status: string, output: readonly unknown[]) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status,
  output,
  usage: status === 'completed' ? { input_tokens: 9, output_tokens: 30, total_tokens: 39 } : null,
});
const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const wholeResponse = response('completed', [{ ...item, content: [{ ...part, text }] }]);
const responseEvents = [
  { type: 'response.created', response: response('in_progress', []) },
  { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
  { type: 'response.content_part.added', ...place, part },
  ...words.map((word) => ({ type: 'response.output_text.delta', ...place, delta: `${word} ` })),
  { type: 'response.output_text.done', ...place, text },
  { type: 'response.content_part.done', ...place, part: { ...part, text } },
  { type: 'response.output_item.done', output_index: 0, item: { ...item, content: [{ ...part, text }] } },
  { type: 'response.completed', response: wholeResponse },
].map((event, at) => data({ ...event, sequence_number: at }, event.type));
const wholes: Readonly<Record<string, unknown>> = {
  openai: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: openaiUsage,
  },
  anthropic: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 9, output_tokens: 30 },
  },
  gemini: {
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 30, totalTokenCount: 39 },
  },
};

const encoder = new TextEncoder();
/** Each frame is a chunk of its own, one turn of the event loop apart, as from a network. */
function streamOf(frames: readonly string[]): Response {
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((done) => setImmediate(done));
      const frame = frames[next++];
      if (frame === undefined) controller.close();
      else controller.enqueue(encoder.encode(frame));
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

function answerOf(url: string, init: { readonly body?: unknown } | undefined): Response {
  const sent = typeof init?.body === 'string' ? init.body : Buffer.from((init?.body ?? '') as Uint8Array).toString();
  if (url.includes('/embeddings'))
    return Response.json({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
      model: 'm',
      usage: { prompt_tokens: 9, total_tokens: 9 },
    });
  if (url.includes('/images/'))
    return Response.json({
      created: 1,
      data: [{ b64_json: 'aGVsbG8=' }],
      usage: { input_tokens: 9, output_tokens: 5, total_tokens: 14 },
    });
  if (url.includes('/speech')) return new Response('sound of words', { headers: { 'content-type': 'audio/mpeg' } });
  if (url.includes('/mj/')) return Response.json({ code: 1, description: 'ok', result: `mj-${++drawings}` });
  if (url.includes('count_tokens')) return Response.json({ input_tokens: 9 });
  if (url.includes('/responses'))
    return sent.includes('"stream":true') ? streamOf(responseEvents) : Response.json(wholeResponse);
  const kind = url.includes('gemini') ? 'gemini' : url.includes('anthropic') ? 'anthropic' : 'openai';
  const isStream = kind === 'gemini' ? url.includes('streamGenerateContent') : sent.includes('"stream":true');
  return isStream ? streamOf(streams[kind] ?? []) : Response.json(wholes[kind]);
}
let drawings = 0;

interface Spec {
  readonly path: string;
  readonly body: object;
  readonly end?: string;
}

const messages = [{ role: 'user', content: 'Say many words, please.' }];
const tools = [
  {
    type: 'function',
    function: { name: 'look', description: 'looks', parameters: { type: 'object', properties: {} } },
  },
];
const dialects = (model: string): Readonly<Record<string, Spec>> => ({
  'chat, streamed': {
    path: '/v1/chat/completions',
    body: { model, stream: true, stream_options: { include_usage: true }, messages, tools },
    end: '[DONE]',
  },
  'chat, whole': { path: '/v1/chat/completions', body: { model, messages, max_tokens: 200, temperature: 0.5 } },
  'messages, streamed': {
    path: '/v1/messages',
    body: { model, stream: true, max_tokens: 200, system: 'Be brief.', messages },
    end: 'message_stop',
  },
  'messages, whole': { path: '/v1/messages', body: { model, max_tokens: 200, messages } },
  'responses, streamed': {
    path: '/v1/responses',
    body: { model, stream: true, input: 'Say many words, please.', instructions: 'Be brief.' },
    end: 'response.completed',
  },
  'responses, whole': { path: '/v1/responses', body: { model, input: 'Say many words, please.' } },
  'gemini, streamed': {
    path: `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    body: { contents: [{ role: 'user', parts: [{ text: 'Say many words, please.' }] }] },
    end: 'STOP',
  },
  'gemini, whole': {
    path: `/v1beta/models/${model}:generateContent`,
    body: { contents: [{ role: 'user', parts: [{ text: 'Say many words, please.' }] }] },
  },
});
const models: Readonly<Record<string, { readonly type: number; readonly model: string }>> = {
  openai: { type: 1, model: 'gpt-4o-mini' },
  anthropic: { type: 14, model: 'claude-haiku-4-5' },
  gemini: { type: 24, model: 'gemini-2.5-flash' },
};
const others: Readonly<Record<string, Spec>> = {
  embeddings: { path: '/v1/embeddings', body: { model: 'text-embedding-3-small', input: 'some words' } },
  picture: { path: '/v1/images/generations', body: { model: 'gpt-image-1', prompt: 'a cat' } },
  speech: { path: '/v1/audio/speech', body: { model: 'tts-1', voice: 'alloy', input: 'some words' } },
  drawing: { path: '/mj/submit/imagine', body: { prompt: 'a cat' } },
  'count of tokens': {
    path: '/v1/messages/count_tokens',
    body: { model: 'gpt-4o-mini', messages },
  },
  'model list': { path: '/v1/models', body: {} },
};
const channelTest = 'channel test';

interface Known {
  readonly model?: string;
  readonly [member: string]: unknown;
}

/** @param root checkout whose gateway is used. */
export async function openRequests(root: string) {
  const { createTestGateway } = (await import(join(root, 'tests/support/gateway.ts'))) as GatewayModule;
  const specs = new Map<string, Spec>(Object.entries(others));
  for (const [upstream, { model }] of Object.entries(models))
    for (const [dialect, spec] of Object.entries(dialects(model))) specs.set(`${dialect}, from ${upstream}`, spec);

  const reported: { readonly error: unknown; readonly requestId: string }[] = [];
  let calls: string[] = [];
  let failures = 0;
  let harmed = false;
  const open = async () => {
    const gateway = await createTestGateway({
      engine: 'sqlite',
      quota: 1e9,
      upstreamFetch: (async (url: string, init?: { readonly body?: unknown }) => {
        calls.push(String(url));
        return answerOf(String(url), init);
      }) as unknown as typeof fetch,
      channelTests: true,
      relay: {
        report: (error: unknown, requestId: string) => void reported.push({ error, requestId }),
        failure: () => void failures++,
        broadcast: (report: { readonly channels: readonly Known[] }) => {
          for (const { failures: count, ejections, share, coolUntil } of report.channels)
            harmed ||=
              Number(count) > 0 ||
              Number(ejections) > 0 ||
              Number(share) > 0 ||
              (coolUntil as readonly number[]).some((at) => at > 0);
        },
      } as never,
    });
    for (const [name, { type, model }] of Object.entries(models))
      for (const place of ['first', 'second'])
        await gateway.channel(`http://${name}.${place}.test`, {
          type,
          models: `${model},${name === 'openai' ? 'text-embedding-3-small,gpt-image-1,tts-1' : `${model}-x`}`,
          priority: place === 'first' ? 10 : 0,
        });
    await gateway.channel('http://openai.first.test', { type: 2, models: 'mj_imagine', priority: 10 });
    await gateway.channel('http://openai.second.test', { type: 2, models: 'mj_imagine', priority: 0 });
    await gateway.option('ModelPrice', '{"mj_imagine":0.1}');
    const all = [...Object.values(models).map(({ model }) => model), 'text-embedding-3-small', 'gpt-image-1', 'tts-1'];
    await gateway.option('ModelRatio', JSON.stringify(Object.fromEntries(all.map((name) => [name, 1]))));
    await gateway.option('CompletionRatio', JSON.stringify(Object.fromEntries(all.map((name) => [name, 1]))));
    const { key } = await gateway.token();
    return { gateway, key, firstChannel: [...gateway.state.channels()][0]?.id ?? 0 };
  };
  let current = await open();
  let turn = 0;

  const send = async (gateway: Gateway, { path, body }: Spec): Promise<{ response: Response; text: string }> => {
    const [plain = ''] = path.split('?');
    const bearer = `Bearer sk-${current.key}`;
    const isList = plain === '/v1/models';
    const request = new Request(`http://gateway${path}`, {
      method: isList ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', authorization: bearer, 'mj-api-secret': `sk-${current.key}` },
      ...(isList ? {} : { body: JSON.stringify(body) }),
    });
    const response = await gateway.relay.handle(request, plain, { ip: () => '127.0.0.1' });
    return { response, text: await readable(response) };
  };
  /** As far as it comes: a connection that breaks off is an end as well. */
  const readable = async (response: Response): Promise<string> => {
    const reader = response.body?.getReader();
    let found = '';
    const decoder = new TextDecoder();
    try {
      for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read())
        found += decoder.decode(read.value, { stream: true });
    } catch {
      found += '\n(broken off)';
    }
    return found;
  };
  /** By steps of the clock: while the machine stands still, one of them passes. */
  const within = async <T>(ms: number, promise: Promise<T>): Promise<T | null> => {
    const late = (async () => {
      for (let waited = 0; waited < ms; waited += stepMs) await Bun.sleep(stepMs);
      return null;
    })();
    return Promise.race([promise, late]);
  };

  return {
    names: [...specs.keys(), channelTest],
    /** Nothing that was compiled from the configuration is kept. */
    async freshen(): Promise<void> {
      await current.gateway.option('RetryTimes', String(3 + (turn++ % 2)));
    },
    async reopen(): Promise<void> {
      await within(
        500,
        current.gateway.close().catch(() => undefined),
      );
      current = await open();
    },
    /** @param over called when the request has ended, before anything is looked at. */
    async run(name: string, over: () => void = () => undefined): Promise<Ran> {
      const { gateway } = current;
      reported.length = 0;
      calls = [];
      failures = 0;
      harmed = false;
      const rowsBefore = await gateway.rows<{ id: number }>('SELECT coalesce(max(id), 0) AS id FROM logs');
      const balanceBefore = gateway.balances.account(gateway.userId, 0).available();
      const spec = specs.get(name);
      const got = await within(4000, spec === undefined ? testChannel(gateway) : send(gateway, spec)).catch(
        (error: unknown) => ({ response: null, text: `rejected: ${error}` }),
      );
      const reportedNow = [...reported];
      const callsNow = [...calls];
      await Bun.sleep(25);
      await within(1000, gateway.ledger.drain());
      over();
      const rows = await gateway.rows<{ quota: number; request_id: string }>(
        'SELECT quota, request_id FROM logs WHERE id > ?',
        rowsBefore[0]?.id ?? 0,
      );
      const refunds = await gateway.rows<{ amount: number }>(
        `SELECT amount FROM postings WHERE kind = 'refund' AND ref IN (${rows.map(() => '?').join(', ')})`,
        ...rows.map(({ request_id: id }) => id),
      );
      const charged =
        rows.reduce((sum, { quota }) => sum + quota, 0) - refunds.reduce((sum, { amount }) => sum + amount, 0);
      const back = gateway.balances.account(gateway.userId, 0).available() - balanceBefore + charged;
      const answer = got?.text ?? '';
      const headerId = got?.response?.headers.get('x-oneapi-request-id') ?? '';
      const namedId = /request id: (\w+)/.exec(answer)?.[1] ?? '';
      const requestIds = [...new Set([headerId, namedId, ...rows.map(({ request_id: id }) => id)])].filter(
        (id) => id !== '',
      );
      const trouble =
        got === null
          ? noEnd
          : got.response === null && name !== channelTest
            ? answer
            : gateway.relay.open() !== 0
              ? 'open'
              : back !== 0
                ? `held ${-back}`
                : isLocked(gateway)
                  ? 'locked'
                  : null;
      return {
        status: got?.response?.status ?? 0,
        text: answer,
        words: name === 'speech' ? Number(answer.includes('sound')) : new Set(answer.match(wordMark) ?? []).size,
        isComplete:
          name === channelTest
            ? answer.includes('"ok":true')
            : (got?.response?.status ?? 0) < 400 &&
              !answer.includes('broken off') &&
              (spec?.end === undefined || answer.includes(spec.end)),
        saysInternal:
          // Nothing can be said inside of sound but that it breaks off.
          (/Internal server error/.test(answer) || (name === 'speech' && answer.includes('broken off'))) &&
          (name === channelTest ||
            requestIds.length === 0 ||
            requestIds.some((id) => answer.includes(id) || headerId === id)),
        charged,
        prompt: promptLimit,
        reported: [...reportedNow, ...reported.slice(reportedNow.length)],
        requestIds,
        rows: callsNow.length === 0 ? null : rows.length,
        harmed: harmed || failures > 0,
        otherCalls: Math.max(0, callsNow.filter((url) => url.includes('second')).length),
        trouble,
      };
    },
  };

  /** What it locks is free again, whatever came between. */
  function isLocked({ balances, userId }: Gateway): boolean {
    const { memory } = balances.money;
    const { stripe } = balances.account(userId, 0);
    if (!memory.tryLock(stripe, 20)) return true;
    memory.release(stripe);
    return false;
  }

  async function testChannel(gateway: Gateway): Promise<{ response: Response | null; text: string }> {
    const result = await gateway.services.channels
      .test(current.firstChannel, '', false)
      .catch((error: unknown) => ({ ok: false, message: String(error) }));
    return { response: null, text: JSON.stringify(result) };
  }
}
