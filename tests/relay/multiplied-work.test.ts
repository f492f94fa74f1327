/** What a request multiplies is reserved for as often, shortened to what all of it may cost, and charged as often as it was done. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ChannelFields } from '../../server/domain/channels/service.ts';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { multiplying } from '../support/multiplying.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const ratioModels = ['own', 'picture-model', 'tts-1', 'claude-haiku-4-5', 'claude-opus-4-5', 'gemini-2.5-flash'];
const claude = 'claude-haiku-4-5,claude-opus-4-5';
const rich = 100_000_000;

/** One for all that do not need a balance or channel of their own. */
let common: TestGateway;
let gateway: TestGateway;
let upstream: Upstream;
let held = 0;
let answer: object;

const available = () => gateway.balances.account(gateway.userId, 0).available();
/** What is held while the upstream is asked. */
const reply = () => {
  const before = available();
  upstream.script((response) => {
    held = before - available();
    sendJson(response, answer);
  });
};

async function prepared(quota: number, fields: ChannelFields): Promise<TestGateway> {
  const made = await createTestGateway({ quota });
  const ones = Object.fromEntries(ratioModels.map((model) => [model, 1]));
  await made.channel(upstream.url, { models: [...ratioModels, 'called'].join(','), ...fields });
  await made.option('ModelRatio', JSON.stringify(ones));
  await made.option('CompletionRatio', JSON.stringify(ones));
  await made.option(
    'ModelPrice',
    '{"called":0.002,"ranker":0.002,"cohere-ranker":0.002,"mj_imagine":0.1,"mj_shorten":0.1}',
  );
  return made;
}

/** A gateway for one test. */
const open = async (quota: number, fields: ChannelFields = {}) => {
  gateway = await prepared(quota, fields);
};

beforeAll(async () => {
  upstream = await startUpstream(() => undefined);
  common = await prepared(rich, {});
  const typeOf = (slug: string) => providerBySlug(slug)?.type;
  await common.channel(upstream.url, { type: typeOf('jina'), models: 'ranker' });
  await common.channel(upstream.url, { type: typeOf('cohere'), models: 'cohere-ranker' });
  await common.channel(upstream.url, { type: typeOf('midjourney'), models: 'mj_imagine,mj_shorten' });
  await common.channel(upstream.url, { type: 14, models: claude, setting: '{"allow_tiers":true}' });
  await common.channel(upstream.url, { type: 24, models: 'gemini-2.5-flash' });
  await common.option('MjAccountFilterEnabled', 'true');
  await common.option('ToolPrices', '{"web_search":0.01}');
});
beforeEach(() => {
  gateway = common;
  answer = completion(1, 1);
  upstream.requests.length = 0;
});
afterEach(async () => {
  if (gateway === common) return;
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
});
afterAll(async () => {
  gateway = common;
  expect(await common.verify()).toEqual([]);
  await common.close();
  await upstream.stop();
});

const send = async (path: string, body: string | FormData, scripted = true) => {
  if (scripted) reply();
  const { key } = await gateway.token();
  const response = await gateway.send(key, path, body);
  return { status: response.status, text: await response.text() };
};
const ask = (path: string, body: object, scripted = true) => send(path, JSON.stringify(body), scripted);
const heldFor = async (path: string, body: object) => {
  held = -1;
  const { status, text } = await ask(path, body);
  expect([status, text.slice(0, 200)]).toEqual([200, expect.anything()]);
  return held;
};
/** Whatever becomes of the answer. */
const heldWhile = async (path: string, body: object) => {
  held = -1;
  await ask(path, body);
  return held;
};
/** An answer of Anthropic's. */
const message = {
  ...{ id: 'msg', type: 'message', role: 'assistant', model: 'claude-haiku-4-5', stop_reason: 'end_turn' },
  ...{ content: [{ type: 'text', text: 'hi' }], usage: { input_tokens: 1, output_tokens: 1 } },
};
const charged = async () => (await gateway.lastLog())?.quota ?? 0;
const sent = () => JSON.parse(upstream.requests.at(-1)?.body.toString() ?? '{}') as Record<string, unknown>;
const many = <T>(item: T, count = 20): T[] => Array.from({ length: count }, () => item);

