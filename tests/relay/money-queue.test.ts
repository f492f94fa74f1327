/** Money that other requests of the same user hold is waited for: first come, first served, two seconds at most. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Balances, createMoney } from '../../server/billing/balances/money.ts';
import { createMemory } from '../../server/billing/balances/shared-memory.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { paired } from '../support/relay-memory.ts';
import { turn, VirtualTime } from '../support/virtual-time.ts';

let gateway: TestGateway;
let time: VirtualTime;
/** Requests at the upstream that were not answered yet, by their words. */
let open: { readonly words: string; readonly limit: number | undefined; readonly answer: (tokens: number) => void }[];

const upstream = (async (_url: unknown, init?: RequestInit) => {
  const body = JSON.parse(await new Response(init?.body as BodyInit).text());
  const { promise, resolve } = Promise.withResolvers<number>();
  open.push({ words: body.messages[0].content, limit: body.max_tokens, answer: resolve });
  const tokens = await promise;
  return Response.json({
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: tokens, total_tokens: 1 + tokens },
  });
}) as typeof fetch;

const start = async (quota: number) => {
  open = [];
  time = new VirtualTime();
  gateway = await createTestGateway({ quota, upstreamFetch: upstream, relay: { timers: time } });
  await gateway.channel('http://upstream.test');
  // A unit for each token, of the prompt and of the answer.
  await gateway.option('ModelRatio', '{"gpt-4o-mini":1}');
  await gateway.option('CompletionRatio', '{"gpt-4o-mini":1}');
};
beforeEach(() => start(1000));
afterEach(async () => {
  for (const { answer } of open) answer(1);
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
});

const ask = (key: string, words: string, limit: number, signal?: AbortSignal) =>
  gateway.chat(
    key,
    { model: 'gpt-4o-mini', max_tokens: limit, messages: [{ role: 'user', content: words }] },
    {},
    signal,
  );
/** Until nothing more happens by itself. */
const settle = async () => {
  for (let n = 0; n < 60; n++) await turn();
};
const words = () => open.map((each) => each.words);
const account = () => gateway.balances.account(gateway.userId, 0);
/** The first that is open, with so many tokens. */
const answer = async (tokens: number) => {
  open.shift()?.answer(tokens);
  await settle();
};

test('ten parallel answers that cost half of what they hold are served whole by a balance for ten of them and one hold', async () => {
  const { key } = await gateway.token();
  account().settle({ reserved: 0, charged: -100 });
  // Each holds some 180 and costs 90: six fit at once.
  const asked = Array.from({ length: 10 }, (_, index) => ask(key, `${index}`, 170));
  await settle();
  expect(open.length).toBeLessThan(8);
  for (let n = 0; n < 10; n++) {
    expect(open[0]?.limit).toBe(170);
    await answer(89);
  }
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect(await gateway.balance()).toBe(100);
});

test('waiting requests go on in the order of arrival, and no later one goes before, though less would do', async () => {
  const { key } = await gateway.token();
  const asked = [ask(key, 'first', 600)];
  await settle();
  asked.push(ask(key, 'second', 800));
  await settle();
  asked.push(ask(key, 'third', 20));
  await settle();
  expect(words()).toEqual(['first']);
  await answer(10);
  expect(words()).toEqual(['second', 'third']);
  expect(open.map(({ limit }) => limit)).toEqual([800, 20]);
  await answer(1);
  await answer(1);
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200]);
});

test('two seconds are waited in all: then the answer is shortened to what there is, or refused with what would do', async () => {
  const { key } = await gateway.token();
  const asked = [ask(key, 'first', 900)];
  await settle();
  const shortened = ask(key, 'second', 800);
  await settle();
  await time.advance(1980);
  await settle();
  expect(words()).toEqual(['first']);
  await time.advance(30);
  await settle();
  expect(words()).toEqual(['first', 'second']);
  expect(open[1]?.limit).toBeLessThan(100);
  // Now there is less left than the shortest answer takes.
  account().reserve(account().available() - 5);
  const refused = ask(key, 'third', 800);
  await settle();
  await time.advance(2010);
  const response = await refused;
  expect(response.status).toBe(403);
  expect((await response.json()).error.code).toBe('user_exhausted');
  await answer(1);
  await answer(1);
  expect((await Promise.all([...asked, shortened])).map(({ status }) => status)).toEqual([200, 200]);
});

