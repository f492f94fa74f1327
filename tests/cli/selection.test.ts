/** What bulk work means is said by the server; a command for another machine reads nothing of this one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture } from '../support/api.ts';
import { createRunner } from './runner.ts';

let dir: string;
let api: ApiFixture;
let ids: Readonly<Record<string, number>>;
const select = async (query: string) =>
  (await api.send('GET', `/api/channel/selection?${query}`, undefined, root)).body;
let root: Record<string, string>;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'selection-'));
  api = await createApiFixture();
  root = (await api.addUser('admin', 100)).headers;
  const add = (name: string, fields: object) =>
    api.gateway.channel('http://127.0.0.1:1', { name, models: 'm', ...fields });
  ids = {
    a: await add('a', { tag: 'cheap', group: 'default,vip' }),
    b: await add('b', { status: 2 }),
    c: await add('c', { group: 'vip', models: 'm,n' }),
    'c=d': await add('c=d', { status: 3 }),
  };
});
afterAll(async () => {
  await api.close();
  rmSync(dir, { recursive: true, force: true });
});

test.each([
  ['tag=cheap', ['a']],
  ['filter=status%3Denabled', ['a', 'c']],
  ['filter=status%3Denabled,group%3Dvip,model%3Dn', ['c']],
  ['filter=tag%3Dcheap', ['a']],
  ['filter=name%3Db', ['b']],
  ['filter=name%3Dc%3Dd', ['c=d']],
  ['tag=cheap&filter=status%3Ddisabled', []],
  ['tag=none', []],
])('%s selects %j', async (query, names) => {
  const { data } = (await select(query)) as { data: { id: number }[] };
  expect(data.map(({ id }) => id).sort()).toEqual(names.map((name) => ids[name]));
});

test.each([
  ['', 'input_needed'],
  ['tag=', 'tag_required'],
  ['tag=%20', 'tag_required'],
  ['tag=&filter=status%3Denabled', 'tag_required'],
  ['filter=', 'params_invalid'],
  ['filter=tag%3D', 'params_invalid'],
  ['filter=status%3Denabled,', 'params_invalid'],
  ['filter=color%3Dred', 'params_invalid'],
  ['filter=constructor%3Dred', 'params_invalid'],
])('%j selects nothing, and says so: %s', async (query, code) => {
  expect(await select(query)).toMatchObject({ success: false, code });
});

async function remotely(args: readonly string[], answer: (path: string) => unknown) {
  const asked: string[] = [];
  const server = Bun.serve({
    port: 0,
    fetch: (request) => {
      const { pathname, search } = new URL(request.url);
      asked.push(`${request.method} ${pathname}${search}`);
      return Response.json({ success: true, message: '', data: answer(pathname) });
    },
  });
  try {
    const env = { GATEWAY_TOKEN: 'x', GATEWAY_USER: '1' };
    const runner = createRunner(dir, env, ['--url', `http://127.0.0.1:${server.port}`]);
    return { asked, said: await runner.run(args).catch((error: unknown) => error) };
  } finally {
    await server.stop(true);
  }
}

test.each([
  [['channel', 'rm', '--tag', 'x', '--yes']],
  [['channel', 'disable', '--tag', 'x']],
  [['tag', 'disable', 'x']],
  [['tag', 'rm', 'x', '--yes']],
  [['tag', 'edit', 'x', '--models', 'm', '--yes']],
])('%j asks the server which channels it means, and changes only those', async (args) => {
  const found = [{ id: 7, name: 'seven', tag: 'x', status: 1 }];
  const answers: Record<string, unknown> = { '/api/channel/selection': found, '/api/token/bound': [] };
  const { asked } = await remotely(args, (path) => answers[path] ?? found[0]);
  expect(asked[0]).toBe('GET /api/channel/selection?tag=x');
  // What is deleted is looked up in keys that are limited to it, before somebody says yes.
  const changes = asked.slice(1).filter((call) => call !== 'GET /api/token/bound?channels=7');
  expect(changes).toHaveLength(1);
  expect(changes[0]).toMatch(/^(DELETE \/api\/channel\/7|PUT \/api\/channel\/)$/);
});

test('the backups of another machine are listed by that machine', async () => {
  const file = { file: '/far/away.backup', format: 1, schema: 's', version: '1', created_at: 1, bytes: 2, sha256: '' };
  const { asked, said } = await remotely(['backup', 'list'], () => [{ ...file, before_upgrade_to: '' }]);
  expect(asked).toEqual(['GET /api/backup/files']);
  expect(said).toContain('/far/away.backup');
});

test('calls that only the machine itself may make are refused with these words', async () => {
  const local = (await api.send('GET', '/api/local/ledger/verify', undefined, root)).body;
  expect(local).toMatchObject({ success: false, code: 'local_only' });
});
