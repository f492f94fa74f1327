import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PracticeUpstream, startPracticeUpstream } from '../../server/practice/upstream.ts';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { agentHeaders } from '../../server/providers/knowledge/agent-headers.ts';
import { targetFor } from '../../server/providers/knowledge/target.ts';
import { relayRouteFor } from '../../server/relay/intake/routes.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { inShare } from '../support/often.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

/** Requests recorded from real agents and SDKs, where they are at hand: they are not part of the project; one of our own is always there. */
const folder = resolve(import.meta.dirname, '../../../shared/client-captures');

interface Capture {
  readonly file: string;
  readonly method?: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>> | readonly (readonly [string, string])[];
  readonly body: Readonly<Record<string, unknown>>;
}

const own: Capture = {
  file: 'own',
  url: '/v1/chat/completions',
  headers: { 'content-type': 'application/json' },
  body: { model: 'gpt-4o', stream: true, messages: [{ role: 'user', content: 'Good morning' }] },
};

const all: Capture[] = (existsSync(folder) ? readdirSync(folder) : [])
  .filter((file) => file.endsWith('.json'))
  .map((file) => ({ file, ...(JSON.parse(readFileSync(join(folder, file), 'utf8')) as object) }) as Capture);
const recorded = all.filter(({ url, method, body }) => {
  const route = relayRouteFor(String(url).split('?')[0] ?? '')?.route;
  return route?.operation === 'chat' && method === 'POST' && typeof body === 'object' && body !== null;
});
/** Everything but conversations: lists, counts, embeddings, pictures, sound. */
const others: readonly Capture[] = [
  { file: 'own list', method: 'GET', url: '/v1/models', headers: {}, body: {} },
  ...all.filter(({ file, url }) => url !== undefined && !recorded.some((chat) => chat.file === file)),
];

const captures: readonly Capture[] = [own, ...recorded];
const dialects = Object.keys(codecs) as ProtocolId[];
const pathOf = (capture: Capture): string => capture.url.split('?')[0] ?? '';
const modelOf = (capture: Capture): string => {
  const matched = relayRouteFor(pathOf(capture));
  const named = matched?.model ?? capture.body?.model ?? matched?.route.defaultModel;
  return typeof named === 'string' ? named : 'none';
};
/** What an agent wrote for its maker's own hosts goes to no other one. */
function withoutAgentLine({ body }: Capture): Readonly<Record<string, unknown>> {
  const { system } = body;
  const [first] = Array.isArray(system) ? (system as readonly { readonly text?: string }[]) : [];
  return first?.text?.startsWith('x-anthropic-billing-header:') === true
    ? { ...body, system: (system as unknown[]).slice(1) }
    : body;
}
const credentials = ['authorization', 'x-api-key', 'x-goog-api-key'];

let gateway: TestGateway;
let practice: PracticeUpstream;
let same: Upstream;
let key: string;

beforeAll(async () => {
  gateway = await createTestGateway();
  practice = startPracticeUpstream({ port: 0 });
  same = await startUpstream((response) => sendJson(response, { error: { message: 'no', type: 'x' } }, 400));
  const models = [...new Set([...captures, ...others].map(modelOf))].join(',') || 'none';
  for (const dialect of dialects) {
    // What hosts want put into another order is no loss of the dialect.
    const setting = JSON.stringify({ dialect, system_messages: 'anywhere' });
    await gateway.channel(practice.url, { type: 199, models, group: dialect, setting });
  }
  await gateway.channel(same.url, { type: 199, models, group: 'same' });
  const model_mapping = JSON.stringify(Object.fromEntries(models.split(',').map((name) => [name, 'mapped-model'])));
  await gateway.channel(same.url, { type: 199, models, group: 'mapped', model_mapping });
  await gateway.option('SelfUseModeEnabled', 'true');
  const groups = ['same', 'mapped', ...dialects];
  await gateway.option(
    'GroupRatio',
    JSON.stringify(Object.fromEntries(['default', ...groups].map((name) => [name, 1]))),
  );
  await gateway.option('UserUsableGroups', JSON.stringify(Object.fromEntries(groups.map((name) => [name, name]))));
  key = (await gateway.token({ group: 'same' })).key;
});
afterAll(async () => {
  await gateway.close();
  await practice.stop();
  await same.stop();
});

