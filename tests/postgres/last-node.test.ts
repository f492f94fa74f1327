/** The last node of a site was killed: whoever comes ends what it left, and the site can be moved back. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../db/open.ts';
import { endlessStream, openSellingSite, type SellingSite, type ServingNode } from './serving.ts';

let site: SellingSite;
let node: ServingNode;
let name: string;

/** Has an open stream, of which something was seen, and a lease. */
beforeEach(async () => {
  site = await openSellingSite();
  site.upstream.script(endlessStream);
  node = await site.start();
  const key = await site.furnish(node);
  const body = { model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: 'hi' }] };
  const reader = (await node.chat(key, body)).body?.getReader();
  void (async () => {
    while ((await reader?.read().catch(() => ({ done: true })))?.done === false);
  })();
  await expect
    .poll(async () => (await site.rows('SELECT 1 FROM holds WHERE observed > 0')).length, { timeout: 60_000 })
    .toBe(1);
  await node.stop('SIGKILL');
  const [row] = await site.rows<{ node: string }>('SELECT node FROM nodes');
  name = row?.node ?? '';
});
afterEach(() => site.close());

const setExpiry = (offset: string) => site.rows(`UPDATE nodes SET expires_at = clock_timestamp() ${offset}`);
const moveBack = (dir = site.folder()) => site.run(['db', 'move', '--back', '--yes', '--json'], { dir });
const rejected = ({ code, err }: { readonly code: number; readonly err: string }) => {
  const { error } = JSON.parse(err.trimEnd().split('\n').at(-1) ?? '');
  return [code, error.code, error.message];
};
const leased = () => site.rows('SELECT kind, subject FROM leases WHERE amount > 0');

test('until its lease has ended, moving back, draining and forgetting say how long to wait, and what to do then', async () => {
  const run = (...args: string[]) => site.run(['node', ...args, '--yes', '--json']);
  // Anew for each: a command takes seconds on a busy machine.
  await setExpiry("+ interval '15 s'");
  expect(rejected(await moveBack())).toEqual([
    6,
    'move_node_lives',
    expect.stringMatching(new RegExp(`node ${name}.* killed, its leases end in (1\\d|20) s: run this command again`)),
  ]);
  await setExpiry("+ interval '15 s'");
  expect(rejected(await run('forget', name))).toEqual([
    6,
    'node_silent',
    expect.stringMatching(/last heard of \d+ s ago.* leases end in (1\d|20) s: run this command again/),
  ]);
  await setExpiry("+ interval '15 s'");
  const drained = await run('drain', name);
  expect([drained.code, drained.err]).toEqual([0, expect.stringMatching(/leases end in (1\d|20) s.*node forget/)]);
});

test('when its lease has ended, a command of another folder collects it, and names the bills that its disk may hold', async () => {
  await setExpiry("- interval '6 s'");
  const listed = JSON.parse((await site.run(['node', 'list', '--json'])).out);
  expect(listed).toMatchObject([{ name, state: 'gone', open: 1 }]);
  const run = (...args: string[]) => site.run(['node', ...args, '--yes', '--json']);
  expect(rejected(await run('drain', name)).slice(0, 2)).toEqual([6, 'node_gone']);
  expect(rejected(await run('forget', name)).slice(0, 2)).toEqual([6, 'node_owes']);
  expect(rejected(await moveBack()).slice(0, 2)).toEqual([6, 'move_node_owes']);

  expect((await run('forget', name, '--when-settled')).code).toBe(0);
  expect(rejected(await moveBack())).toEqual([
    6,
    'move_unsettled',
    expect.stringMatching(/within 5\d\d s: run this command again/),
  ]);
  expect((await run('forget', name, '--write-off')).code).toBe(0);
  expect([await leased(), await site.rows('SELECT ref FROM holds')]).toEqual([[], []]);
  expect(await site.rows<{ quota: number }>('SELECT quota > 0 AS paid FROM logs WHERE type = 2')).toEqual([
    { paid: true },
  ]);
  expect((await moveBack()).code).toBe(0);
});

test('a command that cannot end what was left says why, and does its work', async () => {
  await setExpiry("- interval '6 s'");
  const dir = site.folder();
  // Where its own files belong there is something else.
  mkdirSync(join(dir, 'outbox.db'), { recursive: true, mode: 0o700 });
  const { code, out, err } = await site.run(['token', 'list', '--json'], { dir });
  expect([code, JSON.parse(out)]).toEqual([0, [expect.objectContaining({ name: 't' })]]);
  expect(err).toMatch(
    /what stopped nodes have left open could not be ended: .* cannot be used: .*\. The next command tries again/s,
  );
  expect(await leased()).not.toEqual([]);
});

test('in its own folder the site is moved back at once, with what it left open', async () => {
  expect(await moveBack(node.dir)).toMatchObject({ code: 0 });
  const file = openDatabase(join(node.dir, 'gateway.db'), { readonly: true });
  expect(file.raw.prepare('SELECT count(*) AS n, min(quota) > 0 AS paid FROM logs WHERE type = 2').get()).toEqual({
    n: 1,
    paid: 1,
  });
  expect(file.raw.prepare('SELECT ref FROM holds').all()).toEqual([]);
  await file.close();
  expect((await site.run(['ledger', 'verify'], { dir: node.dir, env: { DATABASE_URL: '' } })).code).toBe(0);
});
