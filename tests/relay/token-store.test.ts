import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { NumberMap } from '../../server/contract/number-map.ts';
import { packTokens, tokenAt } from '../../server/contract/packed-rows.ts';
import { type TokenSnapshot, tokenPresets } from '../../server/contract/snapshot.ts';
import { TokenRow } from '../../server/relay/state/rows.ts';
import { TokenStore } from '../../server/relay/state/token-store.ts';
import { randomOf } from '../support/random.ts';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const key = (id: number, text: string, more: Partial<TokenSnapshot> = {}): TokenSnapshot => ({
  ...tokenPresets,
  ...{ id, userId: id % 7, name: `键 ${id} "\u0000`, keyHmac: hashOf(text), status: 1, unlimited: false },
  ...more,
});

const plain = (row: TokenSnapshot | undefined) => (row === undefined ? undefined : { ...row });

test('whatever comes, changes and goes, keys are found by number, by hash and by the hash before', () => {
  const random = randomOf(20261130);
  const below = (n: number) => Math.floor(random() * n);
  const store = new TokenStore();
  const model = new Map<number, TokenSnapshot>();
  const hashes = new Set<string>();
  const fresh = (id: number): TokenSnapshot => {
    const former = model.get(id);
    // Some are no hashes, and some hashes begin alike.
    const begin = ['', '0000000', 'feedface'][below(3)] ?? '';
    const keyHmac = below(20) === 0 ? `odd-${random()}` : begin + hashOf(String(random())).slice(begin.length);
    const oldKey = former === undefined || below(3) > 0 ? null : { hmac: former.keyHmac, until: below(1e9) };
    const limits = below(4) > 0 ? null : { rpm: below(9), tpm: 0, concurrency: 0, dayBudget: 5, monthBudget: 0 };
    return key(id, '', { keyHmac, oldKey, limits, used: below(3) * 1e12, group: below(2) === 0 ? '' : 'vip' });
  };
  const fill = (first: number, rows: number) => {
    const page = Array.from({ length: rows }, (_, at) => fresh(first + at));
    store.add(packTokens(page));
    for (const row of page) model.set(row.id, row);
  };
  const check = (id: number) => {
    const row = model.get(id);
    expect(plain(store.get(id))).toEqual(row);
    if (row === undefined) return;
    expect(store.byHash(row.keyHmac)?.id).toBe(id);
    if (row.oldKey !== null) expect(store.byHash(row.oldKey.hmac)?.id).toBe(id);
  };
  fill(1, 1000);
  fill(1001, 700);
  fill(5_000_000_000, 30);
  for (let step = 0; step < 6000; step++) {
    const id = [1 + below(2200), 5_000_000_000 + below(40)][below(20) === 0 ? 1 : 0] ?? 1;
    const before = model.get(id);
    if (before !== undefined) for (const hash of [before.keyHmac, before.oldKey?.hmac]) hashes.add(hash ?? '');
    if (below(3) === 0) {
      store.delete(id);
      model.delete(id);
    } else {
      const row = fresh(id);
      store.set(new TokenRow(row));
      model.set(id, row);
    }
    check(id);
    check(1 + below(2200));
  }
  for (let id = 1; id <= 2200; id++) check(id);
  const current = new Set([...model.values()].flatMap(({ keyHmac, oldKey }) => [keyHmac, oldKey?.hmac]));
  for (const hash of hashes) if (!current.has(hash)) expect(store.byHash(hash)).toBeUndefined();

  const pages = store.pages();
  const all = pages.flatMap((page) => [...page.ids].map((_, row) => tokenAt(page, row)));
  expect(all.toSorted((a, b) => a.id - b.id)).toEqual([...model.values()].toSorted((a, b) => a.id - b.id));
  const other = new TokenStore();
  for (const page of pages) other.add(page);
  for (const row of model.values()) expect(plain(other.byHash(row.keyHmac))).toEqual(row);
});

test('threads share the pages of keys, and who asks twice for a key is given the same object', () => {
  const page = packTokens([key(1, 'a'), key(2, 'b')]);
  expect(new Set([page.ids, page.owners, page.ends, page.hashes, page.text].map(({ buffer }) => buffer)).size).toBe(1);
  expect(page.ids.buffer).toBeInstanceOf(SharedArrayBuffer);
  const sent = structuredClone(page);
  const store = new TokenStore();
  store.add(sent);
  expect(store.byHash(hashOf('a'))).toBe(store.get(1));
  expect(store.byHash(hashOf('a'))).toBe(store.byHash(hashOf('a')));
  expect(sent.text.buffer).toBeInstanceOf(SharedArrayBuffer);
});

test('a key takes less than 110 bytes in its page', () => {
  const rows = Array.from({ length: 1000 }, (_, at) => key(at + 1, String(at), { name: `key ${at}` }));
  const page = packTokens(rows);
  expect(page.ids.buffer.byteLength / rows.length).toBeLessThan(110);
});

test('numbers by number: zero is a value, and what is deleted is absent', () => {
  const map = new NumberMap();
  const model = new Map<number, number>();
  const random = randomOf(7);
  for (let step = 0; step < 5000; step++) {
    const id = Math.floor(random() * 3000) * (random() < 0.1 ? 4_000_000_000 : 1);
    if (random() < 0.3) {
      map.delete(id);
      model.delete(id);
    } else {
      const value = Math.floor(random() * 5);
      map.set(id, value);
      model.set(id, value);
    }
    expect([map.get(id), map.size]).toEqual([model.get(id), model.size]);
  }
  const sorted = (pairs: Iterable<[number, number]>) => [...pairs].sort(([a], [b]) => a - b);
  expect(sorted(map)).toEqual(sorted(model));
  expect([...map.keys()].length).toBe(model.size);
  expect([...map.values()].reduce((sum, value) => sum + value, 0)).toBe(
    [...model.values()].reduce((sum, value) => sum + value, 0),
  );
  map.clear();
  expect([map.size, map.get(1)]).toEqual([0, undefined]);
});