const completions = '/v1/completions';
const chat = '/v1/chat/completions';
const hello = { messages: [{ role: 'user', content: 'hi' }] };

describe('a list of prompts is held for as so many answers', () => {
  const plain = { model: 'own', max_tokens: 1000 };
  test.each<readonly [string, object, number]>([
    ['texts', { prompt: many('x') }, 20],
    ['lists of tokens', { prompt: many([1, 2]) }, 20],
    ['texts and lists of tokens', { prompt: [...many<unknown>('x', 19), [1]] }, 20],
    ['each with n', { prompt: many('x'), n: 3 }, 60],
    ['each with best_of', { prompt: many('x'), n: 1, best_of: 3 }, 60],
    ['in extra_body', { prompt: 'x', extra_body: { prompt: many('x') } }, 20],
    ['in extra_body with another spelling of best_of', { prompt: many('x'), extra_body: { bestOf: 3 } }, 60],
    ['named by a member that some parser reads as best_of', { prompt: many('x'), bestOf: 3 }, 60],
    ['one list of tokens is one prompt', { prompt: many(7, 300) }, 1],
    ['one text is one prompt', { prompt: 'x' }, 1],
    ['a list of one', { prompt: ['x'] }, 1],
    ['stop words are no prompts', { prompt: 'x', stop: many('x', 4) }, 1],
    ['a note is no prompt', { prompt: 'x', metadata: { prompt: many('x'), n: 50 } }, 1],
  ])('%s', async (_name, body, times) => {
    const tokens = await heldFor(completions, { ...plain, ...body });
    expect(tokens).toBeGreaterThanOrEqual(times * 1000);
    // The prompt, by its bytes, and what stands round it.
    expect(tokens).toBeLessThan(times * 1000 + 2000);
  });

  test('a chat has no list of prompts: its member of that name multiplies nothing', async () => {
    expect(await heldFor(chat, { ...plain, ...hello, prompt: many('x') })).toBeLessThan(3000);
  });

  test('the limit that is written lets the balance carry all of them', async () => {
    await open(40_000);
    await ask(completions, { model: 'own', prompt: many('x', 100), max_tokens: 5000 });
    const { max_tokens: limit } = sent();
    expect(limit).toBeGreaterThanOrEqual(100);
    expect(100 * Number(limit)).toBeLessThan(40_000);
    expect(held).toBeGreaterThanOrEqual(100 * Number(limit));
  });

  test('a list of 2,000 prompts is refused on a balance for one', async () => {
    await open(30_000);
    const { status } = await ask(completions, { model: 'own', prompt: many('x', 2000), max_tokens: 100 });
    expect([status, upstream.requests.length]).toEqual([403, 0]);
  });

  test('every answer is charged where no usage is reported', async () => {
    answer = { choices: many(0, 50).map((_, index) => ({ index, text: 'one two three four', finish_reason: 'stop' })) };
    await ask(completions, { model: 'own', prompt: many('x', 50), max_tokens: 100 });
    expect(await charged()).toBeGreaterThanOrEqual(50 * 4);
  });
});

