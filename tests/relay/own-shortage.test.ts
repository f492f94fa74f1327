/** What this process runs out of itself, memory or connections, is nobody else's fault: 503 with the time of another try, no channel blamed or tried instead. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { isOutOfMemory } from '../../server/contract/own-shortage.ts';
import { codecFor } from '../../server/protocols/registry.ts';
import { asAppError, isOurs } from '../../server/relay/shared/defect.ts';
import { createAccessTokens } from '../../server/relay/upstream/access-tokens.ts';
import { createConnect } from '../../server/relay/upstream/line.ts';
import { processMemory } from '../../server/threads/relay/environment.ts';
import { createShortageWatch } from '../../server/threads/relay/shortage-watch.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion } from '../support/upstream.ts';

let gateway: TestGateway;
let key: string;
/** Hosts that were called, in order. */
let called: string[];
let answering: (url: string) => Response;

beforeAll(async () => {
  gateway = await createTestGateway({
    upstreamFetch: (async (url: string) => {
      called.push(new URL(url).hostname);
      return answering(url);
    }) as unknown as typeof fetch,
  });
  await gateway.channel('http://first.test', { priority: 10, models: 'gpt-4o-mini,whisper-1' });
  await gateway.channel('http://second.test', { models: 'gpt-4o-mini,whisper-1' });
  key = (await gateway.token()).key;
});
beforeEach(() => {
  called = [];
  answering = () => Response.json(completion(10, 5));
});
afterEach(() => void vi.restoreAllMocks());
afterAll(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
});

const outOfMemory = () => new RangeError('Out of memory');
const mark = 'a prompt that fills what is left';
const hello = [{ role: 'user', content: mark }];
const requests = [
  ['/v1/chat/completions', { model: 'gpt-4o-mini', messages: hello }],
  ['/v1/completions', { model: 'gpt-4o-mini', prompt: mark }],
  ['/v1/embeddings', { model: 'gpt-4o-mini', input: mark }],
  ['/v1/responses', { model: 'gpt-4o-mini', input: mark }],
  ['/v1/messages', { model: 'gpt-4o-mini', max_tokens: 9, messages: hello }],
  ['/v1/messages/count_tokens', { model: 'gpt-4o-mini', messages: hello }],
  ['/v1beta/models/gpt-4o-mini:generateContent', { contents: [{ role: 'user', parts: [{ text: mark }] }] }],
  ['/v1beta/models/gpt-4o-mini:streamGenerateContent', { contents: [{ role: 'user', parts: [{ text: mark }] }] }],
  ['/api/chat', { model: 'gpt-4o-mini', stream: false, messages: hello }],
  ['/api/show', { model: 'gpt-4o-mini', system: mark }],
  ['/v2/chat', { model: 'gpt-4o-mini', messages: hello }],
  ['/mj/submit/imagine', { prompt: mark }],
  ['/suno/fetch', { ids: [mark] }],
] as const;

async function post(path: string, body: BodyInit, headers: Record<string, string> = {}) {
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', ...headers },
    body,
  });
  return gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
}

/** Refused as what passes, and nobody else is to blame. */
async function expectShort(response: Response): Promise<void> {
  const text = await response.text();
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2']);
  expect(text).toContain('The server is busy; retry in 2 seconds');
  expect(text).not.toMatch(/body_|not_json|upstream/);
  expect(gateway.relay.channelStatuses([1, 2])).toMatchObject([{ condition: 'up' }, { condition: 'up' }]);
  expect([gateway.relay.open(), gateway.troubles]).toEqual([0, []]);
  expect(gateway.defects.splice(0).filter(({ error }) => !isOutOfMemory(error))).toEqual([]);
  expect(gateway.relay.stats().defects).toBe(0);
}

const unreadable = () =>
  new ReadableStream({
    pull(controller) {
      controller.error(outOfMemory());
    },
  });

const parseFails = (text: string) => {
  const parse = JSON.parse;
  vi.spyOn(JSON, 'parse').mockImplementation((source: string, reviver) => {
    if (source.includes(text)) throw outOfMemory();
    return parse(source, reviver) as unknown;
  });
};

describe('short of memory', () => {
  test.each(requests)('a body that is right is not called wrong: %s', async (path, body) => {
    const text = JSON.stringify(body);
    parseFails(mark);
    await expectShort(await post(path, text));
    expect(called).toEqual([]);
  });

  test.each([
    ['plain', {}],
    ['packed', { 'content-encoding': 'gzip' }],
    ['a form', { 'content-type': 'multipart/form-data; boundary=x' }],
  ])('while it is read: %s', async (_name, headers) => {
    const body = unreadable();
    const path = 'content-type' in headers ? '/v1/audio/transcriptions' : '/v1/chat/completions';
    await expectShort(await post(path, body, headers as Record<string, string>));
  });

  test('while its text is made', async () => {
    vi.spyOn(TextDecoder.prototype, 'decode').mockImplementation(() => {
      throw Object.assign(new RangeError('Failed to allocate memory'), { code: 'ERR_MEMORY_ALLOCATION_FAILED' });
    });
    const response = await post('/v1/chat/completions', JSON.stringify(requests[0][1]));
    vi.restoreAllMocks();
    await expectShort(response);
  });

  test('while it is translated', async () => {
    vi.spyOn(codecFor('anthropic-messages').translation, 'decodeRequest').mockImplementation(() => {
      throw outOfMemory();
    });
    await expectShort(await post('/v1/messages', JSON.stringify(requests[4][1])));
    expect(called).toEqual([]);
  });

  test.each([
    ['read', () => parseFails('chat.completion')],
    [
      'received',
      () => {
        answering = () => new Response(unreadable(), { headers: { 'content-type': 'application/json' } });
      },
    ],
    [
      'received in one piece',
      () => {
        const headers = { 'content-type': 'application/json', 'content-length': '2' };
        answering = () => new Response(unreadable(), { headers });
      },
    ],
    [
      'asked for',
      () => {
        answering = () => {
          throw outOfMemory();
        };
      },
    ],
  ])('while an answer is %s no other channel is asked', async (_step, plant) => {
    plant();
    for (let n = 0; n < 5; n++)
      await expectShort(
        await post('/v1/messages', JSON.stringify({ ...requests[4][1], messages: [{ role: 'user', content: 'hi' }] })),
      );
    expect(new Set(called)).toEqual(new Set(['first.test']));
  });

  test('an error that hides it is ours all the same', () => {
    const hidden = new AppError('body_invalid', {}, Object.assign(new Error('memory'), { code: 'Z_MEM_ERROR' }));
    expect([isOurs(hidden), asAppError(hidden).code]).toEqual([true, 'overloaded']);
    const deep = new AppError('body_not_json', {}, new RangeError('Maximum call stack size exceeded'));
    expect([isOurs(deep), asAppError(deep).code]).toEqual([false, 'body_not_json']);
  });
});

