/** What is decided once for all calls of a channel: which edits it can need, where and with what headers it is called, and how long that is kept. */
import { expect, test } from 'vitest';
import type { ChannelSnapshot } from '../../server/contract/snapshot.ts';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { compileSettings } from '../../server/relay/state/settings.ts';
import { headersOf, nativeForm } from '../../server/routing/endpoint.ts';
import { Feature } from '../../server/routing/features.ts';
import type { CallRequest } from '../../server/routing/protocol.ts';
import { compileTarget, Targets } from '../../server/routing/target.ts';

const settings = compileSettings(new Map(), 0);
const channel = (slug: string, fields: Partial<ChannelSnapshot> = {}): ChannelSnapshot => ({
  id: 1,
  name: 'c',
  type: providerBySlug(slug)?.type ?? 0,
  keys: ['k'],
  baseUrl: '',
  organization: '',
  other: '',
  models: ['m'],
  groups: ['default'],
  priority: 0,
  weight: 0,
  status: 1,
  autoBan: true,
  tag: '',
  testModel: '',
  modelMapping: {},
  statusCodeMapping: {},
  paramOverride: {},
  setting: {},
  ...fields,
});
const chat: CallRequest = {
  operation: 'chat',
  protocol: 'openai-chat',
  stream: false,
  model: 'm',
  session: false,
  ordered: false,
};
const parsed = { ...chat, route: {} };
const compiled = (slug: string, request: Partial<CallRequest> = {}, fields: Partial<ChannelSnapshot> = {}) => {
  const target = compileTarget(channel(slug, fields), { ...chat, ...request }, settings, 'secret');
  if (target === null) throw new Error(`${slug} does not serve it`);
  return target;
};
const plain = { baseUrl: 'https://example.com' };

test('a model that stands for one with other demands has all its members fitted, for one with the same those that it refuses', () => {
  const fits = (served: string) =>
    compiled('openai', { model: 'gpt-4o' }, { modelMapping: { 'gpt-4o': served } }).edits.some(
      ({ reads }) => reads === null,
    );
  expect([fits('o3'), fits('gpt-4o-mini'), fits('gpt-4o')]).toEqual([true, false, false]);
});

test('a body of the upstream’s own dialect needs no edit, a streamed one that usage is asked for', () => {
  expect(compiled('custom', {}, plain).edits).toHaveLength(0);
  const { edits, requestsUsage } = compiled('custom', { stream: true }, plain);
  expect(requestsUsage).toBe(true);
  expect(edits).toHaveLength(1);
  const body = (members: Record<string, unknown>) => ({ members, exact: () => members, foreign: new Map() });
  const requested = (options?: unknown) => [...(edits[0]?.run(body({ stream_options: options }), []) ?? [])];
  expect(requested()).toEqual([['stream_options', '{"include_usage":true}']]);
  expect(requested({ include_usage: true })).toEqual([]);
  expect(requested({ include_usage: false, more: 1 })).toEqual([['stream_options', '{"include_usage":true,"more":1}']]);
});

test('embeddings of Gemini clients are asked for by the method that was called, those of others by the list', () => {
  const embeddings = { operation: 'embeddings', model: 'gemini-embedding-001' };
  const asked = (request: Partial<CallRequest>, url: string) => {
    const { url: address } = compiled('gemini', { ...embeddings, ...request });
    return typeof address === 'string' ? address : address({ key: 'k', url, path: '' });
  };
  const base = 'https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001';
  const own = { protocol: 'gemini-generate' } as const;
  for (const version of ['v1', 'v1beta']) {
    const called = `http://gateway/${version}/models/gemini-embedding-001`;
    expect(asked(own, `${called}:embedContent`)).toBe(`${base}:embedContent`);
    expect(asked(own, `${called}:embedContent?alt=json`)).toBe(`${base}:embedContent`);
    expect(asked(own, `${called}:batchEmbedContents`)).toBe(`${base}:batchEmbedContents`);
  }
  expect(asked({}, 'http://gateway/v1/embeddings')).toBe(`${base}:batchEmbedContents`);
});