describe('where a call has a price, each answer or text of a request is a call', () => {
  const choices = (count: number) => ({
    ...completion(1, 1),
    choices: many(0, count).map((_, index) => ({
      index,
      text: 'x',
      message: { role: 'assistant', content: 'x' },
      finish_reason: 'stop',
    })),
  });
  const vectors = (count: number) => ({
    data: many(0, count).map((_, index) => ({ object: 'embedding', index, embedding: [0] })),
    usage: { prompt_tokens: 3, total_tokens: 3 },
  });
  test.each<readonly [string, string, object, object, number]>([
    ['prompts', completions, { prompt: many('x') }, choices(20), 20],
    ['answers of a chat', chat, { ...hello, n: 4 }, choices(4), 4],
    ['texts to embed', '/v1/embeddings', { input: many('x') }, vectors(20), 20],
    ['token lists to embed', '/v1/embeddings', { input: many([1]) }, vectors(20), 20],
    ['one text to embed', '/v1/embeddings', { input: 'x' }, vectors(1), 1],
    ['one list of tokens to embed', '/v1/embeddings', { input: many(1) }, vectors(1), 1],
    ['texts to moderate', '/v1/moderations', { input: many('x') }, { results: many({}) }, 20],
    ['one chat', chat, hello, choices(1), 1],
  ])('%s', async (_name, path, body, response, calls) => {
    answer = response;
    expect(await heldFor(path, { model: 'called', ...body })).toBe(calls * 1000);
    expect(await charged()).toBe(calls * 1000);
    if (calls === 1) return;
    const [row] = await gateway.logs();
    expect(JSON.parse(row?.other ?? '{}')).toMatchObject({ model_price: 0.002, price_factor: calls });
  });

  test('the delivered number is paid where it is less than the ordered one', async () => {
    answer = choices(2);
    expect(await heldFor(chat, { model: 'called', ...hello, n: 8 })).toBe(8000);
    expect(await charged()).toBe(2000);
  });

  test.each([
    ['a member whose name begins like the number of answers', { 'n-x': 1 }],
    ['one that reads like the note of a translation', { 'n: one answer only': 1 }],
  ])('%s makes none of the streamed answers free', async (_name, more) => {
    await open(rich);
    upstream.script((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const index of [0, 1, 2, 3])
        response.write(
          `data: ${JSON.stringify({ choices: [{ index, delta: { content: 'hi' }, finish_reason: 'stop' }] })}\n\n`,
        );
      response.end('data: [DONE]\n\n');
    });
    expect((await ask(chat, { model: 'called', ...hello, n: 4, stream: true, ...more }, false)).status).toBe(200);
    expect(sent()).toMatchObject({ n: 4 });
    expect(await charged()).toBe(4000);
  });

  test('answers that extra_body orders as well are paid where the model is known to write one', async () => {
    await open(rich, { models: 'called', model_mapping: '{"called":"o3"}' });
    upstream.script((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const index of [0, 1, 2, 3])
        response.write(
          `data: ${JSON.stringify({ choices: [{ index, delta: { content: 'hi' }, finish_reason: 'stop' }] })}\n\n`,
        );
      response.end('data: [DONE]\n\n');
    });
    const both = { n: 2, extra_body: { n: 4 } };
    expect((await ask(chat, { model: 'called', ...hello, ...both, stream: true }, false)).status).toBe(200);
    expect(sent()).not.toHaveProperty('n');
    expect(sent()).toMatchObject({ extra_body: { n: 4 } });
    expect(await charged()).toBe(4000);
  });

  test('one answer is ordered and paid where a translation would not deliver several', async () => {
    await open(rich, { type: 24 });
    upstream.script((response) => {
      const candidate = { index: 0, content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP' };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify({ candidates: [candidate] })}\n\n`);
    });
    expect((await ask(chat, { model: 'called', ...hello, n: 4, stream: true }, false)).status).toBe(200);
    expect(sent()).not.toHaveProperty('generationConfig.candidateCount');
    expect(await charged()).toBe(1000);
  });

  test('embeddings that are paid by tokens cost their tokens', async () => {
    answer = vectors(20);
    await ask('/v1/embeddings', { model: 'own', input: many('x') });
    expect(await charged()).toBe(3);
  });
});

