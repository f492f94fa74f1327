/** Pieces of an answer that no reader knows, and pieces that wait for what they belong to, cost what they hold where no usage is reported. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeAll(async () => {
  upstream = await startUpstream(() => undefined);
  gateway = await createTestGateway();
  await gateway.option('ModelRatio', '{"own":1,"claude":1,"command":1}');
  await gateway.option('CompletionRatio', '{"own":1,"claude":1,"command":1}');
  await gateway.channel(upstream.url, { models: 'own' });
  await gateway.channel(upstream.url, { type: 14, models: 'claude' });
  await gateway.channel(upstream.url, { type: 34, models: 'command' });
  ({ key } = await gateway.token());
});
afterAll(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

/** Each word is a token in tests. */
const words = (count: number): string => 'word '.repeat(count).trimEnd();
const event = (body: object, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(body)}\n\n`;
const messages = [{ role: 'user', content: 'hi' }];

interface Piece {
  readonly path: string;
  readonly model: string;
  readonly more?: object;
  /** Before it, the piece itself, and what ends the answer. */
  readonly frames: readonly string[];
  readonly tokens: number;
}

const chunk = (delta: object, more: object = {}) => event({ id: 'c', choices: [{ index: 0, delta, ...more }] });
const chatEnd = `${chunk({}, { finish_reason: 'stop' })}data: [DONE]\n\n`;
const chat = { path: '/v1/chat/completions', model: 'own' };
const claudeStart = event({ type: 'message_start', message: { id: 'm', model: 'claude' } }, 'message_start');
const claudeEnd =
  event({ type: 'message_delta', delta: { stop_reason: 'end_turn' } }, 'message_delta') +
  event({ type: 'message_stop' }, 'message_stop');
const block = (index: number, begun: object) =>
  event({ type: 'content_block_start', index, content_block: begun }, 'content_block_start');
const step = (index: number, delta: object) =>
  event({ type: 'content_block_delta', index, delta }, 'content_block_delta');
const claude = { path: '/v1/messages', model: 'claude', more: { max_tokens: 1000 } };
const responses = { path: '/v1/responses', model: 'own', more: { input: 'hi' } };
const responsesEnd = (output: readonly object[]) =>
  event({ type: 'response.completed', response: { id: 'r', status: 'completed', output } }, 'response.completed');

const pieces: Readonly<Record<string, Piece>> = {
  'a text': { ...chat, frames: [chunk({ content: 'one ' }), chunk({ musing: words(50) }), chatEnd], tokens: 51 },
  'a text beside words that are known': {
    ...chat,
    frames: [chunk({ content: 'one ', musing: words(50) }), chatEnd],
    tokens: 51,
  },
  'an object': {
    ...chat,
    frames: [chunk({ content: 'one ' }), chunk({ musing: { id: words(9), steps: [{ text: words(50) }] } }), chatEnd],
    tokens: 51,
  },
  'a list': {
    ...chat,
    frames: [chunk({ content: 'one ' }), chunk({ musings: [`${words(20)} `, { text: `${words(30)} ` }] }), chatEnd],
    tokens: 51,
  },
  'a part of a list': {
    ...chat,
    frames: [
      chunk({
        content: [
          { type: 'text', text: 'one ' },
          { type: 'musing', musing: words(50) },
        ],
      }),
      chatEnd,
    ],
    tokens: 51,
  },
  'in another choice': {
    ...chat,
    more: { n: 2 },
    frames: [
      event({ id: 'c', choices: [{ index: 0, delta: { content: 'one ' } }] }),
      event({ id: 'c', choices: [{ index: 1, delta: { musing: words(50) } }] }),
      chatEnd,
    ],
    tokens: 51,
  },
  'a step of a block': {
    ...claude,
    frames: [
      claudeStart,
      block(0, { type: 'text', text: '' }),
      step(0, { type: 'text_delta', text: 'one ' }),
      step(0, { type: 'musing_delta', musing: words(50) }),
      claudeEnd,
    ],
    tokens: 51,
  },
  'a step of a response': {
    ...responses,
    frames: [
      event({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'one ' }),
      event({ type: 'response.musing.delta', output_index: 0, content_index: 1, delta: words(50) }),
      responsesEnd([
        {
          type: 'message',
          content: [
            { type: 'output_text', text: 'one ' },
            { type: 'musing', musing: words(50) },
          ],
        },
      ]),
    ],
    tokens: 51,
  },
  'a part of a response that comes whole': {
    ...responses,
    frames: [
      event({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'one ' }),
      event({
        type: 'response.output_item.done',
        output_index: 0,
        item: {
          type: 'message',
          content: [
            { type: 'output_text', text: 'one ' },
            { type: 'musing', musing: words(50) },
          ],
        },
      }),
      responsesEnd([]),
    ],
    tokens: 51,
  },
};

function play(frames: readonly string[]): void {
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const frame of frames) response.write(frame);
    response.end();
  });
}

test.each(Object.entries(pieces))('a piece that nobody knows costs its words: %s', async (_name, piece) => {
  play(piece.frames);
  const { path, model, more, tokens } = piece;
  const response = await gateway.send(key, path, { model, stream: true, messages, ...more });
  expect(await response.text()).toContain(words(50).slice(0, 40));
  expect(await gateway.lastLog()).toMatchObject({ usage_source: 'estimated', completion_tokens: tokens });
});

test.each<readonly [string, object]>([
  ['its kind', { type: words(50) }],
  ['ids', { id: words(50), call_id: words(50) }],
  ['a seal', { thought_signature: words(50), proof: { signature: words(50) } }],
  ['what is no text', { musing: 7, other: null, third: true }],
])('what says no more than %s costs nothing', async (_name, delta) => {
  play([chunk({ content: 'one ', ...delta }), chatEnd]);
  await (await gateway.send(key, chat.path, { model: 'own', stream: true, messages })).text();
  expect(await gateway.lastLog()).toMatchObject({ completion_tokens: 1 });
});

test('a whole answer costs its unknown members like a streamed one', async () => {
  const message = { role: 'assistant', content: 'one ', musing: words(50) };
  upstream.script((response) =>
    sendJson(response, { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }] }),
  );
  await (await gateway.send(key, chat.path, { model: 'own', messages })).text();
  expect(await gateway.lastLog()).toMatchObject({ usage_source: 'estimated', completion_tokens: 51 });
});

test.each([true, false])(
  'a piece that a translation leaves out costs nothing, and is declared: streamed %s',
  async (stream) => {
    const message = { role: 'assistant', content: 'one ', musing: words(50) };
    if (stream) play([chunk(message), chatEnd]);
    else
      upstream.script((response) =>
        sendJson(response, { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }] }),
      );
    const response = await gateway.send(key, '/v1/messages', { model: 'own', max_tokens: 1000, stream, messages });
    expect(await response.text()).not.toContain('word word');
    const row = await gateway.lastLog();
    expect(row).toMatchObject({ usage_source: 'estimated', completion_tokens: 1 });
    expect(JSON.parse(row?.other ?? '{}').dropped).toContain("/output: musing has no place in the client's format");
  },
);

test('a reported usage holds', async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  play([
    chunk({ content: 'one ', musing: words(50) }),
    event({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage }),
    'data: [DONE]\n\n',
  ]);
  await (await gateway.send(key, chat.path, { model: 'own', stream: true, messages })).text();
  expect(await gateway.lastLog()).toMatchObject({ usage_source: 'reported', completion_tokens: 4 });
});

const piecesOfCall = { index: 0, function: { arguments: JSON.stringify({ text: words(50) }) } };
const waiting: Readonly<Record<string, Piece>> = {
  'arguments of a call whose name has not come': {
    ...chat,
    frames: [chunk({ content: 'one ' }), chunk({ tool_calls: [piecesOfCall] })],
    tokens: 51,
  },
  'in another choice': {
    ...chat,
    more: { n: 2 },
    frames: [
      chunk({ content: 'one ' }),
      event({ id: 'c', choices: [{ index: 1, delta: { tool_calls: [piecesOfCall] } }] }),
    ],
    tokens: 51,
  },
  'what a tool of the provider’s is to do': {
    ...claude,
    frames: [
      claudeStart,
      block(0, { type: 'text', text: '' }),
      step(0, { type: 'text_delta', text: 'one ' }),
      block(1, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
      step(1, { type: 'input_json_delta', partial_json: `{"query":"${words(50)}` }),
    ],
    tokens: 51,
  },
  'the input that a call begins with': {
    ...claude,
    frames: [
      claudeStart,
      block(0, { type: 'text', text: '' }),
      step(0, { type: 'text_delta', text: 'one ' }),
      block(1, { type: 'tool_use', id: 't', name: 'look', input: { text: words(50) } }),
    ],
    tokens: 51,
  },
};

test.each(Object.entries(waiting))(
  'a piece that waits when an answer breaks off is paid for: %s',
  async (_name, piece) => {
    play(piece.frames);
    const { path, model, more, tokens } = piece;
    await (await gateway.send(key, path, { model, stream: true, messages, ...more })).text();
    const row = await gateway.lastLog();
    expect(row).toMatchObject({ end_reason: 'upstream_broken', usage_source: 'estimated', completion_tokens: tokens });
  },
);

test('a call whose name comes late counts once', async () => {
  play([
    chunk({ content: 'one ' }),
    chunk({ tool_calls: [piecesOfCall] }),
    chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'look', arguments: '' } }] }),
    chatEnd,
  ]);
  await (await gateway.send(key, chat.path, { model: 'own', stream: true, messages })).text();
  expect(await gateway.lastLog()).toMatchObject({ end_reason: 'completed', completion_tokens: 51 });
});
