/** What a conversation costs however it ends. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import { openDatabase } from '../../db/open.ts';
import { Row } from '../../server/billing/balances/open-requests.ts';
import { recover } from '../../server/billing/ledger/recovery.ts';
import { systemTimers } from '../../server/contract/timers.ts';
import type { HttpServer } from '../../server/http/http-server.ts';
import { openRelayDoor } from '../support/door.ts';
import { createTestGateway, type TestGateway, type TestGatewayOptions } from '../support/gateway.ts';
import { type Answer, realtimeUsage, startRealtimeUpstream } from '../support/realtime-upstream.ts';

const model = 'gpt-4o-realtime-preview';
let gateway: TestGateway;
let door: HttpServer;
let key: string;
let upstream: ReturnType<typeof startRealtimeUpstream>;

async function open(options: TestGatewayOptions = {}): Promise<void> {
  gateway = await createTestGateway({ limits: { billMs: 300, checkpointMs: 0 }, ...options });
  upstream = startRealtimeUpstream({ answer: () => undefined });
  // Sound costs what the family's rules say, whatever today's list has.
  for (const table of ['AudioRatio', 'AudioCompletionRatio'] as const) await gateway.option(table, '{}');
  await gateway.channel(upstream.url, { models: `${model},whisper-1` });
  key = (await gateway.token()).key;
  door = openRelayDoor(gateway.relay);
}
async function close(): Promise<void> {
  await door.stop(100);
  await upstream.stop();
  await gateway.close();
}
beforeEach(() => open());
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await close();
});

type Event = Record<string, unknown> & { type: string };

/** A browser's socket, with the key where the official client for browsers puts it. */
async function converse(apiKey = key, query = `model=${model}`) {
  const address = `ws://127.0.0.1:${door.port}/v1/realtime?${query}`;
  const socket = new WebSocket(address, ['realtime', `openai-insecure-api-key.sk-${apiKey}`]);
  const received: Event[] = [];
  socket.onmessage = ({ data }) => void received.push(JSON.parse(String(data)) as Event);
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.onclose = ({ code, reason }) => resolve({ code, reason });
  });
  const untilEvent = (type: string, count = 1) =>
    expect.poll(() => received.filter((event) => event.type === type).length).toBeGreaterThanOrEqual(count);
  await untilEvent('session.created');
  const send = (event: Record<string, unknown>) => socket.send(JSON.stringify(event));
  return { send, received, closed, untilEvent, leave: () => socket.close() };
}

const ask = { type: 'response.create' };
const print = (text: string) => ({
  type: 'conversation.item.create',
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
});
const ended = () => expect.poll(() => gateway.relay.open()).toBe(0);
const row = async () => {
  await ended();
  const [log] = await gateway.logs();
  return log;
};
/** PCM of 24 kHz, 16 bits. */
const sound = (seconds: number) => new Uint8Array(48_000 * seconds);
const words = (count: number) => 'word '.repeat(count);

test('a client that leaves before the end of an answer pays what the upstream says it cost', async () => {
  upstream.script({ answer: (answer) => answer.print(words(5000)), cancelled: realtimeUsage(40, 5200) });
  const { send, untilEvent, leave } = await converse();
  send(ask);
  await untilEvent('response.output_text.delta');
  leave();
  expect(await row()).toMatchObject({
    prompt_tokens: 40,
    completion_tokens: 5200,
    end_reason: 'client_gone',
    usage_source: 'reported',
  });
  expect(upstream.received.at(-1)).toEqual({ type: 'response.cancel' });
});

