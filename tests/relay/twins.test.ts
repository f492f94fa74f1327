/** A second spelling of a member, another type or another place of it never lowers what a request costs, holds or may do; what an honest request says lowers it as before. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { advisersIn, hostedByTools } from '../../server/providers/knowledge/builtin-tools.ts';
import { withoutModifiers } from '../../server/relay/admission/modifiers.ts';
import { createSession } from '../../server/relay/endpoints/realtime/session.ts';
import { checkFieldName } from '../../server/relay/intake/members.ts';
import { parse } from '../../server/relay/intake/parse.ts';
import { readPrompt } from '../../server/relay/intake/prompt.ts';
import { relayRouteFor } from '../../server/relay/intake/routes.ts';
import { featuresIn, firstFileIn } from '../../server/routing/features.ts';
import { nothingSent, requestsThinking } from '../../server/routing/offers.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let key: string;
let answer: object = {};
/** While the upstream works: what is held, and what arrived. */
let held = 0;
let arrived: Record<string, unknown> = {};
const available = () => gateway.balances.account(gateway.userId, 0).available();
let before = 0;

const pictures = ['dall-e-3', 'dall-e-2', 'imagen-4.0-generate-001', 'gpt-image-1', 'Kwai-Kolors/Kolors', 'painter'];

beforeAll(async () => {
  gateway = await createTestGateway({
    upstreamFetch: (async (_input: unknown, init?: RequestInit) => {
      held = before - available();
      arrived = JSON.parse(Buffer.from(init?.body as Uint8Array).toString('utf8')) as Record<string, unknown>;
      return Response.json(answer);
    }) as typeof fetch,
  });
  const models = ['gpt-4.1', ...pictures.filter((name) => name !== 'imagen-4.0-generate-001')].join(',');
  await gateway.channel('http://upstream.test', { models });
  await gateway.channel('http://upstream.test', { models: 'allowed', setting: '{"allow_tiers":true}' });
  await gateway.channel('http://upstream.test', { models: 'tts-1,unknown-model' });
  await gateway.channel('http://upstream.test', { type: 24, models: 'imagen-4.0-generate-001,gemini-2.5-flash' });
  await gateway.option(
    'ModelRatio',
    '{"gpt-4.1":1,"allowed":1,"tts-1":1,"unknown-model":1,"gemini-2.5-flash":1,"gpt-image-1":2.5,"Kwai-Kolors/Kolors":1}',
  );
  await gateway.option('ModelPrice', '{"dall-e-3":0.04,"dall-e-2":0.04,"imagen-4.0-generate-001":0.04,"painter":0.04}');
  await gateway.option('TierRatio', '{"allowed":{"service_tier:priority":2,"service_tier:flex":0.5}}');
  key = (await gateway.token()).key;
});
afterAll(() => gateway.close());

const chatAnswer = {
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
};
const ask = async (path: string, body: unknown, reply: object) => {
  answer = reply;
  before = available();
  held = 0;
  arrived = {};
  const response = await gateway.send(key, path, body);
  const text = await response.text();
  const charged = before - available();
  // What is refused costs its upstream nothing: no bound can be too low for it.
  if (response.status === 400) {
    expect([charged, held]).toEqual([0, 0]);
    held = Number.POSITIVE_INFINITY;
  }
  return { status: response.status, text, charged };
};
const hello = { model: 'gpt-4.1', max_tokens: 16, messages: [{ role: 'user', content: 'hi' }] };
const chat = (more: object) => ask('/v1/chat/completions', { ...hello, ...more }, chatAnswer);