describe('a ranking that is paid by the call is paid by the search', () => {
  const ranked = (units?: number, place: 'meta' | 'usage' = 'meta') => ({
    results: [],
    ...(units === undefined
      ? {}
      : place === 'meta'
        ? { meta: { billed_units: { search_units: units } } }
        : { usage: { search_units: units, total_tokens: 5 } }),
  });
  test.each<readonly [string, object, object, number, number]>([
    ['one document', { documents: ['a'] }, ranked(1), 1, 1],
    ['100 short documents', { documents: many('a short text', 100) }, ranked(1), 1, 1],
    ['1,000 documents as reported', { documents: many('a', 1000) }, ranked(10), 10, 10],
    ['1,000 documents although less is reported', { documents: many('a', 1000) }, ranked(1), 10, 10],
    ['1,000 documents without a report', { documents: many('a', 1000) }, ranked(), 10, 10],
    ['1,000 documents with a report in the usage', { documents: many('a', 1000) }, ranked(12, 'usage'), 10, 12],
    ['objects', { documents: many({ text: 'a' }, 300) }, ranked(), 3, 3],
    ['as texts', { texts: many('a', 300) }, ranked(), 3, 3],
    ['as passages', { passages: many({ text: 'a' }, 300) }, ranked(), 3, 3],
    ['in extra_body', { documents: ['a'], extra_body: { documents: many('a', 300) } }, ranked(), 3, 3],
    ['fields are no documents', { documents: ['a'], rank_fields: many('a', 300) }, ranked(), 1, 1],
    // 100 documents of 2,000 bytes: at most 2,000 tokens each, and 500 of usual text.
    ['long documents', { documents: many('word '.repeat(400), 100) }, ranked(), 5, 2],
    ['long documents read as far as usual', { documents: many('word '.repeat(4000), 100) }, ranked(), 9, 9],
    [
      'long documents read further, as extra_body says',
      { documents: many('word '.repeat(4000), 100), extra_body: { max_tokens_per_doc: 20_000 } },
      ranked(),
      41,
      11,
    ],
    ['a long question', { documents: many('a', 100), query: 'q'.repeat(4000) }, ranked(), 9, 3],
    [
      'a long question in extra_body',
      { documents: many('a', 100), extra_body: { query: 'q'.repeat(4000) } },
      ranked(),
      9,
      3,
    ],
    ['long documents as reported', { documents: many('word '.repeat(400), 100) }, ranked(4), 5, 4],
  ])('%s', async (_name, body, response, most, paid) => {
    answer = response;
    expect(await heldFor('/v1/rerank', { model: 'ranker', query: 'q', ...body })).toBe(most * 1000);
    expect(await charged()).toBe(paid * 1000);
  });

  test('a tight balance is asked for what the documents are when counted', async () => {
    await open(3000, { type: providerBySlug('jina')?.type, models: 'ranker' });
    answer = ranked(1);
    // 1,000 words of 1 token: 3 searches at most by their number, 5 by their bytes.
    const { status } = await ask('/v1/rerank', {
      model: 'ranker',
      query: 'q',
      documents: many('word '.repeat(400), 100),
    });
    expect(status).toBe(200);
  });

  test('a tight balance is refused less than what the documents are when counted', async () => {
    await open(2000, { type: providerBySlug('jina')?.type, models: 'ranker' });
    answer = ranked(1);
    const documents = many('word '.repeat(400), 100);
    expect((await ask('/v1/rerank', { model: 'ranker', query: 'q', documents })).status).toBe(403);
  });

  test('Cohere’s units reach clients of both forms, the bill and the log', async () => {
    for (const path of ['/v1/rerank', '/v2/rerank']) {
      answer = { ...ranked(7), results: [{ index: 0, relevance_score: 1 }] };
      const { text } = await ask(path, { model: 'cohere-ranker', query: 'q', documents: many('a', 600) });
      expect(JSON.parse(text)).toMatchObject({ meta: { billed_units: { search_units: 7 } } });
      const [row] = await gateway.logs();
      expect(row?.quota).toBe(7000);
      expect(JSON.parse(row?.other ?? '{}')).toMatchObject({ price_factor: 7 });
    }
  });
});