test('members that a provider refuses inside of messages are looked for where a request has one', () => {
  const [thought, rules] = compiled('openai', { model: 'gpt-4o' }).edits;
  expect(rules?.features).toBe(Feature.strays);
  // It does not think: what asks it to is looked for where that stands.
  expect(thought?.reads).toEqual(['reasoning_effort']);
  expect(compiled('openai').edits).toHaveLength(0);
  // Another provider wants something of members that every request has.
  expect(compiled('deepseek', { model: 'deepseek-chat' }).edits[0]?.features).toBeUndefined();
  expect(compiled('openai', { model: 'gpt-4o' }).foreignFeatures).toBe(Feature.strays);
});

test('a channel with pass-through is not edited', () => {
  const override = { paramOverride: { seed: 1 } };
  expect(compiled('custom', { stream: true }, { ...plain, ...override }).edits).toHaveLength(2);
  expect(
    compiled('custom', { stream: true }, { ...plain, ...override, setting: { pass_through: true } }).edits,
  ).toEqual([]);
});

test('a provider with addresses of its own takes a body of its dialect as it came', () => {
  const { edits, whole, translate } = compiled('vertex', { protocol: 'gemini-generate', model: 'gemini-2.5-pro' });
  expect([whole, translate]).toEqual([undefined, null]);
  expect(edits.map(({ reads }) => reads)).toEqual([['generationConfig'], ['contents']]);
  // Turns are read where a picture stands in them.
  expect(edits[1]?.features).toBe(Feature.strays);
  const other = compiled('vertex', { protocol: 'gemini-generate', model: 'gemini-x' }).edits;
  expect(other.map(({ reads, features }) => [reads, features])).toEqual([[['contents'], Feature.strays]]);
});

test('an address that follows from key or query alone is a function', () => {
  expect(compiled('custom', {}, plain).url).toBe('https://example.com/v1/chat/completions');
  const details = { key: 'k', path: '', url: 'http://here/v1/messages?key=mine&beta=true' };
  const messages = compiled('anthropic', { protocol: 'anthropic-messages', model: 'claude-opus-4-6' }).url;
  expect(typeof messages === 'function' && messages(details)).toBe('https://api.anthropic.com/v1/messages?beta=true');
  const bedrock = compiled('aws', { model: 'claude-opus-4-6' }).url;
  const key = 'a|b|eu-west-1';
  expect(typeof bedrock === 'function' && bedrock({ ...details, key })).toBe(
    'https://bedrock-runtime.eu-west-1.amazonaws.com/model/eu.anthropic.claude-opus-4-6-v1/invoke',
  );
});

test('headers of the client’s dialect and of its agent go to its own dialect alone', () => {
  const clientHeaders = {
    'anthropic-beta': 'b',
    'user-agent': 'agent',
    version: '1',
    'x-app': 'ü',
    cookie: 'c',
    'idempotency-key': 'i',
  };
  const headers = (slug: string) =>
    headersOf(
      compiled(slug, { protocol: 'anthropic-messages', model: 'claude-opus-4-6' }).headers,
      'k',
      clientHeaders,
      undefined,
    );
  expect(headers('anthropic')).toEqual({
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'agent',
    'anthropic-version': '2023-06-01',
    'x-api-key': 'k',
    'anthropic-beta': 'b',
    version: '1',
  });
  expect(headers('mistral')).toEqual({
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'agent',
    authorization: 'Bearer k',
  });
});

test('no header of a caller makes an upstream answer it with what another was answered', () => {
  const names = ['idempotency-key', 'x-idempotency-key', 'x-stainless-idempotency-key', 'x-request-id', 'request-id'];
  const clientHeaders = Object.fromEntries(names.map((name) => [name, 'theirs']));
  for (const slug of ['openai', 'anthropic', 'custom', 'mistral', 'gemini', 'azure']) {
    const sent = headersOf(compiled(slug, {}, plain).headers, 'k', clientHeaders, undefined);
    expect(Object.keys(sent).filter((name) => names.includes(name))).toEqual([]);
  }
});

test('headers are shared by requests that send the same, and by no others', () => {
  const { headers } = compiled('custom', {}, plain);
  const of = (agent: string, key = 'k', type?: string) =>
    headersOf(headers, key, { 'user-agent': agent, cookie: agent }, type);
  const first = of('a');
  expect(of('a')).toBe(first);
  expect(of('b')).toMatchObject({ 'user-agent': 'b', authorization: 'Bearer k' });
  expect(of('a', 'other')).toMatchObject({ 'user-agent': 'a', authorization: 'Bearer other' });
  expect(of('a', 'k', 'multipart/form-data')).toMatchObject({ 'content-type': 'multipart/form-data' });
  for (let n = 0; n < 300; n++) of(`agent ${n}`);
  expect(of('a')).toEqual(first);
  const native = nativeForm(of('a'));
  expect(native).toBeInstanceOf(Headers);
  expect(nativeForm(of('a'))).toBe(native);
  expect(Object.fromEntries(native as Headers)).toEqual(first);
  const own = { ...first, more: '1' };
  expect(nativeForm(own)).toBe(own);
});

