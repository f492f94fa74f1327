import { expect, test } from 'vitest';
import type { ServerStatus } from '../../db/server-status.ts';
import { serverWarnings } from '../../server/domain/status/server-warnings.ts';

const well: ServerStatus = {
  schema: '0001-initial',
  version: '15.1',
  fsync: 'on',
  fullPages: 'on',
  autovacuum: 'on',
  isolation: 'read committed',
  standbyNames: 'ANY 1 (*)',
  standbys: 2,
  syncStandbys: 2,
  hiddenStandbys: 0,
  maxConnections: 97,
  connections: 40,
  ownConnections: 30,
  encrypted: true,
  local: false,
  bytes: 1,
  clockLeadMs: 12,
  isListening: true,
  direct: false,
  monthsMissing: [],
  unassignedLogs: 0,
  liveNodes: 3,
  versions: 1,
  oldest: null,
};

/** Numbers and names of the server's own settings are the same in every language. */
const bare = /^$|^NOTIFY$|^TLS$|^on$|^read committed$|^serializable$/;

const saidOf = (details: Partial<ServerStatus>) =>
  serverWarnings({ ...well, ...details }, 'en')
    .map((one, index) => {
      const chinese = serverWarnings({ ...well, ...details }, 'zh')[index]?.detail ?? '';
      expect(/\p{Script=Han}/u.test(chinese) || bare.test(chinese), chinese).toBe(true);
      return one;
    })
    .filter(({ result }) => result !== 'ok')
    .map(({ check, result, detail, fix }) => ({ check, result, detail, hasFix: fix !== '' }));

test('a sound server gets no advice', () => {
  expect(saidOf({})).toEqual([]);
  expect(serverWarnings(well, 'en').map(({ check }) => check)).toEqual([
    'durability',
    'standby',
    'news',
    'transactions',
    'clock',
    'log partitions',
    'connections',
    'isolation',
    'autovacuum',
    'wire',
    'nodes',
  ]);
  expect(saidOf({ standbyNames: '', standbys: 0, syncStandbys: 0 })).toEqual([]);
  expect(saidOf({ encrypted: false, local: true })).toEqual([]);
  expect(saidOf({ oldest: { pid: 7, name: '', database: 'x', seconds: 59 } })).toEqual([]);
});

test.each<[string, 'warn' | 'fail', Partial<ServerStatus>, RegExp]>([
  ['durability', 'fail', { fsync: 'off' }, /loses charges/],
  ['durability', 'warn', { fullPages: 'off' }, /damage pages/],
  ['standby', 'warn', { standbyNames: '', standbys: 1, syncStandbys: 0 }, /a failover may lose the last seconds/],
  ['standby', 'fail', { syncStandbys: 0, standbys: 0 }, /commits wait/],
  ['standby', 'warn', { syncStandbys: 0, hiddenStandbys: 2 }, /hidden/],
  ['news', 'warn', { isListening: false }, /every 250 ms/],
  [
    'transactions',
    'warn',
    { oldest: { pid: 4711, name: 'psql', database: 'other', seconds: 61 } },
    /4711 \(psql\) in other/,
  ],
  ['clock', 'warn', { clockLeadMs: -2500 }, /2\.5 s behind/],
  ['clock', 'warn', { clockLeadMs: 60_000 }, /60\.0 s ahead/],
  ['clock', 'fail', { clockLeadMs: 60_001 }, /60\.0 s ahead/],
  ['log partitions', 'fail', { monthsMissing: ['logs_2026_12'] }, /logs_2026_12/],
  ['log partitions', 'warn', { unassignedLogs: 3 }, /3 rows/],
  ['connections', 'warn', { connections: 90 }, /another node/],
  ['connections', 'fail', { connections: 96 }, /96 of 97/],
  ['isolation', 'fail', { isolation: 'serializable' }, /serializable/],
  ['autovacuum', 'warn', { autovacuum: 'off' }, /off/],
  ['wire', 'warn', { encrypted: false }, /not encrypted/],
])('%s: %s where it has to be', (check, result, details, words) => {
  expect(saidOf(details)).toEqual([{ check, result, detail: expect.stringMatching(words), hasFix: true }]);
});
