/** What strangers send at public routes: every answer is a clear refusal in JSON, never an error of ours. */
import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Endpoint } from '../../server/contract/endpoint.ts';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import { inShare } from '../support/often.ts';
import { randomOf } from '../support/random.ts';
import { createSite, type Raw, type Site, sendRaw } from '../support/site.ts';

let site: Site;
beforeAll(async () => {
  site = await createSite();
});
afterAll(() => site.close());
beforeEach(() => {
  site.reported.length = 0;
});

const publicRows = (endpoints as readonly Endpoint[]).filter(
  (row) => row.access === 'public' && row.id !== 'setup.run',
);
const posts = publicRows.filter((row) => row.method !== 'GET');

const json = 'Content-Type: application/json';
const send = (method: string, target: string, headers: readonly string[], body: string | Uint8Array = '') =>
  sendRaw(site.port, [`${method} ${target} HTTP/1.1`, 'Host: gw.example', ...headers], body);

function expectRefused(what: string, { status, type, body }: Raw): void {
  expect([what, status >= 400 && status < 500, type]).toEqual([what, true, 'application/json']);
  expect([what, JSON.parse(body)]).toEqual([what, expect.objectContaining({ success: false })]);
  expect([what, /at .*\.ts|node_modules|stack/i.test(body)]).toEqual([what, false]);
  expect([what, site.reported]).toEqual([what, []]);
}

const deep = (open: string, close: string, levels: number) => open.repeat(levels) + close.repeat(levels);

const bodies: readonly (readonly [name: string, headers: readonly string[], body: string | Uint8Array])[] = [
  ['150,000 lists', [json], deep('[', ']', 150_000)],
  ['150,000 objects', [json], `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`],
  ['150,000 in a field', [json], `{"username":${deep('[', ']', 150_000)}}`],
  ['unclosed nesting', [json], '['.repeat(900_000)],
  ['half a document', [json], '{"username":'],
  ['an encoding nobody knows', [json, 'Content-Encoding: zstd-9'], '{}'],
  ['an encoding twice', [json, 'Content-Encoding: gzip, gzip'], '{}'],
  ['gzip that is none', [json, 'Content-Encoding: gzip'], '{"a":1}'],
  ['gzip cut off', [json, 'Content-Encoding: gzip'], gzipSync('{"a":1}').subarray(0, 12)],
  ['deflate cut off', [json, 'Content-Encoding: deflate'], deflateSync('{"a":1}').subarray(0, 6)],
  ['brotli that is none', [json, 'Content-Encoding: br'], 'no brotli'],
  ['a bomb', [json, 'Content-Encoding: gzip'], gzipSync(Buffer.alloc(20_000_000, 32))],
  ['a character set nobody knows', ['Content-Type: application/json; charset=klingon'], '{}'],
  ['a character set that is none of JSON', ['Content-Type: application/json; charset=iso-8859-1'], '{}'],
  ['too much', [json], `"${'x'.repeat(1_100_000)}"`],
];

test.each(bodies)('%s is refused at every public route', async (name, headers, body) => {
  const index = bodies.findIndex(([each]) => each === name);
  for (const [at, row] of posts.entries()) {
    if (row.body === 'text' || !inShare(at, index)) continue;
    expectRefused(`${row.id}: ${name}`, await send(row.method, row.path, headers, body));
  }
});

test('a text body that cannot be read is refused too', async () => {
  for (const row of posts.filter(({ body }) => body === 'text'))
    for (const [name, headers, body] of bodies.filter(
      ([, headers]) => headers.length > 1 || /set/.test(headers[0] ?? ''),
    )) {
      const answer = await send(row.method, row.path, headers, body);
      expect([row.id, name, answer.status < 500, site.reported]).toEqual([row.id, name, true, []]);
    }
});

test('the relay’s own paths, without a key', async () => {
  const targets = [
    '/v1/chat/completions',
    '/v1/messages',
    '/v1/responses',
    '/v1beta/models/m:generateContent',
    '/v1/audio/transcriptions',
    '/v1/files',
    '/v1/%ff',
    '/v1beta/models/%zz:generateContent',
    '/v1beta/models/%00',
    '/mj/submit/imagine',
    '/mj/image/%ff',
    '/dashboard/billing/usage',
    '/rerank',
  ];
  for (const [at, target] of targets.entries())
    for (const [index, [name, headers, body]] of bodies.entries())
      for (const method of ['GET', 'POST']) {
        if (!inShare(at, index)) continue;
        const { status, type } = await send(method, target, headers, method === 'GET' ? '' : body);
        // What is not served says so.
        const rejected = (status >= 400 && status < 500) || status === 501;
        expect([target, name, rejected, type]).toEqual([target, name, true, 'application/json']);
      }
});

