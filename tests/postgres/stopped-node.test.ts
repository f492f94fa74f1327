/** A node that ends says that it has left nothing behind, and says so only when that is true. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Settle } from '../../server/billing/ledger/commands.ts';
import { openNodeFiles } from '../../server/cluster/node-files.ts';
import { type NodeLedger, openNodeLedger } from '../../server/cluster/node-ledger.ts';
import { log, settle } from '../ledger/support.ts';
import { openSite, type Site } from './site.ts';

let site: Site;
let dir: string;

beforeEach(async () => {
  site = await openSite();
  await site.addUsers(1);
  dir = mkdtempSync(join(tmpdir(), 'leaving-'));
});
afterEach(async () => {
  await site.drop();
  rmSync(dir, { recursive: true, force: true });
});

const quiet = () => undefined;
const open = (): Promise<NodeLedger> =>
  openNodeLedger(
    {
      place: { engine: 'postgres', url: site.url },
      name: 'leaver',
      version: 'test',
      nativeBinding: undefined,
      pending: [],
      dir,
      leaseSeconds: 15,
      durable: true,
      memory: null,
    },
    { message: quiet, health: quiet, print: quiet, drain: quiet },
  );
const nodes = () =>
  site.rows<{ state: string; left: boolean }>('SELECT state, left_at > 0 AS left FROM nodes ORDER BY epoch');
/** No books can take it: it stays where it is. */
const stuck = (ref: string): Settle => ({ ...settle(ref, 1, 1), log: { ...log(ref, 1, 1), type: 1.5 } });

test('rows that lie in the outbox alone are missed until they are in the books', async () => {
  const before = openNodeFiles(dir, { now: Date.now, print: () => undefined });
  before.outbox.keep([stuck('r')]);
  before.close();
  await (await open()).close();
  expect(await nodes()).toEqual([{ state: 'expired', left: false }]);
  const reopened = openNodeFiles(dir, { now: Date.now, print: () => undefined });
  reopened.outbox.drop(reopened.outbox.take(10).map(({ number }) => number));
  reopened.close();
  await (await open()).close();
  expect((await nodes()).at(-1)).toEqual({ state: 'expired', left: true });
});
