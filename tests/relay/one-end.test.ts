/** Whatever throws on a request's way, its money ends once: nothing stays reserved, and one row says what became of it. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Account } from '../../server/billing/balances/account.ts';
import { AppError } from '../../server/contract/errors.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, sendStream, startUpstream, type Upstream } from '../support/upstream.ts';

const frame = (data: unknown) => Buffer.from(`data: ${JSON.stringify(data)}\n\n`);
const frames = [
  frame({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'hi' } }] }),
  frame({
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  }),
  Buffer.from('data: [DONE]\n\n'),
];

let gateway: TestGateway;
let upstream: Upstream;
let error = '';
const throwAt = (step: string) => {
  if (error === step) throw new Error(step);
};

beforeEach(async () => {
  error = '';
  gateway = await createTestGateway({
    quota: 1_000_000,
    relay: {
      wait: () => {
        throwAt('match');
        return null;
      },
      watch: { onReceived: () => throwAt('read'), onStreaming: () => throwAt('deliver'), over: () => undefined },
      wrap: (dispatch) => async (call, abort, firstByteMs) => {
        throwAt('send');
        return dispatch(call, abort, firstByteMs);
      },
      observer: { ended: () => throwAt('settle'), rejected: () => undefined },
    },
  });
  upstream = await startUpstream((response, request) =>
    JSON.parse(request.body.toString()).stream === true
      ? sendStream(response, frames)
      : sendJson(response, completion(10, 5)),
  );
  await gateway.channel(upstream.url);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await gateway.close();
  await upstream.stop();
});

/** What throws where the relay has no hook of its own. */
const spies: Readonly<Record<string, () => void>> = {
  authenticate: () =>
    void vi.spyOn(gateway.state, 'user').mockImplementationOnce(() => {
      throw new Error('authenticate');
    }),
  gate: () =>
    void vi.spyOn(gateway.ledger, 'healthy').mockImplementationOnce(() => {
      throw new Error('gate');
    }),
  plan: () =>
    void vi.spyOn(gateway.state, 'plan').mockImplementationOnce(() => {
      throw new Error('plan');
    }),
  reserve: () =>
    void vi.spyOn(Account.prototype, 'reserve').mockImplementationOnce(() => {
      throw new Error('reserve');
    }),
};

const steps = ['match', 'authenticate', 'gate', 'read', 'plan', 'reserve', 'send', 'deliver', 'settle'];
/** Steps after which the request is charged, or at least in the ledger. */
const charged = ['deliver', 'settle'];

test.each(steps.flatMap((step) => [true, false].map((stream) => [step, stream] as const)))(
  'a throw in %s (streamed: %s) ends the request once',
  async (step, stream) => {
    const { key } = await gateway.token({ unlimited_quota: false, remain_quota: 500_000 });
    const before = gateway.balances.account(gateway.userId, 0).available();
    error = step;
    spies[step]?.();
    const body = { model: 'gpt-4o-mini', stream, max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] };
    const response = await gateway.chat(key, body);
    await response.text().catch(() => '');
    await gateway.ledger.drain();
    expect(gateway.relay.open()).toBe(0);
    const rows = await gateway.rows<{ quota: number; request_id: string }>('SELECT quota, request_id FROM logs');
    expect(rows).toHaveLength(1);
    const spent = rows[0]?.quota ?? 0;
    // A whole response does not go on after it was handed over.
    const met = step === 'deliver' && !stream ? [] : [{ error: new Error(step), requestId: rows[0]?.request_id }];
    expect(gateway.defects.splice(0)).toEqual(met);
    expect(gateway.balances.account(gateway.userId, 0).available()).toBe(before - spent);
    if (!charged.includes(step)) expect([spent, response.status]).toEqual([0, 500]);
    // And the next one is served as if nothing had been.
    error = '';
    const next = await gateway.chat(key, body);
    expect(next.status).toBe(200);
    expect(await next.text()).toContain(stream ? '[DONE]' : 'choices');
    await gateway.ledger.drain();
    expect(gateway.relay.open()).toBe(0);
  },
);

test('an order of work whose call throws ends once', async () => {
  await gateway.channel(upstream.url, { type: 2, models: 'mj_imagine' });
  await gateway.option('ModelPrice', '{"mj_imagine":0.1}');
  const { key } = await gateway.token();
  const before = gateway.balances.account(gateway.userId, 0).available();
  error = 'send';
  const request = new Request('http://gateway/mj/submit/imagine', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'mj-api-secret': `sk-${key}` },
    body: '{"prompt":"a cat"}',
  });
  const response = await gateway.relay.handle(request, '/mj/submit/imagine', { ip: () => '127.0.0.1' });
  expect(response.status).toBe(500);
  await gateway.ledger.drain();
  expect(gateway.relay.open()).toBe(0);
  expect(gateway.balances.account(gateway.userId, 0).available()).toBe(before);
  expect(await gateway.rows<{ quota: number }>('SELECT quota FROM logs')).toEqual([{ quota: 0 }]);
  expect(gateway.defects.splice(0)).toMatchObject([{ error: new Error('send') }]);
});

test('a channel is tested while new requests are refused', async () => {
  gateway.relay.close(new AppError('shutting_down'));
  const { key } = await gateway.token();
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] };
  expect((await gateway.chat(key, body)).status).toBe(503);
  const [channel] = gateway.state.channels();
  const order = { channelId: channel?.id ?? 0, path: '/v1/chat/completions', body: JSON.stringify(body) };
  expect((await gateway.relay.test(order)).status).toBe(200);
});

test('where neither the end nor the little that is sure can be put together, each defect is reported, and the money ends all the same', async () => {
  const { key } = await gateway.token();
  const before = gateway.balances.account(gateway.userId, 0).available();
  const defects = [new Error('the end'), new Error('the little that is sure')];
  const settle = vi.spyOn(Account.prototype, 'settle');
  for (const defect of defects)
    settle.mockImplementationOnce(() => {
      throw defect;
    });
  await (await gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] })).text();
  await gateway.ledger.drain();
  const [row] = await gateway.rows<{ request_id: string; quota: number }>('SELECT request_id, quota FROM logs');
  expect(gateway.defects.splice(0)).toEqual(defects.map((error) => ({ error, requestId: row?.request_id })));
  expect(gateway.balances.account(gateway.userId, 0).available()).toBe(before - (row?.quota ?? 0));
  expect(gateway.relay.open()).toBe(0);
});
