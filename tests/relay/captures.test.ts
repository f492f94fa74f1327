import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PracticeUpstream, startPracticeUpstream } from '../../server/practice/upstream.ts';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { relayRouteFor } from '../../server/relay/operations.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

/** Requests recorded from real agents and SDKs, where they are at hand: they are not part of the project; one of our own is always there. */
const folder = resolve(import.meta.dirname, '../../../shared/client-captures');

interface Capture {
  readonly file: string;
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

const recorded: Capture[] = (existsSync(folder) ? readdirSync(folder) : [])
  .filter((file) => file.endsWith('.json'))
  .map((file) => ({ file, ...(JSON.parse(readFileSync(join(folder, file), 'utf8')) as object) }) as Capture)
  .filter(({ url, body }) => {
    const route = relayRouteFor(String(url).split('?')[0] ?? '')?.route;
    return route?.operation === 'chat' && typeof body === 'object' && body !== null;
  });

const captures: readonly Capture[] = [own, ...recorded];
const dialects = Object.keys(codecs) as ProtocolId[];
const pathOf = (capture: Capture): string => capture.url.split('?')[0] ?? '';
const modelOf = (capture: Capture): string => relayRouteFor(pathOf(capture))?.model ?? String(capture.body.model);
const credentials = ['authorization', 'x-api-key', 'x-goog-api-key'];

let gateway: TestGateway;
let practice: PracticeUpstream;
let same: Upstream;
let key: string;

beforeAll(async () => {
  gateway = await createTestGateway();
  practice = startPracticeUpstream({ port: 0 });
  same = await startUpstream((response) => sendJson(response, { error: { message: 'no', type: 'x' } }, 400));
  const models = [...new Set(captures.map(modelOf))].join(',') || 'none';
  for (const dialect of dialects) {
    const setting = JSON.stringify({ dialect });
    await gateway.channel(practice.url, { type: 199, models, group: dialect, setting });
  }
  await gateway.channel(same.url, { type: 199, models, group: 'same' });
  await gateway.option('SelfUseModeEnabled', 'true');
  const groups = ['same', ...dialects];
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
    const { stream_options: theirs, ...body } = capture.body;
    expect(rest).toEqual(body);
    if (ours !== undefined) expect(ours).toMatchObject({ ...(theirs as object | undefined), include_usage: true });
    else expect(received?.body.toString()).toBe(JSON.stringify(capture.body));
    expect(JSON.stringify(received?.headers)).not.toContain(key);
    expect(received?.headers.authorization).toBe('Bearer sk-upstream-secret-key');
    for (const name of ['anthropic-version', 'anthropic-beta'] as const) {
      const given = headersOf(capture)[name];
      if (given !== undefined) expect(received?.headers[name]).toBe(given);
    }
  },
);

test.each(captures.flatMap((capture) => dialects.map((dialect) => [capture.file, dialect, capture] as const)))(
  '%s is answered by an upstream of %s',
  async (_file, dialect, capture) => {
    const token = await gateway.token({ group: dialect });
    const response = await send(capture, token.key, headersOf(capture));
    expect(await response.text()).toContain('practice');
    expect(response.status).toBe(200);
  },
);