describe('a search that the exact name asks for is charged whatever its twins say', () => {
  const web = (members: object) => ({ plugins: [{ id: 'web', max_results: 10, ...members }] });
  const live = (members: object) => ({ search_parameters: { mode: 'on', max_search_results: 20, ...members } });
  test.each([
    ['Enabled beside nothing', web({ Enabled: false }), 20_000],
    ['Enabled beside enabled', web({ enabled: true, Enabled: false }), 20_000],
    ['ENABLED beside nothing', web({ ENABLED: false }), 20_000],
    ['enabled_ beside nothing', web({ enabled_: false }), 20_000],
    ['ID in front of id', { plugins: [{ ID: 'response-healing', id: 'web', max_results: 10 }] }, 20_000],
    ['_id in front of id', { plugins: [{ _id: 'response-healing', id: 'web', max_results: 10 }] }, 20_000],
    ['i-d in front of id', { plugins: [{ 'i-d': 'response-healing', id: 'web', max_results: 10 }] }, 20_000],
    ['ID behind id', web({ ID: 'response-healing' }), 20_000],
    ['Mode beside mode', live({ Mode: 'off' }), 250_000],
    ['mode_ beside mode', live({ mode_: 'off' }), 250_000],
    ['MODE alone', { search_parameters: { MODE: 'off', max_search_results: 20 } }, 250_000],
    ['Enabled in extra_body', { extra_body: web({ Enabled: false }) }, 20_000],
    ['Mode in extra_body', { extra_body: live({ Mode: 'off' }) }, 250_000],
    ['Enable beside enable', { web_search: { enable: true, Enable: false } }, 5000],
    ['Enable alone', { web_search: { Enable: false } }, 5000],
    ['off in capitals', { search_parameters: { mode: 'OFF', max_search_results: 20 } }, 250_000],
    ['the text "false"', { enable_search: 'false' }, 5000],
    ['fewer results by a twin', { plugins: [{ id: 'web', Max_Results: 1 }] }, 10_000],
    ['fewer results by a list', { plugins: [{ id: 'web', max_results: [1] }] }, 10_000],
    ['fewer results by a text', { plugins: [{ id: 'web', max_results: '1' }] }, 10_000],
    ['fewer sources by a twin', { search_parameters: { maxSearchResults: 1 } }, 250_000],
    ['one plugin that is no list', { plugins: { id: 'web', max_results: 10 } }, 20_000],
    ['the name alone', { plugins: 'web' }, 10_000],
    ['one connector that is no list', { connectors: { id: 'web-search' } }, 5000],
    ['parameters that are no object', { search_parameters: true }, 250_000],
    ['a plugin without a name', { plugins: [{}] }, 25_000],
  ])('%s', async (_name, members, price) => {
    const { status, charged } = await chat(members);
    expect(status).toBe(200);
    expect(arrived).toMatchObject(members);
    expect(charged).toBeGreaterThanOrEqual(1400 + price);
    expect(held).toBeGreaterThanOrEqual(price);
  });

  test.each([
    ['a plugin that is off', { plugins: [{ id: 'web', enabled: false }] }],
    ['a plugin that is off in both spellings', { plugins: [{ id: 'web', enabled: false, Enabled: false }] }],
    ['the plugin that costs nothing', { plugins: [{ id: 'response-healing' }] }],
    ['a search that is off', { search_parameters: { mode: 'off' } }],
    ['a search that is off in both spellings', { search_parameters: { mode: 'off', Mode: 'off' } }],
    ['a search that is not enabled', { web_search: { enable: false } }],
    ['a switch that is off', { enable_search: false }],
    ['settings of another host', { plugins: { pdf_extracter: {} } }],
  ])('%s costs nothing', async (_name, members) => {
    expect(await chat(members)).toMatchObject({ status: 200, charged: 1400 });
  });

  test.each([
    ['fewer results', { plugins: [{ id: 'web', max_results: 1 }] }, 2000],
    ['fewer sources', { search_parameters: { max_search_results: 2 } }, 25_000],
    ['fewer in both spellings', { plugins: [{ id: 'web', max_results: 2, maxResults: 1 }] }, 4000],
    ['more by a twin', { plugins: [{ id: 'web', max_results: 2, maxResults: 9 }] }, 20_000],
  ])('%s cost what they are', async (_name, members, price) => {
    expect((await chat(members)).charged).toBe(1400 + (price === 20_000 ? 18_000 : price));
  });

  test('an upstream that says nothing of its sources has not said that there were none', async () => {
    const usage = { ...chatAnswer.usage, num_sources_used: null };
    const reply = { ...chatAnswer, usage };
    const body = { ...hello, search_parameters: { mode: 'on' } };
    expect((await ask('/v1/chat/completions', body, reply)).charged).toBe(1400 + 250_000);
    const none = { ...chatAnswer, usage: { ...usage, num_sources_used: 0 } };
    expect((await ask('/v1/chat/completions', body, none)).charged).toBe(1400);
  });
});