test('delivered words, sound, calls and orders are counted where the upstream reports no usage', async () => {
  upstream.script({
    answer(answer) {
      answer.print(words(50));
      answer.speak(sound(3), words(7));
      answer.call('{"city": "Ulm"}');
    },
  });
  const { send, untilEvent, leave } = await converse();
  send(print('how is the weather'));
  send({ type: 'input_audio_buffer.append', audio: Buffer.from(sound(2)).toString('base64') });
  send({ type: 'input_audio_buffer.commit' });
  await untilEvent('input_audio_buffer.committed');
  send(ask);
  await untilEvent('response.function_call_arguments.delta');
  leave();
  const log = await row();
  // 4 words with what names their place, 3, and 2 s heard at 10 tokens a second; 50 + 7 + 2 words written and 3 s spoken at 20 a second.
  expect(log).toMatchObject({
    prompt_tokens: 7 + 20,
    completion_tokens: 59 + 60,
    end_reason: 'client_gone',
    usage_source: 'estimated',
  });
  expect(JSON.parse(log?.other ?? '')).toMatchObject({ audio_input: 20, audio_output: 60 });
});

test('the remaining limits of the upstream’s account are hidden, and words of the same name pass', async () => {
  const said = '"rate_limits.updated"';
  upstream.script({
    answer(answer) {
      answer.print(said);
      answer.done(realtimeUsage(10, 5));
    },
  });
  const { send, untilEvent, leave, received } = await converse();
  send(ask);
  await untilEvent('response.done');
  expect(received.map(({ type }) => type)).not.toContain('rate_limits.updated');
  expect(received.find(({ type }) => type === 'response.output_text.delta')).toMatchObject({ delta: said });
  leave();
  await ended();
});

test('an upstream that goes without a word has its delivered answer charged', async () => {
  upstream.script({ answer: (answer) => answer.print(words(100)) });
  const { send, untilEvent, closed } = await converse();
  send(ask);
  await untilEvent('response.output_text.delta');
  await upstream.stop();
  await closed;
  expect(await row()).toMatchObject({
    completion_tokens: 100,
    end_reason: 'upstream_broken',
    usage_source: 'estimated',
  });
});

test('finished and open answers of one conversation are charged together', async () => {
  let turn = 0;
  upstream.script({
    answer(answer) {
      turn++;
      answer.print(words(10));
      if (turn === 1) answer.done(realtimeUsage(100, 12));
      if (turn === 2) answer.done(null);
    },
  });
  const { send, untilEvent, leave } = await converse();
  send(ask);
  await untilEvent('response.done');
  send({ type: 'response.create', response: { conversation: 'none', instructions: 'one two three' } });
  await untilEvent('response.done', 2);
  send(ask);
  await untilEvent('response.output_text.delta', 3);
  leave();
  const log = await row();
  expect(log).toMatchObject({ completion_tokens: 12 + 10 + 10, usage_source: 'partial', end_reason: 'client_gone' });
  // The third answer reads what the first left behind: 100 in and 12 out.
  expect(JSON.parse(log?.other ?? '')).toMatchObject({ input: 103, cache_tokens: 224 });
});

test('an answer the client cancels is charged by its own end', async () => {
  upstream.script({ answer: (answer) => answer.print(words(30)), cancelled: realtimeUsage(5, 33) });
  const { send, untilEvent, leave, received } = await converse();
  send(ask);
  await untilEvent('response.output_text.delta');
  send({ type: 'response.cancel' });
  await untilEvent('response.done');
  expect(received.at(-1)).toMatchObject({ response: { status: 'cancelled' } });
  leave();
  expect(await row()).toMatchObject({ prompt_tokens: 5, completion_tokens: 33, end_reason: 'completed' });
});

test('a crash in the middle of an answer charges what was delivered', async () => {
  await close();
  // A copy of the file is what a killed process leaves behind.
  await open({ engine: 'sqlite' });
  upstream.script({
    answer(answer) {
      answer.print(words(200));
      answer.print('more ');
    },
  });
  const { send, untilEvent, leave } = await converse();
  send(print('a b c'));
  send(ask);
  await untilEvent('response.output_text.delta', 2);
  const observed = async () => {
    await gateway.ledger.drain();
    return gateway.raw().prepare('SELECT observed FROM holds').pluck().get();
  };
  await expect.poll(observed).toBe(Math.round((6 + 201 * 4) * 2.5));
  const file = join(gateway.dir, 'killed.db');
  gateway.raw().prepare('VACUUM INTO ?').run(file);
  const killed = openDatabase(file);
  expect(recover(createLedgerStore(killed.raw))).toMatchObject({ settled: 1, voided: 0 });
  expect(killed.raw.prepare('SELECT quota, completion_tokens, end_reason FROM logs').all()).toEqual([
    { quota: Math.round((6 + 201 * 4) * 2.5), completion_tokens: 201, end_reason: 'recovered' },
  ]);
  await killed.close();
  leave();
  await ended();
});

