/** How much is leased at once: a share of what is free, and where there is little what the request needs. */
import { expect, test } from 'vitest';
import { decideLeases } from '../../db/postgres/leases.ts';

const granted = (
  left: number,
  { leased = 0, need = 10, use = 1000, floor = 0, nodes = 1, partial = false },
): number => {
  const funds = { left, bound: 'limit' as const, leased };
  const known = {
    leaseRows: [],
    leases: new Map(),
    accounts: new Map([[7, funds]]),
    tokens: new Map(),
    budgets: new Map(),
  };
  const move = { type: 'acquire', account: 7, token: 0, need, tokenNeed: 0, use, floor, nodes, partial } as const;
  const { value, statements } = decideLeases([move], known, 1);
  const amount = value.grants[0]?.granted ?? -1;
  expect(statements).toHaveLength(amount > 0 ? 2 : 0);
  return amount;
};

test.each([
  ['half of what is free is left to others', 1000, {}, 500],
  ['the more nodes there are, the less', 1000, { nodes: 5 }, 100],
  ['no more than is likely to be used', 1000, { use: 60 }, 60],
  ['what others have is not free', 1000, { leased: 600 }, 200],
  ['what is needed, where the share is less', 1000, { need: 100, nodes: 10 }, 100],
  ['less than eight times the need is little: what is needed and no more', 79, {}, 10],
  ['eight times the need is not little', 80, {}, 40],
  ['of an ample balance its floor, whatever was used', 1000, { use: 0, floor: 300 }, 300],
  ['what is likely to be used where that is more', 1000, { use: 400, floor: 300 }, 400],
  ['of the floor no more than a share', 1000, { use: 0, floor: 900, nodes: 5 }, 100],
  ['32 times the need is ample', 320, { use: 0, floor: 300 }, 160],
  ['less is not', 319, { use: 0, floor: 300 }, 10],
  ['less than is needed is nothing', 1000, { leased: 991 }, 0],
  ['except for a caller that accepts less', 1000, { leased: 991, partial: true }, 9],
  ['nothing below nothing', 1000, { leased: 1001, partial: true }, 0],
])('%s', (_name, left, terms, expected) => {
  expect(granted(left, terms)).toBe(expected);
});

test('a dozen nodes that each lease a floor leave more than half of it free, and half of a limit that lies under it', () => {
  const [account, token] = [100_000, 50_000].map((left) => ({ left, bound: 'limit' as const, leased: 0 }));
  if (account === undefined || token === undefined) throw new Error('neither');
  const known = {
    ...{ leaseRows: [], leases: new Map(), budgets: new Map() },
    ...{ accounts: new Map([[7, account]]), tokens: new Map([[9, token]]) },
  };
  for (let epoch = 1; epoch <= 12; epoch++) {
    const move = {
      type: 'acquire',
      account: 7,
      token: 9,
      need: 10,
      tokenNeed: 10,
      use: 0,
      floor: 1e9,
      nodes: 12,
    } as const;
    decideLeases([move], known, epoch);
  }
  expect([account.leased, token.leased]).toEqual([39_989, 19_992]);
});