test('two seconds are waited in all, over however many targets of a virtual model', async () => {
  const models = ['gpt-4o-mini', 'gpt-4o', 'gpt-4.1'];
  await gateway.option('ModelRatio', JSON.stringify(Object.fromEntries(models.map((model) => [model, 1]))));
  await gateway.option('CompletionRatio', JSON.stringify(Object.fromEntries(models.map((model) => [model, 1]))));
  await gateway.channel('http://upstream.test', { models: 'gpt-4o,gpt-4.1' });
  await gateway.services.virtualModels.create({ name: 'coder', targets: models.map((model) => ({ model })) });
  await gateway.sync();
  const { key } = await gateway.token();
  const asked = ask(key, 'first', 900);
  await settle();
  account().reserve(account().available() - 5);
  const body = { model: 'coder', max_tokens: 800, messages: [{ role: 'user', content: 'second' }] };
  let status = 0;
  void gateway.chat(key, body).then((response) => {
    status = response.status;
  });
  await settle();
  await time.advance(1980);
  await settle();
  expect(status).toBe(0);
  await time.advance(30);
  await settle();
  expect([status, words()]).toEqual([403, ['first']]);
  await answer(1);
  await asked;
});

test('a request that all of the user’s money would not pay for is not waited for', async () => {
  const { key } = await gateway.token();
  const held = ask(key, 'first', 900);
  await settle();
  const response = await ask(key, 'x '.repeat(2000), 20);
  expect(response.status).toBe(403);
  expect(time.monoNow()).toBe(0);
  await answer(1);
  await held;
});

test('an answer that is too long for all there is takes what is free when that is a quarter of it, else it waits', async () => {
  const { key } = await gateway.token();
  const held = [ask(key, 'first', 600)];
  await settle();
  held.push(ask(key, 'second', 5000));
  await settle();
  expect(words()).toEqual(['first', 'second']);
  held.push(ask(key, 'third', 5000));
  await settle();
  expect(words()).toEqual(['first', 'second']);
  await answer(1);
  expect(words()).toEqual(['second', 'third']);
  await answer(1);
  await answer(1);
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200]);
});

test('a waiter whose client leaves is gone at once, and those behind it go on', async () => {
  const { key } = await gateway.token();
  const held = ask(key, 'first', 500);
  await settle();
  const client = new AbortController();
  const left = ask(key, 'second', 900, client.signal);
  await settle();
  const behind = ask(key, 'third', 300);
  await settle();
  expect(words()).toEqual(['first']);
  client.abort();
  await settle();
  expect(words()).toEqual(['first', 'third']);
  expect((await left).status).toBe(403);
  expect(account().line).toBeNull();
  await answer(1);
  await answer(1);
  await Promise.all([held, behind]);
});

test('thirty-two of a user wait, and the next is told to come again: it goes before none of them', async () => {
  const { key } = await gateway.token();
  const held = ask(key, 'first', 900);
  await settle();
  const waiting = Array.from({ length: 32 }, (_, index) => ask(key, `${index}`, 900));
  await settle();
  // What is free would do for it.
  const refused = await ask(key, 'more', 20);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '2']);
  expect((await refused.json()).error.code).toBe('rate_limited');
  expect(words()).toEqual(['first']);
  // Waiting would not help it.
  expect((await ask(key, 'x '.repeat(2000), 20)).status).toBe(403);
  const order: string[] = [];
  for (let n = 0; n < 33; n++) {
    order.push(...words());
    await answer(1);
  }
  expect(order).toEqual(['first', ...Array.from({ length: 32 }, (_, index) => `${index}`)]);
  expect((await Promise.all([held, ...waiting])).map(({ status }) => status)).toEqual(Array(33).fill(200));
});