test('of a conversation that goes on is written down which channel serves it, and its factor', async () => {
  const id = await gateway.channel(upstream.url, { models: 'own-realtime', setting: '{"channel_factor":0.5}' });
  await gateway.option('ModelRatio', '{"own-realtime":1}');
  upstream.script({ answer: (answer) => answer.print('word ') });
  const rows = vi.spyOn(gateway.balances.money.open, 'begin');
  const { send, untilEvent, leave } = await converse(key, 'model=own-realtime');
  send(print('a'));
  send(ask);
  await untilEvent('response.output_text.delta');
  const served = () => [Row.channelId, Row.channelFactor].map((cell) => rows.mock.results[0]?.value?.cells[cell]);
  await expect.poll(served).toEqual([id, 0.5]);
  leave();
  await ended();
});

test('a crash charges no input of an answer of which nothing was delivered, and what came before it in full', async () => {
  await close();
  await open({ engine: 'sqlite' });
  let second: Answer | undefined;
  let asked = 0;
  upstream.script({
    answer(answer) {
      if (asked++ > 0) {
        second = answer;
        return;
      }
      answer.print('first');
      answer.done(realtimeUsage(40, 8));
    },
  });
  const { send, untilEvent, leave } = await converse();
  const observed = async () => {
    await gateway.ledger.drain();
    return gateway.raw().prepare('SELECT observed FROM holds').pluck().get();
  };
  send(ask);
  await untilEvent('response.done');
  const whole = (40 + 8 * 4) * 2.5;
  await expect.poll(observed).toBe(whole);
  send(print(words(400)));
  send(ask);
  await untilEvent('response.created', 2);
  // Every event that is read on writes down what is owed.
  send({ type: 'session.update', session: { type: 'realtime', instructions: '' } });
  await untilEvent('session.updated');
  expect(await observed()).toBe(whole);
  second?.print('now');
  await expect.poll(observed).toBeGreaterThan(whole + 400 * 2.5);
  leave();
  await ended();
});

test.each(['words', 'sound'])('the first %s of an answer are written down at once', async (kind) => {
  await close();
  await open({ engine: 'sqlite', limits: { billMs: 300, checkpointMs: 1e9 } });
  upstream.script({ answer: (answer) => (kind === 'words' ? answer.print('now') : answer.speak(sound(1))) });
  const { send, leave } = await converse();
  send(print('a b c'));
  send(ask);
  const observed = async () => {
    await gateway.ledger.drain();
    return gateway.raw().prepare('SELECT observed FROM holds').pluck().get();
  };
  // More than the six tokens that it read.
  await expect.poll(observed).toBeGreaterThan(6 * 2.5);
  leave();
  await ended();
});

test('a client whose balance runs out gets an error in the protocol’s own form, and pays for no more than there was', async () => {
  const poor = await gateway.token({ unlimited_quota: false, remain_quota: 20_000 });
  let stop = false;
  upstream.script({
    async answer(answer) {
      for (let second = 0; second < 600 && !stop; second++) {
        answer.speak(sound(1));
        await Bun.sleep(1);
      }
    },
  });
  const { send, closed, received } = await converse(poor.key);
  send(ask);
  expect(await closed).toMatchObject({ code: 1008 });
  stop = true;
  expect(received.at(-1)).toMatchObject({
    type: 'error',
    error: { code: 'user_exhausted', type: 'insufficient_quota' },
  });
  const log = await row();
  expect(log).toMatchObject({ end_reason: 'quota_cut' });
  // A second costs 20 x 2.5 x 20 x 2 = 2,000.
  const delivered = received.filter(({ type }) => type === 'response.output_audio.delta').length;
  expect(delivered).toBeGreaterThan(5);
  expect(log?.quota).toBe(delivered * 2000);
  expect(log?.quota).toBeLessThanOrEqual(20_000);
});

