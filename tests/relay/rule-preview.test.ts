/** How a request would go out, said before it is sent: by the same function that sends it. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { requestRules } from '../../server/contract/request-rules.ts';
import type { PreviewedCall } from '../../server/domain/channels/service.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { RandomCase } from '../support/random-rules.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
beforeAll(async () => {
  gateway = await createTestGateway({ quota: 50_000_000, channelTests: true });
  upstream = await startUpstream((response) => sendJson(response, {}));
  ({ key } = await gateway.token());
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});
beforeEach(async () => {
  upstream.requests.length = 0;
  for (const id of made.splice(0)) await gateway.services.channels.remove(id);
  await gateway.option('request_rules', '{}');
});

const made: number[] = [];
const secret = 'sk-upstream-secret-key';
async function open(fields: object): Promise<number> {
  const id = await gateway.channel(upstream.url, { type: 1, models: 'gpt-4.1', ...fields });
  made.push(id);
  await gateway.sync();
  return id;
}
const chat = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'hi' }], max_tokens: 1000 };
const completion = {
  ...{ id: 'c', object: 'chat.completion', model: 'gpt-4.1' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10_000, completion_tokens: 2_000, total_tokens: 12_000 },
};
function send(body: object, more: Readonly<Record<string, string>> = {}) {
  upstream.script((response) => sendJson(response, completion));
  return handled(body, more);
}
async function handled(body: object, more: Readonly<Record<string, string>> = {}) {
  const path = '/v1/chat/completions';
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { ...more, authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response.status, text: await response.text() };
}
const sent = () => upstream.requests.at(-1);
const preview = (channel: number, body: object, headers: Record<string, string> = {}) =>
  gateway.services.routes.preview({ channel, body: JSON.stringify(body), headers }, 1);

test('a preview is what is sent, with a mark in place of the key, and sends nothing', async () => {
  const header_override = { Authorization: 'Token {api_key}', 'X-Caller': '{client_header:X-Name}' };
  const operations = [{ mode: 'set', path: 'top_p', value: 0.5 }];
  const id = await open({
    param_override: JSON.stringify({ temperature: 0.1, operations }),
    setting: JSON.stringify({ header_override }),
  });
  const found = await preview(id, chat, { 'x-name': 'me' });
  expect(upstream.requests).toHaveLength(0);
  expect(found).toMatchObject({ channel_id: id, model: 'gpt-4.1', translated: false, signed: false, dropped: [] });
  expect(found.url).toBe(`${upstream.url}/v1/chat/completions`);
  expect(found.headers).toMatchObject({ authorization: 'Token {api_key}', 'x-caller': 'me' });
  expect(JSON.stringify(found)).not.toContain(secret);
  await send(chat, { 'x-name': 'me' });
  expect(sent()?.body.toString()).toBe(found.body);
});

test('a preview is translated as the request is, follows the first channel and a mapping, and names what is not sent', async () => {
  await open({ models: 'other', priority: 9 });
  const id = await open({ type: 14, models: 'm', model_mapping: '{"m":"claude-sonnet-4-5"}' });
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], logit_bias: { 1: 1 } });
  const found = await gateway.services.routes.preview({ body }, 1);
  expect(found).toMatchObject({ channel_id: id, upstream_model: 'claude-sonnet-4-5', translated: true });
  expect(found.url).toBe(`${upstream.url}/v1/messages`);
  expect(found.headers['x-api-key']).toBe('{api_key}');
  expect(JSON.parse(found.body ?? '')).toMatchObject({ model: 'claude-sonnet-4-5', max_tokens: expect.any(Number) });
  expect(found.dropped.join()).toContain('logit_bias');
});

test('a preview is refused as its request would be', async () => {
  const refusal = { mode: 'return_error', value: { message: 'Not on Sundays', status_code: 451 } };
  const id = await open({ param_override: JSON.stringify({ operations: [refusal] }) });
  await expect(preview(id, chat)).rejects.toMatchObject({ code: 'channel_rule_refused' });
  await expect(preview(id, {})).rejects.toMatchObject({ code: 'model_missing' });
  await expect(preview(12_345, chat)).rejects.toMatchObject({ code: 'not_found' });
  await expect(gateway.services.routes.preview({ model: 'nobody' }, 1)).rejects.toMatchObject({
    code: 'model_not_found',
  });
  await expect(gateway.services.routes.preview({ channel: id, path: '/v1/none' }, 1)).rejects.toMatchObject({
    code: 'route_unknown',
  });
  await expect(preview(id, chat, { 'x y': '1' })).rejects.toMatchObject({ code: 'params_invalid' });
  await expect(preview(id, chat, { x: 'a\nb' })).rejects.toMatchObject({ code: 'params_invalid' });
});

test.each<[string, string]>([
  ['several parts', 'id-of-key|part-of-secret|us-east-1'],
  ['JSON', '{"type":"service_account","project_id":"p","private_key":"part-of-secret","client_email":"id-of-key"}'],
])('no part of a key in %s is shown', async (_name, parts) => {
  const id = await open({ type: parts.startsWith('{') ? 41 : 33, key: parts, models: 'claude-sonnet-4-5' });
  const found = await preview(id, { ...chat, model: 'claude-sonnet-4-5' }).catch((error: unknown) => error);
  expect(JSON.stringify(found)).not.toMatch(/part-of-secret|id-of-key/);
});

test('rules for all channels act before those of a model, and both before the own ones of a channel', async () => {
  const set = (path: string, value: string) => ({ mode: 'set', path, value });
  const id = await open({
    models: 'gpt-4.1,gpt-4o',
    param_override: JSON.stringify({ operations: [set('c', 'channel')] }),
    setting: JSON.stringify({ header_override: { 'X-C': 'channel' } }),
  });
  const all = ['a', 'b', 'c', 'd'].map((name) => set(name, 'all'));
  const headers = Object.fromEntries(['X-A', 'X-B', 'X-C', 'X-D'].map((name) => [name, 'all']));
  const rules = {
    operations: all,
    header_override: headers,
    models: {
      'gpt-4.1': { operations: [set('b', 'model'), set('c', 'model'), set('d', 'model')] },
      'gpt-*': { operations: [set('d', 'prefix')], header_override: { 'X-B': 'prefix', 'X-C': 'prefix' } },
      'gpt-4': { operations: [set('a', 'never')] },
    },
  };
  await gateway.option('request_rules', JSON.stringify(rules));
  expect((await send(chat)).status).toBe(200);
  expect(JSON.parse(sent()?.body.toString() ?? '')).toEqual({
    ...chat,
    a: 'all',
    b: 'model',
    c: 'channel',
    d: 'model',
  });
  expect(sent()?.headers).toMatchObject({ 'x-a': 'all', 'x-b': 'prefix', 'x-c': 'channel', 'x-d': 'all' });
  const other = await preview(id, { ...chat, model: 'gpt-4o' });
  expect(JSON.parse(other.body ?? '')).toMatchObject({ a: 'all', b: 'all', c: 'channel', d: 'prefix' });
  await gateway.option('request_rules', '{}');
  expect((await send(chat)).status).toBe(200);
  expect(JSON.parse(sent()?.body.toString() ?? '')).toEqual({ ...chat, c: 'channel' });
});

test('features that rules for one model may ask for are held for with that model alone', async () => {
  await open({ models: 'gpt-4.1,gpt-4o' });
  const held = async (model: string): Promise<number> => {
    const available = () => gateway.balances.account(gateway.userId, 0).available();
    const before = available();
    let during = before;
    upstream.script((response) => {
      during = available();
      sendJson(response, completion);
    });
    expect((await handled({ ...chat, model })).status).toBe(200);
    return before - during;
  };
  const plain = { ruled: await held('gpt-4.1'), other: await held('gpt-4o') };
  const operations = [{ mode: 'set', path: 'n', value: 8 }];
  await gateway.option('request_rules', JSON.stringify({ models: { 'gpt-4.1': { operations } } }));
  expect((await held('gpt-4.1')) / plain.ruled).toBeCloseTo(8, 0);
  expect(await held('gpt-4o')).toBe(plain.other);
});

test.each<[string, object, RegExp]>([
  ['a member that there is not', { rules: [] }, /rules must be one of/],
  ['a rule that cannot be read', { operations: [{ mode: 'explode' }] }, /operations\[0\]\.mode must be one of/],
  ['a header of the connection', { header_override: { Host: 'x' } }, /header_override\.Host must be/],
  ['a rule of a model', { models: { 'gpt-*': { operations: [{ mode: 'set' }] } } }, /models\.gpt-\*\.operations\[0\]/],
  ['a pattern with a mark in its middle', { models: { 'a*b': {} } }, /models\.a\*b must be/],
  ['models within models', { models: { a: { models: {} } } }, /models\.a\.models must be/],
  ['the key of a channel', { header_override: { 'X-A': 'b {api_key}' } }, /x-a must be a value without \{api_key\}/],
  ['too many rules', { operations: Array(65).fill({ mode: 'delete', path: 'a' }) }, /at most 64/],
  ['too long a text', { operations: [{ mode: 'set', path: 'a', value: 'x'.repeat(262_144) }] }, /262144/],
])('rules for all channels are refused with %s, in words', async (_name, rules, words) => {
  expect(requestRules.check(JSON.stringify(rules))?.en).toMatch(words);
});

const modes = {
  'X-Set': { mode: 'set', value: 'new' },
  'X-Client-Add': { mode: 'add', value: 'b' },
  'X-Default': { mode: 'default', value: 'd' },
  'X-Kept': { mode: 'default', value: 'd' },
  'X-Gone': { mode: 'remove' },
  'X-From': { mode: 'copy', from: 'X-Name' },
  'X-Same': { mode: 'copy' },
  'X-Missing': { mode: 'copy', from: 'X-Nothing' },
  'X-Key': { mode: 'add', value: '{api_key}' },
};
test('a header is set, added to, set where there is none, removed, or copied from the client', async () => {
  const passed = { 're:^x-(set|client-add|kept|gone)$': '' };
  await open({ setting: JSON.stringify({ header_override: { ...passed, ...modes } }) });
  await send(chat, {
    ...{ 'x-set': 'old', 'x-client-add': 'a', 'x-kept': 'k', 'x-gone': 'g', 'x-name': 'me', 'x-same': 's' },
    'x-key': 'mine',
  });
  expect(sent()?.headers).toMatchObject({
    ...{ 'x-set': 'new', 'x-client-add': 'a, b', 'x-default': 'd', 'x-kept': 'k', 'x-from': 'me', 'x-same': 's' },
    'x-key': secret,
  });
  for (const name of ['x-gone', 'x-missing']) expect(sent()?.headers).not.toHaveProperty(name);
  await gateway.services.channels.update(made[0] ?? 0, {
    setting: JSON.stringify({ header_override: { Authorization: { mode: 'remove' } } }),
    ...{ key: secret },
  });
  await gateway.sync();
  await send(chat);
  expect(sent()?.headers).not.toHaveProperty('authorization');
});

test('a header of the client is renamed, one that it did not send is not made, and one that keeps its name stays', async () => {
  await open({
    setting: JSON.stringify({
      header_override: {
        're:^x-(old|stays)$': '',
        'X-New': { mode: 'move', from: 'X-Old' },
        'X-Missing': { mode: 'move', from: 'X-Nothing' },
        'X-Stays': { mode: 'move' },
      },
    }),
  });
  await send(chat, { 'x-old': 'me', 'x-stays': 's' });
  expect(sent()?.headers).toMatchObject({ 'x-new': 'me', 'x-stays': 's' });
  for (const name of ['x-old', 'x-missing', 'x-nothing']) expect(sent()?.headers).not.toHaveProperty(name);
});

const conditioned = {
  ...chat,
  ...{ temperature: 0.5, user: 'alice', metadata: { tier: 'gold' } },
};
/** What goes out of a request, by the wire and by its preview. */
async function headersBoth(header_override: object, body: object = conditioned, more: Record<string, string> = {}) {
  const id = await open({ setting: JSON.stringify({ header_override }) });
  const previewed = await preview(id, body, more);
  expect((await send(body, more)).status).toBe(200);
  const wire = sent()?.headers ?? {};
  for (const [name, value] of Object.entries(previewed.headers))
    expect(wire[name], name).toBe(value.replaceAll('{api_key}', secret));
  for (const name of Object.keys(wire).filter((one) => one.startsWith('x-')))
    expect(previewed.headers, name).toHaveProperty(name);
  return wire;
}

