/** Every table of the console: how it gets a given number of rows, and which of them a reader sees who scrolls and pages through it. */
import { en } from '../../web/locales/en.ts';
import type { Inside } from './inside.ts';
import { quietLine, settled } from './support.ts';

export interface ListTable {
  /** Address, with the longest pages it has. */
  readonly path: string;
  /** Makes it have so many rows in all; the number never falls. */
  readonly fill: (rows: number) => Promise<void>;
  /** What shows the rest of it, where there is more. */
  readonly more?: RegExp;
  /** One row; those of the data tables unless given. */
  readonly row?: string;
}

const hourAt = Math.floor(Date.now() / 3_600_000) * 3600;

/** @param inside a site that nobody has used yet. */
export async function tablesOf({ stage, ask, set, page }: Inside): Promise<Readonly<Record<string, ListTable>>> {
  const { Database } = await import('bun:sqlite');
  const database = new Database(`${stage.sandbox.dataDir}/gateway.db`);
  database.run('PRAGMA busy_timeout = 10000');
  /** Inserts the rows that are missing. `i` is the number of the row. */
  const insert = (table: string, columns: string, values: string) => {
    let have = 0;
    return async (rows: number, first = 0): Promise<void> => {
      database.run(
        `WITH RECURSIVE n(i) AS (SELECT ${have} UNION ALL SELECT i + 1 FROM n WHERE i < ${rows - first - 1})
         INSERT INTO ${table} (${columns}) SELECT ${values} FROM n WHERE i < ${rows - first}`,
      );
      have = Math.max(have, rows - first);
    };
  };
  const users = insert(
    'users',
    'username, password_hash, role, status, group_name, created_at',
    "'reader' || i, 'x', 1, 1, 'default', i",
  );
  const logs = insert(
    'logs',
    'created_at, type, user_id, username, model_name, quota',
    `${hourAt - 20_000} + i, 2, 1, 'root', 'm-' || i, i`,
  );
  const drawings = insert(
    'drawing_tasks',
    'user_id, action, mj_id, submit_ms, status, progress',
    `1, 'IMAGINE', 'mj' || i, ${hourAt * 1000} + i, 'SUCCESS', '100%'`,
  );
  const tasks = insert(
    'tasks',
    'created_at, updated_at, task_id, platform, user_id, submit_at, status',
    `${hourAt}, ${hourAt}, 't' || i, 'suno', 1, ${Math.floor(Date.now() / 1000)}, 'SUCCESS'`,
  );
  const orders = insert(
    'top_ups',
    'user_id, trade_no, method, amount, quota, money, currency, status, created_at',
    "1, 'order' || i, 'alipay', 1, 500000, 730, 'cny', 'success', 1000 + i",
  );
  const callbacks = insert(
    'callbacks',
    'source, event_id, trade_no, received_at, outcome, body',
    "'epay', 'e' || i, 'order' || i, 1000 + i, 'credited', 'x'",
  );
  const versions = insert('price_versions', 'at, actor, reason, options', "1000 + i, 'root', 'set', '{}'");
  const made: Record<string, number> = {};
  const missing = (name: string, rows: number): number[] => {
    const from = made[name] ?? 0;
    made[name] = Math.max(from, rows);
    return Array.from({ length: Math.max(0, rows - from) }, (_, n) => from + n);
  };
  const numbered = (word: string, rows: number) => Array.from({ length: rows }, (_, n) => `${word}-${n}`);
  const channels = async (rows: number) => {
    const have = (await ask('GET', '/api/channel/search')) as unknown[];
    if (have.length >= rows) return;
    const key = numbered('sk', rows - have.length).join('\n');
    await ask('POST', '/api/channel/', { type: 1, base_url: 'http://127.0.0.1:9', models: 'm', name: 'many', key });
  };
  /** Channels whose models have a price, and have none. */
  for (const name of ['priced', 'unset']) {
    const made = { type: 1, base_url: 'http://127.0.0.1:9', key: 'k', name: `of-${name}`, models: `${name}-0` };
    await ask('POST', '/api/channel/', made);
  }
  const models = async (name: string, rows: number) => {
    const [channel] = (await ask('GET', `/api/channel/search?keyword=of-${name}`)) as { id: number }[];
    await ask('PUT', '/api/channel/', { id: channel?.id, models: numbered(name, rows).join(',') });
  };
  const prices = async (rows: number) => {
    await set({
      ModelPrice: '{}',
      CompletionRatio: '{}',
      CacheRatio: '{}',
      ModelRatio: JSON.stringify(Object.fromEntries(numbered('priced', rows).map((name) => [name, 1]))),
    });
  };
  let nodes = 0;
  let inserted = 0;
  await page.route('**/api/node/', (route) =>
    route.fulfill({ json: { success: true, message: '', data: { several: true, nodes: nodesOf(nodes) } } }),
  );

  const settings = { row: 'table.sheet-table tbody tr' };
  return {
    tokens: {
      path: 'token?size=100',
      fill: async (rows) => {
        for (const n of missing('tokens', rows - 1))
          await ask('POST', '/api/token/', { name: `key-${n}`, remain_quota: 5_000_000 });
      },
    },
    'redemption codes': {
      path: 'redemption?size=100',
      fill: async (rows) => {
        for (let left = missing('codes', rows).length; left > 0; left -= 100)
          await ask('POST', '/api/redemption/', { name: 'gift', quota: 5, count: Math.min(100, left) });
      },
    },
    channels: { path: 'channel', fill: channels },
    tags: {
      path: 'channel?mode=tag',
      fill: async (rows) => {
        await channels(rows);
        database.run("UPDATE channels SET tag = 'tag-' || id");
      },
    },
    users: { path: 'user?size=100', fill: (rows) => users(rows, 1) },
    log: { path: 'log?size=100&type=2', fill: logs },
    'log, endless': { path: 'log?size=all&type=2', fill: logs },
    drawings: { path: 'midjourney?size=100', fill: drawings },
    tasks: { path: 'task?size=100', fill: tasks },
    orders: { path: 'orders?size=100', fill: orders },
    'own orders': { path: 'topup?size=100', fill: orders },
    'payment callbacks': { path: 'orders?view=callbacks&size=100', fill: callbacks },
    'models and prices': {
      path: 'pricing',
      fill: async (rows) => {
        await prices(rows);
        await models('priced', rows);
      },
    },
    'prices, edited': { path: 'setting?tab=operation&block=visual', fill: prices, ...settings },
    'models without a price': {
      path: 'setting?tab=operation&block=unset_models',
      fill: async (rows) => {
        const unset = (await ask('GET', '/api/ratio/unset')) as string[];
        await models('unset', rows - unset.filter((name) => !name.startsWith('unset-')).length);
      },
      ...settings,
    },
    'versions of prices': {
      path: 'setting?tab=operation&block=history',
      fill: async (rows) => {
        const { total } = (await ask('GET', '/api/ratio/history?p=1&page_size=1')) as { total: number };
        if (total < rows) await versions(rows - total + inserted);
        inserted += Math.max(0, rows - total);
      },
      ...settings,
    },
    'spending by model': {
      path: 'detail?view=margin',
      fill: logs,
      more: new RegExp(en.dashboard.more.replace('{{count}}', '\\d+')),
      row: `section[aria-label="${en.dashboard.margin}"] tbody tr`,
    },
    nodes: {
      path: 'nodes',
      fill: async (rows) => {
        nodes = rows;
      },
    },
  };
}

