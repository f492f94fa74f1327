/** The requests that are walked and measured, each against a gateway in memory of the checkout under test. */
import { join } from 'node:path';

type GatewayModule = typeof import('../../../tests/support/gateway.ts');
type UpstreamModule = typeof import('../../../tests/support/realtime-upstream.ts');
export interface Scenario {
  /** Sends one request and resolves when it is answered and charged. @throws Error when it was not served. */
  request(): Promise<void>;
  close(): Promise<void>;
}

export const scenarioNames = ['streamed', 'translated', 'task', 'realtime'] as const;
export type ScenarioName = (typeof scenarioNames)[number];

const frame = (name: string, data: unknown): string =>
  `${name === '' ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
const words = ['Hello', ' there', ', how', ' are', ' you', '?'];

const chunk = (delta: object, finish: string | null) =>
  frame('', {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt-4o-mini',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
const openaiFrames = [
  chunk({ role: 'assistant', content: '' }, null),
  ...words.map((content) => chunk({ content }, null)),
  chunk({}, 'stop'),
  frame('', {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt-4o-mini',
    choices: [],
    usage: { prompt_tokens: 9, completion_tokens: 6, total_tokens: 15 },
  }),
  'data: [DONE]\n\n',
];
const anthropicFrames = [
  frame('message_start', {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-haiku-4-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  }),
  frame('content_block_start', {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'text', text: '' },
  }),
  ...words.map((text) =>
    frame('content_block_delta', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  ),
  frame('content_block_stop', { type: 'content_block_stop', index: 0 }),
  frame('message_delta', {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 6 },
  }),
  frame('message_stop', { type: 'message_stop' }),
];

const encoder = new TextEncoder();
/** Each frame is a chunk of its own, one turn of the event loop apart, as from a network. */
function streamOf(frames: readonly string[]): Response {
  const encoded = frames.map((text) => encoder.encode(text));
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((resolve) => setImmediate(resolve));
      const bytes = encoded[next++];
      if (bytes === undefined) controller.close();
      else controller.enqueue(bytes);
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

/** @param root checkout whose gateway is used. */
export async function openScenario(root: string, name: ScenarioName): Promise<Scenario> {
  const { createTestGateway } = (await import(join(root, 'tests/support/gateway.ts'))) as GatewayModule;
  if (name === 'realtime') return openConversation(root, createTestGateway);
  const reply = {
    streamed: () => streamOf(openaiFrames),
    translated: () => streamOf(anthropicFrames),
    task: taskReply,
  }[name];
  const gateway = await createTestGateway({
    engine: 'sqlite',
    quota: 1e15,
    upstreamFetch: (async () => reply()) as unknown as typeof fetch,
  });
  const model = { streamed: 'gpt-4o-mini', translated: 'claude-haiku-4-5', task: 'mj_imagine' }[name];
  const type = { streamed: 1, translated: 14, task: 2 }[name];
  await gateway.channel('http://upstream.test', { type, models: model });
  if (name === 'task') await gateway.option('ModelPrice', '{"mj_imagine":0.1}');
  else await gateway.option('ModelRatio', JSON.stringify({ [model]: 1 }));
  const { key } = await gateway.token();
  const path = name === 'task' ? '/mj/submit/imagine' : '/v1/chat/completions';
  const body = JSON.stringify(
    name === 'task'
      ? { prompt: 'a cat' }
      : { model, stream: true, messages: [{ role: 'user', content: 'Say hello, please.' }] },
  );
  const headers = {
    'content-type': 'application/json',
    ...(name === 'task' ? { 'mj-api-secret': `sk-${key}` } : { authorization: `Bearer sk-${key}` }),
  };
  return {
    async request() {
      const request = new Request(`http://gateway${path}`, { method: 'POST', headers, body });
      const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
      const text = await response.text();
      if (response.status !== 200 || !text.includes(name === 'task' ? '"code":1' : '[DONE]'))
        throw new Error(`${name}: ${response.status} ${text.slice(0, 300)}`);
      await gateway.ledger.drain();
      if (gateway.relay.open() !== 0) throw new Error(`${name}: a request is still open`);
    },
    close: () => gateway.close(),
  };
}

const taskReply = () => Response.json({ code: 1, description: 'ok', result: `mj-${++drawings}` });
let drawings = 0;

/** One turn of a conversation that is open already: the events of the client go straight into the relay. */
async function openConversation(
  root: string,
  createTestGateway: GatewayModule['createTestGateway'],
): Promise<Scenario> {
  const { startRealtimeUpstream, realtimeUsage } = (await import(
    join(root, 'tests/support/realtime-upstream.ts')
  )) as UpstreamModule;
  const upstream = startRealtimeUpstream({
    answer(answer) {
      for (const text of words) answer.print(text);
      answer.done(realtimeUsage(9, 6));
    },
  });
  const gateway = await createTestGateway({ engine: 'sqlite', quota: 1e15 });
  const model = 'gpt-4o-realtime-preview';
  await gateway.channel(upstream.url, { models: model });
  const { key } = await gateway.token();
  const requested = new Request(`http://gateway/v1/realtime?model=${model}`, {
    headers: { authorization: `Bearer sk-${key}`, upgrade: 'websocket' },
  });
  const conversation = await gateway.relay.realtime(requested, { ip: () => '127.0.0.1' });
  if (conversation instanceof Response) throw new Error(`realtime: ${conversation.status}`);
  const events = new EventTarget();
  const received = (type: string) =>
    new Promise<void>((resolve) => events.addEventListener(type, () => resolve(), { once: true }));
  const started = received('session.created');
  let leaving = false;
  conversation.open({
    send: (data) => events.dispatchEvent(new Event((JSON.parse(String(data)) as { type: string }).type)),
    close: (code, reason) => {
      if (!leaving) throw new Error(`realtime: closed with ${code} ${reason}`);
    },
  });
  await started;
  const item = {
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Say hello, please.' }] },
  };
  return {
    async request() {
      const done = received('response.done');
      conversation.message(JSON.stringify(item));
      conversation.message('{"type":"response.create"}');
      await done;
      // The turn is charged after its last event has gone out.
      await Bun.sleep(5);
      await gateway.ledger.drain();
    },
    async close() {
      leaving = true;
      conversation.close();
      await upstream.stop();
      await gateway.close();
    },
  };
}
