/** Counts of tokens: by the upstream where it counts in the client's own dialect, here where it does not or fails; free either way. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
type Script = Parameters<Upstream['script']>[0];
const counting: Script = (response, { path }) =>
  path.includes('countTokens')
    ? sendJson(response, { totalTokens: 4711, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 4711 }] })
    : sendJson(response, { input_tokens: 4711 });

beforeAll(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream(counting);
  await gateway.channel(upstream.url, { type: 14, models: 'claude,mapped', model_mapping: '{"mapped":"claude-real"}' });
  await gateway.channel(upstream.url, { type: 24, models: 'gemini-x' });
  await gateway.channel(upstream.url, { type: 1, models: 'gpt' });
  await gateway.option('SelfUseModeEnabled', 'true');
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const messages = [{ role: 'user', content: 'one two three' }];
async function count(path: string, body: unknown, headers: Record<string, string> = {}) {
  const before = upstream.requests.length;
  const response = await gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { 'x-api-key': `sk-${key}`, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
    path,
    { ip: () => '' },
  );
  const told = (await response.json()) as Record<string, unknown>;
  return { status: response.status, told, sent: upstream.requests.slice(before) };
}

test('W12: Anthropic counts for its clients, byte for byte, and nobody is charged', async () => {
  upstream.script(counting);
  const balance = await gateway.balance();
  const body = '{ "model":"claude", "messages":[{"role":"user","content":"hi"}] }';
  const { told, sent } = await count('/v1/messages/count_tokens', body, { 'anthropic-beta': 'a-b-1' });
  expect(told).toEqual({ input_tokens: 4711 });
  expect(sent.map(({ path }) => path)).toEqual(['/v1/messages/count_tokens']);
  expect(sent[0]?.body.toString('utf8')).toBe(body);
  expect(sent[0]?.headers).toMatchObject({ 'anthropic-beta': 'a-b-1', 'x-api-key': 'sk-upstream-secret-key' });
  expect(await gateway.balance()).toBe(balance);
  expect(await gateway.logs()).toEqual([]);
});

test.each([
  ['/v1/messages/count_tokens', { model: 'mapped', messages }, '/v1/messages/count_tokens', 'input_tokens'],
  [
    '/v1beta/models/gemini-x:countTokens',
    { contents: [{ parts: [{ text: 'hi' }] }] },
    '/v1beta/models/gemini-x:countTokens',
    'totalTokens',
  ],
  ['/v1/responses/input_tokens', { model: 'gpt', input: 'hi' }, '/v1/responses/input_tokens', 'input_tokens'],
])('W12: %s is asked upstream', async (path, body, asked, member) => {
  upstream.script(counting);
  const { told, sent } = await count(path, body);
  expect(told[member]).toBe(4711);
  expect(sent[0]?.path).toBe(asked);
  if ('model' in body && body.model === 'mapped')
    expect(JSON.parse(sent[0]?.body.toString('utf8') ?? '{}').model).toBe('claude-real');
});

const failures: readonly (readonly [string, Script])[] = [
  ['refuses', (response) => sendJson(response, { error: { message: 'no' } }, 401)],
  ['has no such call', (response) => sendJson(response, { error: { message: 'not found' } }, 404)],
  ['answers nonsense', (response) => sendJson(response, { ok: true })],
  ['breaks off', (response) => void response.destroy()],
];
test.each(failures)(
  'W12: the count is made here when the upstream %s, and the channel stays in use',
  async (_name, script) => {
    upstream.script(script);
    const { status, told } = await count('/v1/messages/count_tokens', { model: 'claude', messages });
    expect([status, told]).toEqual([200, { input_tokens: 9 }]);
    expect(gateway.troubles).toEqual([]);
    const { told: again, sent } = await count('/v1/messages/count_tokens', { model: 'claude', messages });
    expect([again, sent.length]).toEqual([{ input_tokens: 9 }, 1]);
  },
);

test.each([
  ['another dialect', '/v1/messages/count_tokens', { model: 'gpt', messages }],
  ['a model nobody has', '/v1/messages/count_tokens', { model: 'nobody', messages }],
  [
    'something another upstream keeps',
    '/v1/responses/input_tokens',
    { model: 'gpt', input: 'one two three', previous_response_id: 'resp_1' },
  ],
])('W12: %s is counted here', async (_name, path, body) => {
  upstream.script(counting);
  const { told, sent } = await count(path, body);
  expect(sent).toEqual([]);
  expect(told.input_tokens).toBeLessThan(20);
});

test('W12: words that may not go upstream do not go there to be counted', async () => {
  upstream.script(counting);
  await gateway.option('CheckSensitiveEnabled', 'true');
  await gateway.option('CheckSensitiveOnPromptEnabled', 'true');
  await gateway.option('SensitiveWords', 'forbidden');
  const body = { model: 'claude', messages: [{ role: 'user', content: 'a forbidden thing' }] };
  expect((await count('/v1/messages/count_tokens', body)).sent).toEqual([]);
});