/** Holds and balances in whole seconds of speech: 2,000 each. */
const poorKey = async (quota: number) => (await gateway.token({ unlimited_quota: false, remain_quota: quota })).key;

test('an answer that the balance does not carry is asked for shorter, in the words of the session', async () => {
  upstream.script({ answer: (answer) => answer.done(realtimeUsage(10, 10)) });
  const { send, untilEvent, leave } = await converse(await poorKey(50_000));
  send({ type: 'response.create', response: { instructions: 'be kind' } });
  await untilEvent('response.done');
  expect(upstream.received).toEqual([
    { type: 'response.create', response: { instructions: 'be kind', max_output_tokens: 256 } },
  ]);
  upstream.send({ type: 'session.updated', session: { max_response_output_tokens: 40, turn_detection: null } });
  await untilEvent('session.updated');
  send(ask);
  await untilEvent('response.done', 2);
  expect(upstream.received.at(-1)).toEqual(ask);
  upstream.send({ type: 'session.updated', session: { max_response_output_tokens: 'inf' } });
  await untilEvent('session.updated', 2);
  send(ask);
  await untilEvent('response.done', 3);
  expect(upstream.received.at(-1)).toEqual({ ...ask, response: { max_response_output_tokens: 256 } });
  leave();
  await ended();
});

test('an unaffordable answer is not asked for; the one before it is paid by its own end', async () => {
  upstream.script({ answer: (answer) => answer.speak(sound(1)), cancelled: realtimeUsage(0, 20, { spoken: 20 }) });
  const { send, untilEvent, closed, received } = await converse(await poorKey(8_000));
  send(ask);
  await untilEvent('response.output_audio.delta');
  send({ ...ask, response: { instructions: words(400) } });
  expect(await closed).toEqual({ code: 1008, reason: 'user_exhausted' });
  expect(received.at(-1)).toMatchObject({ type: 'error', error: { code: 'user_exhausted' } });
  expect(upstream.received.map(({ type }) => type)).toEqual(['response.create', 'response.cancel']);
  expect(await row()).toMatchObject({ quota: 2000, end_reason: 'quota_cut', usage_source: 'reported' });
});

test('a session whose answers begin unasked gets its output limit before the sound goes on', async () => {
  const { send, untilEvent, closed, received } = await converse(await poorKey(50_000));
  const audio = (seconds: number) => Buffer.from(sound(seconds)).toString('base64');
  send({ type: 'input_audio_buffer.append', audio: audio(1) });
  await expect.poll(() => upstream.received.length).toBe(2);
  expect(upstream.received).toEqual([
    { type: 'session.update', session: { type: 'realtime', max_output_tokens: 256 } },
    { type: 'input_audio_buffer.append', audio: audio(1) },
  ]);
  await untilEvent('session.updated');
  // 10 tokens of 50 a second: 120 s are 60,000.
  send({ type: 'input_audio_buffer.append', audio: audio(120) });
  expect(await closed).toMatchObject({ code: 1008 });
  expect(received.at(-1)).toMatchObject({ type: 'error', error: { code: 'user_exhausted' } });
  expect(upstream.received).toHaveLength(2);
  expect(await row()).toMatchObject({ quota: 0 });
});