describe('pictures', () => {
  const reply = { created: 1, data: [{ b64_json: 'aGk=' }] };
  const draw = (model: string, more: object) =>
    ask(
      '/v1/images/generations',
      { model, prompt: 'a door', ...more },
      model.startsWith('imagen') ? { predictions: [{ bytesBase64Encoded: 'aGk=' }] } : reply,
    );

  test.each([
    ['dall-e-3', 20_000],
    ['imagen-4.0-generate-001', 20_000],
    ['Kwai-Kolors/Kolors', 1250],
    ['painter', 20_000],
  ])('a small size takes nothing off %s', async (model, quota) => {
    for (const size of [undefined, '256x256', '512x512']) {
      const { status, charged } = await draw(model, { size });
      expect([status, charged]).toEqual([200, quota]);
      expect(held).toBeGreaterThanOrEqual(charged);
    }
  });

  test('a picture that its maker sells by the token costs its tokens, in one piece as in a stream, whatever its size says', async () => {
    // 6,240 of the finest, eight times the price of those that are read; and the prompt.
    const finest = 6240 * 8 * 2.5;
    for (const size of [undefined, '256x256', '1024x1024']) {
      const { charged } = await draw('gpt-image-1', { size });
      expect(charged).toBeGreaterThanOrEqual(finest);
      expect(charged).toBeLessThan(finest + 100);
      expect(held).toBeGreaterThanOrEqual(charged);
    }
    expect((await draw('gpt-image-1', { quality: 'low' })).charged).toBeLessThan(finest / 10);
    // One who reads the wrapper makes a fine one.
    const twin = { quality: 'low', extra_body: { quality: 'high' } };
    expect((await draw('gpt-image-1', twin)).charged).toBeGreaterThanOrEqual(finest);
  });

  test.each([
    ['dall-e-2', { size: '256x256' }, 8000],
    ['dall-e-2', { size: '512x512' }, 9000],
    ['dall-e-3', { size: '1792x1024' }, 40_000],
    ['dall-e-3', { quality: 'hd' }, 40_000],
    ['dall-e-3', { size: '1792x1024', quality: 'hd' }, 60_000],
  ])('%s has factors of its own: %j', async (model, order, quota) => {
    expect((await draw(model, order)).charged).toBe(quota);
    expect(held).toBe(quota);
  });

  test.each([
    ['a size', 'dall-e-2', { size: '256x256', extra_body: { size: '1024x1024' } }, 20_000],
    ['a size in another spelling', 'dall-e-2', { size: '256x256', Extra_Body: { Size: '1024x1024' } }, 20_000],
    ['a quality', 'dall-e-3', { extra_body: { quality: 'hd' } }, 40_000],
  ])('%s in a wrapper raises and never lowers', async (_name, model, order, quota) => {
    const { status, charged } = await draw(model, order);
    if (status !== 400) expect([charged, held]).toEqual([quota, quota]);
    expect((await draw('dall-e-2', { extra_body: { size: '256x256' } })).charged).toBe(20_000);
  });

  test('as many as one reading orders are held for, the largest and not the sum', async () => {
    const { status } = await draw('dall-e-3', { n: 2, extra_body: { n: '5', N: 3 } });
    if (status !== 400) expect(held).toBe(100_000);
    await draw('dall-e-3', { n: 2, extra_body: { n: 5 } });
    expect(held).toBe(100_000);
    await draw('dall-e-3', { n: 200 });
    expect(held).toBe(4_000_000);
  });

  test('fewer tokens of a coarse picture are held for where the model is known to write fewer', async () => {
    const heldFor = async (model: string, more: object) => {
      await draw(model, more);
      return held;
    };
    expect(await heldFor('gpt-image-1', { quality: 'low' })).toBeLessThan((await heldFor('gpt-image-1', {})) / 2);
    expect(await heldFor('Kwai-Kolors/Kolors', { quality: 'low' })).toBeGreaterThanOrEqual(
      await heldFor('Kwai-Kolors/Kolors', {}),
    );
    expect(await heldFor('gpt-image-1', { size: '4096x4096' })).toBeGreaterThan(5 * (await heldFor('gpt-image-1', {})));
  });
});