test.each<[string, object, object]>([
  ['is', { path: 'user', mode: 'full', value: 'alice' }, { path: 'user', mode: 'full', value: 'bob' }],
  ['begins', { path: 'user', mode: 'prefix', value: 'al' }, { path: 'user', mode: 'prefix', value: 'ce' }],
  ['ends', { path: 'user', mode: 'suffix', value: 'ce' }, { path: 'user', mode: 'suffix', value: 'al' }],
  ['has within', { path: 'user', mode: 'contains', value: 'lic' }, { path: 'user', mode: 'contains', value: 'bo' }],
  ['is more', { path: 'temperature', mode: 'gt', value: 0.4 }, { path: 'temperature', mode: 'gt', value: 0.5 }],
  ['is no less', { path: 'temperature', mode: 'gte', value: 0.5 }, { path: 'temperature', mode: 'gte', value: 0.6 }],
  ['is less', { path: 'temperature', mode: 'lt', value: 0.6 }, { path: 'temperature', mode: 'lt', value: 0.5 }],
  ['is no more', { path: 'temperature', mode: 'lte', value: 0.5 }, { path: 'temperature', mode: 'lte', value: 0.4 }],
  [
    'is another one',
    { path: 'user', mode: 'full', value: 'bob', invert: true },
    { path: 'user', mode: 'full', value: 'alice', invert: true },
  ],
  [
    'is missing and may be',
    { path: 'seed', mode: 'full', value: 1, pass_missing_key: true },
    { path: 'seed', mode: 'full', value: 1 },
  ],
  [
    'stands deep within',
    { path: 'messages.-1.content', mode: 'full', value: 'hi' },
    { path: 'metadata.tier', mode: 'full', value: 'silver' },
  ],
  [
    'is of the request',
    { path: 'request_path', mode: 'suffix', value: '/chat/completions' },
    { path: 'original_model', mode: 'prefix', value: 'claude' },
  ],
])('a header is sent where what a condition reads %s, and not otherwise', async (_what, holds, fails) => {
  const rule = (condition: object) => ({ mode: 'set', value: 'a', conditions: [condition] });
  const wire = await headersBoth({ 'X-Holds': rule(holds), 'X-Fails': rule(fails) });
  expect([wire['x-holds'], wire['x-fails']]).toEqual(['a', undefined]);
});

