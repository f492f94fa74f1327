/** Leases that the ledger grants are raised for the account and the key that they were granted to. */
import { expect, test } from 'vitest';
import { LeaseMoves } from '../../server/billing/leases/lease-moves.ts';

test('each grant is raised once, by its own account, key and amounts', async () => {
  const raised: unknown[] = [];
  const grant = { account: 7, token: 9, granted: 100, tokenGranted: 40 };
  const moves = new LeaseMoves({
    kind: 'account',
    move: async () => ({ grants: [grant, { ...grant, account: 8, token: 3, granted: 0, tokenGranted: 0 }] }) as never,
    isUncertain: () => false,
    raise: (...given) => raised.push(given),
    now: () => 0,
    after: () => undefined,
  });
  const reply = await new Promise((resolve) => {
    moves.acquire({ type: 'acquire' } as never, resolve);
  });
  expect(reply).toEqual(grant);
  expect(raised).toEqual([
    ['account', 7, 100, undefined],
    ['token', 9, 40],
  ]);
});