describe('terms', () => {
  const hi = { ...hello, model: 'allowed' };
  test.each([
    ['a discount at its place', { service_tier: 'flex' }, 550],
    ['a discount in a wrapper alone', { extra_body: { service_tier: 'flex' } }, 1100],
    ['a discount in another spelling alone', { serviceTier: 'flex' }, 1100],
    [
      'a discount in a wrapper behind the dear term',
      { service_tier: 'priority', extra_body: { service_tier: 'flex' } },
      2200,
    ],
    ['the dear term in a wrapper', { service_tier: 'flex', extra_body: { service_tier: 'priority' } }, 2200],
    ['a discount beside what is usual', { service_tier: 'default', extra_body: { service_tier: 'flex' } }, 1100],
    ['a discount in both places', { service_tier: 'flex', extra_body: { service_tier: 'flex' } }, 550],
  ])('%s', async (_name, more, quota) => {
    const { charged } = await ask('/v1/chat/completions', { ...hi, ...more }, chatAnswer);
    expect(charged).toBe(quota);
  });

  test('the dear one of two is held for', async () => {
    await ask('/v1/chat/completions', { ...hi, service_tier: 'priority' }, chatAnswer);
    const dear = held;
    await ask(
      '/v1/chat/completions',
      { ...hi, service_tier: 'priority', extra_body: { service_tier: 'flex' } },
      chatAnswer,
    );
    expect(held).toBeGreaterThanOrEqual(dear);
  });

  test('fallback models are taken out in every form, lists or not', () => {
    for (const models of ['dear', ['dear'], { 0: 'dear' }])
      expect(featuresIn({ models }).modifiers).toEqual([{ path: ['models'], member: 'models', value: 'other models' }]);
    expect(featuresIn({ models: null }).modifiers).toEqual([]);
    expect(featuresIn({ fallbacks: { model: 'cheap', Model: 'dear' } }).others.map(({ model }) => model)).toEqual([
      'cheap',
      'dear',
    ]);
  });

  test('a modifier in a wrapper leaves the wrapper and its neighbours in a translated request', () => {
    const body = { extra_body: { service_tier: 'priority', keep: 1 }, speed: 'fast', keep: 2 };
    const dropped = ['/extra_body/service_tier', '/speed'];
    const removed = [['extra_body', 'service_tier'], ['speed']];
    expect(withoutModifiers(body, { ...nothingSent, removed, dropped })).toEqual(dropped);
    expect(body).toEqual({ extra_body: { keep: 1 }, keep: 2 });
  });
});

/** A host that merges the wrapper into its request, as LiteLLM does, would serve the other model. */
describe('a model that a wrapper names is refused', () => {
  test.each([
    ['chat', '/v1/chat/completions', hello, { model: 'gpt-5-pro' }],
    ['chat, spelled otherwise', '/v1/chat/completions', hello, { Model_: 'gpt-5-pro' }],
    ['chat, the same name, which the host may know as another', '/v1/chat/completions', hello, { model: 'gpt-4.1' }],
    ['pictures of the usual model', '/v1/images/generations', { prompt: 'a door', size: '512x512' }, { model_: 'hd' }],
    ['speech of the usual model', '/v1/audio/speech', { input: 'hi', voice: 'alloy' }, { 'mo-del': 'tts-1-hd' }],
  ])('%s', async (_name, path, body, wrapped) => {
    for (const wrapper of ['extra_body', 'extraBody']) {
      const { status, text } = await ask(path, { ...body, [wrapper]: wrapped }, chatAnswer);
      expect([status, arrived]).toEqual([400, {}]);
      expect(text).toContain('could be read as model');
    }
  });

  test('other members of a wrapper are sent, models of schemas and notes as well', async () => {
    const wrapped = { top_k: 5, metadata: { model: 'notes' } };
    const { status } = await ask('/v1/chat/completions', { ...hello, extra_body: wrapped }, chatAnswer);
    expect([status, arrived.extra_body]).toEqual([200, wrapped]);
  });
});

