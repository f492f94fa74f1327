import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Endpoint } from '../../server/contract/endpoint.ts';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import { type ApiFixture, createApiFixture } from '../support/api.ts';

let api: ApiFixture;
beforeEach(async () => {
  api = await createApiFixture();
});
afterEach(() => api.close());

interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Record<
    string,
    Record<
      string,
      { operationId: string; summary: string; responses: object; parameters: { name: string; in: string }[] }
    >
  >;
}

const documentOf = async (query = '', headers: Record<string, string> = {}): Promise<Document> =>
  (await api.send('GET', `/api/openapi.json${query}`, undefined, headers)).body as unknown as Document;
const callsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`),
  );

test('every call that goes over the network is in the document, once', async () => {
  const document = await documentOf('', { 'accept-language': 'en' });
  expect(document.openapi).toBe('3.1.0');
  const rows = (endpoints as readonly Endpoint[])
    .filter(({ access }) => access !== 'local')
    .map(({ id, method, path }) => `${id} ${method} ${path.replace(/:(\w+)/g, '{$1}').replace(/\/$/, '')}`);
  const calls = callsOf(document);
  expect(calls.filter((call) => !/^(relay|program)\./.test(call)).sort()).toEqual(rows.sort());
  expect(new Set(calls.map((call) => call.split(' ')[0])).size).toBe(calls.length);
  expect(document.paths['/api/token/{id}']?.get).toMatchObject({
    summary: 'One token',
    parameters: [{ name: 'id', in: 'path' }],
  });
});

test('calls of models are in it, with the key that they need', async () => {
  const document = await documentOf();
  const calls = callsOf(document);
  for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/embeddings', '/v1/audio/speech'])
    expect(calls.filter((call) => call.endsWith(` POST ${path}`))).toHaveLength(1);
  expect(calls).toContain('relay.get_v1_models GET /v1/models');
  expect(calls.some((call) => call.startsWith('relay.') && call.includes('/v1beta/models/{model}:'))).toBe(true);
  expect(calls.some((call) => call.includes('/pg/'))).toBe(false);
  expect(document.paths['/v1/messages']?.post).toMatchObject({ security: [{ api_key: [] }] });
  expect(document.servers).toEqual([{ url: api.base }]);
});

test('the addresses that the metadata of sign-ins names are in it, open to all, with what they take', async () => {
  await api.gateway.option('agents.sign_in', 'true');
  const answer = await fetch(`${api.base}/.well-known/oauth-authorization-server`, {
    headers: { 'x-gateway-client-ip': '127.0.0.1' },
  });
  const named = Object.entries((await answer.json()) as Record<string, unknown>).flatMap(([name, value]) =>
    name.endsWith('_endpoint') ? [new URL(String(value)).pathname] : [],
  );
  expect(named).toHaveLength(4);
  const { paths } = await documentOf();
  for (const path of [...named, '/.well-known/oauth-authorization-server', '/.well-known/opencode']) {
    const [described] = Object.values(paths[path] ?? {});
    expect(described, path).toMatchObject({ tags: ['program'], 'x-access': 'public', security: [] });
  }
  expect(paths['/oauth/authorize']?.get?.parameters).toContainEqual(
    expect.objectContaining({ name: 'code_challenge', in: 'query' }),
  );
  const content = (path: string) => JSON.stringify(Object.keys(Object(paths[path]?.post).requestBody.content));
  for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/device_authorization'])
    expect(content(path)).toContain('x-www-form-urlencoded');
  for (const path of ['/managed/settings', '/api/oauth/usage'])
    expect(paths[path]?.get).toMatchObject({ tags: ['program'], security: [{ api_key: [] }] });
});

test('calls of models say what they take and return, with examples that have every member they need', async () => {
  const { paths } = await documentOf();
  const shapeOf = (body: unknown) =>
    body as { schema?: { properties?: object; required?: string[] }; example?: object };
  const parts = [
    ...['/v1/chat/completions', '/v1/messages', '/v1/responses', '/v1beta/models/{model}:generateContent', '/api/chat'],
    ...['/v2/chat', '/v1/completions', '/v1/embeddings', '/v1/moderations', '/v1/rerank', '/v1/images/generations'],
    ...['/v1/images/edits', '/v1/images/variations', '/v1/audio/transcriptions', '/v1/audio/translations'],
    '/v1/messages/count_tokens',
  ].flatMap((path) => {
    const called = paths[path]?.post as unknown as
      | {
          readonly requestBody: { readonly content: Record<string, unknown> };
          readonly responses: Record<string, { readonly content: Record<string, unknown> }>;
        }
      | undefined;
    return [
      [`${path} takes`, shapeOf(Object.values(called?.requestBody.content ?? {})[0] ?? {})] as const,
      [`${path} returns`, shapeOf(called?.responses['200']?.content['application/json'] ?? {})] as const,
    ];
  });
  for (const [what, { schema, example }] of parts) {
    const known = Object.keys(schema?.properties ?? {});
    expect(known, what).not.toEqual([]);
    expect(Object.keys(example ?? {}), what).toEqual(expect.arrayContaining(schema?.required ?? ['']));
    expect(known, what).toEqual(expect.arrayContaining(Object.keys(example ?? {})));
  }
  // Speech is bytes.
  expect(JSON.stringify(paths['/v1/audio/speech']?.post)).toContain('application/octet-stream');
});

test('the language is the one that is asked for, then the one of the request, then English', async () => {
  const summary = async (query: string, language?: string) =>
    (await documentOf(query, language === undefined ? {} : { 'accept-language': language })).paths['/api/token/{id}']
      ?.get?.summary;
  expect(await summary('')).toBe('One token');
  expect(await summary('', 'fr')).toBe('One token');
  expect(await summary('', 'zh-CN,zh;q=0.9')).toBe('令牌详情');
  expect(await summary('?lang=en', 'zh')).toBe('One token');
  expect(await summary('?lang=zh', 'en')).toBe('令牌详情');
});

test('paths are unambiguous and end without a slash, and every call has a success, a failure and words', async () => {
  const { paths } = await documentOf();
  const shapes = Object.keys(paths).map((path) => path.split('/'));
  const clash = (one: readonly string[], other: readonly string[]): boolean =>
    one.length === other.length &&
    one.every((part, at) => part === other[at] || part.startsWith('{') || (other[at] ?? '').startsWith('{')) &&
    one.some((part, at) => part.startsWith('{') && !(other[at] ?? '').startsWith('{')) &&
    one.some((part, at) => !part.startsWith('{') && (other[at] ?? '').startsWith('{'));
  expect(shapes.flatMap((one, at) => shapes.slice(at + 1).filter((other) => clash(one, other)))).toEqual([]);
  expect(Object.keys(paths).filter((path) => path.endsWith('/'))).toEqual([]);
  for (const methods of Object.values(paths))
    for (const { summary, responses } of Object.values(methods)) {
      expect(summary).not.toBe('');
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '4XX']));
    }
});