/** Fields of a form as strangers fill them. */
const values: readonly unknown[] = [
  { toString: 1 },
  { toString: null, valueOf: null },
  { length: 1e9 },
  { __proto__: 1 },
  ['a', ['b']],
  [],
  {},
  null,
  true,
  1e308,
  -1e308,
  1e-320,
  Number.MAX_SAFE_INTEGER * 4,
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\uffff',
  '%',
  '%00',
  'x'.repeat(60_000),
  '9'.repeat(400),
  '-0',
  '0x10',
  'NaN',
  'Infinity',
];
const fieldsOf = (row: Endpoint): string[] => {
  const { def } = row.input._zod as { readonly def: { readonly shape?: Readonly<Record<string, unknown>> } };
  return Object.keys(def.shape ?? {});
};
const path = (row: Endpoint, part = '1') => row.path.replace(/:\w+/g, part);

/** Our own errors are the only ones that count here. */
function expectNoFault(what: string, { status, body }: Raw): void {
  expect([what, status, site.reported.map(String)]).toEqual([
    what,
    expect.toSatisfy((code: number) => code > 0 && code < 500),
    [],
  ]);
  expect([what, /at .*\.ts:\d|node_modules/.test(body)]).toEqual([what, false]);
}

test('whole bodies that are no forms', async () => {
  for (const [at, row] of posts.entries())
    for (const body of [
      '',
      ' ',
      'null',
      '0',
      '"x"',
      '[]',
      '[1]',
      '{"toString":1}',
      '{"__proto__":{"a":1}}',
      '{"constructor":1,"hasOwnProperty":1}',
      '\ufeff{}',
      '{"a":1}{"b":2}',
    ].filter((_, index) => inShare(at, index)))
      expectNoFault(`${row.id} ${body}`, await send(row.method, path(row), [json], body));
});

test('every field of every public form, with every strange value', async () => {
  for (const [at, row] of posts.entries()) {
    const fields = fieldsOf(row);
    for (const value of values.filter((_, index) => inShare(at, index))) {
      const filled = Object.fromEntries(fields.map((field) => [field, value]));
      expectNoFault(
        `${row.id} ${JSON.stringify(value).slice(0, 60)}`,
        await send(row.method, path(row), [json], JSON.stringify(filled)),
      );
    }
  }
});

const queries = [
  '%',
  '%zz',
  '%ff',
  '%00',
  '%ed%a0%80',
  '%c0%ae',
  '1e999',
  '9'.repeat(400),
  '-1',
  'NaN',
  '[]',
  '+',
  '\u00ff',
];

test('queries and paths with strange numbers and broken percent signs', async () => {
  for (const [at, row] of publicRows.entries()) {
    for (const value of queries.filter((_, index) => inShare(at, index))) {
      const fields = fieldsOf(row);
      const query = fields.map((field) => `${field}=${value}&${field}[toString]=${value}&${field}=2`).join('&');
      expectNoFault(
        `${row.id}?${value}`,
        await send(row.method, `${path(row)}?${query}`, [json], row.method === 'GET' ? '' : '{}'),
      );
      if (row.path.includes(':')) expectNoFault(`${row.id}/${value}`, await send(row.method, path(row, value), [json]));
    }
    const many = Array.from({ length: 3000 }, (_, at) => `a${at}=1`).join('&');
    expectNoFault(`${row.id} many`, await send(row.method, `${path(row)}?${many}`, [json]));
    expectNoFault(`${row.id} nested`, await send(row.method, `${path(row)}?a${'[a]'.repeat(2000)}=1`, [json]));
  }
});

test('headers that are read', async () => {
  const headers = [
    'Cookie: session=%; oauth_state=%ff; __Host-session=',
    `Cookie: session=${'x'.repeat(5000)}`,
    'Cookie: =;;;=,',
    'Authorization: Bearer',
    'Authorization: Bearer \u00ff\u0001',
    'Authorization: Basic !!!',
    'New-Api-User: 1e999',
    'Accept-Language: ;q=,;;zh;q=NaN',
    'Origin: null',
    'Origin: http://[',
    'Sec-Fetch-Site: \u00ff',
    'Content-Type: ;;;',
    'Content-Type: application/json; charset="',
    'Content-Type: multipart/form-data',
    'Stripe-Signature: t=,v1=',
    'X-Forwarded-For: ,,,',
    'X-Forwarded-Proto: \u00ff',
  ];
  for (const [at, row] of publicRows.entries())
    for (const header of headers.filter((_, index) => inShare(at, index)))
      expectNoFault(
        `${row.id} ${header}`,
        await send(row.method, path(row), [header], row.method === 'GET' ? '' : '{}'),
      );
});

test('noise instead of a request leaves the server serving', async () => {
  const random = randomOf(12);
  const chunks = [
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    '\\u0000',
    '\\',
    '1e9',
    'null',
    'username',
    'password',
    '%',
    '\ud83d',
  ];
  for (let round = 0; round < 300; round += 1) {
    const row = posts[Math.floor(random() * posts.length)];
    if (row === undefined) continue;
    const body = Array.from(
      { length: Math.floor(random() * 30) },
      () => chunks[Math.floor(random() * chunks.length)],
    ).join('');
    expectNoFault(`${row.id} ${body}`, await send(row.method, path(row), [json], body));
  }
});