test('a target is kept until its channel or an option changes', () => {
  const targets = new Targets();
  const one = channel('custom', plain);
  const found = targets.find(one, parsed, settings, 'k');
  expect(targets.find(one, { ...parsed }, settings, 'other')).toBe(found);
  expect(targets.find(one, { ...parsed, stream: true }, settings, 'k')).not.toBe(found);
  expect(targets.find(one, { ...parsed, model: 'n' }, settings, 'k')).not.toBe(found);
  const changed = { ...one, modelMapping: { m: 'n' } };
  expect(targets.find(changed, parsed, settings, 'k')?.place.model).toBe('n');
  const through = compileSettings(new Map([['global.pass_through_request_enabled', 'true']]), 0);
  const streamed = { ...parsed, stream: true };
  expect(targets.find(changed, streamed, settings, 'k')?.edits).toHaveLength(1);
  expect(targets.find(changed, streamed, through, 'k')?.edits).toHaveLength(0);
});

test('keys of several parts have targets of their own', () => {
  const targets = new Targets();
  const spark = channel('xunfei');
  const requested = { ...parsed, model: 'SparkDesk-v3.5' };
  expect(targets.find(spark, requested, settings, 'app|secret|key')?.wire).not.toBeNull();
  expect(targets.find(spark, requested, settings, 'password')?.wire).toBeNull();
});

test('the least recently used of too many targets goes', () => {
  const targets = new Targets(2);
  const one = channel('custom', plain);
  const find = (model: string) => targets.find(one, { ...parsed, model }, settings, 'k');
  const [a, b] = [find('a'), find('b')];
  expect(find('a')).toBe(a);
  find('c');
  expect(find('a')).toBe(a);
  expect(find('b')).not.toBe(b);
});

test('headers of the operator for Claude never replace the key or what belongs to the connection, whatever was stored before', () => {
  const stored = {
    'X-One': '1',
    'X-Api-Key': 'other',
    Authorization: 'other',
    HOST: 'elsewhere',
    'Content-Length': '1',
  };
  const options = compileSettings(new Map([['claude.model_headers_settings', JSON.stringify({ m: stored })]]), 0);
  const request: CallRequest = { ...chat, protocol: 'anthropic-messages' };
  const plan = compileTarget(channel('anthropic'), request, options, 'secret')?.headers;
  const sent = plan === undefined ? {} : headersOf(plan, 'own', {}, undefined);
  expect(sent).toMatchObject({ 'X-One': '1', 'x-api-key': 'own' });
  expect(Object.values(sent)).not.toContain('other');
  expect(Object.keys(sent).map((name) => name.toLowerCase())).not.toContain('host');
  expect(Object.keys(sent).map((name) => name.toLowerCase())).not.toContain('content-length');
});

test('of members that a mapped model refuses each goes that differs from what it takes, and what it takes stays as it is', () => {
  const { edits } = compiled('openai', { model: 'gpt-4o' }, { modelMapping: { 'gpt-4o': 'o3' } });
  const [edit] = edits.filter(({ reads }) => reads === null);
  const edited = (members: Record<string, unknown>) => {
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }], ...members };
    const changes = edit?.run({ members: body, exact: () => body, foreign: new Map() } as never, []) ?? [];
    return Object.fromEntries(changes);
  };
  expect(edited({ temperature: 0.5 })).toEqual({ temperature: undefined });
  expect(edited({})).toEqual({});
  expect(edited({ max_tokens: 100 })).toMatchObject({ max_tokens: undefined, max_completion_tokens: '100' });
  expect(edited({ max_completion_tokens: 100 })).toEqual({});
});

test('what a signature looks like is known where the provider answers itself, and of no other address', () => {
  const form = (baseUrl: string) =>
    compiled('anthropic', { protocol: 'anthropic-messages', model: 'claude-sonnet-4-5' }, { baseUrl }).signing.form;
  expect(form('https://api.anthropic.com')).not.toBeNull();
  expect(form('https://proxy.example.com')).toBeNull();
});
