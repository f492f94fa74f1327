import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  moneyIn,
  packMoney,
  packTokens,
  packUsers,
  type SnapshotPart,
  tokenAt,
  userAt,
} from '../../server/contract/packed-rows.ts';
import { tokenPresets } from '../../server/contract/snapshot.ts';
import { createVault } from '../../server/domain/secrets/vault.ts';
import { createSnapshotSource } from '../../server/domain/snapshot/load.ts';
import { createRelayState, type RelayState } from '../../server/relay/state/state.ts';
import { openMigrated } from '../support/migrated.ts';

/** A site with more users and keys than one part has, some of them with everything that can be set. */
async function source() {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-parts-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const database = await openMigrated(join(folder, 'gateway.db'));
  onTestFinished(() => database.close());
  const numbers = (upTo: number) =>
    `(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${upTo}) SELECT i FROM n)`;
  database.raw.exec(`
    INSERT INTO users (id, username, password_hash, created_at, setting, deleted_at)
      SELECT i, 'u' || i, 'x', 1, iif(i = 7, '{"language":"zh"}', ''), iif(i = 9, 5, NULL) FROM ${numbers(1001)};
    INSERT OR REPLACE INTO accounts (id, balance, used_quota, version, paid_in) SELECT i, i * 10, i, 3, iif(i % 2 = 0, 0, i) FROM ${numbers(1001)};
    INSERT INTO tokens (user_id, name, key_hmac, key_sealed, key_hint, created_at) SELECT 1, 'k' || i, 'h' || i, 'x', 'x', 1 FROM ${numbers(2000)};
    UPDATE tokens SET allow_ips = '10.0.0.0/8', old_key_hmac = 'before', old_key_until = 9, rpm_limit = 4, day_at = 86400,
      day_used = 5, model_limits_enabled = 1, model_limits = 'a,b', unlimited = 1, labels = 'x,y' WHERE id = 2000;
    UPDATE tokens SET month_used = 6 WHERE id = 3;
    UPDATE tokens SET status = 2, expires_at = 99, quota_limit = 500, used_quota = 7, group_name = 'vip', channels = '3,4', unlimited = 1 WHERE id = 4`);
  return createSnapshotSource({ database, vault: createVault(Buffer.from('key')) });
}

/** What the text of every key says. */
const always = ['keyHmac', 'name', 'status', 'unlimited'];

const state = () =>
  createRelayState(
    {
      observeUser: () => undefined,
      observeToken: () => undefined,
      observeBudgets: () => undefined,
      evictUser: () => undefined,
      evictToken: () => undefined,
    },
    () => 0,
  );

function rowsOf(of: RelayState) {
  const { users, tokens } = of.part();
  return {
    users: users.flatMap((page) => [...page.ids].map((_, row) => userAt(page, row))),
    tokens: tokens.flatMap((page) => [...page.ids].map((_, row) => tokenAt(page, row))),
  };
}

test('a snapshot that comes in parts says what it says in one piece, and counts once it is whole', async () => {
  const { load } = await source();
  const parts: SnapshotPart[] = [];
  const rest = await load((part) => void parts.push(part));
  const pages = parts.flatMap(({ users, tokens }) => [...users, ...tokens]);
  expect(pages.map(({ ids }) => ids.length)).toEqual([1000, 1000, 1000]);
  expect([rest.users, rest.tokens]).toEqual([[], []]);
  const texts = parts
    .flatMap(({ tokens }) => tokens)
    .flatMap(({ text }): object[] => JSON.parse(`[${Buffer.from(text).toString()}]`));
  const membersOf = (id: number) => Object.keys(texts[id - 1] ?? {});
  expect(membersOf(2).toSorted()).toEqual(always);
  expect([...new Set([3, 4, 2000].flatMap(membersOf))].toSorted()).toEqual(
    [...always, ...Object.keys(tokenPresets)].toSorted(),
  );
  const whole = await load();
  expect([whole.users.length, whole.tokens.length]).toEqual([1000, 2000]);

  const money = parts.flatMap((part) =>
    part.tokens.flatMap((page, at) =>
      Array.from(moneyIn(page, part.money[at] ?? new Float64Array()), (token) => structuredClone(token)),
    ),
  );
  expect(money).toEqual(
    whole.tokens.map(({ id, unlimited, quotaLimit, used, limits, periods }) => ({
      ...{ id, unlimited, quotaLimit, used, limits, periods },
    })),
  );

  const [inParts, atOnce] = [state(), state()];
  // The thread that sent this much of an earlier one has died.
  for (const part of parts.slice(0, 3)) inParts.prepare(part);
  for (const part of parts) inParts.prepare(part);
  expect([inParts.user(1), inParts.token(1), inParts.tokenByHmac('h1')]).toEqual([undefined, undefined, undefined]);
  inParts.apply(rest);
  atOnce.apply(whole);
  const { nodes, ...kept } = inParts.snapshot();
  expect({ ...kept, ...rowsOf(inParts) }).toEqual(whole);
  expect({ nodes, ...kept }).toEqual(atOnce.snapshot());
  expect(rowsOf(atOnce)).toEqual(rowsOf(inParts));
  expect(inParts.tokenByHmac('before')).toBe(inParts.token(2000));

  // Another one takes its place as a whole.
  inParts.prepare({
    kind: 'part',
    isFirst: true,
    users: [packUsers(whole.users.slice(0, 1))],
    tokens: [packTokens(whole.tokens.slice(1, 2))],
    money: [packMoney(whole.tokens.slice(1, 2))],
  });
  expect(inParts.tokenByHmac('h1')?.id).toBe(1);
  inParts.apply({ ...rest, users: whole.users.slice(1, 2) });
  expect(
    rowsOf(inParts)
      .users.map(({ id }) => id)
      .toSorted(),
  ).toEqual([1, 2]);
  expect([inParts.tokenByHmac('h1'), inParts.tokenByHmac('before')]).toEqual([undefined, undefined]);
  expect(inParts.tokenByHmac('h2')).toBe(inParts.token(2));
});
