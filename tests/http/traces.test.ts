/** Traces as a collector gets them: who was asked in which order, what came of it, and nothing where nobody wants them. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { traceSettings } from '../../server/observability/traces/settings.ts';
import { startTraces, type Traces } from '../../server/observability/traces/tracer.ts';
import { providerByType } from '../../server/providers/catalogue.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, sendStream, startUpstream, type Upstream } from '../support/upstream.ts';

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly arrayValue?: { readonly values: readonly OtlpValue[] };
}
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 2 = server, 3 = client. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: OtlpValue }[];
  readonly events: readonly { readonly name: string }[];
  /** 2 = error. */
  readonly status: { readonly code?: number };
}

/** A collector that reads what the protocol's JSON form says. */
async function startCollector() {
  const spans: OtlpSpan[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      bodies.push(`${request.method} ${request.url} ${request.headers['content-type']}`);
      const { resourceSpans } = JSON.parse(text) as {
        resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[];
      };
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      bodies.push(text);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    stop: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

const plain = ({ stringValue, intValue, arrayValue }: OtlpValue): unknown =>
  arrayValue === undefined ? (stringValue ?? Number(intValue)) : arrayValue.values.map(plain);
const attributesOf = ({ attributes }: OtlpSpan): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]));

let collector: Awaited<ReturnType<typeof startCollector>>;
let gateway: TestGateway;
let broken: Upstream;
let good: Upstream;
let traces: Traces;

const begin = async (share: number, content = false) => {
  traces = startTraces(
    { url: `${collector.url}/v1/traces`, share, content },
    { version: 'v1', providerOf: (type) => providerByType(type)?.slug ?? '', now: Date.now },
  );
  gateway = await createTestGateway({ relay: { wrap: traces.wrap, observer: traces.observer } });
  await gateway.option('RetryTimes', '3');
  await gateway.channel(broken.url, { name: 'first', priority: 10, key: 'sk-canary-one' });
  await gateway.channel(good.url, { name: 'second', key: 'sk-canary-two' });
};
beforeEach(async () => {
  collector = await startCollector();
  broken = await startUpstream((response) => sendJson(response, { error: { message: 'down' } }, 503));
  good = await startUpstream((response) => sendJson(response, completion(10, 5)));
});
afterEach(async () => {
  await traces.stop();
  await gateway.close();
  await broken.stop();
  await good.stop();
  await collector.stop();
});

const path = '/v1/chat/completions';
async function ask(body: object, headers: Record<string, string> = {}): Promise<Response> {
  const { key } = await gateway.token();
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const run = () => gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return traces.handle(request, path, run, true);
}
const question = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'the prompt nobody sees' }] };

/** As text, a line for each span, children below their parents. */
function drawn(): string[] {
  const line = (span: OtlpSpan) => {
    const attributes = attributesOf(span);
    const details = [
      'http.response.status_code',
      'error.type',
      'gen_ai.response.finish_reasons',
      'gen_ai.usage.output_tokens',
    ]
      .filter((name) => attributes[name] !== undefined)
      .map((name) => `${name}=${attributes[name]}`);
    return [span.kind === 2 ? 'server' : 'client', span.name, ...details].join(' ');
  };
  const below = (parent: string | undefined, depth: number): string[] =>
    collector.spans
      .filter(({ parentSpanId }) => (parentSpanId || undefined) === parent)
      .sort((one, other) => Number(BigInt(one.startTimeUnixNano) - BigInt(other.startTimeUnixNano)))
      .flatMap((span) => [`${'  '.repeat(depth)}${line(span)}`, ...below(span.spanId, depth + 1)]);
  return below(undefined, 0);
}

test('a stream that was tried elsewhere: one trace, a span for each that was asked', async () => {
  await begin(1);
  good.script((response) =>
    sendStream(
      response,
      [
        'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}\n\n',
        'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
        'data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}\n\n',
        'data: [DONE]\n\n',
      ].map((frame) => new TextEncoder().encode(frame)),
    ),
  );
  const response = await ask({ ...question, stream: true });
  expect(response.status).toBe(200);
  await response.text();
  await traces.stop();

  expect(collector.bodies[0]).toBe('POST /v1/traces application/json');
  expect(drawn()).toEqual([
    'server POST /v1/chat/completions http.response.status_code=200',
    '  client chat gpt-4o-mini http.response.status_code=503 error.type=503',
    '  client chat gpt-4o-mini http.response.status_code=200 gen_ai.response.finish_reasons=stop gen_ai.usage.output_tokens=5',
  ]);
  const [server, first, second] = ['server', 'first', 'second'].map((_, at) => {
    const sorted = [...collector.spans].sort(
      (a, b) => a.kind - b.kind || Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)),
    );
    return sorted[at] as OtlpSpan;
  });
  expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(first?.status.code).toBe(2);
  expect(second?.status.code ?? 0).toBe(0);
  expect(second?.events.map(({ name }) => name)).toEqual(['gen_ai.first_token']);
  expect(attributesOf(second as OtlpSpan)).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o-mini',
    'gen_ai.usage.input_tokens': 10,
    'server.address': '127.0.0.1',
    'gateway.attempt': 2,
    'gateway.time_to_first_token_ms': expect.any(Number),
  });
  const [log] = await gateway.logs();
  expect(attributesOf(server as OtlpSpan)).toMatchObject({
    'gateway.request_id': log?.request_id,
    'gateway.quota': log?.quota,
    'gateway.end_reason': 'completed',
    'gateway.attempts': 2,
  });
  // Each upstream was told of the span that asks it.
  const parents = [...broken.requests, ...good.requests].map(({ headers }) => headers.traceparent);
  expect(parents).toEqual([first, second].map((span) => `00-${span?.traceId}-${span?.spanId}-01`));
});