describe('names that stand twice', () => {
  const raw = (members: string) =>
    ask(
      '/v1/chat/completions',
      `{"model":"gpt-4.1","max_tokens":16,"messages":[{"role":"user","content":"hi"}],${members}}`,
      chatAnswer,
    );
  test.each([
    ['a search', '"plugins":[{"id":"web"}],"plugins":[]'],
    ['a search by an escape', '"plugins":[{"id":"web"}],"plug\\u0069ns":null'],
    ['its switch', '"plugins":[{"id":"web","enabled":true,"enabled":false}]'],
    ['its mode', '"search_parameters":{"mode":"on","mode":"off"}'],
    ['in a wrapper', '"extra_body":{"search_parameters":{"mode":"on","mode":"off"}}'],
    ['in a wrapper that is called parameters', '"parameters":{"enable_search":true,"enable_search":false}'],
    ['the type of a tool', '"tools":[{"type":"web_search","type":"function","function":{"name":"f"}}]'],
    [
      'the memory of its container',
      '"tools":[{"type":"shell","environment":{"memory_limit":"64g","memory_limit":"1g"}}]',
    ],
    ['the words of a turn', '"x":[{"content":"long long long","content":"short"}]'],
  ])('%s: refused', async (_name, members) => {
    const { status, text } = await raw(members);
    expect(status).toBe(400);
    expect(text).toContain('appears twice');
  });

  test.each([
    [
      'in the schema of a function',
      '"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"n":{},"n":{}}}}}]',
    ],
    ['in notes', '"metadata":{"a":"1","a":"2"}'],
    [
      'in a schema of the answer',
      '"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"a":1,"a":2}}}',
    ],
    ['in different objects', '"stop":["a"],"x":[{"a":1},{"a":1}],"y":{"a":{"a":1}}'],
  ])('%s they are no request', async (_name, members) => {
    expect((await raw(members)).status).toBe(200);
  });

  test('arguments of a function are no request', async () => {
    const body =
      '{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":1,"a":2}}]}]}';
    const matched = relayRouteFor('/v1/messages');
    if (matched === undefined) throw new Error('no route');
    const read = (text: string) =>
      parse(new Request('http://x/v1/messages', { method: 'POST', body: text }), matched, {
        requestId: 'r',
        startedMs: 0,
        bodyLimit: 1e6,
      });
    expect((await read(body)).model).toBe('m');
    await expect(read(body.replace('"name":"f"', '"name":"f","name":"g"'))).rejects.toBeInstanceOf(AppError);
  });
});