describe('a number that bounds something is whole as it is written', () => {
  test.each([
    [chat, '"messages":[],"max_tokens":0.5'],
    [chat, '"messages":[],"max_tokens":1e-300'],
    [chat, '"messages":[],"max_tokens":-0.5'],
    [chat, '"messages":[],"max_tokens":0.99999999999999999999'],
    [chat, '"messages":[],"max_tokens":1.5'],
    [chat, '"messages":[],"max_completion_tokens":15e-1'],
    [chat, '"messages":[],"max_tokens":5,"n_predict":0.5'],
    [chat, '"messages":[],"max_tokens":5,"max_new_tokens":0.5'],
    [chat, '"messages":[],"n":0.5'],
    [chat, '"messages":[],"extra_body":{"max_tokens":0.5}'],
    [chat, '"messages":[],"thinking":{"budget_tokens":0.5}'],
    [completions, '"prompt":"x","best_of":0.5'],
    ['/v1/responses', '"input":"x","max_output_tokens":0.5'],
    ['/v1/responses', '"input":"x","reasoning":{"max_tokens":0.5}'],
    ['/v1/messages', '"messages":[],"max_tokens":0.5'],
    ['/v2/chat', '"messages":[],"max_tokens":0.5'],
    ['/api/chat', '"messages":[],"options":{"num_predict":0.5}'],
    ['/v1beta/models/own:generateContent', '"contents":[],"generationConfig":{"maxOutputTokens":0.5}'],
    ['/v1beta/models/own:generateContent', '"contents":[],"generation_config":{"candidate_count":0.5}'],
    ['/v1/images/generations', '"prompt":"x","n":0.5'],
    ['/v1/images/generations', '"prompt":"x","partial_images":0.5'],
  ])('%s {%s}', async (path, members) => {
    expect(await send(path, `{"model":"own",${members}}`)).toMatchObject({
      status: 400,
      text: expect.stringContaining('must be a whole number'),
    });
    expect(upstream.requests).toHaveLength(0);
  });

  test.each(['16', '16.0', '1.6e1', '1.60E+1', '1600000000000000000000', '-1', '0'])('%s is whole', async (number) => {
    expect((await send(chat, `{"model":"own","messages":[],"max_tokens":${number}}`)).status).toBe(200);
  });
});

describe('pictures', () => {
  const path = '/v1/images/generations';
  const order = { model: 'picture-model', prompt: 'x', quality: 'high' };
  beforeEach(() => {
    answer = { data: [{ b64_json: 'AA==' }], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } };
  });
  test.each<readonly [string, object, number, number]>([
    ['n is held for however large it is', { n: 300 }, 300, 0],
    ['each preview of a streamed picture takes its tokens', { partial_images: 3 }, 1, 3],
    ['of each picture', { n: 4, partial_images: 3 }, 4, 12],
    ['in extra_body', { extra_body: { n: 4 } }, 4, 0],
    ['each frame of a film is a picture', { output_format: 'gif', frame_count: 16 }, 16, 0],
    ['a film that does not say how long it is', { output_format: 'gif' }, 9, 0],
    ['fewer frames than usual are no shorter film', { output_format: 'GIF', frame_count: 2 }, 9, 0],
    ['a film in extra_body', { extra_body: { output_format: 'gif' } }, 9, 0],
    ['frames in extra_body', { extra_body: { output_format: 'gif', frame_count: 16 } }, 16, 0],
    ['frames in extra_body of a film', { output_format: 'gif', extra_body: { frame_count: 16 } }, 16, 0],
    ['frames in extra_body alone', { extra_body: { frame_count: 16 } }, 16, 0],
    ['one picture in another format', { output_format: 'webp', partial_images: 0 }, 1, 0],
  ])('%s', async (_name, body, pictures, previews) => {
    const one = await heldFor(path, order);
    expect(one).toBeGreaterThan(6000);
    const found = (await heldFor(path, { ...order, ...body })) - previews * 100;
    // The prompt is read once.
    expect(found).toBeGreaterThanOrEqual(pictures * (one - 500));
    expect(found).toBeLessThan(pictures * one + 500);
  });

  test('an edit is held for by as many pictures as it sends', async () => {
    const heldWith = async (files: number) => {
      const form = new FormData();
      form.set('model', 'picture-model');
      form.set('prompt', 'x');
      for (let index = 0; index < files; index++)
        form.append('image[]', new Blob([new Uint8Array(8)], { type: 'image/png' }), 'x.png');
      held = -1;
      expect((await send('/v1/images/edits', form)).status).toBe(200);
      return held;
    };
    const usual = await heldWith(1);
    expect(Math.abs((await heldWith(16)) - usual - 12 * 5000)).toBeLessThan(10);
    expect(Math.abs((await heldWith(2)) - usual)).toBeLessThan(10);
  });

  test.each(['partial_images', 'frame_count', 'n'])('%s in a form is a whole number', async (name) => {
    const form = new FormData();
    form.set('model', 'picture-model');
    form.set('prompt', 'x');
    form.set(name, '３');
    form.set('image', new Blob([new Uint8Array(8)], { type: 'image/png' }), 'x.png');
    expect((await send('/v1/images/edits', form)).status).toBe(400);
  });
});