test('a turn that costs as much as there is goes on, one quota more ends it', async () => {
  await gateway.option('ModelRatio', JSON.stringify({ [model]: 1 }));
  upstream.script({ answer: (answer) => answer.done(realtimeUsage(8000, 0)) });
  const { send, untilEvent, closed, received } = await converse(await poorKey(8000));
  send(ask);
  await untilEvent('response.done');
  send(print('go on'));
  await untilEvent('conversation.item.added');
  expect(received.filter(({ type }) => type === 'error')).toEqual([]);
  upstream.send({
    type: 'conversation.item.input_audio_transcription.completed',
    item_id: 'item_heard',
    content_index: 0,
    transcript: 'a',
    usage: { type: 'tokens', total_tokens: 1, input_tokens: 1, output_tokens: 0 },
  });
  expect(await closed).toEqual({ code: 1008, reason: 'user_exhausted' });
  expect(await row()).toMatchObject({ prompt_tokens: 8001, end_reason: 'quota_cut' });
});

test('what listening along costs is charged at the price of the model that listens', async () => {
  upstream.script({ answer: (answer) => answer.done(realtimeUsage(10, 10)) });
  const { send, untilEvent, leave } = await converse();
  send({
    type: 'session.update',
    session: { type: 'realtime', audio: { input: { transcription: { model: 'whisper-1' } } } },
  });
  await untilEvent('session.updated');
  const written = (usage: unknown) =>
    upstream.send({
      type: 'conversation.item.input_audio_transcription.completed',
      item_id: 'item_heard',
      content_index: 0,
      transcript: 'hello',
      usage,
    });
  written({ type: 'duration', seconds: 20 });
  written({ type: 'duration', seconds: 40 });
  await untilEvent('conversation.item.input_audio_transcription.completed', 2);
  send(ask);
  await untilEvent('response.done');
  leave();
  await ended();
  const logs = await gateway.logs();
  expect(logs).toHaveLength(2);
  const received = logs.find((log) => log.model_name === 'whisper-1');
  // A minute is 1,000 tokens.
  expect(received).toMatchObject({ prompt_tokens: 1000, quota: 15_000, usage_source: 'reported' });
  expect(logs.find((log) => log.model_name === model)).toMatchObject({ prompt_tokens: 10, completion_tokens: 10 });
});

test('listening along without a price of its own is charged at the conversation’s', async () => {
  const { untilEvent, leave } = await converse();
  upstream.send({
    type: 'conversation.item.input_audio_transcription.completed',
    item_id: 'item_heard',
    content_index: 0,
    transcript: 'hello',
    usage: {
      type: 'tokens',
      total_tokens: 22,
      input_tokens: 13,
      input_token_details: { text_tokens: 0, audio_tokens: 13 },
      output_tokens: 9,
    },
  });
  await untilEvent('conversation.item.input_audio_transcription.completed');
  leave();
  expect(await row()).toMatchObject({ prompt_tokens: 13, completion_tokens: 9, quota: 13 * 20 * 2.5 + 9 * 4 * 2.5 });
});

test('a usage that contradicts itself keeps its totals', async () => {
  const usage = { ...realtimeUsage(10, 5), input_token_details: { cached_tokens: 40, audio_tokens: 90 } };
  upstream.script({ answer: (answer) => answer.done(usage) });
  const { send, untilEvent, leave } = await converse();
  send(ask);
  await untilEvent('response.done');
  leave();
  expect(await row()).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, usage_source: 'reported' });
});

test('counts of tokens that cannot be are not told, and nobody is charged by them', async () => {
  const usage = { ...realtimeUsage(10, 5), input_tokens: -10 };
  upstream.script({ answer: (answer) => answer.done(usage) });
  const { send, untilEvent, leave, received } = await converse();
  send(ask);
  await untilEvent('response.done');
  const done = received.find(({ type }) => type === 'response.done');
  expect(done).toMatchObject({ response: { usage: { ...usage, input_tokens: 0 } } });
  leave();
  expect(await row()).toMatchObject({ usage_source: 'estimated' });
});