test('a request that finds the line of one key full goes on with another key of the same user', async () => {
  const { key } = await gateway.token({ unlimited_quota: false, remain_quota: 500 });
  const { key: other } = await gateway.token();
  const asked = [ask(key, 'first', 450)];
  await settle();
  for (let n = 0; n < 32; n++) asked.push(ask(key, `${n}`, 400));
  await settle();
  expect((await ask(key, 'more', 10)).status).toBe(429);
  asked.push(ask(other, 'other', 100));
  await settle();
  expect(words()).toEqual(['first', 'other']);
  for (let n = 0; n < 34; n++) await answer(1);
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(34).fill(200));
});

const ban = () =>
  gateway.database.query.updateTable('users').set({ status: 2 }).where('id', '=', gateway.userId).execute();
const nextSecond = () => time.advance(1001);
test.each<[string, (id: number) => Promise<unknown>, number, string]>([
  ['its key is deleted', (id) => gateway.services.tokens.remove(id, null), 401, 'token_invalid'],
  [
    'its key is switched off',
    (id) => gateway.services.tokens.update(id, null, { status: 2 }, true),
    401,
    'token_disabled',
  ],
  [
    'its key expires',
    async (id) => {
      const seconds = Math.floor(time.now() / 1000);
      await gateway.services.tokens.update(id, null, { expired_time: seconds }, false);
      await nextSecond();
    },
    401,
    'token_expired',
  ],
  ['its user is banned', () => ban(), 403, 'user_disabled'],
  [
    'its key may not use the model any more',
    (id) => gateway.services.tokens.update(id, null, { model_limits_enabled: true, model_limits: 'another' }, false),
    403,
    'model_not_allowed',
  ],
  [
    'its key may not be used from there any more',
    (id) => gateway.services.tokens.update(id, null, { allow_ips: '10.0.0.1' }, false),
    403,
    'ip_not_allowed',
  ],
])('a request that waits is refused when %s, whatever comes free', async (_name, takeAway, status, code) => {
  const { key } = await gateway.token();
  const { id, key: waiting } = await gateway.token();
  const held = ask(key, 'first', 900);
  await settle();
  const asked = ask(waiting, 'second', 900);
  await settle();
  const behind = ask(key, 'third', 900);
  await settle();
  expect(words()).toEqual(['first']);
  await takeAway(id);
  await gateway.sync();
  await answer(1);
  const response = await asked;
  expect([response.status, (await response.json()).error.code]).toEqual([status, code]);
  expect(words()).not.toContain('second');
  await answer(1);
  await Promise.all([held, behind]);
});

test('a player whose user is banned while the request waits is refused', async () => {
  const { key } = await gateway.token();
  const held = ask(key, 'first', 900);
  await settle();
  const asked = gateway.relay.handle(
    new Request('http://gateway/pg/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o-mini', max_tokens: 900, messages: [{ role: 'user', content: 'second' }] }),
    }),
    '/pg/chat/completions',
    { ip: () => '127.0.0.1' },
  );
  await settle();
  await ban();
  await gateway.sync();
  await answer(1);
  const response = await asked;
  expect([response.status, (await response.json()).error.code]).toEqual([403, 'user_disabled']);
  expect(words()).toEqual([]);
  await held;
});

test.each([
  ['its name', 'gpt-4o-mini,other', 'coder'],
  ['a model that it may reach later', 'gpt-4o-mini,coder', 'other'],
])(
  'a request for a virtual model is refused after its wait when its key may not use %s any more',
  async (_name, allowed, missing) => {
    await gateway.services.virtualModels.create({
      name: 'coder',
      targets: [{ model: 'gpt-4o-mini' }, { model: 'other' }],
    });
    const { key } = await gateway.token();
    const { id, key: waiting } = await gateway.token();
    const held = ask(key, 'first', 900);
    await settle();
    const asked = gateway.chat(waiting, {
      model: 'coder',
      max_tokens: 900,
      messages: [{ role: 'user', content: 'second' }],
    });
    await settle();
    expect(account().line).toBe('balance');
    await gateway.services.tokens.update(id, null, { model_limits_enabled: true, model_limits: allowed }, false);
    await gateway.sync();
    await answer(1);
    const response = await asked;
    expect(response.status).toBe(403);
    expect((await response.json()).error).toMatchObject({
      code: 'model_not_allowed',
      message: expect.stringContaining(missing),
    });
    expect(words()).toEqual([]);
    await held;
  },
);

