/** A conversation goes on while its money comes from another machine: nothing is refused, cut or made shorter for where it lies. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLeasedBalances } from '../../server/billing/leases/leased-balance.ts';
import type { HttpServer } from '../../server/http/http-server.ts';
import type { LeaseSource } from '../../server/relay/admission/lease-client.ts';
import type { Conversation } from '../../server/relay/endpoints/realtime/conversation.ts';
import { openRelayDoor } from '../support/door.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { realtimeUsage, startRealtimeUpstream } from '../support/realtime-upstream.ts';

const model = 'gpt-4o-realtime-preview';
let gateway: TestGateway;
let door: HttpServer;
let key: string;
let channelId: number;
let upstream: ReturnType<typeof startRealtimeUpstream>;
/** Leases wait for it. */
let gate = Promise.withResolvers<void>();
let leaseRequests = 0;
/** The balance in the ledger of the site that is not leased. */
let free = 0;

const account = () => ({ kind: 'account', userId: gateway.userId, id: gateway.userId }) as const;
const leasedHere = () => {
  const { accounts, memory } = gateway.balances.money;
  return createLeasedBalances({ accounts, memory });
};
const leaseSource: LeaseSource = {
  async acquire(_to, _more, requested) {
    leaseRequests++;
    await gate.promise;
    const amount = Math.min(free, requested);
    free -= amount;
    if (amount > 0) leasedHere().addLease(account(), amount);
    return amount < requested ? 'exhausted' : 'granted';
  },
  limits: async () => ({ limit: 0, used: 0 }),
  funds: async () => ({ balance: 0, limit: null, used: 0, dayUsed: 0, monthUsed: 0 }),
};
/** From here on every lease waits. */
const nothingHere = () => {
  gate = Promise.withResolvers();
  free += leasedHere().reclaim(account(), Number.MAX_SAFE_INTEGER);
  leaseRequests = 0;
};

beforeEach(async () => {
  [gate, free, leaseRequests] = [Promise.withResolvers(), 500_000_000, 0];
  gate.resolve();
  gateway = await createTestGateway({ leased: true, relay: { leaseSource }, limits: { billMs: 300, checkpointMs: 0 } });
  upstream = startRealtimeUpstream({ answer: (answer) => answer.done(realtimeUsage(10, 2000)) });
  channelId = await gateway.channel(upstream.url, { models: `${model},whisper-1` });
  key = (await gateway.token()).key;
  door = openRelayDoor(gateway.relay);
});
afterEach(async () => {
  gate.resolve();
  await door.stop(100);
  await upstream.stop();
  await gateway.close();
});

type Event = Record<string, unknown> & { type: string };

async function converse() {
  const address = `ws://127.0.0.1:${door.port}/v1/realtime?model=${model}`;
  const socket = new WebSocket(address, ['realtime', `openai-insecure-api-key.sk-${key}`]);
  const received: Event[] = [];
  socket.onmessage = ({ data }) => void received.push(JSON.parse(String(data)) as Event);
  const untilEvent = (type: string, count = 1) =>
    expect.poll(() => received.filter((event) => event.type === type).length).toBeGreaterThanOrEqual(count);
  await untilEvent('session.created');
  const send = (event: Record<string, unknown>) => socket.send(JSON.stringify(event));
  return { send, received, untilEvent, leave: () => socket.close() };
}
const ask = { type: 'response.create', response: { max_output_tokens: 4000 } };
const sound = (seconds: number) => ({
  type: 'input_audio_buffer.append',
  audio: Buffer.from(new Uint8Array(48_000 * seconds)).toString('base64'),
});
const askedForLease = () => expect.poll(() => leaseRequests).toBeGreaterThan(0);

test('a client’s events wait for the lease, keep their order and are sent unchanged', async () => {
  const { send, received, untilEvent, leave } = await converse();
  send(ask);
  await untilEvent('response.done');
  nothingHere();
  const before = upstream.received.length;
  send(ask);
  send({ type: 'input_audio_buffer.clear' });
  await askedForLease();
  expect(upstream.received).toHaveLength(before);
  gate.resolve();
  await untilEvent('response.done', 2);
  expect(upstream.received.slice(before)).toEqual([ask, { type: 'input_audio_buffer.clear' }]);
  expect(received.filter(({ type }) => type === 'error')).toEqual([]);
  leave();
});

test('sound that a balance elsewhere carries goes on', async () => {
  const { send, received, untilEvent, leave } = await converse();
  nothingHere();
  send(sound(200));
  send({ type: 'input_audio_buffer.commit' });
  await askedForLease();
  expect(upstream.received).toEqual([]);
  gate.resolve();
  await untilEvent('input_audio_buffer.committed');
  expect(received.filter(({ type }) => type === 'error')).toEqual([]);
  leave();
});