/** As the change feed tells it; nobody may ban the owner of this gateway for real. */
const banned = async () => {
  const user = gateway.state.user(gateway.userId);
  if (user === undefined) throw new Error('nobody to ban');
  gateway.state.apply({
    kind: 'delta',
    seq: 0,
    users: [{ ...user, status: 2 }],
    tokens: [],
    channels: [],
    options: {},
    removed: { users: [], tokens: [], channels: [] },
  });
};

test.each<[string, () => Promise<unknown>, string]>([
  ['is banned', banned, 'user_disabled'],
  ['has the key disabled', () => changeToken({ status: 2 }), 'token_disabled'],
  ['has the key expired', () => changeToken({ expired_time: 1 }), 'token_expired'],
  ['has the key deleted', () => removeToken(), 'token_invalid'],
  [
    'has the model taken from the key',
    () => changeToken({ model_limits_enabled: true, model_limits: 'gpt-4o-mini' }),
    'model_not_allowed',
  ],
  ['has the key limited to other channels', () => changeToken({ channels: '9999' }), 'channel_pin_unbound'],
])(
  'a user who %s is disconnected from an open conversation, and pays for what was said',
  async (_what, change, code) => {
    upstream.script({ answer: (answer) => answer.print(words(20)), cancelled: realtimeUsage(3, 21) });
    const { send, untilEvent, closed, received } = await converse();
    send(ask);
    await untilEvent('response.output_text.delta');
    await change();
    await gateway.sync();
    expect(await closed).toEqual({ code: 1008, reason: code });
    expect(received.at(-1)).toMatchObject({ type: 'error', error: { code } });
    const billed = await row();
    expect(billed).toMatchObject({ prompt_tokens: 3, completion_tokens: 21, usage_source: 'reported' });
    expect(billed).toMatchObject({ end_reason: 'rejected' });
    expect(JSON.parse(billed?.other ?? '{}')).toMatchObject({ failure: code });
    expect(upstream.connected()).toBe(0);
  },
);

const tokenId = () => gateway.state.tokenByHmac(gateway.vault.keyHmac(key))?.id ?? 0;
const changeToken = (fields: Record<string, unknown>) =>
  gateway.services.tokens.update(tokenId(), gateway.userId, fields as never, false);
const removeToken = () => gateway.services.tokens.remove(tokenId(), gateway.userId);

test('a key that expires during a conversation gets no further turn', async () => {
  let aheadMs = 0;
  await close();
  await open({ relay: { timers: { ...systemTimers, now: () => Date.now() + aheadMs } } });
  upstream.script({ answer: (answer) => answer.done(realtimeUsage(1, 1)) });
  const { send, untilEvent, closed } = await converse();
  send(ask);
  await untilEvent('response.done');
  await changeToken({ expired_time: Math.floor(Date.now() / 1000) + 600 });
  await gateway.sync();
  send(ask);
  await untilEvent('response.done', 2);
  aheadMs = 602_000;
  send(ask);
  expect(await closed).toEqual({ code: 1008, reason: 'token_expired' });
  expect(upstream.received.filter(({ type }) => type === 'response.create')).toHaveLength(2);
});

test.each<[string, string]>([
  ['a session', '{"type":"session.update","session":{"model":"gpt-4o-mini"}}'],
  ['an answer', '{"type":"response.create","response":{"model":"gpt-4o-mini"}}'],
  ['an event', '{"type":"session.update","model":"gpt-4o-mini"}'],
  ['a session that folds', '{"type":"session.update","\\u017fession":{"MODEL":"gpt-4o-mini"}}'],
  ['a session, as a list', '{"type":"session.update","session":{"model":["gpt-4o-mini"]}}'],
])('another model for %s goes no further', async (_what, event) => {
  upstream.script({ answer: (answer) => answer.done(realtimeUsage(1, 1)) });
  const { send, untilEvent, leave, received } = await converse();
  send(JSON.parse(event) as Record<string, unknown>);
  await untilEvent('error');
  expect(received.at(-1)).toMatchObject({ error: { code: 'realtime_model_fixed' } });
  send({ type: 'session.update', session: { model, instructions: 'be kind' } });
  send(ask);
  await untilEvent('response.done');
  expect(upstream.received.map(({ type }) => type)).toEqual(['session.update', 'response.create']);
  leave();
  await ended();
});

