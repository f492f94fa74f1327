/** The page of the machines that serve a site together, on three of them: how it looks, and how one is taken out. */
import { join } from 'node:path';
import { Client } from 'pg';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PostgresServer, postgresPrograms, startPostgres } from '../../scripts/servers/postgres.ts';
import { en } from '../../web/locales/en.ts';
import { zh } from '../../web/locales/zh.ts';
import { freePort, setUp } from '../binary/support.ts';
import { enter } from './faults.ts';
import { callFrom, openStage, type Stage, settled, shot, violationsNow } from './support.ts';

let server: PostgresServer;
let stage: Stage;
let page: Page;
let key: string;
const nodes: { readonly name: string; readonly url: string; readonly child: Bun.Subprocess }[] = [];

const sql = async <Row extends object>(text: string, ...values: readonly unknown[]): Promise<Row[]> => {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query<Row>(text, [...values])).rows;
  } finally {
    await client.end();
  }
};
const names = async (): Promise<string[]> =>
  (await sql<{ node: string }>('SELECT node FROM nodes ORDER BY epoch')).map(({ node }) => node);

async function addNode(env: Record<string, string>): Promise<void> {
  const more = { ...env, GATEWAY_DATA_DIR: join(stage.sandbox.dir, `node-${nodes.length}`) };
  const { line, child } = await stage.sandbox.start(['serve', '--port', String(freePort())], more);
  nodes.push({ name: (await names()).at(-1) ?? '', url: line.replace('URL: ', ''), child });
}

const chat = (url: string, model: string, stream = false): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'hi' }] }),
  });

beforeAll(async () => {
  const bin = postgresPrograms();
  if (bin === null) throw new Error('PostgreSQL is not installed (Debian: apt-get install postgresql)');
  server = await startPostgres(bin);
  const env = { DATABASE_URL: server.url, GATEWAY_SECRET_KEY: 'the same key on every machine of the site' };
  stage = await openStage(env);
  key = await setUp(stage.sandbox, stage.upstream);
  const slow = await stage.sandbox.start([
    ...['mock-upstream', '--port', String(freePort())],
    ...['--tokens-per-second', '2', '--chunks', '1000'],
  ]);
  const where = ['--base-url', slow.line, '--models', 'practice-large', '--key-stdin'];
  const added = await stage.sandbox.run(
    ['channel', 'add', '--type', 'practice', '--name', 'slow', '--priority', '9', ...where],
    'k\n',
  );
  expect(added.code).toBe(0);
  await addNode(env);
  await addNode(env);
  page = await stage.newPage(await stage.newContext(true));
  await enter(stage, page);
}, 180_000);
afterAll(async () => {
  await stage?.close();
  server?.remove();
});

const open = async (): Promise<void> => {
  await page.goto(`${stage.url}/nodes`);
  await settled(page);
};
const row = (name: string) => page.locator('tbody tr[data-row]', { hasText: name });
const stateOf = (name: string, state: string) => row(name).getByText(state, { exact: true }).waitFor();

test('each is shown with its load and what it leases, in both languages, both themes and three widths', async () => {
  for (const { url } of nodes)
    await expect.poll(async () => (await chat(url, 'practice-small')).status, { timeout: 60_000 }).toBe(200);
  await expect
    .poll(async () => (await sql("SELECT 1 FROM nodes WHERE figures LIKE '%memory_bytes%'")).length, {
      timeout: 60_000,
    })
    .toBe(3);
  // One that admits nothing, behind a pooler.
  const stats = { cpu_percent: 187, memory_bytes: 3e8, relays: 4, waiting: 12_345, news_ms: 250, hears: false };
  await sql(
    `INSERT INTO nodes (node, run, version, schema, expires_at, started_at, follows, figures)
     SELECT 'a-machine-with-a-long-name-42f1c3d7', 'r', version, schema, clock_timestamp() + interval '1 hour', started_at, follows, $1 FROM nodes LIMIT 1`,
    JSON.stringify({ ...stats, trouble: { code: 'standby_silent', params: {} } }),
  );
  const faults: string[] = [];
  for (const [language, words] of [['en', en] as const, ['zh', zh] as const])
    for (const theme of ['light', 'dark']) {
      await page.evaluate(
        ([lng, mode]) => {
          localStorage.setItem('i18nextLng', lng);
          localStorage.setItem('theme-mode', mode);
        },
        [language, theme] as const,
      );
      for (const width of [1440, 1024, 390]) {
        await page.setViewportSize({ width, height: 800 });
        await open();
        expect(await page.locator('tbody tr[data-row]').count()).toBe(4);
        await page.getByText(words.nodes.troubled).waitFor();
        const check = async (what: string) => {
          await shot(page, `nodes-${what}-${language}-${theme}-${width}.png`);
          faults.push(...(await violationsNow(page)).map((error) => `${what} ${language} ${theme} ${width}: ${error}`));
          const wide = () => document.documentElement.scrollWidth > document.documentElement.clientWidth;
          if (await page.evaluate(wide)) faults.push(`${what} ${language} ${theme} ${width}: scrolls sideways`);
        };
        await check('list');
        await page.locator('tbody tr[data-row]').first().click();
        await page.getByRole('dialog').getByText(words.nodes.asks).waitFor();
        await check('drawer');
      }
    }
  expect(faults).toEqual([]);
  await sql("DELETE FROM nodes WHERE node LIKE 'a-machine-%'");
  await page.setViewportSize({ width: 1440, height: 800 });
  await page.evaluate(() => localStorage.setItem('i18nextLng', 'en'));
});

