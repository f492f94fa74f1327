/** Calls of a remote server: where their fields travel, and what is made of the answer. */
import { afterEach, expect, test } from 'vitest';
import { type Client, openClient } from '../../cli/client.ts';

let server: ReturnType<typeof Bun.serve> | undefined;
afterEach(async () => server?.stop(true));

async function calling(work: (client: Client) => Promise<unknown>, data: unknown = [], more: object = {}) {
  const seen: { line: string; body: string; headers: Headers }[] = [];
  server = Bun.serve({
    port: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      const body = await request.text();
      seen.push({ line: `${request.method} ${pathname}${search}`, body, headers: request.headers });
      return Response.json({ success: true, message: '', data });
    },
  });
  const who = { dataDir: '', token: 'gat_x', userId: '7', env: {}, language: 'en', timeoutMs: 5000 } as const;
  const client = await openClient({ ...who, url: `http://127.0.0.1:${server.port}/`, ...more });
  const answer = await work(client);
  return { answer, sent: seen[0] };
}

test.each([
  ['log.verify', {}, 'GET /api/log/verify'],
  ['redemption.search', { keyword: 'a b' }, 'GET /api/redemption/search?keyword=a+b'],
  [
    'redemption.search',
    { keyword: 'x', p: undefined, page_size: 5 },
    'GET /api/redemption/search?keyword=x&page_size=5',
  ],
  ['redemption.get', { id: 3 }, 'GET /api/redemption/3'],
  ['redemption.delete', { id: 3 }, 'DELETE /api/redemption/3'],
] as const)('%s of %j reads by its address alone', async (id, input, line) => {
  const { sent } = await calling((client) => client.call(id, input));
  expect(sent).toMatchObject({ line, body: '' });
  expect(sent?.headers.get('content-type')).toBeNull();
});

test('a change sends its fields as JSON, with who asks and in which language; the answer is its data', async () => {
  const lines: string[] = [];
  const { answer, sent } = await calling(
    (client) => client.call('redemption.create', { name: 'gift', count: 2 }),
    ['code'],
    { trace: (line: string) => void lines.push(line) },
  );
  expect(answer).toEqual(['code']);
  expect(sent?.line).toBe('POST /api/redemption/');
  expect(JSON.parse(sent?.body ?? '')).toEqual({ name: 'gift', count: 2 });
  expect(Object.fromEntries(sent?.headers ?? [])).toMatchObject({
    ...{ authorization: 'Bearer gat_x', 'new-api-user': '7', 'accept-language': 'en' },
    'content-type': 'application/json',
  });
  expect(lines).toEqual([expect.stringMatching(/^POST \/api\/redemption\/ 200 \d+ ms$/)]);
});