test('a model that listens along must be one the key may use', async () => {
  await changeToken({ model_limits_enabled: true, model_limits: model });
  await gateway.sync();
  const { send, untilEvent, received, leave } = await converse();
  send({ type: 'session.update', session: { input_audio_transcription: { model: 'whisper-1' } } });
  await untilEvent('error');
  expect(received.at(-1)).toMatchObject({ error: { code: 'model_not_allowed' } });
  expect(upstream.received).toEqual([]);
  leave();
  await ended();
});

test('every turn counts as a request where requests are limited', async () => {
  upstream.script({ answer: (answer) => answer.done(realtimeUsage(1, 1)), cancelled: realtimeUsage(1, 0) });
  await gateway.option('ModelRequestRateLimitEnabled', 'true');
  await gateway.option('ModelRequestRateLimitDurationMinutes', '1');
  await gateway.option('ModelRequestRateLimitCount', '2');
  await gateway.option('ModelRequestRateLimitSuccessCount', '100');
  const { send, untilEvent, received, leave } = await converse();
  send(ask);
  await untilEvent('response.done');
  send(ask);
  await untilEvent('response.done', 2);
  send(ask);
  await untilEvent('error');
  expect(received.at(-1)).toMatchObject({ error: { code: 'limit_requests' } });
  expect(upstream.received).toHaveLength(2);
  upstream.script({ answer: () => undefined, cancelled: realtimeUsage(1, 0) });
  upstream.answerUnasked();
  await untilEvent('response.done', 3);
  expect(upstream.received.at(-1)).toEqual({ type: 'response.cancel' });
  leave();
  await ended();
});