describe('tools', () => {
  const tools = (...list: readonly object[]) => hostedByTools(list).uses.map(({ tool }) => tool);
  test.each([
    ['a smaller memory first', { container: { memory_limit: '4g', Memory_Limit: '64g' } }, 'code_interpreter-64g'],
    ['a smaller memory last', { container: { memory_limit: '64g', Memory_Limit: '4g' } }, 'code_interpreter-64g'],
    [
      'a second container',
      { container: { memory_limit: '1g' }, Container: { memory_limit: '16g' } },
      'code_interpreter-16g',
    ],
    [
      'a memory that is none of theirs',
      { container: { memory_limit: '1g', memoryLimit: 'huge' } },
      'code_interpreter-huge',
    ],
    ['the smallest', { container: { memory_limit: '1g' } }, 'code_interpreter'],
    ['none', { container: { type: 'auto' } }, 'code_interpreter'],
  ])('a container costs its largest memory: %s', (_name, more, tool) => {
    expect(tools({ type: 'code_interpreter', ...more })).toEqual([tool]);
  });

  test.each([
    ['a place of the client’s', { environment: { type: 'local' } }, []],
    ['no place', {}, []],
    ['null', { environment: null }, []],
    ['a twin of its type', { environment: { type: 'container_auto', Type: 'local' } }, ['shell']],
    ['a twin of the other kind', { environment: { type: 'local', Type: 'container_auto' } }, ['shell']],
    ['a twin of the place', { environment: { type: 'container_auto' }, Environment: { type: 'local' } }, ['shell']],
    ['the twin of a place alone', { Environment: { type: 'local' } }, ['shell']],
    ['in capitals', { environment: { type: 'LOCAL' } }, ['shell']],
  ])('a shell is the client’s own only where its place says so: %s', (_name, more, uses) => {
    expect(tools({ type: 'shell', ...more })).toEqual(uses);
  });

  test('each of several types is priced', () => {
    expect(tools({ type: 'web_search', Type: 'function' })).toEqual(['web_search']);
    expect(tools({ Type: 'function', web_search: {} })).toContain('web_search');
    expect(tools({ type: 'function', name: 'f', googleSearch: {} })).toContain('google_search');
    expect(tools({ name: 'f', google_search: {} })).toContain('google_search');
    expect(tools({ type: 'function', function: { name: 'google_search' } })).toEqual([]);
    expect(tools({ name: 'f', input_schema: { properties: { googleSearch: {} } } })).toEqual([]);
  });

  test('a provider’s own function is each that it may be read as', () => {
    const fn = { type: 'builtin_function', function: { name: '$cheap', Name: '$web_search' } };
    expect(tools(fn)).toEqual(['builtin_cheap', 'builtin_web_search']);
    expect(tools({ type: 'builtin_function' })).toEqual(['builtin_unnamed']);
  });

  test('one tool that is no list is a list of one', () => {
    expect(hostedByTools({ google_search: {} }).uses.map(({ tool }) => tool)).toContain('google_search');
    expect(hostedByTools({ function_declarations: [{ name: 'f' }] }).uses).toEqual([]);
  });

  test('results that a tool takes raise its units', () => {
    const [use] = hostedByTools([
      { type: 'openrouter:web_search', parameters: { max_results: 1, maxResults: 10 } },
    ]).uses;
    expect([use?.units, use?.max]).toEqual([10, 50]);
    const [usual] = hostedByTools([{ type: 'openrouter:web_search', parameters: { max_results: 1 } }]).uses;
    expect([usual?.units, usual?.max]).toEqual([5, 25]);
  });

  test('an adviser counts as each model that its spellings name, as often as the largest limit allows', () => {
    const adviser = { type: 'advisor_20260301', model: 'cheap' };
    const names = (tool: object) => advisersIn([tool]).map(({ model, calls }) => `${model} ${calls}`);
    expect(names({ ...adviser, Model: 'dear' })).toEqual(['cheap 5', 'dear 5']);
    expect(names({ ...adviser, max_uses: 1 })).toEqual(['cheap 1']);
    expect(names({ ...adviser, Max_Uses: 1 })).toEqual(['cheap 5']);
    expect(names({ ...adviser, max_uses: 1, maxUses: 9 })).toEqual(['cheap 9']);
    expect(names({ ...adviser, max_uses: 0 })).toEqual(['cheap 5']);
    expect(names({ type: 'function', name: 'f', model: 'x' })).toEqual([]);
  });
});

