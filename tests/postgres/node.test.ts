import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSellingSite, type SellingSite } from './serving.ts';

let site: SellingSite;

beforeEach(async () => {
  site = await openSellingSite();
});
afterEach(() => site.close());

const ask = { model: 'gpt-4o-mini', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };
const spent = async () => (await site.rows<{ used_quota: number }>('SELECT used_quota FROM accounts WHERE id = 1'))[0];

test('a node on PostgreSQL relays and bills', async () => {
  const node = await site.start();
  const key = await site.furnish(node);
  const answer = await node.chat(key, ask);
  expect([answer.status, await answer.text()]).toMatchObject([200, expect.stringContaining('hello world')]);
  const [log] = await site.rows<{ quota: number }>('SELECT quota FROM logs WHERE type = 2');
  expect(log?.quota).toBeGreaterThan(0);
  expect(await spent()).toEqual({ used_quota: log?.quota });
  expect(await node.stop()).toBe(0);
  expect(await site.rows("SELECT state FROM nodes WHERE state <> 'expired'")).toEqual([]);
  expect(await site.rows('SELECT * FROM leases')).toEqual([]);
});

test('a node with another master key gets an error that says so, and does not start', async () => {
  const node = await site.start();
  await site.furnish(node);
  const other = { env: { GATEWAY_SECRET_KEY: 'a key of another site altogether' } };
  await expect(site.start(other)).rejects.toThrow('does not belong to this database');
});

test('two nodes cannot have one outbox: the second says who has it and does not start, and the first serves on', async () => {
  const env = { GATEWAY_OUTBOX: join(site.folder(), 'outbox') };
  const node = await site.start({ env });
  const key = await site.furnish(node);
  await expect(site.start({ env })).rejects.toThrow(
    new RegExp(`in use by process ${node.process.pid} on \\S+\\. Each node needs one of its own`),
  );
  expect((await node.chat(key, ask)).status).toBe(200);
  expect(await site.rows("SELECT node FROM nodes WHERE state = 'live'")).toHaveLength(1);
  // A node that was killed has lost it.
  await node.stop('SIGKILL');
  const next = await site.start({ env });
  expect((await next.chat(key, ask)).status).toBe(200);
});

test.each(['the same machine', 'another machine'])(
  'a copy of the folder of a node that runs does not start on %s, and the node serves on',
  async (where) => {
    const outbox = join(site.folder(), 'outbox');
    const node = await site.start({ env: { GATEWAY_OUTBOX: outbox } });
    const key = await site.furnish(node);
    const copy = join(site.folder(), 'outbox');
    cpSync(outbox, copy, { recursive: true });
    const owner = join(copy, 'outbox.owner');
    // There its process has a number that says nothing here.
    if (where === 'another machine')
      writeFileSync(owner, JSON.stringify({ ...JSON.parse(readFileSync(owner, 'utf8')), machine: 'elsewhere' }));
    const second = await site.run(['serve', '--port', '0'], { env: { GATEWAY_OUTBOX: copy } });
    expect([second.code, second.err]).toEqual([6, expect.stringContaining(`${copy} is a copy of the directory`)]);
    expect((await node.chat(key, ask)).status).toBe(200);
    expect(await site.rows('SELECT state FROM nodes')).toEqual([{ state: 'live' }]);
  },
);

test('a copy of the folder of a node that is gone starts under its name', async () => {
  const outbox = join(site.folder(), 'outbox');
  const node = await site.start({ env: { GATEWAY_OUTBOX: outbox } });
  const key = await site.furnish(node);
  await node.stop('SIGKILL');
  const copy = join(site.folder(), 'outbox');
  cpSync(outbox, copy, { recursive: true });
  const owner = join(copy, 'outbox.owner');
  writeFileSync(owner, JSON.stringify({ ...JSON.parse(readFileSync(owner, 'utf8')), machine: 'elsewhere' }));
  const next = await site.start({ env: { GATEWAY_OUTBOX: copy } });
  expect((await next.chat(key, ask)).status).toBe(200);
});

test('an outbox that cannot be used is named by the setting that says where it is', async () => {
  const file = join(site.folder(), 'file');
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, '');
  const { code, err } = await site.run(['serve', '--port', '0'], { env: { GATEWAY_OUTBOX: join(file, 'outbox') } });
  expect([code, err]).toEqual([1, expect.stringMatching(/GATEWAY_OUTBOX.*cannot be used/)]);
});
