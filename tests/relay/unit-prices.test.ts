/** What is not counted in tokens: speech by its characters, pictures by the piece where a price of the piece is set. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readPrompt } from '../../server/relay/intake/prompt.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream(() => undefined);
  await gateway.channel(upstream.url, { models: 'tts-1,picture-model' });
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const ask = async (path: string, body: object) => {
  const { key } = await gateway.token();
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  await response.arrayBuffer();
  return { status: response.status, log: await gateway.lastLog() };
};

test.each([
  ['hello', 5],
  ['', 1],
  ['你好🙂', 3],
])('the speech of %j counts %i', async (input, characters) => {
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    response.end(Buffer.alloc(100, 0xff));
  });
  const { status, log } = await ask('/v1/audio/speech', { model: 'tts-1', input, voice: 'alloy' });
  expect(status).toBe(200);
  expect(log?.prompt_tokens).toBe(characters);
});

test.each([
  ['a price of the piece holds, whatever tokens are reported', { ModelPrice: '{"picture-model":0.02}' }, 20_000],
  ['without one the tokens that are reported are paid', { ModelRatio: '{"picture-model":1}' }, 110],
])('%s', async (_name, options, charged) => {
  for (const [key, value] of Object.entries(options)) await gateway.option(key, value);
  upstream.script((response) =>
    sendJson(response, {
      data: [{ b64_json: 'AA==' }, { b64_json: 'AA==' }],
      usage: { input_tokens: 10, output_tokens: 100, total_tokens: 110 },
    }),
  );
  const { log } = await ask('/v1/images/generations', { model: 'picture-model', prompt: 'a cat', n: 2 });
  expect(log?.quota).toBe(charged);
});

test('a file that is sent along may be as long as all that the model reads; one of words is as long as its words', () => {
  const bound = (mimeType: string, file: Buffer) => {
    const data = file.toString('base64');
    const { texts, bound: found } = readPrompt({ contents: [{ parts: [{ inlineData: { mimeType, data } }] }] });
    return { texts: texts.filter((text) => text !== mimeType), files: found.files, bytes: found.units === data.length };
  };
  const pdf = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(900)]);
  expect(bound('application/pdf', pdf)).toEqual({ texts: [], files: true, bytes: true });
  const archive = Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(90, 0xff)]);
  expect(bound('application/vnd.openxmlformats', archive)).toEqual({ texts: [], files: true, bytes: true });
  expect(bound('text/plain', Buffer.from('some words'))).toEqual({ texts: ['some words'], files: false, bytes: false });
});

test('as many calls of a priced tool are held for as the request allows, 1,000 at most', async () => {
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini' });
  await gateway.option('ToolPrices', '{"web_search":0.01}');
  // Written with as many digits each: the prompt is held for by its bytes.
  const heldFor = async (max_uses: string) => {
    let held = 0;
    const available = () => gateway.balances.account(gateway.userId, 0).available();
    const before = available();
    upstream.script((response) => {
      held = before - available();
      sendJson(response, completion(10, 1));
    });
    const tools = [{ type: 'web_search', max_uses }];
    await ask('/v1/chat/completions', { model: 'gpt-4o-mini', max_tokens: 1, messages: [], tools });
    return held;
  };
  const max = await heldFor('1000');
  // One call more, after which the model reads as much as it can at once: 128,000 tokens.
  expect(max - (await heldFor('0999'))).toBe(5000 + 128_000 * 0.075);
  expect(await heldFor('5000')).toBe(max);
});