test.each([
  [
    'a settlement on another thread',
    () => {
      const { money, follow } = paired(gateway.balances.money, 1);
      follow();
      new Balances(money).account(gateway.userId, 0).settle({ reserved: 900, charged: 1 });
    },
  ],
  [
    'a top-up',
    () =>
      gateway.balances.money.accounts.credit({ kind: 'balance', userId: gateway.userId, delta: 5000, version: 1000 }),
  ],
])('%s wakes within ten milliseconds', async (_name, frees) => {
  const { key } = await gateway.token();
  account().reserve(900);
  const asked = ask(key, 'first', 800);
  await settle();
  expect(open).toEqual([]);
  frees();
  await settle();
  await time.advance(10);
  await settle();
  expect(words()).toEqual(['first']);
  await answer(1);
  expect((await asked).status).toBe(200);
});

test.each([
  ['limit', { unlimited_quota: false, remain_quota: 500 }],
  ['budget of a day', { day_budget: 500 }],
])('what other requests hold of the %s of a key is waited for as well', async (_name, fields) => {
  const { key } = await gateway.token(fields);
  const held = ask(key, 'first', 450);
  await settle();
  const asked = ask(key, 'second', 400);
  await settle();
  expect(words()).toEqual(['first']);
  await answer(1);
  expect(words()).toEqual(['second']);
  await answer(1);
  expect((await Promise.all([held, asked])).map(({ status }) => status)).toEqual([200, 200]);
});

