/** What a server logs about itself and its requests: read by programs line by line, and by people who look up a request id. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { createLog, flattened } from '../../server/observability/logging/log.ts';
import { logSettings } from '../../server/observability/logging/settings.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { createSite, type Serving, type Site } from './support.ts';

let site: Site | null = null;
let upstream: Upstream | null = null;
afterEach(async () => {
  await site?.close();
  await upstream?.stop();
  site = upstream = null;
});

const ask = (serving: Serving, key: string, model = 'gpt-4o-mini') =>
  fetch(`${serving.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'the secret of the prompt' }] }),
  });

type Line = Readonly<Record<string, unknown>>;
const linesOf = (serving: Serving): Line[] =>
  serving
    .output()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

async function lineWhere(serving: Serving, fitsIn: (line: Line) => boolean): Promise<Line> {
  for (;;) {
    const found = linesOf(serving).find(fitsIn);
    if (found !== undefined) return found;
    await sleep(50);
  }
}

test('every line is JSON with level, time and request id, and the request id leads to log row and line', async () => {
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  site = createSite();
  const key = await site.setUp(upstream.url);
  const serving = await site.serve(['--log-format', 'json', '--access-log', '--relays', '2']).catch(() => null);
  // The first line of standard output is JSON as well; the address stands in it.
  const url = (JSON.parse(serving?.url ?? '{}') as { url: string }).url;
  const running = { ...(serving as Serving), url };

  const answered = await ask(running, key);
  expect(answered.status).toBe(200);
  const id = answered.headers.get('x-oneapi-request-id') ?? '';
  const rejected = (await (await ask(running, key, 'unheard-of')).json()) as { error: { message: string } };
  const [, requestId = ''] = /request id: (\w+)/.exec(rejected.error.message) ?? [];

  const line = await lineWhere(running, ({ message }) => message === 'request');
  expect(line).toMatchObject({
    level: 'info',
    model: 'gpt-4o-mini',
    user: 'root',
    token: 'test',
    channel: 1,
    end: 'completed',
    input_tokens: 10,
    output_tokens: 5,
    tries: 1,
  });
  if (id !== '') expect(line.request_id).toBe(id);
  expect(Number.isNaN(Date.parse(String(line.at)))).toBe(false);
  expect(await lineWhere(running, ({ request_id }) => request_id === requestId)).toMatchObject({
    message: 'request refused',
    code: 'model_not_found',
    status: 404,
    user: 'root',
  });
  // In the words of the terminal.
  expect(await site.ok(['logs', 'explain', requestId, '--lang', 'en'])).toContain('refused: model_not_found, HTTP 404');

  await fetch(`${url}/api/status?code=hush`);
  expect(await lineWhere(running, ({ path }) => path === '/api/status')).toMatchObject({ method: 'GET', status: 200 });
  for (const secret of [key, 'sk-upstream-secret-key', 'hush', 'the secret of the prompt'])
    expect(running.output()).not.toContain(secret);
}, 60_000);

test('text for people; levels; nothing a stranger wrote turns a line', () => {
  const lines: string[] = [];
  const log = createLog(
    { format: 'text', level: 'warn', access: false },
    (line) => lines.push(line),
    () => 0,
  );
  log.info('not shown');
  log.warn('two\nlines \u001b[31m\u202ered', { model: 'a b="c"\r\n', empty: '', none: undefined, n: 3 });
  expect(lines).toEqual(['1970-01-01T00:00:00.000Z WARN  two lines  [31m red model="a b=\\"c\\"  " n=3\n']);
  expect(log.isEnabled('info')).toBe(false);
  const parsed: unknown[] = [];
  const json = createLog(
    { format: 'json', level: 'debug', access: false },
    (line) => parsed.push(JSON.parse(line)),
    () => 0,
  );
  json.debug('x\u2028y', { __proto__: null, a: 1 } as never);
  expect(parsed).toEqual([{ level: 'debug', at: '1970-01-01T00:00:00.000Z', message: 'x\u2028y', a: 1 }]);
});

test('flags win over the environment, and what is neither is refused', () => {
  const none = { format: undefined, level: undefined, access: false };
  expect(logSettings(none, {})).toEqual({ format: 'text', level: 'info', access: false });
  expect(logSettings({ ...none, format: 'text' }, { GATEWAY_LOG_FORMAT: 'json', GATEWAY_LOG_LEVEL: 'DEBUG' })).toEqual({
    format: 'text',
    level: 'debug',
    access: false,
  });
  expect(logSettings(none, { GATEWAY_ACCESS_LOG: '1' }).access).toBe(true);
  expect(() => logSettings(none, { GATEWAY_LOG_LEVEL: 'loud' })).toThrow(expect.objectContaining({ code: 'usage' }));
});

test('lines go out together, and a flood is cut and counted', () => {
  const written: string[] = [];
  let run: () => void = () => undefined;
  const line = flattened(
    (text) => written.push(text),
    (later) => {
      run = later;
    },
    (missing) => `${missing} missing\n`,
  );
  for (let n = 0; n < 20_005; n++) line('x\n');
  expect(written).toEqual([]);
  run();
  expect(written).toHaveLength(1);
  expect(written[0]?.endsWith('x\n5 missing\n')).toBe(true);
});

test('traces are sent to the configured collector, from each thread, before the server ends', async () => {
  const names: string[] = [];
  const collector = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { resourceSpans } = (await request.json()) as {
        resourceSpans: { scopeSpans: { spans: { name: string }[] }[] }[];
      };
      for (const { scopeSpans } of resourceSpans)
        for (const { spans } of scopeSpans) names.push(...spans.map(({ name }) => name));
      return Response.json({});
    },
  });
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  site = createSite();
  const key = await site.setUp(upstream.url);
  const serving = await site.serve(['--traces', `http://127.0.0.1:${collector.port}`, '--relays', '2'], {
    GATEWAY_TRACE_SHARE: '1',
  });
  for (let n = 0; n < 4; n++) expect((await ask(serving, key)).status).toBe(200);
  expect(names).toEqual([]);
  serving.child.kill('SIGTERM');
  await serving.ended();
  await collector.stop(true);
  expect(names.filter((name) => name === 'chat gpt-4o-mini')).toHaveLength(4);
  expect(names.filter((name) => name === 'POST /v1/chat/completions')).toHaveLength(4);
}, 60_000);
