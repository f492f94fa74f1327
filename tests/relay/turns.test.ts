/** What the answers of a conversation may cost, before and while they run. */
import { expect, test } from 'vitest';
import { Turns } from '../../server/relay/endpoints/realtime/turns.ts';

const counter = {
  count: async (_model: string, texts: readonly string[]) => texts.map(() => 0),
  close: () => undefined,
};
const session = (more: object) => ({ type: 'session.updated', session: { output_modalities: ['text'], ...more } });
const created = (id: string) => ({ type: 'response.created', response: { id } });
const done = (id: string, usage: object | null, more: object = {}) => ({
  type: 'response.done',
  response: { id, status: 'completed', usage, ...more },
});
let clock = 0;
const quiet = { turn_detection: null };

test('an error that was about something else leaves an answer what was held for it', () => {
  const turns = new Turns(counter, 'm', () => clock);
  turns.received(session({ ...quiet, max_output_tokens: 4000 }));
  turns.sent({ type: 'response.create' });
  turns.ask(turns.next(null, 20));
  turns.received({ type: 'error', error: {} });
  turns.received(created('a'));
  expect(turns.max()).toMatchObject({ output: 20 });
});

test('a response without a request may get as long as the session allows', () => {
  const turns = new Turns(counter, 'm', () => clock);
  turns.received(session({ max_response_output_tokens: 300 }));
  turns.received(created('a'));
  expect(turns.max()).toMatchObject({ output: 300, audioOutput: 0 });
  expect(turns.session.limited(7)).toEqual({ max_response_output_tokens: 7 });
});

test('the next answer reads what those before it read and wrote, also while they run', () => {
  const turns = new Turns(counter, 'm', () => clock);
  turns.received(session({ ...quiet, output_modalities: ['audio'] }));
  turns.ask(turns.next(null, 100));
  const first = turns.max();
  const second = turns.next(null, 50);
  expect(second).toMatchObject({ input: first.input + 64, audioInput: 100, audioOutput: 50 });
  turns.received(created('a'));
  expect(turns.next(null, 50)).toEqual(second);
  const usage = {
    input_tokens: 30,
    output_tokens: 12,
    input_token_details: {
      audio_tokens: 20,
      cached_tokens: 15,
      cached_tokens_details: { text_tokens: 5, audio_tokens: 10 },
    },
    output_token_details: { audio_tokens: 8 },
  };
  turns.received(done('a', usage));
  // 10 words read and 4 written; 20 of sound heard and 8 spoken.
  expect(turns.next(null, 50)).toMatchObject({ input: 14 + 64, audioInput: 28, audioOutput: 50 });
});

test.each([
  ['mcp_call', 'output', 'found '.repeat(5000)],
  [
    'mcp_list_tools',
    'tools',
    Array.from({ length: 100 }, (_, at) => ({ name: `t${at}`, description: 'does '.repeat(60) })),
  ],
])('the next answer reads what another server said, once: %s', (type, member, said) => {
  const turns = new Turns(counter, 'm', () => clock);
  turns.received(session(quiet));
  turns.received(created('a'));
  const item = { id: 'i', type, [member]: said };
  turns.received({ type: 'conversation.item.created', item: { ...item, [member]: null } });
  turns.received({ type: 'response.output_item.done', item });
  const usage = { input_tokens: 10, output_tokens: 5 };
  turns.received(done('a', usage));
  const { input } = turns.next(null, 20);
  expect(input).toBeGreaterThanOrEqual(30_000);
  turns.received({ type: 'conversation.item.done', item });
  expect(turns.next(null, 20).input).toBe(input);
  turns.received(created('b'));
  turns.received(done('b', { input_tokens: 8000, output_tokens: 5 }));
  expect(turns.next(null, 20).input).toBeLessThan(9000);
});

test('an answer that belongs to no conversation is not read again', () => {
  const turns = new Turns(counter, 'm', () => clock);
  turns.received(session(quiet));
  turns.received(created('a'));
  turns.received(done('a', { input_tokens: 500, output_tokens: 500 }, { conversation_id: null }));
  expect(turns.next(null, 1)).toMatchObject({ input: 64, output: 1 });
});