describe('limits and thoughts', () => {
  const chatBound = async (more: object) => {
    await ask('/v1/chat/completions', { model: 'unknown-model', messages: hello.messages, ...more }, chatAnswer);
    return held;
  };
  test.each([
    ['less than a token', { max_tokens: 0.5 }],
    ['nearly nothing', { max_tokens: 1e-300 }],
    ['unlimited', { max_tokens: -1 }],
  ])('a limit that an upstream may read as none is none: %s', async (_name, more) => {
    expect(await chatBound(more)).toBeGreaterThanOrEqual((await chatBound({})) - 100);
  });

  test.each([
    ['in a wrapper', { extra_body: { max_tokens: 500_000 } }],
    ['in a wrapper, as text', { extra_body: { max_tokens: '500000' } }],
    ['in a wrapper, in another spelling', { max_tokens: 16, extra_body: { maxTokens: 500_000 } }],
    ['in a wrapper of another spelling', { max_tokens: 16, extraBody: { Max_Tokens: 500_000 } }],
    ['by another name, beside no limit', { n_predict: 500_000 }],
    ['by another name, beside a limit', { max_tokens: 16, n_predict: 500_000 }],
  ])('a longer answer is held for wherever it is asked for: %s', async (_name, more) => {
    expect(await chatBound(more)).toBeGreaterThanOrEqual(500_000);
  });

  test('a completion has a limit of its own: that of a chat shortens it nowhere, and may lengthen it', async () => {
    const heldFor = async (more: object) => {
      await ask('/v1/completions', { model: 'unknown-model', prompt: 'hi', ...more }, {});
      return held;
    };
    expect(await heldFor({ max_completion_tokens: 1 })).toBeGreaterThanOrEqual((await heldFor({})) - 100);
    expect(await heldFor({ max_tokens: 16 })).toBeLessThan(500);
    expect(await heldFor({ max_tokens: 16, max_completion_tokens: 500_000 })).toBeGreaterThanOrEqual(500_000);
  });

  test('a limit in a wrapper alone shortens nothing', async () => {
    expect(await chatBound({ extra_body: { max_tokens: 1 } })).toBeGreaterThanOrEqual((await chatBound({})) - 10);
  });

  test.each([
    [{ reasoning_effort: 'none' }, false],
    [{ reasoning_effort: 'none', reasoning: { effort: 'high' } }, true],
    [{ reasoning: { effort: 'none', Effort: 'high' } }, true],
    [{ reasoning: { Effort: 'none' } }, true],
    [{ reasoning: { effort: 'none' } }, false],
    [{ reasoning: { enabled: false, Enabled: true } }, true],
    [{ thinking: { type: 'disabled' } }, false],
    [{ thinking: { type: 'disabled', Type: 'enabled' } }, true],
    [{ thinking: { Type: 'disabled' } }, true],
    [{ generationConfig: { thinkingConfig: { thinkingBudget: 0, thinking_budget: 1000 } } }, true],
    [{ generationConfig: { thinkingConfig: { ThinkingBudget: 0 } } }, true],
    [{ generationConfig: { thinkingConfig: { thinkingBudget: 0, thinkingLevel: 'high' } } }, true],
    [{ chat_template_kwargs: { enable_thinking: false } }, false],
    [{ chat_template_kwargs: { enable_thinking: false, Enable_Thinking: true } }, true],
    [{ enable_thinking: false, extra_body: { enable_thinking: true } }, true],
    [{ enable_thinking: false, extra_body: { enable_thinking: false } }, false],
    [{ metadata: { enable_thinking: true }, messages: [{ thinking: { type: 'enabled' } }] }, false],
  ])('one reading that asks for thought is enough: %j', (body, expected) => {
    expect(requestsThinking(body)).toBe(expected);
  });
});

test('an answer of a conversation speaks where one of its two names says so, and starts by itself where one of two places does', () => {
  const session = createSession();
  session.confirmed({ session: { output_modalities: ['text'], turn_detection: null } });
  expect([session.hasAudio(null), session.acceptsAudio(), session.detects()]).toEqual([false, false, false]);
  expect(session.hasAudio({ output_modalities: ['text'], modalities: ['text', 'audio'] })).toBe(true);
  expect(session.hasAudio({ output_modalities: ['text'], modalities: ['text'] })).toBe(false);
  const input = { turn_detection: { create_response: true } };
  session.changeRequested({ session: { turn_detection: { create_response: false }, audio: { input } } });
  expect(session.acceptsAudio()).toBe(true);
  session.confirmed({ session: { turn_detection: { type: 'server_vad' } } });
  expect(session.detects()).toBe(true);
  session.changeRequested({
    session: { turn_detection: { type: 'server_vad' }, audio: { input: { turn_detection: null } } },
  });
  expect(session.detects()).toBe(false);
});