test('an answer that outgrows the lease is withheld, then delivered to its end and billed', async () => {
  const said = 'word '.repeat(20_000);
  upstream.script({
    answer(answer) {
      for (let n = 0; n < 3; n++) answer.print(said);
      answer.done(realtimeUsage(10, 60_000));
    },
  });
  const { send, received, untilEvent, leave } = await converse();
  nothingHere();
  send(ask);
  await askedForLease();
  expect(received.some(({ type }) => type === 'response.done')).toBe(false);
  gate.resolve();
  await untilEvent('response.done');
  expect(received.filter(({ type }) => type === 'response.output_text.delta')).toHaveLength(3);
  leave();
  await expect.poll(() => gateway.relay.open()).toBe(0);
  expect((await gateway.logs())[0]).toMatchObject({ completion_tokens: 60_000, usage_source: 'reported' });
});

test('a transcript has a bill of its own, as soon as its money is here', async () => {
  const { send, untilEvent, leave } = await converse();
  nothingHere();
  const update = {
    type: 'session.update',
    session: { type: 'realtime', audio: { input: { transcription: { model: 'whisper-1' } } } },
  };
  send(update);
  send(sound(1));
  await askedForLease();
  gate.resolve();
  const sounds = () => upstream.received.filter(({ type }) => type === 'input_audio_buffer.append').length;
  await expect.poll(sounds).toBe(1);
  send(sound(1));
  await expect.poll(sounds).toBe(2);
  upstream.send({
    type: 'conversation.item.input_audio_transcription.completed',
    item_id: 'item_heard',
    content_index: 0,
    transcript: 'hello',
    usage: { type: 'duration', seconds: 60 },
  });
  await untilEvent('conversation.item.input_audio_transcription.completed');
  leave();
  await expect.poll(() => gateway.relay.open()).toBe(0);
  const logs = await gateway.logs();
  expect(logs.find((log) => log.model_name === 'whisper-1')).toMatchObject({ prompt_tokens: 1000, quota: 15_000 });
});

/** All that was leased is idle again, or was returned, except what was charged. */
const nothingHeld = (charged: number) =>
  expect.poll(() => leasedHere().idle(account()) + free).toBe(500_000_000 - charged);

test('a request whose client has left before the lease came is not sent, and nothing is reserved for it', async () => {
  const { send, leave } = await converse();
  nothingHere();
  send(ask);
  await askedForLease();
  leave();
  await expect.poll(() => gateway.relay.open()).toBe(0);
  gate.resolve();
  await expect.poll(() => free).toBeLessThan(500_000_000);
  await nothingHeld(0);
  expect(upstream.received).toEqual([]);
});

test('an answer that is withheld until its client has left and its bill is written has nothing held for it', async () => {
  let goOn: () => void = () => undefined;
  upstream.script({
    answer(answer) {
      goOn = () => answer.print('word '.repeat(20_000));
      answer.print('word');
    },
  });
  const { send, untilEvent, leave } = await converse();
  send(ask);
  await untilEvent('response.output_text.delta');
  nothingHere();
  goOn();
  await askedForLease();
  leave();
  await expect.poll(() => gateway.relay.open()).toBe(0);
  const before = free;
  gate.resolve();
  await expect.poll(() => free).toBeLessThan(before);
  const [log] = await gateway.logs();
  expect(log).toMatchObject({ end_reason: 'client_gone', completion_tokens: 20_000 });
  await nothingHeld(log?.quota ?? 0);
});

test('events behind a request that waits for a lease are not read once the client has left', async () => {
  await gateway.services.channels.update(channelId, { setting: '{"drain":300}' });
  await gateway.sync();
  let answered: () => void = () => undefined;
  upstream.script({
    answer(answer) {
      answered = () => answer.done(realtimeUsage(10, 2000));
      answer.print('word');
    },
  });
  const received: string[] = [];
  const headers = { authorization: `Bearer sk-${key}` };
  const request = new Request(`http://gateway/v1/realtime?model=${model}`, { headers });
  const conversation = (await gateway.relay.realtime(request, { ip: () => '127.0.0.1' })) as Conversation;
  conversation.open({ send: (data) => received.push(String(data)), close: () => undefined });
  conversation.message(JSON.stringify(ask));
  await expect.poll(() => received.some((event) => event.includes('response.output_text.delta'))).toBe(true);
  nothingHere();
  const before = free;
  conversation.message(JSON.stringify(ask));
  conversation.message(JSON.stringify({ ...ask, response: { max_output_tokens: 100 } }));
  await askedForLease();
  conversation.close();
  gate.resolve();
  await expect.poll(() => free).toBeLessThan(before);
  answered();
  // Nothing but the first answer is waited for.
  await expect.poll(() => gateway.relay.open()).toBe(0);
  expect((await gateway.logs())[0]).toMatchObject({ completion_tokens: 2000, usage_source: 'reported' });
});