test('an administrator who is not root can look at nodes but not drain or remove them', async () => {
  await callFrom(page, 'POST', '/api/user/', { username: 'ann', password: 'password1', display_name: 'Ann' });
  const users = (await callFrom(page, 'GET', '/api/user/?p=1')).data as { items: { id: number; username: string }[] };
  const id = users.items.find(({ username }) => username === 'ann')?.id;
  await callFrom(page, 'POST', '/api/user/manage', { id, action: 'promote' });
  const other = await stage.newPage(await stage.newContext(true));
  await other.goto(`${stage.url}/nowhere`);
  const login = await callFrom(other, 'POST', '/api/user/login', { username: 'ann', password: 'password1' });
  await other.evaluate((user) => localStorage.setItem('user', JSON.stringify(user)), login.data);
  await other.goto(`${stage.url}/nodes`);
  await other.locator('tbody tr[data-row]').first().click();
  await other.getByRole('dialog').getByText(en.nodes.hears).waitFor();
  expect(await other.getByRole('button', { name: en.nodes.drain }).count()).toBe(0);
  await other.close();
});

test('one is drained: it ends in order, and is on the list no longer', async () => {
  const [node] = nodes;
  await open();
  await row(node?.name ?? '').click();
  await page.getByRole('dialog').getByRole('button', { name: en.nodes.drain }).click();
  await page.getByText(en.nodes.drainText).waitFor();
  await shot(page, 'nodes-drain.png');
  await page.getByRole('button', { name: en.nodes.drain }).last().click();
  await page.getByText(en.nodes.drained).waitFor();
  expect(await node?.child.exited).toBe(0);
  await row(node?.name ?? '').waitFor({ state: 'detached' });
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('one that is gone: what it takes with it is said, it may be waited for, and is forgotten', async () => {
  const [, node] = nodes;
  const name = node?.name ?? '';
  const reader = (await chat(node?.url ?? '', 'practice-large', true)).body?.getReader();
  await reader?.read();
  await expect.poll(async () => (await sql('SELECT 1 FROM holds')).length, { timeout: 60_000 }).toBe(1);
  node?.child.kill('SIGKILL');
  reader?.cancel().catch(() => undefined);
  // As if nobody had heard of it for long enough.
  await sql("UPDATE nodes SET expires_at = clock_timestamp() - interval '30 s' WHERE node = $1", name);
  await open();
  await stateOf(name, en.nodes.s.gone);
  await row(name).click();
  const drawer = page.getByRole('dialog').first();
  await drawer.getByText(en.nodes.owes).waitFor();
  await drawer.getByRole('button', { name: en.nodes.forget }).click();
  const question = page.getByRole('dialog', { name: en.nodes.forgetTitle.replace('{{name}}', name) });
  await question.getByText(en.nodes.owes).waitFor();
  const said = (await question.textContent()) ?? '';
  expect(said).toContain(en.nodes.losesOpen_one.replace('{{count}}', '1').split('{{')[0]?.trim());
  expect(said).toMatch(/\$\d/);
  expect(said).toContain(en.nodes.losesNothing);
  await shot(page, 'nodes-forget.png');
  expect(await violationsNow(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 800 });
  const button = await question.getByRole('button', { name: en.nodes.forgetNow }).boundingBox();
  expect((button?.x ?? 390) + (button?.width ?? 0)).toBeLessThanOrEqual(390);
  await shot(page, 'nodes-forget-390.png');
  await page.setViewportSize({ width: 1440, height: 800 });

  await question.getByRole('button', { name: /Forget in \d+ min/ }).click();
  await page.getByText(en.nodes.forgetting).waitFor();
  await drawer.getByText(/It is forgotten when .* in \d+ min/).waitFor();
  expect(await sql('SELECT 1 FROM holds')).toHaveLength(1);

  await drawer.getByRole('button', { name: en.nodes.forget }).click();
  await page.getByRole('button', { name: en.nodes.forgetNow }).click();
  await page.getByText(en.nodes.forgotten, { exact: true }).waitFor();
  await row(name).waitFor({ state: 'detached' });
  await expect.poll(() => sql('SELECT 1 FROM holds'), { timeout: 60_000 }).toEqual([]);
  expect(stage.complaints).toEqual([]);
});
