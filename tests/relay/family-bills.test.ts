/** What the family's consoles make of our log rows is what was charged. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { figure } from '../support/figure.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { randomOf } from '../support/random.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

interface Row {
  readonly quota: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly other: string;
}

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
const perMillion = 1_000_000;

beforeAll(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => sendJson(response, {}));
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini,gpt-4o-audio-preview,gpt-image-1,fixed' });
  await gateway.channel(upstream.url, { type: 14, models: 'claude-sonnet-4-5' });
  await gateway.option('GroupRatio', '{"default":1.7}');
  await gateway.option('ModelPrice', '{"fixed":0.0123}');
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

/** Dollars as the family's console computes them, from nothing but the row: render.js, renderModelPrice and its kin. */
function familyCost({ prompt_tokens: prompt, completion_tokens: completion, other: text }: Row): number {
  const other = JSON.parse(text) as Record<string, number> & { claude?: boolean; audio?: boolean; image?: boolean };
  const field = (name: string, absent: number): number => other[name] ?? absent;
  const group = field('group_ratio', 1);
  if (field('model_price', -1) !== -1) return field('model_price', 0) * group;
  const input = (field('model_ratio', 0) * 2) / perMillion;
  const output = input * field('completion_ratio', 1);
  const cached = field('cache_tokens', 0);
  const cacheRatio = field('cache_ratio', 1);
  if (other.audio === true) {
    const sound = input * field('audio_ratio', 1);
    return (
      group *
      ((field('text_input', 0) - cached + cached * cacheRatio) * input +
        field('text_output', 0) * output +
        field('audio_input', 0) * sound +
        field('audio_output', 0) * sound * field('audio_completion_ratio', 1))
    );
  }
  const images = other.image === true ? field('image_output', 0) : 0;
  const read =
    other.claude === true
      ? prompt + cached * cacheRatio + field('cache_creation_tokens', 0) * field('cache_creation_ratio', 1)
      : images > 0
        ? prompt - images + images * field('image_ratio', 1)
        : prompt - cached + cached * cacheRatio;
  return group * (read * input + completion * output);
}

const next = randomOf(200);
const upTo = (max: number): number => Math.floor(next() * max) + 1;

const ask = async (path: string, body: object, usage: object, answer: object): Promise<Row> => {
  upstream.script((response) => sendJson(response, { ...answer, usage }));
  const response = await gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
  expect([path, response.status, await response.text()]).toEqual([path, 200, expect.any(String)]);
  await gateway.ledger.drain();
  const [row] = (await gateway.services.logs.page({}, 1, 1, true)).items;
  if (row === undefined) throw new Error('no row');
  return row;
};

const messages = [{ role: 'user', content: 'hi' }];
const greeting = { choices: [{ message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }] };
const chat = (model: string, usage: object) => ask('/v1/chat/completions', { model, messages }, usage, greeting);

const kinds: Readonly<Record<string, () => Promise<Row>>> = {
  text: () => chat('gpt-4o-mini', { prompt_tokens: upTo(9000), completion_tokens: upTo(900) }),
  'cached, OpenAI': () => {
    const prompt_tokens = 1000 + upTo(9000);
    const details = { cached_tokens: upTo(prompt_tokens) };
    return chat('gpt-4o-mini', { prompt_tokens, completion_tokens: upTo(900), prompt_tokens_details: details });
  },
  'cached, Claude': () =>
    ask(
      '/v1/messages',
      { model: 'claude-sonnet-4-5', max_tokens: 100, messages },
      {
        input_tokens: upTo(3000),
        output_tokens: upTo(90),
        cache_read_input_tokens: upTo(9000),
        cache_creation_input_tokens: upTo(2000),
      },
      { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'hi' }], stop_reason: 'end_turn' },
    ),
  'Claude for an OpenAI client': () => {
    return ask(
      '/v1/chat/completions',
      { model: 'claude-sonnet-4-5', messages },
      { input_tokens: upTo(3000), output_tokens: upTo(90), cache_read_input_tokens: upTo(9000) },
      { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'hi' }], stop_reason: 'end_turn' },
    );
  },
  sound: () => {
    const [words, sound, spoken, written] = [upTo(900), upTo(900), upTo(900), upTo(900)];
    const cached = upTo(words);
    return chat('gpt-4o-audio-preview', {
      prompt_tokens: words + sound,
      completion_tokens: spoken + written,
      prompt_tokens_details: { text_tokens: words, audio_tokens: sound, cached_tokens: cached },
      completion_tokens_details: { text_tokens: written, audio_tokens: spoken },
    });
  },
  pictures: () => {
    const [words, images] = [upTo(300), upTo(900)];
    return ask(
      '/v1/images/generations',
      { model: 'gpt-image-1', prompt: 'a cat' },
      {
        input_tokens: words + images,
        output_tokens: upTo(4000),
        input_tokens_details: { text_tokens: words, image_tokens: images },
      },
      { created: 1, data: [{ b64_json: 'AAAA' }] },
    );
  },
  'by the call': () => chat('fixed', { prompt_tokens: upTo(9000), completion_tokens: upTo(900) }),
};

const rounds = 29;
let compared = 0;
let differing = 0;
test.each(Object.keys(kinds))(`${rounds} rows of %s cost by the family’s formula what was charged`, async (kind) => {
  const differ: unknown[] = [];
  for (let round = 0; round < rounds; round++) {
    const row = await kinds[kind]?.();
    if (row === undefined) throw new Error(kind);
    // With what the requests before it left of a unit.
    const displayed = familyCost(row) * 500_000 + Number((JSON.parse(row.other) as { carried?: number }).carried);
    const left = displayed - row.quota;
    if (row.quota === 0 || !(left > -1e-6 && left < 1)) differ.push({ displayed, ...row });
  }
  compared += rounds;
  differing += differ.length;
  expect(differ).toEqual([]);
});

test('there are two hundred', () => {
  expect(compared).toBeGreaterThanOrEqual(200);
  figure(`${compared} bills by the family’s formula (${Object.keys(kinds).join(', ')}), ${differing} differ`);
  expect(differing).toBe(0);
});

test('the row says how much was to be thought', async () => {
  const effort = { reasoning_effort: 'low' };
  const row = await ask(
    '/v1/chat/completions',
    { model: 'gpt-4o-mini', messages, ...effort },
    { prompt_tokens: 1 },
    greeting,
  );
  expect(JSON.parse(row.other)).toMatchObject(effort);
});