test.each<['AND' | 'OR' | undefined, boolean, boolean, boolean]>([
  ['AND', true, true, true],
  ['AND', true, false, false],
  ['AND', false, true, false],
  ['OR', false, false, false],
  ['OR', true, false, true],
  ['OR', false, true, true],
  [undefined, false, true, true],
])(
  'a header of two conditions joined by %s, of which one is %s and one is %s, is sent: %s',
  async (logic, one, other, is) => {
    const conditions = [
      { path: 'user', mode: 'full', value: one ? 'alice' : 'bob' },
      { path: 'temperature', mode: 'gt', value: other ? 0 : 1 },
    ];
    const wire = await headersBoth({ 'X-A': { mode: 'set', value: 'a', conditions, logic } });
    expect(wire['x-a']).toBe(is ? 'a' : undefined);
  },
);

const gold = { conditions: { 'metadata.tier': 'gold' } };
const silver = { conditions: { 'metadata.tier': 'silver' } };
test('every mode of a header, and what passes, has conditions, and a header has several rules in their order', async () => {
  const client = { 'x-old': 'me', 'x-kept': 'k', 'x-pass-one': '1', 'x-skip-one': '1', 'x-from': 'f' };
  const wire = await headersBoth(
    {
      ...{ 're:^x-(old|kept)$': '', 're:^x-pass-': gold, 're:^x-skip-': silver },
      'X-Tier': [
        { mode: 'set', value: 'gold', ...gold },
        { mode: 'set', value: 'silver', ...silver },
        { mode: 'add', value: 'more' },
      ],
      'X-New': { mode: 'move', from: 'X-Old', ...gold },
      'X-Never': { mode: 'move', from: 'X-Kept', ...silver },
      'X-Copied': { mode: 'copy', from: 'X-From', ...gold },
      'X-Uncopied': { mode: 'copy', from: 'X-From', ...silver },
      'X-Default': { mode: 'default', value: 'd', ...gold },
      'X-Undefault': { mode: 'default', value: 'd', ...silver },
      'User-Agent': { mode: 'remove', ...silver },
      Authorization: { mode: 'remove', ...gold },
    },
    conditioned,
    client,
  );
  expect(wire).toMatchObject({
    ...{ 'x-tier': 'gold, more', 'x-new': 'me', 'x-kept': 'k', 'x-copied': 'f', 'x-default': 'd', 'x-pass-one': '1' },
    'user-agent': 'gateway',
  });
  const never = ['x-old', 'x-never', 'x-uncopied', 'x-undefault', 'x-skip-one', 'authorization'];
  for (const name of never) expect(wire, name).not.toHaveProperty(name);
});