test('an answer that outgrows its limit is held for as it grows', () => {
  const turns = new Turns(counter, 'm', () => clock);
  turns.received(session({ ...quiet, output_modalities: ['audio'], output_audio_format: 'g711_ulaw' }));
  turns.ask(turns.next(null, 20));
  turns.received(created('a'));
  turns.raiseMax(20);
  expect(turns.max()).toMatchObject({ audioOutput: 20 });
  const delta = Buffer.alloc(3 * 8000).toString('base64');
  turns.received({ type: 'response.audio.delta', response_id: 'a', delta });
  turns.raiseMax(20);
  expect(turns.max()).toMatchObject({ audioOutput: 80 });
});

test('a wish for more counts at once, one for less when the upstream has agreed', () => {
  const turns = new Turns(counter, 'm', () => clock);
  const { session: set } = turns;
  turns.received(session({ ...quiet, max_output_tokens: 100 }));
  turns.sent({ type: 'session.update', session: { max_output_tokens: 50, output_modalities: ['audio'] } });
  expect([set.limit(), set.requested(), set.hasAudio(null)]).toEqual([100, 50, true]);
  turns.received(session({ max_output_tokens: 50 }));
  expect([set.limit(), set.hasAudio(null), set.hasAudio({ modalities: ['audio'] })]).toEqual([50, false, true]);
  turns.sent({ type: 'session.update', session: { max_output_tokens: 'inf', turn_detection: { type: 'server_vad' } } });
  expect([set.limit(), set.limitOf({ max_output_tokens: 9 }), set.acceptsAudio()]).toEqual([4096, 9, true]);
  turns.received(session({ audio: { input: { turn_detection: { type: 'server_vad', create_response: false } } } }));
  expect(set.acceptsAudio()).toBe(false);
});

test('silence is held for until it is known to be silence, speech as long as it is', () => {
  const turns = new Turns(counter, 'm', () => clock);
  const format = { input_audio_format: 'g711_ulaw' };
  const append = (seconds: number) =>
    turns.sent({ type: 'input_audio_buffer.append', audio: Buffer.alloc(seconds * 8000).toString('base64') });
  const received = () => Math.round(turns.committedAudio().pending);
  turns.received(session({ ...format, turn_detection: { type: 'server_vad' } }));
  append(60);
  expect(received()).toBe(60);
  clock += 6000;
  append(1);
  append(1);
  expect(received()).toBe(2);
  turns.received({ type: 'input_audio_buffer.speech_started', audio_start_ms: 58_000 });
  append(10);
  expect(received()).toBe(14);
  turns.received({ type: 'input_audio_buffer.speech_stopped', audio_end_ms: 68_000 });
  expect(received()).toBe(10);
  turns.received({ type: 'input_audio_buffer.committed', item_id: 'i' });
  expect(turns.committedAudio()).toMatchObject({ committed: 10, pending: 0 });
  turns.received(session({ ...format, turn_detection: null }));
  append(60);
  expect(received()).toBe(60);
});

test('an answer that ended without a usage leaves behind what it might have read and written', () => {
  const turns = new Turns(counter, 'm', () => clock);
  turns.received(session(quiet));
  turns.ask(turns.next(null, 40));
  turns.received(created('a'));
  turns.received(done('a', null, { output: [{ id: 'i', content: [{ text: 'four words of it' }] }] }));
  expect(turns.next(null, 1)).toMatchObject({ input: 40 + 64 + 64, output: 1 });
  expect(turns.bound()).toMatchObject({ output: 'four words of it'.length / 2 });
});

test('a turn that is asked and not answered yet is bounded by its reading: half a token a character', () => {
  const boundOf = (characters: number) => {
    const turns = new Turns(counter, 'm', () => clock);
    turns.received(session(quiet));
    const content = [{ type: 'input_text', text: 'x'.repeat(characters) }];
    turns.sent({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
    turns.ask(turns.next(null, 20));
    return turns.bound().input;
  };
  expect(boundOf(3000) - boundOf(1000)).toBe(1000);
});

test.each([
  ['completed', 'estimated'],
  ['failed', 'none'],
] as const)('an answer without words and usage that %s is a bill that is %s', (status, source) => {
  const turns = new Turns(counter, 'm', () => clock);
  turns.received(session(quiet));
  turns.received(created('a'));
  turns.received(done('a', null, { status }));
  expect(turns.source()).toBe(source);
});

test('all sound counts as heard where the upstream does not detect speech itself, from the client’s wish on', () => {
  const turns = new Turns(counter, 'm', () => clock);
  const { session: set } = turns;
  turns.sent({ type: 'session.update', session: { instructions: 'be brief' } });
  expect(set.detects()).toBe(true);
  turns.sent({ type: 'session.update', session: { turn_detection: null } });
  expect(set.detects()).toBe(false);
});