test('no prompt, no answer, no key is in it, unless the prompt was asked for', async () => {
  await begin(1);
  await (await ask(question)).text();
  await traces.stop();
  expect(collector.spans.length).toBeGreaterThan(0);
  for (const secret of ['the prompt nobody sees', 'sk-canary', 'sk-'])
    expect(collector.bodies.join('')).not.toContain(secret);
  await gateway.close();
  await begin(1, true);
  await (await ask(question)).text();
  await traces.stop();
  expect(collector.bodies.join('')).toContain('the prompt nobody sees');
  expect(collector.bodies.join('')).not.toContain('sk-canary');
});

test('a whole answer says why it ended, a refusal says why it was refused', async () => {
  await begin(1);
  await (await ask(question)).text();
  expect((await ask({ ...question, model: 'unheard-of' })).status).toBe(404);
  await traces.stop();
  expect(drawn()).toEqual([
    'server POST /v1/chat/completions http.response.status_code=200',
    '  client chat gpt-4o-mini http.response.status_code=503 error.type=503',
    '  client chat gpt-4o-mini http.response.status_code=200 gen_ai.response.finish_reasons=stop gen_ai.usage.output_tokens=5',
    'server POST /v1/chat/completions http.response.status_code=404 error.type=model_not_found',
  ]);
});

test('whose caller follows it is followed whatever the share, and belongs to the caller’s trace', async () => {
  await begin(0);
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  await (await ask(question, { traceparent: `00-${traceId}-00f067aa0ba902b7-01` })).text();
  await (await ask(question)).text();
  await (await ask(question, { traceparent: `00-${traceId.replace('4', '5')}-00f067aa0ba902b7-00` })).text();
  // What names no trace begins none.
  await (await ask(question, { traceparent: 'follow me' })).text();
  await traces.stop();
  expect(new Set(collector.spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  expect(collector.spans.find(({ kind }) => kind === 2)?.parentSpanId).toBe('00f067aa0ba902b7');
  const parents = good.requests.map(({ headers }) => String(headers.traceparent ?? ''));
  expect(parents[0]).toMatch(new RegExp(`^00-${traceId}-\\w{16}-01$`));
  expect(parents[1]).toBe('');
  // Not followed, and said so.
  expect(parents[2]).toMatch(new RegExp(`^00-${traceId.replace('4', '5')}-\\w{16}-00$`));
});

test('a collector that is gone harms no request', async () => {
  await begin(1);
  await collector.stop();
  expect((await ask(question)).status).toBe(200);
  await traces.stop();
  collector = await startCollector();
});

test('the receiver of traces is set by flag, by our variable, by the standard’s, or not at all', () => {
  const none = { url: undefined, share: undefined };
  expect(traceSettings(none, {})).toBeNull();
  expect(traceSettings({ ...none, url: 'http://127.0.0.1:4318' }, {})).toEqual({
    url: 'http://127.0.0.1:4318/v1/traces',
    share: 0.1,
    content: false,
  });
  expect(traceSettings(none, { GATEWAY_TRACES: 'https://c.example/own', GATEWAY_TRACE_SHARE: '1' })).toMatchObject({
    url: 'https://c.example/own',
    share: 1,
  });
  expect(traceSettings(none, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/base/' })?.url).toBe(
    'http://c:4318/base/v1/traces',
  );
  expect(traceSettings(none, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/x' })?.url).toBe('http://c:4318/x');
  expect(traceSettings(none, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_SDK_DISABLED: 'true' })).toBeNull();
  expect(traceSettings({ ...none, url: 'off' }, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' })).toBeNull();
  for (const bad of [
    { ...none, url: 'c:4318' },
    { url: 'http://c', share: '2' },
  ])
    expect(() => traceSettings(bad, {})).toThrow(expect.objectContaining({ code: 'usage' }));
});
