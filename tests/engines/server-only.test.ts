/** What only nodes on a server ask of it, over whatever server this run has. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fundsOn, limitsOn } from '../../db/postgres/account-limits.ts';
import { rotateSecretsOn } from '../../db/postgres/encrypted-columns.ts';
import type { Line } from '../../db/postgres/line.ts';
import { expireNodes } from '../../db/postgres/nodes.ts';
import type { PostgresDatabase } from '../../db/postgres/open.ts';
import { postgres, rowsOf } from '../support/engines.ts';

let database: PostgresDatabase;
let line: Line;
beforeEach(async () => {
  database = (await postgres.open()) as PostgresDatabase;
  const client = await database.pool.connect();
  let isReleased = false;
  line = {
    send: async (statements) => {
      const answers = [];
      for (const { text, values = [] } of statements) answers.push(await client.query(text, [...values]));
      return answers;
    },
    broken: false,
    wasLocal: () => false,
    close() {
      if (!isReleased) client.release();
      isReleased = true;
    },
  };
});
afterEach(() => {
  // The pool waits for what a failed test did not give back.
  line.close();
  return database.close();
});

const fill = async (text: string): Promise<void> => {
  for (const one of text.split(';\n')) await line.send([{ text: one }]);
};
const accounts = `INSERT INTO accounts (id, balance, used_quota, leased) VALUES (1, 70, 30, 50);
INSERT INTO tokens (id, user_id, name, key_hmac, key_sealed, key_hint, created_at, unlimited, quota_limit, used_quota, leased)
  VALUES (4, 1, 't', 'h4', 's', '', 1, 0, 90, 20, 40), (5, 1, 't', 'h5', 's', '', 1, 1, 0, 7, 0)`;

test('a limit is what a user has and has spent, what a key may spend, or none', async () => {
  await fill(accounts);
  expect(await limitsOn(line, 1, null)).toEqual({ limit: 100, used: 30 });
  expect(await limitsOn(line, 1, 4)).toEqual({ limit: 90, used: 20 });
  expect(await limitsOn(line, 1, 5)).toEqual({ limit: null, used: 7 });
  expect([await limitsOn(line, 9, null), await limitsOn(line, 1, 9)]).toEqual([null, null]);
  line.close();
});

test('what bounds a key is the balance, its limit, and what it used of the day and the month that are not over', async () => {
  await fill(`${accounts};
UPDATE tokens SET day_at = 1700006400, day_used = 3, month_at = 1698796800, month_used = 9 WHERE id = 4`);
  const day = Date.UTC(2023, 10, 15) / 1000;
  expect(await fundsOn(line, 1, 4, day + 5)).toEqual({ balance: 70, limit: 90, used: 20, dayUsed: 3, monthUsed: 9 });
  expect(await fundsOn(line, 1, 4, day + 86_400)).toMatchObject({ dayUsed: 0, monthUsed: 9 });
  expect(await fundsOn(line, 1, 4, day + 40 * 86_400)).toMatchObject({ dayUsed: 0, monthUsed: 0 });
  expect(await fundsOn(line, 1, 5, day)).toMatchObject({ limit: null, used: 7 });
  expect([await fundsOn(line, 2, 4, day), await fundsOn(line, 1, 9, day)]).toEqual([null, null]);
  line.close();
});

test('a node that is gone gives back what its open requests do not hold, of users and of keys', async () => {
  await fill(`${accounts};
INSERT INTO nodes (epoch, expires_at, node) VALUES (7, now() - interval '1 day', 'gone'), (8, now() + interval '1 day', 'here');
INSERT INTO leases (kind, subject, epoch, amount) VALUES ('account', 1, 7, 30), ('account', 1, 8, 20), ('token', 4, 7, 40);
INSERT INTO holds (ref, user_id, token_id, channel_id, estimate, observed, epoch, at, log) VALUES ('r', 1, 4, 1, 12, 0, 7, 1, '{}')`);
  expect(await expireNodes(line)).toEqual([7]);
  expect(await expireNodes(line)).toEqual([]);
  line.close();
  expect(await rowsOf(database, 'SELECT kind, epoch, amount FROM leases ORDER BY kind, epoch')).toEqual([
    { kind: 'account', epoch: 7, amount: 12 },
    { kind: 'account', epoch: 8, amount: 20 },
    { kind: 'token', epoch: 7, amount: 12 },
  ]);
  expect(await rowsOf(database, 'SELECT leased FROM accounts WHERE id = 1')).toEqual([{ leased: 32 }]);
  expect(await rowsOf(database, 'SELECT leased FROM tokens WHERE id = 4')).toEqual([{ leased: 12 }]);
});

test('a node that is gone gives back what its open requests do not hold, of each budget', async () => {
  const units = ['money', 'money', 'requests', 'tokens', 'tokens', 'requests'];
  const budgets = units.map((unit, at) => `(${at + 1}, 'group', 'g${at}', 'day', '${unit}', 1000, 1, 1)`);
  const leases = [30, 30, 20, 20, 20, 1].map((amount, at) => `('budget', ${at + 1}, 7, ${amount})`);
  // What people wrote stands in the same row.
  const log = (named: string) =>
    `{"content":"\\"budgets\\":[2,0,0]","other":"{\\"budgets\\":[2]}","budgets":[${named}]}`;
  const hold = (ref: string, epoch: number, estimate: number, text: string) =>
    `('${ref}', 1, 0, 1, ${estimate}, 0, ${epoch}, 1, '${text}')`;
  const holds = [
    hold('a', 7, 12, log('1,3,0,3,2,1,4,5,2,6,5,1')),
    hold('b', 7, 5, log('1,0,0,3,2,1,6,5,1')),
    // Of none, of one that lives, and of one that is no more.
    hold('c', 7, 9, '{"content":""}'),
    hold('d', 8, 9, log('2,0,0')),
    hold('e', 7, 1, log('99,0,0')),
  ];
  await fill(`INSERT INTO budgets (id, holder, subject, period, unit, amount, created_at, updated_at) VALUES ${budgets.join()};
INSERT INTO nodes (epoch, expires_at, node) VALUES (7, now() - interval '1 day', 'gone'), (8, now() + interval '1 day', 'here');
INSERT INTO leases (kind, subject, epoch, amount) VALUES ${leases.join()}, ('budget', 2, 8, 40);
INSERT INTO holds (ref, user_id, token_id, channel_id, estimate, observed, epoch, at, log) VALUES ${holds.join()}`);
  expect(await expireNodes(line)).toEqual([7]);
  line.close();
  const kept = await rowsOf(database, 'SELECT subject, epoch, amount FROM leases ORDER BY subject, epoch');
  expect(kept.map((row) => Object.values(row as object))).toEqual([
    [1, 7, 17],
    [2, 8, 40],
    [3, 7, 2],
    // A hold does not say how many tokens.
    [4, 7, 20],
    [6, 7, 1],
  ]);
});

test('a column of secrets that is not known here keeps all of them under their old key', async () => {
  await fill(`${accounts};
ALTER TABLE channels ADD COLUMN more_sealed text NOT NULL DEFAULT ''`);
  line.close();
  const rotate = () => ({ encrypted: 'new', hmac: 'new' });
  await expect(rotateSecretsOn(database, 'mark', rotate)).rejects.toThrow('channels.more_sealed');
  expect(await rowsOf(database, 'SELECT key_sealed FROM tokens ORDER BY id')).toEqual([
    { key_sealed: 's' },
    { key_sealed: 's' },
  ]);
});
