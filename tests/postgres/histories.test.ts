import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Line, openLine } from '../../db/postgres/line.ts';
import { expireNodes, orphans } from '../../db/postgres/nodes.ts';
import { endFor } from '../../server/billing/ledger/recovery.ts';
import { type HistoryBooks, playHistory } from '../ledger/history.ts';
import { often } from '../support/often.ts';
import { openSite, type Site, type TestNode } from './site.ts';

const seedText = process.env.HISTORY_SEED;
const [first, histories] = seedText === undefined ? [0, often(60, 1000, 'HISTORIES')] : [Number(seedText), 1];

let site: Site;
let line: Line;
beforeAll(async () => {
  site = await openSite();
  line = await openLine({ engine: 'postgres', url: site.url });
});
afterAll(async () => {
  line.close();
  await site.drop();
});

/** The connection may break before a statement arrives, or when its answer is on its way. */
function postgresBooks(): HistoryBooks {
  let node: TestNode | null = null;
  let left = Number.POSITIVE_INFINITY;
  let fate: 'before' | 'after' = 'before';
  const broken = () => (--left === 0 ? fate : null);
  const started = (): TestNode => {
    if (node === null) throw new Error('not started');
    return node;
  };
  return {
    addUsers: (...ids) => site.addUsers(...ids),
    addCode: (id, quota) => site.addCode(id, quota),
    addOrder: (tradeNo, userId, quota) => site.addOrder(tradeNo, userId, quota),
    async restart() {
      const gone = node?.store.epoch() ?? 0;
      node?.store.close();
      node = site.node({ broken });
      await node.store.probe();
      await expireNodes(line, [gone]);
      const ends = (await orphans(line, -3600)).map((reserve) => ({ ...endFor(reserve), provisional: true }));
      await node.store.apply(ends);
    },
    async apply(commands) {
      const { store } = started();
      for (;;) {
        try {
          return await store.apply(commands);
        } catch (error) {
          if ((error as { code?: unknown }).code !== 'ECONNRESET' && !store.isUncertain(error)) throw error;
          // A client without an answer repeats its command.
          if (!store.isUncertain(error)) return null;
        }
      }
    },
    arm(n) {
      left = n * 3;
      fate = n % 2 === 0 ? 'before' : 'after';
    },
    disarm() {
      left = Number.POSITIVE_INFINITY;
    },
    async account(id) {
      const [row] = await site.rows<{ balance: number; used: number; overrun: number }>(
        'SELECT balance, used_quota AS used, overrun FROM accounts WHERE id = $1',
        id,
      );
      return row ?? { balance: 0, used: 0, overrun: 0 };
    },
  };
}

test('seeded histories with broken connections and restarts agree with the model and keep I1 to I12', async () => {
  const state = postgresBooks();
  for (let n = 0; n < histories; n++) await playHistory(state, first + n, n + 1);
  expect(await site.violations()).toEqual([]);
});
