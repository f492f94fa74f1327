/** What is said of a key where several machines serve the site: what the ledger said at most two seconds ago, or nothing. */
import { expect, test } from 'vitest';
import { Balances, createMoney } from '../../server/billing/balances/money.ts';
import { createMemory, maxThreads } from '../../server/billing/balances/shared-memory.ts';
import { allBudgets, type KeyFunds, tightestOf } from '../../server/contract/key-budgets.ts';
import { KeyBudgets } from '../../server/relay/admission/key-budgets.ts';
import type { LeaseSource } from '../../server/relay/admission/lease-client.ts';
import type { Principal } from '../../server/relay/intake/parsed-request.ts';

const principal = { user: { id: 1 }, token: { id: 7 } } as unknown as Principal;
const of = (balance: number): KeyFunds => ({ balance, limit: null, used: 10, dayUsed: 3, monthUsed: 10 });

function onSeveral(answer: () => Promise<KeyFunds>) {
  let monoMs = 0;
  let asked = 0;
  const leaseSource: LeaseSource = {
    acquire: async () => 'exhausted',
    limits: async () => ({ limit: 0, used: 0 }),
    funds(userId, tokenId) {
      expect([userId, tokenId]).toEqual([1, 7]);
      asked += 1;
      return answer();
    },
  };
  const lasting = { epoch: () => 1, isValid: () => true, remainingMs: () => 60_000 };
  const balances = new Balances(createMoney(createMemory(maxThreads), undefined, lasting));
  const keyBudgets = new KeyBudgets({ leaseSource, now: () => 0, monoNow: () => monoMs });
  return {
    keyBudgets,
    account: { ...balances.account(1, 7), userId: 1, tokenId: 7 } as ReturnType<Balances['account']>,
    asked: () => asked,
    wait: (ms: number) => (monoMs += ms),
  };
}

test('an answer waits for nothing: it says what the site said at most two seconds before, and nothing without that', async () => {
  let balance = 100;
  const { keyBudgets, account, asked, wait } = onSeveral(async () => of(balance));
  expect(keyBudgets.at(account)).toBeNull();
  keyBudgets.prefetch(principal);
  keyBudgets.prefetch(principal);
  expect([keyBudgets.at(account), asked()]).toEqual([null, 1]);
  await Bun.sleep(0);
  expect(keyBudgets.at(account)?.balance).toBe(100);
  balance = 40;
  wait(1999);
  keyBudgets.prefetch(principal);
  expect([keyBudgets.at(account)?.balance, asked()]).toEqual([100, 1]);
  wait(1);
  expect(keyBudgets.at(account)).toBeNull();
  expect((await keyBudgets.read(account))?.balance).toBe(40);
  expect([keyBudgets.at(account)?.balance, asked()]).toEqual([40, 2]);
});

test('a figure is as old as its question, however long the answer took', async () => {
  const { promise, resolve } = Promise.withResolvers<KeyFunds>();
  const { keyBudgets, account, wait } = onSeveral(() => promise);
  keyBudgets.prefetch(principal);
  wait(2000);
  resolve(of(5));
  await Bun.sleep(0);
  expect(keyBudgets.at(account)).toBeNull();
});

test('while the ledger cannot be asked nothing is said, and it is asked again', async () => {
  let away = true;
  const { keyBudgets, account, asked } = onSeveral(() =>
    away ? Promise.reject(new Error('away')) : Promise.resolve(of(5)),
  );
  expect(await keyBudgets.read(account)).toBeNull();
  away = false;
  expect((await keyBudgets.read(account))?.balance).toBe(5);
  expect(asked()).toBe(2);
});

test('a balance that is free binds nobody, and one with nothing left is used up whatever was spent', () => {
  const empty: KeyFunds = { balance: 0, limit: null, used: 0, dayUsed: 0, monthUsed: 0 };
  expect(allBudgets(empty, null, true, 0)).toEqual([]);
  expect(tightestOf([])).toBeNull();
  const [balance] = allBudgets(empty, null, false, 0);
  expect([balance?.kind, tightestOf(allBudgets(empty, null, false, 0))]).toEqual(['balance', balance]);
});