test('unwanted words are found in frames of bytes too, and frames that cannot be read go no further', async () => {
  await gateway.option('CheckSensitiveEnabled', 'true');
  await gateway.option('CheckSensitiveOnPromptEnabled', 'true');
  await gateway.option('SensitiveWords', 'forbidden-fruit');
  const socket = new WebSocket(`ws://127.0.0.1:${door.port}/v1/realtime?model=${model}`, {
    headers: { authorization: `Bearer sk-${key}` },
  } as unknown as string[]);
  const codes: unknown[] = [];
  socket.onmessage = ({ data }) => {
    const event = JSON.parse(String(data)) as { type: string; error?: { code: string } };
    if (event.type === 'error') codes.push(event.error?.code);
  };
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  socket.send(new TextEncoder().encode(JSON.stringify(print('a forbidden-fruit'))));
  await expect.poll(() => codes).toEqual(['sensitive_words']);
  socket.send('{"type":"response.create"');
  await expect.poll(() => codes).toEqual(['sensitive_words', 'body_not_json']);
  socket.send(`{"type":"session.update","session":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
  await expect.poll(() => codes.at(-1)).toBe('body_too_deep');
  expect(upstream.received).toEqual([]);
  socket.close();
  await ended();
});

const writtenDown = (usage: unknown, transcript = 'hello') =>
  upstream.send({
    type: 'conversation.item.input_audio_transcription.completed',
    item_id: 'item_heard',
    content_index: 0,
    transcript,
    usage,
  });
const forms: readonly (readonly [string, Event])[] = [
  [
    'today',
    {
      type: 'session.update',
      session: { type: 'transcription', audio: { input: { transcription: { model: 'writer' } } } },
    },
  ],
  ['before', { type: 'transcription_session.update', session: { input_audio_transcription: { model: 'writer' } } }],
];

test.each(forms)(
  'a session that only writes down names its model once it is open, as clients of %s do',
  async (_when, update) => {
    await gateway.channel(upstream.url, { models: 'writer' });
    await gateway.channel(upstream.url, { models: 'whisper-1,writer' });
    await gateway.option('ModelRatio', '{"writer":4,"whisper-1":15}');
    const { send, untilEvent, leave } = await converse(key, 'intent=transcription');
    expect(new URL(upstream.seen[0]?.url ?? '').search).toBe('?intent=transcription');
    send(update);
    await untilEvent(update.type.replace(/update$/, 'updated'));
    send({ type: 'input_audio_buffer.append', audio: Buffer.from(sound(2)).toString('base64') });
    send({ type: 'input_audio_buffer.commit' });
    await untilEvent('input_audio_buffer.committed');
    writtenDown({ type: 'duration', seconds: 60 });
    await untilEvent('conversation.item.input_audio_transcription.completed');
    leave();
    await ended();
    const logs = await gateway.logs();
    // A minute is 1,000 tokens, at the price of the model that wrote.
    expect(logs.find((log) => log.model_name === 'writer')).toMatchObject({ prompt_tokens: 1000, quota: 4000 });
    expect(logs.find((log) => log.model_name === 'whisper-1')).toMatchObject({
      completion_tokens: 0,
      end_reason: 'completed',
    });
  },
);

test('a session that only writes down is let in under the model that its address names, and sends the upstream none', async () => {
  const { leave } = await converse(key, `model=${model}&intent=transcription`);
  expect(new URL(upstream.seen[0]?.url ?? '').search).toBe('?intent=transcription');
  leave();
  expect(await row()).toMatchObject({ model_name: model });
});

test('what is written down without a name is charged at the price of the model that let it in', async () => {
  const { untilEvent, leave } = await converse(key, 'intent=transcription');
  writtenDown({ type: 'duration', seconds: 60 });
  await untilEvent('conversation.item.input_audio_transcription.completed');
  leave();
  expect(await row()).toMatchObject({ model_name: 'whisper-1', prompt_tokens: 1000, quota: 15_000 });
});

test.each<readonly [string, Event]>([
  ['an answer', ask],
  ['a conversation', { type: 'session.update', session: { type: 'realtime' } }],
])('a session that only writes down asks the upstream for nothing else: %s', async (_what, event) => {
  const { send, untilEvent, received, leave } = await converse(key, 'intent=transcription');
  send(event);
  await untilEvent('error');
  expect(received.at(-1)).toMatchObject({ error: { code: 'realtime_transcribes' } });
  expect(upstream.received).toEqual([]);
  leave();
  await ended();
});

test('an upstream that answers in a session that only writes down is stopped', async () => {
  const { received, closed } = await converse(key, 'intent=transcription');
  upstream.send({
    type: 'response.created',
    response: { id: 'r', object: 'realtime.response', status: 'in_progress' },
  });
  expect(await closed).toEqual({ code: 1008, reason: 'realtime_transcribes' });
  expect(received.at(-1)).toMatchObject({ error: { code: 'realtime_transcribes' } });
  await expect.poll(() => upstream.received).toEqual([{ type: 'response.cancel' }]);
  expect(await row()).toMatchObject({ end_reason: 'rejected' });
});

test('a key that may not use the model that writes down is refused, before the socket and in it', async () => {
  const only = await gateway.token({ model_limits_enabled: true, model_limits: 'whisper-1' });
  const { send, untilEvent, received, leave } = await converse(only.key, 'intent=transcription');
  send(forms[0]?.[1] ?? {});
  await untilEvent('error');
  expect(received.at(-1)).toMatchObject({ error: { code: 'model_not_allowed' } });
  expect(upstream.received).toEqual([]);
  leave();
  await ended();
  const none = await gateway.token({ model_limits_enabled: true, model_limits: 'writer' });
  const address = `ws://127.0.0.1:${door.port}/v1/realtime?intent=transcription`;
  const socket = new WebSocket(address, ['realtime', `openai-insecure-api-key.sk-${none.key}`]);
  await new Promise((resolve) => {
    socket.onerror = resolve;
  });
  expect(upstream.seen).toHaveLength(1);
});