test("a header's conditions read the body after the rules on bodies, in the upstream's dialect", async () => {
  const rule = (path: string, value: unknown) => ({ mode: 'set', value: 'a', conditions: { [path]: value } });
  const id = await open({
    ...{ type: 14, model_mapping: '{"gpt-4.1":"claude-sonnet-4-5"}' },
    param_override: JSON.stringify({
      operations: [
        { mode: 'set', path: 'metadata.user_id', value: 'ruled' },
        { mode: 'delete', path: 'temperature' },
      ],
    }),
    setting: JSON.stringify({
      header_override: {
        'X-Ruled': rule('metadata.user_id', 'ruled'),
        'X-Client': rule('metadata.user_id', 'alice'),
        'X-Gone': rule('temperature', 0.5),
        'X-Upstream': rule('model', 'claude-sonnet-4-5'),
        'X-Own': rule('system.0.text', 'House rules.'),
        'X-Foreign': rule('messages.0.role', 'system'),
      },
    }),
  });
  const messages = [{ role: 'system', content: 'House rules.' }, ...chat.messages];
  const body = { ...chat, temperature: 0.5, user: 'alice', messages };
  const names = ['x-ruled', 'x-client', 'x-gone', 'x-upstream', 'x-own', 'x-foreign'];
  const expected = [true, false, false, true, true, false];
  const previewed = await preview(id, body);
  expect(names.map((name) => Object.hasOwn(previewed.headers, name))).toEqual(expected);
  await send(body);
  expect(names.map((name) => Object.hasOwn(sent()?.headers ?? {}, name))).toEqual(expected);
});

