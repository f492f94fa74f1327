/** Nodes as an operator meets them in the terminal: who is there, one that is drained, one that is gone. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTerminal } from '../binary/terminal.ts';
import { endlessStream, openSellingSite, type SellingSite, type ServingNode } from './serving.ts';

let site: SellingSite;
let key: string;
let [stays, leaves, dies]: ServingNode[] = [];

const nameOf = (node: ServingNode | undefined): string => readFileSync(join(node?.dir ?? '', 'node'), 'utf8').trim();
/** On the node that stays, as its owner. */
const run = (...args: readonly string[]) => site.run(['node', ...args], { dir: stays?.dir ?? '' });
const listed = async (): Promise<readonly { name: string; state: string; [field: string]: unknown }[]> =>
  JSON.parse((await run('list', '--json')).out);
const stateOf = async (name: string) => (await listed()).find((one) => one.name === name)?.state;
const codeIn = (err: string): string => JSON.parse(err.trimEnd().split('\n').at(-1) ?? '').error.code;

beforeAll(async () => {
  site = await openSellingSite();
  site.upstream.script(endlessStream);
  stays = await site.start();
  key = await site.furnish(stays);
  [leaves, dies] = [await site.start(), await site.start()];
});
afterAll(() => site.close());

test('all are listed: as lines for scripts, as JSON, as names alone', async () => {
  const names = [stays, leaves, dies].map(nameOf).toSorted();
  // Each says of itself how it stands, now and then.
  const well = {
    state: 'live',
    relays: 1,
    owes: false,
    forgotten: false,
    settles_seconds: null,
    hears: true,
    trouble: null,
  };
  await expect.poll(listed, { timeout: 60_000 }).toMatchObject(names.map((name) => ({ name, ...well })));
  expect((await run('list', '-q')).out.trim().split('\n')).toEqual(names);
  const lines = (await run('list')).out.trimEnd().split('\n');
  expect(lines.map((line) => line.split('\t').length)).toEqual([12, 12, 12]);
  expect(lines.map((line) => line.split('\t').slice(0, 2))).toEqual(names.map((name) => [name, 'live']));
});

test('a node’s trouble is described in the reader’s language, and as a code in JSON', async () => {
  const failure = { code: 'storage', params: { detail: 'ECONNREFUSED' } };
  const insert = `INSERT INTO nodes (node, run, version, schema, expires_at, started_at, follows, figures)
    SELECT 'ails', 'r', version, schema, clock_timestamp() + interval '1 hour', started_at, follows, '${JSON.stringify({ trouble: failure })}' FROM nodes LIMIT 1`;
  await site.rows(insert);
  const stateIn = async (language: string) =>
    (await run('list', '--lang', language)).out
      .split('\n')
      .find((line) => line.startsWith('ails'))
      ?.split('\t')[1];
  expect(await stateIn('en')).toBe('live (the books cannot be written: ECONNREFUSED)');
  expect(await stateIn('zh')).toBe('live (账目无法写入：ECONNREFUSED)');
  expect((await listed()).find(({ name }) => name === 'ails')?.trouble).toEqual(failure);
  await site.rows("DELETE FROM nodes WHERE node = 'ails'");
});

test.each(['en', 'zh'])('on a terminal of 80 columns no line is cut, in %s', async (language) => {
  const terminal = openTerminal(site.command(['node', 'list', '--lang', language, '--data-dir', stays?.dir ?? '']), {
    cwd: stays?.dir ?? '',
    env: { ...site.environment(), TERM: 'xterm-256color' },
  });
  await terminal.exited();
  const lines = terminal.text().trimEnd().split(/\r?\n/);
  expect(lines.filter((line) => Bun.stringWidth(line) > 80)).toEqual([]);
  expect(lines).toHaveLength(4);
  for (const name of [stays, leaves, dies].map(nameOf)) expect(terminal.text()).toContain(name);
  expect(lines[0]).toMatch(
    language === 'en' ? /NODE.*STATE.*HEARD.*OPEN.*LEASED.*WAITING/i : /节点.*状态.*最近心跳.*进行中.*租约额度.*等待中/,
  );
});

test('what cannot be done is said, with a code of its own', async () => {
  const rejected = async (...args: readonly string[]) => {
    const { code, out, err } = await run(...args, '--json');
    return [code, out, codeIn(err)];
  };
  expect(await rejected('drain', 'nobody', '--yes')).toEqual([5, '', 'node_unknown']);
  expect(await rejected('forget', 'nobody', '--yes')).toEqual([5, '', 'node_unknown']);
  expect(await rejected('forget', nameOf(stays), '--yes')).toEqual([6, '', 'node_lives']);
  expect(await rejected('drain', nameOf(leaves))).toEqual([9, '', 'input_needed']);
  expect(await rejected('forget', nameOf(leaves), '--write-off', '--when-settled')).toEqual([2, '', 'usage']);
  expect(await stateOf(nameOf(leaves))).toBe('live');
});

test('one that is drained ends in order, and is on the list no longer', async () => {
  const name = nameOf(leaves);
  const { code, out } = await run('drain', name, '--yes', '--json');
  expect([code, JSON.parse(out)]).toEqual([0, { result: 'draining', name }]);
  expect(await leaves?.process.exited).toBe(0);
  expect(await stateOf(name)).toBeUndefined();
  expect(await run('drain', name, '--yes')).toMatchObject({ code: 6, err: expect.stringContaining(name) });
});

test('one that is gone is forgotten on purpose alone: later, or now, and what it left open is billed', async () => {
  const name = nameOf(dies);
  const body = { model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: 'hi' }] };
  const reader = (await dies?.chat(key, body))?.body?.getReader();
  void (async () => {
    while ((await reader?.read().catch(() => ({ done: true })))?.done === false);
  })();
  // What was seen of it is noted every few seconds.
  await expect
    .poll(async () => (await site.rows('SELECT 1 FROM holds WHERE observed > 0')).length, { timeout: 60_000 })
    .toBe(1);
  await dies?.stop('SIGKILL');
  // As if it had been silent for long enough.
  await site.rows(`UPDATE nodes SET expires_at = clock_timestamp() - interval '30 s' WHERE node = '${name}'`);
  await expect.poll(() => stateOf(name), { timeout: 60_000 }).toBe('gone');

  const kept = await run('forget', name, '--yes', '--json');
  expect([kept.code, codeIn(kept.err)]).toEqual([6, 'node_owes']);
  const later = await run('forget', name, '--when-settled', '--yes', '--json');
  expect([later.code, JSON.parse(later.out)]).toMatchObject([0, { result: 'forgetting', name }]);
  expect(later.err).toContain('1 request open');
  expect((await listed()).find((one) => one.name === name)).toMatchObject({ state: 'gone', forgotten: true, open: 1 });

  const now = await run('forget', name, '--write-off', '--yes');
  expect([now.code, now.out.trim()]).toEqual([0, `${name} is forgotten`]);
  expect(await stateOf(name)).toBeUndefined();
  await expect.poll(() => site.rows('SELECT ref FROM holds'), { timeout: 60_000 }).toEqual([]);
  const logs = await site.rows<{ quota: number }>('SELECT quota FROM logs WHERE type = 2');
  expect(logs.map(({ quota }) => quota > 0)).toEqual([true]);
  expect((await site.run(['ledger', 'verify'], { dir: stays?.dir ?? '' })).code).toBe(0);
});