describe('speech is counted by the longest text that a host may read', () => {
  const long = 'a'.repeat(1000);
  test.each<readonly [string, object, number]>([
    ['text beside input', { input: 'a', text: long }, 1000],
    ['transcript beside input', { input: 'a', transcript: long }, 1000],
    ['texts in a list', { input: 'a', text: [long, long] }, 2000],
    ['in extra_body', { input: 'a', extra_body: { text: long } }, 1000],
    ['of two the longer, and not the sum', { input: long, text: long }, 1000],
    ['how it is to sound besides', { input: long, instructions: 'calm' }, 1004],
    ['a sample of the voice is no text', { input: 'a', reference_audio: long, voice: 'alloy' }, 1],
  ])('%s', async (_name, body, characters) => {
    upstream.script((response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' });
      response.end(Buffer.alloc(100, 0xff));
    });
    expect((await ask('/v1/audio/speech', { model: 'tts-1', voice: 'alloy', ...body }, false)).status).toBe(200);
    expect(await charged()).toBe(characters);
  });
});

test.each<readonly [string, string, object]>([
  ['in extra_body', chat, { ...hello, extra_body: { modalities: ['text', 'audio'] } }],
  [
    'in a configuration that extra_body holds',
    chat,
    { ...hello, extra_body: { generation_config: { response_modalities: ['AUDIO'] } } },
  ],
  ['in another spelling', chat, { ...hello, Modalities: ['audio'] }],
])('an answer that may speak is held for at the price of sound: asked for %s', async (_name, path, body) => {
  await open(rich);
  await gateway.option('AudioRatio', '{"own":1}');
  await gateway.option('AudioCompletionRatio', '{"own":10}');
  const plain = await heldFor(path, { model: 'own', max_tokens: 1000, ...hello });
  const spoken = await heldFor(path, { model: 'own', max_tokens: 1000, ...body });
  expect(spoken).toBeGreaterThanOrEqual(plain + 9000);
});

test('a fallback model is held for by the limit of its own', async () => {
  answer = message;
  const body = { model: 'claude-haiku-4-5', max_tokens: 16, ...hello };
  const plain = await heldFor('/v1/messages', { ...body, fallbacks: [{ model: 'claude-opus-4-5' }] });
  const more = await heldFor('/v1/messages', {
    ...body,
    fallbacks: [{ model: 'claude-opus-4-5', max_tokens: 30_000 }],
  });
  expect(more - plain).toBeGreaterThanOrEqual(29_900);
  expect(more - plain).toBeLessThan(31_000);
});