test.each([
  [{ cache_control: { type: 'ephemeral' } }, '5m'],
  [{ cache_control: { type: 'ephemeral', ttl: '5m' } }, '5m'],
  [{ cache_control: { type: 'ephemeral', ttl: null } }, '5m'],
  [{ cache_control: { type: 'ephemeral', ttl: '1h' } }, '1h'],
  [{ cache_control: { type: 'ephemeral', ttl: '5m', TTL: '1h' } }, '1h'],
  [{ cache_control: { type: 'ephemeral', ttl: 3600 } }, '1h'],
  [{ Cache_Control: { type: 'ephemeral' } }, '5m'],
  [{ cacheControl: { Ttl: '1h' } }, '1h'],
  [{}, 'none'],
])('what is written to a cache is held for in every spelling: %j', (mark, caches) => {
  expect(readPrompt({ messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', ...mark }] }] }).caches).toBe(
    caches,
  );
});

test('a speech costs the longest text that a host may read', async () => {
  const speak = async (more: object) => {
    const { status, charged } = await ask('/v1/audio/speech', { model: 'tts-1', voice: 'alloy', ...more }, {});
    return status === 400 ? 'refused' : charged;
  };
  expect(await speak({ input: 'a' })).toBe(1);
  expect(await speak({ input: 'a', text: 'a'.repeat(1000) })).toBe(1000);
  expect(['refused', 1000]).toContain(await speak({ input: 'a', extra_body: { Input: 'a'.repeat(1000) } }));
  expect(await speak({ input: 'a'.repeat(1000), text: 'a'.repeat(1000), instructions: null })).toBe(1000);
});

test.each(['n_', '_n[]', 'N[0]', 'si-ze', 'quality_'])(
  'a field of a form that some read as a priced one is refused: %s',
  (name) => {
    expect(() => checkFieldName(name)).toThrow(AppError);
  },
);

test.each(['n', 'size', 'image[]', 'mask', 'user', 'style'])('others are as they were: %s', (name) => {
  expect(() => checkFieldName(name)).not.toThrow();
});

test.each([
  [{ tools: [{ type: 'file_search', vector_store_ids: ['', 'vs_1'] }] }, 'vs_1'],
  [{ type: 'tool_use', input: [{ type: 'input_file', file_id: 'file_1' }] }, 'file_1'],
  [{ messages: [{ content: [{ type: 'tool_use', Type: 'x', input: { file_id: 'file_1' } }] }] }, 'file_1'],
  [{ messages: [{ content: [{ type: 'tool_use', input: { file_id: 'file_1' } }] }] }, null],
  [{ tools: [{ type: 'function', parameters: { file_id: 'file_1' } }] }, null],
  [{ parameters: { file_id: 'file_1' } }, 'file_1'],
])('a file of the upstream is found behind what hides it: %j', (body, id) => {
  expect(firstFileIn(body)).toBe(id);
});

test('texts of a conversation, schemas, arguments and notes are no readings', async () => {
  const names = {
    n: 5,
    size: '1792x1024',
    mode: 'on',
    enabled: true,
    quality: 'hd',
    plugins: ['web'],
    enable_search: true,
    Enabled: false,
    service_tier: 'priority',
  };
  const honest = {
    messages: [
      { role: 'user', content: [{ type: 'text', text: JSON.stringify(names), ...names }] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: JSON.stringify(names) } }],
      },
      { role: 'tool', tool_call_id: 'c', content: JSON.stringify(names) },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'f', description: 'size', parameters: { type: 'object', properties: names, enum: [names] } },
      },
    ],
    metadata: names,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { properties: names } } },
  };
  const { status, charged } = await chat(honest);
  expect([status, charged]).toEqual([200, 1400]);
  // No more than its bytes, and a page about tools.
  expect(held).toBeLessThan(2 * JSON.stringify(honest).length + 1500);
});
