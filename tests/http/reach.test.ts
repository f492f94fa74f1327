/** Questions from outside: what is told of a request that arrived, and how few may wait. */
import { expect, test } from 'vitest';
import { Reach } from '../../server/http/reach.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const facts = { forwarded: 'none', secure: false } as const;
const ask = (query = '', init: RequestInit = {}) => new Request(`https://site.example/api/reach${query}`, init);

test('an answer names headers and never their values, and counts the body', async () => {
  const headers = { authorization: 'Bearer sk-canary', 'x-api-key': 'sk-canary', 'x-other': 'sk-canary', host: 'h' };
  const response = await new Reach().answer(ask('/a%2Fb?x=1', { method: 'POST', body: 'seven b', headers }), facts);
  const text = await response.text();
  expect(text).not.toContain('canary');
  expect(JSON.parse(text)).toMatchObject({
    ...{ gateway: true, method: 'POST', target: '/api/reach/a%2Fb?x=1', bytes: 7, ...facts },
    headers: ['authorization', 'x-api-key'],
  });
  expect(response.headers.get('cache-control')).toBe('no-store');
});

test('an answer is silent as long as was asked, five minutes at most, and ends where the client has left', async () => {
  const time = new VirtualTime();
  const reach = new Reach(time);
  const ended: string[] = [];
  const leaving = new AbortController();
  const all = [
    reach.answer(ask('?silent=5000'), facts).then(() => ended.push('short')),
    reach.answer(ask('?silent=99999999'), facts).then(() => ended.push('long')),
    reach.answer(ask('?silent=5000000', { signal: leaving.signal }), facts).then(() => ended.push('left')),
  ];
  await time.advance(4999);
  expect(ended).toEqual([]);
  await time.advance(1);
  expect(ended).toEqual(['short']);
  leaving.abort();
  await time.advance(1);
  expect(ended).toEqual(['short', 'left']);
  await time.advance(295_000);
  await Promise.all(all);
  expect(ended).toEqual(['short', 'left', 'long']);
});

test('a seventeenth that lasts is turned away, one that does not is answered, and those that ended make room', async () => {
  const time = new VirtualTime();
  const reach = new Reach(time);
  const streamed = await reach.answer(ask('?pieces=3&every=100'), facts);
  const all = Array.from({ length: 15 }, () => reach.answer(ask('?silent=1000'), facts));
  await time.advance(0);
  const refused = await reach.answer(ask('?silent=1000'), facts);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  expect((await reach.answer(ask('?pieces=1'), facts)).status).toBe(503);
  expect((await reach.answer(ask('', { method: 'POST', body: 'x' }), facts)).status).toBe(503);
  expect((await reach.answer(ask(), facts)).status).toBe(200);
  await streamed.body?.cancel();
  const next = reach.answer(ask('?silent=1'), facts);
  await time.advance(1000);
  expect((await next).status).toBe(200);
  await Promise.all(all);
});

test('a stream has the headers of every other one, and its pieces come one by one', async () => {
  const time = new VirtualTime();
  const response = await new Reach(time).answer(ask('?pieces=3&every=100'), facts);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  const came: string[] = [];
  const decoder = new TextDecoder();
  const read = (async () => {
    for await (const piece of response.body ?? []) came.push(decoder.decode(piece));
  })();
  await time.advance(0);
  const first = came.length;
  await time.advance(1000);
  await read;
  expect(first).toBeLessThan(3);
  expect(came.join('')).toBe('data: {"piece":1}\n\ndata: {"piece":2}\n\ndata: {"piece":3}\n\n');
});