describe('a drawing costs as many jobs as its prompt orders', () => {
  const price = 50_000;
  const draw = async (path: string, body: object, options: Record<string, string> = {}) => {
    const all = { TierRatio: '{}', MjModeClearEnabled: 'false', ...options };
    for (const [name, value] of Object.entries(all)) await gateway.option(name, value);
    answer = { code: 1, description: '提交成功', result: 'mj-1' };
    held = -1;
    expect((await ask(path, body)).status).toBe(200);
    return { held, charged: await charged() };
  };
  const imagine = '/mj/submit/imagine';
  test.each<readonly [string, string, number]>([
    ['--repeat', 'a cat --repeat 40', 40],
    ['its short form', 'a cat --r 5', 5],
    ['in capitals', 'a cat --REPEAT 4', 4],
    ['behind a long dash', 'a cat —repeat 4', 4],
    ['of two the larger', 'a cat --repeat 3 --r 7', 7],
    ['permutations', 'a {red, green, blue} bird', 3],
    ['of several groups', 'a {red, green} {bird, cat, dog}', 6],
    ['groups in groups', 'a {red {small, large}, green} bird', 3],
    ['with repetition', 'a {red, green} bird --repeat 3', 6],
    ['finer', 'a cat --q 4', 4],
    ['an escaped comma', 'a {red\\, green, blue} bird', 2],
    ['one group of one', 'a {red} bird', 1],
    ['a comma outside', 'a red, green bird', 1],
    ['an open brace', 'a {red, green bird', 1],
    ['raw style', 'a cat --raw --relax --s 250 --ar 16:9 --q 0.5', 1],
    ['the word', 'please repeat 40 times', 1],
  ])('%s', async (_name, prompt, jobs) => {
    expect(await draw(imagine, { prompt })).toEqual({ held: jobs * price, charged: jobs * price });
  });

  test.each<readonly [string, string, object, Record<string, string>, number]>([
    ['by the path', '/mj-turbo/mj/submit/imagine', { prompt: 'a cat' }, {}, 2],
    ['by the prompt', imagine, { prompt: 'a cat --turbo' }, { MjModeClearEnabled: 'false' }, 2],
    ['by a prompt in capitals', imagine, { prompt: 'a cat —TURBO' }, { MjModeClearEnabled: 'false' }, 2],
    ['by the accounts, where these are kept', imagine, { prompt: 'a cat', accountFilter: { modes: ['TURBO'] } }, {}, 2],
    [
      'with the price that the operator sets',
      '/mj-turbo/mj/submit/imagine',
      { prompt: 'a cat' },
      { TierRatio: '{"mj_*":{"speed:turbo":3}}' },
      3,
    ],
    [
      'without one where the operator says so',
      '/mj-turbo/mj/submit/imagine',
      { prompt: 'a cat' },
      { TierRatio: '{"mj_*":{"speed:turbo":1}}' },
      1,
    ],
    ['taken out of the prompt', imagine, { prompt: 'a cat —Turbo' }, { MjModeClearEnabled: 'true' }, 1],
    ['fast', '/mj-fast/mj/submit/imagine', { prompt: 'a cat' }, {}, 1],
    ['no drawing is made', '/mj-turbo/mj/submit/shorten', { prompt: 'a cat --repeat 4' }, {}, 1],
  ])('turbo doubles it: %s', async (_name, path, body, options, times) => {
    expect(await draw(path, body, options)).toEqual({ held: times * price, charged: times * price });
    if (times === 1) return;
    const [row] = await gateway.logs();
    expect(JSON.parse(row?.other ?? '{}')).toMatchObject({ surcharges: { 'speed:turbo': times } });
    expect(JSON.stringify(sent())).not.toContain('undefined');
  });

  test('the mode that is taken out of a prompt is gone, however it is written', async () => {
    await draw(imagine, { prompt: 'a cat —Turbo' }, { MjModeClearEnabled: 'true' });
    expect(sent()).toMatchObject({ prompt: 'a cat' });
  });
});

test.each(multiplying)('more of $member is held for more: $vendor', async ({ path, little, much, by }) => {
  answer = {
    ...completion(1, 1),
    ...message,
    output: [],
    embeddings: [{ values: [0] }],
    data: [],
    results: [],
    candidates: [],
  };
  const least = await heldWhile(path, little);
  expect(least).toBeGreaterThanOrEqual(0);
  expect((await heldWhile(path, much)) - least).toBeGreaterThanOrEqual(by);
});

describe('tools that a turn adds are held for like those of the request', () => {
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 50 };
  test.each<readonly [string, string, object, object]>([
    [
      'a block that adds one',
      '/v1/messages',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] },
      {
        messages: [
          { role: 'user', content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition: search } }] },
        ],
      },
    ],
    [
      'a summary that names one',
      '/v1/messages',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] },
      {
        messages: [
          {
            role: 'assistant',
            content: [
              {
                type: 'compaction',
                content: 'x',
                tool_changes: [{ type: 'tool_addition', tool: { definition: search } }],
              },
            ],
          },
        ],
      },
    ],
    [
      'an item of Responses',
      '/v1/responses',
      { input: [{ role: 'user', content: 'hi' }] },
      { input: [{ type: 'additional_tools', role: 'developer', tools: [{ type: 'web_search', max_uses: 50 }] }] },
    ],
  ])('%s', async (_name, path, without, withTool) => {
    answer = { ...completion(1, 1), ...message, output: [] };
    const common =
      path === '/v1/messages' ? { model: 'claude-haiku-4-5', max_tokens: 16 } : { model: 'own', max_output_tokens: 16 };
    const least = await heldWhile(path, { ...common, ...without });
    expect((await heldWhile(path, { ...common, ...withTool })) - least).toBeGreaterThanOrEqual(50 * 5000);
  });
});