test.each([
  ['limit', { unlimited_quota: false, remain_quota: 500 }],
  ['budget of a day', { day_budget: 500 }],
])('who waits for the %s of one key holds up its own key alone', async (_name, fields) => {
  const { key } = await gateway.token(fields);
  const { key: other } = await gateway.token();
  const asked = [ask(key, 'first', 450)];
  await settle();
  asked.push(ask(key, 'second', 400));
  await settle();
  asked.push(ask(key, 'third', 10));
  await settle();
  asked.push(ask(other, 'fourth', 100));
  await settle();
  expect(words()).toEqual(['first', 'fourth']);
  await answer(1);
  expect(words()).toEqual(['fourth', 'second', 'third']);
  for (let n = 0; n < 3; n++) await answer(1);
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

test('the first in line makes way for other keys where it lacks nothing but what its key may use', async () => {
  const { key } = await gateway.token();
  const { key: small } = await gateway.token({ unlimited_quota: false, remain_quota: 300 });
  const asked = [ask(small, 'first', 250)];
  await settle();
  asked.push(ask(key, 'second', 600));
  await settle();
  // In line for the balance one after the other: the first needs what its key has not got either.
  const free = account().available();
  account().reserve(free);
  asked.push(ask(small, 'third', 200));
  await settle();
  asked.push(ask(key, 'fourth', 50));
  await settle();
  expect(words()).toEqual(['first', 'second']);
  account().settle({ reserved: free, charged: -1000 });
  await time.advance(10);
  await settle();
  expect(words()).toEqual(['first', 'second', 'fourth']);
  await answer(1);
  expect(words()).toEqual(['second', 'fourth', 'third']);
  for (let n = 0; n < 3; n++) await answer(1);
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

test('a request that waits for the balance is first in line for every key', async () => {
  const { key } = await gateway.token();
  const { key: other } = await gateway.token({ unlimited_quota: false, remain_quota: 500 });
  const asked = [ask(key, 'first', 600)];
  await settle();
  asked.push(ask(key, 'second', 800));
  await settle();
  asked.push(ask(other, 'third', 20));
  await settle();
  expect(words()).toEqual(['first']);
  for (let n = 0; n < 3; n++) await answer(1);
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200]);
});

test('a request that comes while everything is held is read, and waits', async () => {
  const { key } = await gateway.token();
  account().reserve(1000);
  const asked = ask(key, 'first', 100);
  await settle();
  account().settle({ reserved: 1000, charged: 0 });
  await time.advance(10);
  await settle();
  expect(words()).toEqual(['first']);
  await answer(1);
  expect((await asked).status).toBe(200);
});

test.each([
  ['shortened answers', false],
  ['answers that are not shortened', true],
])('a refusal for money names how much would do: %s', async (_name, passThrough) => {
  await gateway.option('global.pass_through_request_enabled', String(passThrough));
  const { key } = await gateway.token();
  const spent = account().available();
  account().settle({ reserved: 0, charged: spent });
  await gateway.option('DisplayInCurrencyEnabled', 'false');
  const limit = 300;
  account().settle({ reserved: 0, charged: -3 });
  const refused = await ask(key, 'some words', limit);
  expect(refused.status).toBe(403);
  const need = Number(/([\d,.]+) needed/.exec((await refused.json()).error.message)?.[1]?.replaceAll(',', ''));
  expect(need).toBeGreaterThan(10);
  for (const [balance, status] of [
    [need - 1, 403],
    [need, 200],
  ] as const) {
    account().settle({ reserved: 0, charged: account().available() - balance });
    const asked = ask(key, 'some words', limit);
    await settle();
    open.shift()?.answer(1);
    expect((await asked).status).toBe(status);
  }
});

describe.each(['balance', 'key'] as const)('the line for one %s over all threads', (line) => {
  const user = () => {
    const balances = new Balances(createMoney(createMemory(1)), time.now);
    balances.money.accounts.observeUser({
      ...{ id: 1, username: 'u', role: 1, status: 1, group: 'default', balance: 10, used: 0 },
      ...{ balanceVersion: 0, overrun: 0, setting: {} },
    });
    balances.money.accounts.observeToken({
      ...{
        id: 5,
        userId: 1,
        name: 't',
        keyHmac: 'h',
        oldKey: null,
        status: 1,
        expiresAt: -1,
        group: '',
        unlimited: true,
      },
      ...{ quotaLimit: 0, used: 0, modelLimits: null, allowIps: [], limits: null },
      periods: { day: { at: 0, used: 0 }, month: { at: 0, used: 0 } },
    });
    const { money, follow } = paired(balances.money, 1);
    follow();
    return [balances.account(1, 5), new Balances(money, time.now).account(1, 5)] as const;
  };

  test('tickets are in the order of arrival, and one that leaves in the middle is passed over', () => {
    const [here, there] = user();
    const tickets = [here, there, here, there].map((each) => each.join(line) ?? -1);
    expect(tickets.map((ticket) => here.isFirst(line, ticket))).toEqual([true, false, false, false]);
    there.leave(line, tickets[1] ?? -1);
    here.leave(line, tickets[0] ?? -1);
    here.leave(line, tickets[0] ?? -1);
    expect(tickets.slice(2).map((ticket) => there.isFirst(line, ticket))).toEqual([true, false]);
    for (const ticket of tickets.slice(2)) here.leave(line, ticket);
    expect([here.line, there.line]).toEqual([null, null]);
  });

  test('thirty-two wait; what a thread that ended has left behind makes room after three seconds', async () => {
    const [here, there] = user();
    const tickets = Array.from({ length: 32 }, () => there.join(line) ?? -1);
    expect(new Set(tickets).size).toBe(32);
    expect(here.join(line)).toBeNull();
    await time.advance(3001);
    const ticket = here.join(line) ?? -1;
    expect(here.isFirst(line, ticket)).toBe(true);
    // One of those that were left behind does not take the place of another.
    for (const left of tickets) there.leave(line, left);
    expect([here.isFirst(line, ticket), here.line]).toEqual([true, line]);
  });
});