test('conditions of headers read the fields of a form, with the model that goes up', async () => {
  const rule = (path: string, value: string) => ({ mode: 'set', value: 'a', conditions: { [path]: value } });
  await open({
    ...{ models: 'whisper-1', model_mapping: '{"whisper-1":"whisper-large"}' },
    setting: JSON.stringify({
      header_override: {
        'X-Language': rule('language', 'de'),
        'X-Other': rule('language', 'fr'),
        'X-Model': rule('model', 'whisper-large'),
        'X-Asked': rule('model', 'whisper-1'),
      },
    }),
  });
  const form = new FormData();
  form.set('model', 'whisper-1');
  form.set('language', 'de');
  form.set('file', new File([new Uint8Array(64)], 'a.mp3', { type: 'audio/mpeg' }));
  upstream.script((response) => sendJson(response, { text: 'hi' }));
  const path = '/v1/audio/transcriptions';
  const headers = { authorization: `Bearer sk-${key}` };
  const request = new Request(`http://gateway${path}`, { method: 'POST', headers, body: form });
  expect((await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' })).status).toBe(200);
  const names = ['x-language', 'x-other', 'x-model', 'x-asked'];
  expect(names.map((name) => Object.hasOwn(sent()?.headers ?? {}, name))).toEqual([true, false, true, false]);
});

test('a rule for all channels has conditions for headers too, before those of the channel', async () => {
  const rule = (value: string, when: object) => ({ mode: 'set', value, ...when });
  await gateway.option(
    'request_rules',
    JSON.stringify({
      header_override: { 'X-A': rule('all', gold), 'X-B': rule('all', gold), 'X-C': rule('all', silver) },
      models: { 'gpt-*': { header_override: { 'X-D': [rule('model', gold), rule('never', silver)] } } },
    }),
  );
  const wire = await headersBoth({ 'X-A': rule('own', gold), 'X-B': rule('own', silver) });
  expect([wire['x-a'], wire['x-b'], wire['x-c'], wire['x-d']]).toEqual(['own', 'all', undefined, 'model']);
  for (const [name, value] of Object.entries({ 'X-A': 'b {api_key}', Authorization: 'b' }))
    await expect(
      gateway.option(
        'request_rules',
        JSON.stringify({ header_override: { [name]: [rule('a', gold), rule(value, gold)] } }),
      ),
      name,
    ).rejects.toMatchObject({ code: 'option_invalid' });
});

test('a condition of a header that cannot be said of a body ends the request, in the preview as on the wire', async () => {
  const conditions = [{ path: 'user', mode: 'gt', value: 1 }];
  const id = await open({
    setting: JSON.stringify({ header_override: { 'X-A': { mode: 'set', value: 'a', conditions } } }),
  });
  await expect(preview(id, conditioned)).rejects.toMatchObject({
    code: 'channel_rule_failed',
    params: { rule: 'header_override.x-a' },
  });
  const { status, text } = await send(conditioned);
  expect([status, upstream.requests.length]).toEqual([500, 0]);
  expect(text).toContain('header_override.x-a');
});

test.each<[string, unknown]>([
  ['an unknown way to compare', { mode: 'remove', conditions: [{ path: 'a', mode: 'like', value: 'b' }] }],
  ['a path that is a query', { mode: 'remove', conditions: [{ path: 'a.#(b)', mode: 'full', value: 1 }] }],
  ['what only new-api knows', { mode: 'remove', conditions: [{ path: 'retry_index', mode: 'full', value: 1 }] }],
  ['an object without conditions', { mode: 'remove', conditions: {} }],
  [
    'too many conditions',
    { mode: 'remove', conditions: Array.from({ length: 65 }, () => ({ path: 'a', mode: 'full', value: 1 })) },
  ],
  ['a list without rules', []],
  ['a list of values', [{ mode: 'remove' }, 'a']],
  ['too many rules', Array.from({ length: 65 }, () => ({ mode: 'remove' }))],
  ['a list within a list', [[{ mode: 'remove' }]]],
  ['a credential of the client in a list', [{ mode: 'remove' }, { mode: 'copy', from: 'Cookie', ...gold }]],
  ['a condition as long as a book', { mode: 'remove', conditions: { a: 'x'.repeat(262_144) } }],
])('a rule for a header with %s is refused when it is saved', async (_name, rule) => {
  const setting = JSON.stringify({ header_override: { 'X-A': rule } });
  await expect(open({ setting })).rejects.toMatchObject({ code: 'channel_rule_invalid' });
});
test('names that pass have conditions and nothing else, and conditions open none of the connection', async () => {
  for (const header_override of [{ '*': { mode: 'remove' } }, { Host: { mode: 'set', value: 'a', ...gold } }])
    await expect(open({ setting: JSON.stringify({ header_override }) })).rejects.toMatchObject({
      code: 'channel_rule_invalid',
    });
  const wire = await headersBoth({ '*': gold }, conditioned, { cookie: 'c', 'x-amzn-bedrock-service-tier': 'flex' });
  expect([wire.cookie, wire['x-amzn-bedrock-service-tier']]).toEqual([undefined, undefined]);
});

test.each<[string, object]>([
  ['an unknown mode', { mode: 'swap', value: 'a' }],
  ['no mode', { value: 'a' }],
  ['no value', { mode: 'add' }],
  ['an empty value', { mode: 'default', value: ' ' }],
  ['a value of two lines', { mode: 'set', value: 'a\nb' }],
  ["a client's header in a value", { mode: 'set', value: '{client_header:x}' }],
  ['a credential of the client', { mode: 'copy', from: 'Cookie' }],
  ['a header of the client that sets a price', { mode: 'copy', from: 'x-amzn-bedrock-service-tier' }],
  ['a credential of the client under another name', { mode: 'move', from: 'Authorization' }],
  ['a member that its mode does not have', { mode: 'remove', value: 'a' }],
])('a header with %s is refused when it is saved', async (_name, header) => {
  const setting = JSON.stringify({ header_override: { 'X-A': header } });
  await expect(open({ setting })).rejects.toMatchObject({ code: 'channel_rule_invalid' });
});
test.each(['Host', 'Content-Length', 'Transfer-Encoding', 'Connection', 'Proxy-Authorization'])(
  'neither mode reaches %s',
  async (name) => {
    const setting = JSON.stringify({ header_override: { [name]: { mode: 'remove' } } });
    await expect(open({ setting })).rejects.toMatchObject({ code: 'channel_rule_invalid' });
  },
);

test.each(['Authorization', 'x-api-key', 'Api-Key', 'x-goog-api-key', 'mj-api-secret', 'Cookie'])(
  'no rule for all channels sets the credential %s, and one may take it away',
  async (name) => {
    const rules = (header: unknown) => JSON.stringify({ header_override: { [name]: header } });
    for (const header of ['Bearer other', { mode: 'default', value: 'other' }, { mode: 'copy', from: 'x-mine' }])
      await expect(gateway.option('request_rules', rules(header))).rejects.toMatchObject({ code: 'option_invalid' });
    await gateway.option('request_rules', rules({ mode: 'remove' }));
    // A channel's own rule is about its own upstream.
    await open({ setting: rules('Bearer own') });
  },
);

/** Cases of the comparison; more with `RULE_CASES`. */
const cases = Number(process.env.RULE_CASES ?? 40);
const seed = Number(process.env.RULE_SEED ?? 11);

test('previews and requests are alike under rules and bodies made at random', { timeout: 400_000 }, async () => {
  const made = new RandomCase(seed);
  const id = await open({});
  const seen = { sent: 0, refused: 0, changed: 0 };
  for (let n = 0; n < cases; n++) {
    const { channel, rules, body, headers } = made.next();
    await gateway.services.channels.update(id, channel, 'owner');
    await gateway.option('request_rules', JSON.stringify(rules));
    upstream.requests.length = 0;
    const previewed = await preview(id, body, headers).catch((error: unknown) => error);
    const { status } = await send(body, headers);
    const wire = sent();
    const label = `seed ${seed}, case ${n}`;
    if (wire === undefined) {
      seen.refused++;
      expect(previewed, label).toBeInstanceOf(AppError);
      const { row, params } = previewed as AppError;
      expect(params.status ?? row.status, label).toBe(status);
      continue;
    }
    seen.sent++;
    const { url, headers: shown, body: text } = previewed as PreviewedCall;
    expect(`${upstream.url}${wire.path}`, label).toBe(url);
    expect(wire.body.toString(), label).toBe(text ?? '');
    const marked = Object.entries(shown).map(([name, value]) => [name, value.replaceAll('{api_key}', secret)]);
    expect(wire.headers, label).toMatchObject(Object.fromEntries(marked));
    const others = Object.keys(wire.headers).filter((name) => !Object.hasOwn(shown, name) && !ofRuntime.has(name));
    expect(others, label).toEqual([]);
    if (text !== JSON.stringify(body)) seen.changed++;
  }
  expect(Math.min(seen.sent, seen.refused, seen.changed)).toBeGreaterThan(cases / 40);
});

const ofRuntime: ReadonlySet<string> = new Set(
  'host connection content-length accept-encoding user-agent accept'.split(' '),
);