function send(capture: Capture, token: string, headers: Record<string, string>) {
  const path = pathOf(capture);
  const request = new Request(`http://gateway${capture.url}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(capture.body),
  });
  const place = credentials.find((name) => request.headers.has(name)) ?? 'authorization';
  request.headers.set(place, place === 'authorization' ? `Bearer sk-${token}` : `sk-${token}`);
  return gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
}

function headersOf({ headers }: Capture): Record<string, string> {
  const pairs = Array.isArray(headers) ? (headers as readonly (readonly [string, string])[]) : Object.entries(headers);
  const hops = /^(host|content-length|connection|accept-encoding)$/;
  const named = pairs.map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  // Long values were shortened in the recording with a sign that no header may hold.
  return Object.fromEntries(named.filter(([name, value]) => !hops.test(name) && /^[\x20-\x7e]*$/.test(value)));
}

test.each(captures.map((capture) => [capture.file, capture] as const))(
  '%s reaches an upstream of its dialect byte for byte',
  async (_file, capture) => {
    const before = same.requests.length;
    await send(capture, key, headersOf(capture));
    const received = same.requests[before];
    const sent = JSON.parse(received?.body.toString() ?? 'null') as Record<string, unknown>;
    // A usage frame is asked for where the client did not.
    const { stream_options: ours, ...rest } = sent;
    const captured = withoutAgentLine(capture);
    const { stream_options: theirs, ...body } = captured;
    expect(rest).toEqual(body);
    if (ours !== undefined) expect(ours).toMatchObject({ ...(theirs as object | undefined), include_usage: true });
    else expect(received?.body.toString()).toBe(JSON.stringify(captured));
    expect(JSON.stringify(received?.headers)).not.toContain(key);
    expect(received?.headers.authorization).toBe('Bearer sk-upstream-secret-key');
    // Headers that name the user and the session pass; the rest would let the client speak for us.
    const known =
      /^(host|connection|accept|accept-encoding|user-agent|content-(type|length)|authorization|anthropic-(version|beta)|openai-beta)$/;
    const agents = new Set(agentHeaders.map(({ name }) => name));
    const others = Object.keys(received?.headers ?? {}).filter((name) => !known.test(name) && !agents.has(name));
    expect(others).toEqual([]);
    expect(received?.headers['user-agent']).toBe(headersOf(capture)['user-agent'] ?? 'gateway');
    for (const name of ['anthropic-version', 'anthropic-beta', 'session-id', 'x-claude-code-session-id'] as const) {
      const captured = headersOf(capture)[name];
      if (captured !== undefined) expect(received?.headers[name]).toBe(captured);
    }
  },
);

function lossesOf(capture: Capture, from: ProtocolId, to: ProtocolId): string[] {
  const dropped: string[] = [];
  const stream = relayRouteFor(pathOf(capture))?.route.stream ?? capture.body.stream === true;
  const requested = codecs[from].translation.decodeRequest(withoutAgentLine(capture), {
    model: modelOf(capture),
    stream,
  });
  codecs[to].translation.encodeRequest(requested, dropped, targetFor('practice', requested.model));
  return dropped;
}

const answered = captures.flatMap((capture, at) =>
  dialects.filter((_, index) => inShare(at, index)).map((dialect) => [capture.file, dialect, capture] as const),
);
test.each(answered)('%s is answered by an upstream of %s', async (_file, dialect, capture) => {
  const token = await gateway.token({ group: dialect });
  const response = await send(capture, token.key, headersOf(capture));
  expect(await response.text()).toContain('practice');
  expect(response.status).toBe(200);
  // The log lists what the translation lost, as the dialect's own halves list it.
  const from = relayRouteFor(pathOf(capture))?.route.protocol ?? 'openai-chat';
  const [log] = await gateway.logs();
  const listed = (JSON.parse(log?.other ?? '{}') as { dropped?: string[] }).dropped ?? [];
  expect(log?.token_id).toBe(token.id);
  const line = withoutAgentLine(capture) === capture.body ? [] : [expect.stringContaining('billing-header')];
  if (from === dialect) expect(listed).toEqual(line);
  else expect(listed).toEqual([...line, ...lossesOf(capture, from, dialect)]);
});

test.each(captures.map((capture) => [capture.file, capture] as const))(
  '%s reaches a channel that maps its model with that alone changed',
  async (_file, capture) => {
    const before = same.requests.length;
    const token = await gateway.token({ group: 'mapped' });
    await send(capture, token.key, headersOf(capture));
    const received = same.requests[before];
    const named = relayRouteFor(pathOf(capture))?.model == null;
    const sent = JSON.parse(received?.body.toString() ?? 'null') as Record<string, unknown>;
    const { stream_options: _ours, ...rest } = sent;
    const captured = withoutAgentLine(capture);
    const { stream_options: _theirs, ...body } = captured;
    expect(rest).toEqual(named ? { ...body, model: 'mapped-model' } : body);
    if (!named) expect(received?.path).toContain('/models/mapped-model:');
    // The client's own text, not a retelling of it.
    if (sent.stream_options === undefined || capture.body.stream_options !== undefined)
      expect(received?.body.toString()).toBe(JSON.stringify(named ? { ...captured, model: 'mapped-model' } : captured));
  },
);

/** What a recorded form consists of, sent as one. */
function formOf(capture: Capture): { readonly type: string; readonly body: string } {
  const mark = 'mark';
  const part = (name: string, value: string) =>
    `--${mark}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const body = `${part('model', modelOf(capture))}${part('prompt', 'x')}${part('file"; filename="a.bin', 'x')}--${mark}--\r\n`;
  return { type: `multipart/form-data; boundary=${mark}`, body };
}

test.each(others.map((capture) => [capture.file, capture] as const))('%s is accepted', async (_file, capture) => {
  const path = pathOf(capture);
  if (path === '/api/hello') return expect(relayRouteFor(path)).toBeUndefined();
  const headers = { ...headersOf(capture), authorization: `Bearer sk-${key}` };
  const socket = capture.method === 'UPGRADE';
  const isPost = capture.method === 'POST';
  const isForm = relayRouteFor(path)?.route.body === 'form';
  const form = isForm ? formOf(capture) : { type: 'application/json', body: JSON.stringify(capture.body) };
  const before = same.requests.length;
  const request = new Request(`http://gateway${capture.url}`, {
    method: isPost ? 'POST' : 'GET',
    headers: {
      ...headers,
      ...(isPost ? { 'content-type': form.type } : {}),
      ...(socket ? { upgrade: 'websocket' } : {}),
    },
    ...(isPost ? { body: form.body } : {}),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  const answer = await response.text();
  if (socket) return expect(response.status).toBe(426);
  const operation = relayRouteFor(path)?.route.operation;
  if (operation === undefined || operation === 'count_tokens')
    return expect([response.status, answer.length > 2]).toEqual([200, true]);
  // Paid ones get as far as the upstream, which refuses them here.
  expect([response.status, same.requests.length - before]).toEqual([400, 1]);
  expect(answer).toContain('no (request id');
  const received = same.requests[before];
  if (isForm) expect(received?.body.toString()).toBe(form.body);
  else if (relayRouteFor(path)?.route.protocol === 'openai-chat')
    expect(JSON.parse(received?.body.toString() ?? '')).toEqual(capture.body);
});