const failing = (code: string) => () => {
  throw Object.assign(new TypeError(`${code}: Was there a typo in the url or port?`), { code });
};

describe('no connection can be opened', () => {
  test.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL'])('%s', async (code) => {
    answering = failing(code);
    for (let n = 0; n < 5; n++) await expectShort(await post('/v1/chat/completions', JSON.stringify(requests[0][1])));
    expect(called).toEqual(Array.from({ length: 5 }, () => 'first.test'));
    const [row] = await gateway.logs();
    expect([row?.end_reason, row?.quota]).toEqual(['upstream_failed', 0]);
  });

  test('a host that refuses is the host all the same', async () => {
    answering = (url) => (url.includes('first') ? failing('ECONNREFUSED')() : Response.json(completion(10, 5)));
    expect((await post('/v1/chat/completions', JSON.stringify(requests[0][1]))).status).toBe(200);
    expect(called).toEqual(['first.test', 'second.test']);
  });

  test('where this machine has no IPv6, an IPv6 address fails and another channel is asked', async () => {
    await gateway.channel('http://[2001:db8::1]:80', { priority: 20, models: 'gpt-4o-mini' });
    answering = (url) => (url.includes('[') ? failing('EADDRNOTAVAIL')() : Response.json(completion(10, 5)));
    expect((await post('/v1/chat/completions', JSON.stringify(requests[0][1]))).status).toBe(200);
    expect(called).toEqual(['[2001:db8::1]', 'first.test']);
  });

  test('a key that buys tokens is not in trouble for it', async () => {
    answering = failing('EMFILE');
    const order = { url: 'https://example.com/token', headers: {}, body: '', id: 'one', read: () => null } as never;
    const tokens = createAccessTokens({ fetch: (async () => answering('')) as never, now: Date.now });
    await expect(tokens(order)).rejects.toMatchObject({ code: 'overloaded' });
    answering = failing('ECONNREFUSED');
    await expect(tokens(order)).rejects.toMatchObject({ code: 'upstream_unreachable' });
  });

  test('a socket that cannot be opened is our shortage where this machine has run out, else the host’s fault', async () => {
    const call = { url: 'ws://127.0.0.1:9', headers: {}, channel: { keys: [], baseUrl: '', setting: {} } } as never;
    const timers = { now: Date.now, set: () => ({ close: () => undefined }) } as never;
    const connect = (code: string, exhausted: (met: unknown) => boolean = (met) => met !== null) =>
      createConnect({ fetch: (async () => failing(code)()) as never, timers, connectMs: 1000, exhausted })(
        call,
        new AbortController(),
      );
    expect(await connect('EMFILE')).toMatchObject({ class: 'ours', reason: 'starved', retryAfter: 2 });
    expect(await connect('ECONNREFUSED')).toMatchObject({ class: 'host', reason: 'unreachable' });
    expect(await connect('ECONNREFUSED', () => true)).toMatchObject({ class: 'ours', reason: 'starved' });
  });
});

test('an exhausted resource is reported once a minute, and explains failures of the same time', () => {
  const lines: string[] = [];
  let now = 0;
  let left = 0;
  const { isExhausted, met } = createShortageWatch(
    (line) => void lines.push(line),
    () => now,
    () => {
      if (left === 0) throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' });
    },
  );
  expect([isExhausted(null, 0), isExhausted('descriptors', 0), lines.length]).toEqual([true, true, 1]);
  left = 1;
  now = 300;
  // It began before the other one failed, or after it.
  expect([isExhausted(null, 300), isExhausted(null, 299)]).toEqual([true, false]);
  expect([isExhausted('ports', 0), isExhausted('memory', 0)]).toEqual([true, true]);
  met('memory');
  expect(lines.map((line) => /no (\w+) is left/.exec(line)?.[1])).toEqual(['descriptor', 'port', 'memory']);
  now = 60_000;
  expect([isExhausted('descriptors', 0), lines.length]).toEqual([true, 4]);
});

test('bodies are measured by the least limit of the process', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'gateway-limits-')), 'limits');
  const limits = (data: string) =>
    writeFileSync(
      file,
      `Limit  Soft Limit  Hard Limit  Units\nMax data size             ${data}            unlimited            bytes\n`,
    );
  limits('900000000');
  expect(processMemory({}, file)).toBe(900_000_000);
  expect(processMemory({ GATEWAY_MEMORY_MB: '64' }, file)).toBe(64 * 1024 * 1024);
  limits('unlimited');
  expect(processMemory({}, file)).toBe(processMemory({}, `${file}.missing`));
});
