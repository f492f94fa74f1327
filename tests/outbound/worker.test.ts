/** A worker of our own carries calls to addresses that users choose. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Fetch } from '../../server/outbound/guard.ts';
import { createWorkerFetch } from '../../server/outbound/worker.ts';

interface Carried {
  readonly url: string;
  readonly key: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const carried: Carried[] = [];
const direct: string[] = [];
let worker: ReturnType<typeof Bun.serve>;
let settings = { url: '', key: 'the-key' };
let call: Fetch;

beforeAll(() => {
  worker = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const call = (await request.json()) as Carried;
      carried.push(call);
      if (call.key !== 'the-key') return new Response('no', { status: 403 });
      if (call.url.endsWith('/moved')) return Response.redirect('http://127.0.0.1/inside');
      return Response.json({ from: 'the worker' });
    },
  });
  call = createWorkerFetch({
    worker: () => settings,
    direct: async (address) => {
      direct.push(address);
      return new Response('from here');
    },
    fetch: (address, init) => fetch(address, init),
    schemes: ['https:'],
  });
});
beforeEach(() => {
  carried.length = 0;
  direct.length = 0;
  settings = { url: worker.url.href, key: 'the-key' };
});
afterAll(() => void worker?.stop(true));

test('without a worker calls go out from here', async () => {
  settings = { url: '', key: '' };
  expect(await (await call('https://hook.example/a')).text()).toBe('from here');
  expect([direct, carried]).toEqual([['https://hook.example/a'], []]);
});

test('the worker gets address, method, headers and body, with its key, and its response is returned', async () => {
  const answer = await call('https://hook.example/a?b=c', {
    method: 'POST',
    headers: { authorization: 'Bearer secret' },
    body: '{"left":1}',
  });
  expect(await answer.json()).toEqual({ from: 'the worker' });
  expect(direct).toEqual([]);
  expect(carried).toEqual([
    {
      url: 'https://hook.example/a?b=c',
      key: 'the-key',
      method: 'POST',
      headers: { authorization: 'Bearer secret' },
      body: { left: 1 },
    },
  ]);
});

test('a wrong key is an answer like any other; where a worker sends us is not gone', async () => {
  settings = { ...settings, key: 'wrong' };
  expect((await call('https://hook.example/')).status).toBe(403);
  settings = { ...settings, key: 'the-key' };
  await expect(call('https://hook.example/moved')).rejects.toMatchObject({ code: 'address_redirects' });
});

test.each(['http://hook.example/', 'https://127.0.0.1/', 'https://[::1]/', 'https://me@hook.example/', 'no address'])(
  'the worker is never asked for %s',
  async (address) => {
    await expect(call(address)).rejects.toMatchObject({ code: 'address_forbidden' });
    expect(carried).toEqual([]);
  },
);
