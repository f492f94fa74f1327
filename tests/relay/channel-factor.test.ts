/** Prices by who serves: a channel's factor in what is held, charged, said and recomputed. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { atFactor, channelFactorIn, isChannelFactor } from '../../server/contract/pricing/channel-factor.ts';
import { loggedPrices } from '../../server/contract/pricing/charge.ts';
import { compilePriceTables, resolvePrices } from '../../server/contract/pricing/tables.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';
import { reportedPrices } from '../../server/relay/admission/modifiers.ts';
import { nothingSent } from '../../server/routing/offers.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
beforeAll(async () => {
  gateway = await createTestGateway({ quota: 50_000_000 });
  upstream = await startUpstream((response) => sendJson(response, completion));
  ({ key } = await gateway.token());
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});
const made: number[] = [];
beforeEach(async () => {
  for (const id of made.splice(0)) await gateway.services.channels.remove(id);
  upstream.requests.length = 0;
  upstream.script((response) => sendJson(response, completion));
});

const completion = {
  ...{ id: 'c', object: 'chat.completion', model: 'gpt-4.1' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10_000, completion_tokens: 2_000, total_tokens: 12_000 },
};
const price = (10_000 * 2 + 2_000 * 8) / 2;
async function open(factor: number | null, fields: object = {}): Promise<number> {
  const setting = factor === null ? '' : JSON.stringify({ channel_factor: factor });
  const id = await gateway.channel(upstream.url, { type: 1, models: 'gpt-4.1', setting, ...fields });
  made.push(id);
  await gateway.sync();
  return id;
}
/** @returns what was held while it was under way. */
async function send(body: object = {}): Promise<number> {
  const path = '/v1/chat/completions';
  const chat = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'hi' }], max_tokens: 2000, ...body };
  const available = () => gateway.balances.account(gateway.userId, 0).available();
  const before = available();
  let held = 0;
  upstream.script((response) => {
    held = before - available();
    sendJson(response, completion);
  });
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(chat),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  await response.text();
  expect(response.status).toBe(200);
  return held;
}
const row = async () => {
  const [first] = await gateway.logs();
  return { quota: first?.quota, other: JSON.parse(first?.other ?? '{}') as Record<string, unknown> };
};

test.each([
  [1.5, price * 1.5],
  [0.25, price / 4],
  [0.01, price / 100],
])(
  'a channel of factor %d charges so much of the price, and the row says the factor and recomputes',
  async (factor, cost) => {
    await open(factor);
    await send();
    const { quota, other } = await row();
    expect(quota).toBe(cost);
    expect(other).toMatchObject({ channel_factor: factor, group_ratio: factor });
    expect(loggedPrices(other)).toMatchObject({ groupRatio: factor, channel: { factor, groupRatio: 1 } });
    expect(await gateway.services.logs.verify({})).toMatchObject({ unequal: 0, wrong: [] });
  },
);

test('a channel without a factor writes none', async () => {
  await open(null);
  await send();
  const { quota, other } = await row();
  expect(quota).toBe(price);
  expect(other).not.toHaveProperty('channel_factor');
});

test('the hold is for the dearest channel that may serve, the charge for the one that does', async () => {
  await open(1, { priority: 9 });
  const plain = await send();
  expect((await row()).quota).toBe(price);
  await open(3, { priority: 1 });
  expect((await send()) / plain).toBeCloseTo(3, 1);
  expect((await row()).quota).toBe(price);
  await open(0.5, { priority: 99 });
  expect((await send()) / plain).toBeCloseTo(3, 1);
  expect((await row()).quota).toBe(price / 2);
});

test('a price per call and a free group keep to the factor', () => {
  const tables = compilePriceTables(
    (name) => (name === 'ModelPrice' ? '{"p":0.5}' : name === 'GroupRatio' ? '{"free":0}' : '{}'),
    0,
  );
  const call = resolvePrices(tables, 'p', { group: 'default', userGroup: 'default' });
  const free = resolvePrices(tables, 'p', { group: 'free', userGroup: 'default' });
  expect(call === null ? null : atFactor(call, 0.3).groupRatio).toBe(0.3);
  expect(free === null ? null : atFactor(free, 5).groupRatio).toBe(0);
  // Back again nothing is left of the factor.
  expect(call === null ? null : atFactor(atFactor(call, 0.3), 1)).toEqual(call);
  expect(call === null ? null : atFactor({ ...call, groupRatio: 0.000001 }, 0.01).groupRatio).toBe(0.000001);
});

test('another model that worked on the answer costs by the channel that served', () => {
  const tables = compilePriceTables((name) => (name === 'ModelRatio' ? '{"m":1,"helper":2}' : '{}'), 0);
  const pricing = { tables, group: 'default', userGroup: 'default' };
  const plain = resolvePrices(tables, 'm', pricing);
  if (plain === null) throw new Error('no price');
  const part = { ...emptyUsage, kind: 'message', model: 'helper', input: 10 };
  const details = { model: 'm', upstreamModel: 'm', modifiers: nothingSent };
  const prices = reportedPrices(atFactor(plain, 3), pricing, details, { ...emptyUsage, input: 20, parts: [part] });
  expect(prices.others?.get('helper')).toMatchObject({ groupRatio: 3 });
  expect(atFactor(prices, 0.5).others?.get('helper')).toMatchObject({ groupRatio: 0.5 });
});

test.each([
  ['half a hundredth', 0.005, false],
  ['a hundredth', 0.01, true],
  ['a hundred', 100, true],
  ['more than a hundred', 100.5, false],
  ['four digits', 1.2345, true],
  ['five digits', 1.23456, false],
  ['a text', '2', false],
  ['zero', 0, false],
  ['less than zero', -1, false],
])('%s is, or is not, a factor', async (_name, factor, isOne) => {
  expect([isChannelFactor(factor), channelFactorIn({ channel_factor: factor })]).toEqual([isOne, isOne ? factor : 1]);
  const setting = JSON.stringify({ channel_factor: factor });
  const saved = open(null, { setting });
  if (isOne) await expect(saved).resolves.toBeGreaterThan(0);
  else await expect(saved).rejects.toMatchObject({ code: 'channel_rule_invalid' });
});
