/** How much is leased at once: a share of what is free, and where there is little what the request needs. */
import { expect, test } from 'vitest';
import { decideLeases } from '../../db/postgres/leases.ts';

const granted = (left: number, { leased = 0, need = 10, use = 1000, nodes = 1, partial = false }): number => {
  const funds = { left, bound: 'limit' as const, leased };
  const known = { leaseRows: [], leases: new Map(), accounts: new Map([[7, funds]]), tokens: new Map() };
  const move = { type: 'acquire', account: 7, token: 0, need, tokenNeed: 0, use, nodes, partial } as const;
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
  ['less than is needed is nothing', 1000, { leased: 991 }, 0],
  ['except for a caller that accepts less', 1000, { leased: 991, partial: true }, 9],
  ['nothing below nothing', 1000, { leased: 1001, partial: true }, 0],
])('%s', (_name, left, terms, expected) => {
  expect(granted(left, terms)).toBe(expected);
});
