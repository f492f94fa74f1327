/** What a node says of a request afterwards is a sum like any other. */
import { expect, test } from 'vitest';
import { correct } from '../../server/billing/ledger/core.ts';

test.each([-5, 0.5, Number.NaN, 2 ** 60])('a correction to %s is refused, whatever was taken before', (amount) => {
  const command = { type: 'settle', ref: 'r', userId: 1, tokenId: 0, channelId: 0, amount, at: 1, log: null } as never;
  expect(correct(command, { requested: 3, paid: 3 }, {} as never)).toMatchObject({
    kind: 'answer',
    result: { status: 'refused', reason: 'invalid' },
  });
});