const nodesOf = (rows: number) =>
  Array.from({ length: rows }, (_, n) => ({
    ...{ name: `node-${n}`, state: 'live', version: '1', schema: '1', started_at: 1, silent_seconds: 1 },
    ...{ leases: 0, leased_quota: 0, open: 0, settles_seconds: null, owes: false, forgotten: false },
    ...{ cpu_percent: null, memory_bytes: null, relays: null, waiting: null, news_ms: null, hears: null },
    trouble: null,
  }));

/** What stands in sight now, and whether scrolling leads further. */
function check(row: string): { readonly rows: string[]; readonly last: boolean } {
  const all = [...document.querySelectorAll<HTMLTableRowElement>(row)];
  const box = all[0]?.closest('section') ?? document.documentElement;
  const inner = box.scrollHeight > box.clientHeight + 1 && getComputedStyle(box).overflowY !== 'visible';
  const sight = box.getBoundingClientRect();
  const seen = all.filter((one) => {
    const { top, bottom, height, width } = one.getBoundingClientRect();
    if (height < 8 || width < 100 || one.textContent.trim() === '') return false;
    // At least half of it, where the table scrolls by itself.
    return !inner || Math.min(bottom, sight.bottom) - Math.max(top, sight.top) >= height / 2;
  });
  const before = box.scrollTop;
  if (inner) box.scrollTop = before + box.clientHeight * 0.8;
  return {
    rows: seen.map(
      (one) => one.dataset.row ?? one.querySelector('button')?.ariaLabel ?? one.cells[0]?.textContent ?? '',
    ),
    last: box.scrollTop === before,
  };
}

/** Opens it and scrolls from the top to the end, page by page as far as there is a next one. @returns the rows that were in sight, each once. */
export async function rowsSeen({ open }: Inside, { path, row = 'tr[data-row]', more }: ListTable): Promise<number> {
  const page = await open(path);
  if (more !== undefined) {
    const rest = page.getByRole('button', { name: more });
    if ((await rest.count()) > 0) await rest.click();
  }
  const seen = new Set<string>();
  const frame = () =>
    page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  for (;;) {
    for (let ends = 0; ends < 2; ) {
      await frame();
      const { rows, last } = await page.evaluate(check, row);
      for (const one of rows) seen.add(one);
      // More may be on its way.
      if (last && ++ends < 2) await quietLine(page);
      if (!last) ends = 0;
    }
    const next = page.getByRole('button', { name: en.app.next, exact: true }).first();
    if ((await next.count()) === 0 || (await next.isDisabled())) return seen.size;
    await next.click();
    await settled(page);
    await page.evaluate((rows) => document.querySelector(rows)?.closest('section')?.scrollTo(0, 0), row);
  }
}
