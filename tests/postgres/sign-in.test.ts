/** Two nodes as processes of their own: a person is sent to either of them, in the middle of everything. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openServingSite, type ServingNode, type ServingSite } from './serving.ts';

let site: ServingSite;
let nodes: readonly [ServingNode, ServingNode];

beforeAll(async () => {
  site = await openServingSite();
  nodes = [await site.start(), await site.start()];
});
afterAll(() => site.close());

interface Answer {
  readonly success: boolean;
  readonly code?: string;
  readonly data?: unknown;
}

async function send(node: ServingNode, method: string, path: string, body: unknown, headers: HeadersInit = {}) {
  const response = await fetch(node.url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
  const cookie = response.headers.getSetCookie().map((one) => one.split(';')[0]);
  return { ...((await response.json()) as Answer), status: response.status, cookie: cookie.join('; ') };
}

test('the site is set up at one node with the code that the other has printed, and a session of one node is valid at the other', async () => {
  const [first, second] = nodes;
  const code = /\b[0-9a-f]{16}\b/.exec(first.output())?.[0] ?? '';
  expect(code).not.toBe('');
  const details = { username: 'root', password: 'password1', confirmPassword: 'password1' };
  expect(await send(second, 'POST', '/api/setup', { ...details, code: '0123456789abcdef' })).toMatchObject({
    code: 'setup_code_required',
  });
  await expect
    .poll(() => site.rows("SELECT holder FROM memos WHERE purpose = 'set-up codes'"), { timeout: 60_000 })
    .toHaveLength(nodes.length);
  expect(await send(second, 'POST', '/api/setup', { ...details, code })).toMatchObject({ success: true });
  expect(await send(first, 'POST', '/api/setup', { ...details, code })).toMatchObject({ success: false });

  const inside = await send(first, 'POST', '/api/user/login', { username: 'root', password: 'password1' });
  expect(inside.success).toBe(true);
  const headers = { cookie: inside.cookie, 'new-api-user': '1' };
  expect(await send(second, 'GET', '/api/user/self', null, headers)).toMatchObject({
    success: true,
    data: { username: 'root' },
  });
});

test('guesses at both nodes are counted together', async () => {
  // Each waits for its answer; the sixth of an origin waits longer, whichever node it is sent to.
  for (let n = 0; n < 6; n++)
    expect(
      await send(nodes[n % 2] ?? nodes[0], 'POST', '/api/user/login', { username: 'root', password: 'wrong' }),
    ).toMatchObject({ code: 'credentials_wrong' });
  const counts = (purpose: string) =>
    site.rows<{ count: number }>(`SELECT count::int AS count FROM memos WHERE purpose = '${purpose}' ORDER BY 1`);
  // Of this network at this subject; then of the network, of the subject and of everybody.
  expect(await counts('tries at log-ins')).toEqual([{ count: 6 }]);
  expect(await counts('sums at log-ins')).toEqual([{ count: 6 }, { count: 6 }, { count: 6 }]);
});
