/** Chains at random: a walk ends, reaches each target once, and leaves neither boundary, conditions nor a signed turn. */
import { expect, test } from 'vitest';
import { chainCases, runChainCase } from '../../scripts/lab/chains/cases.ts';
import { often } from '../support/often.ts';

test('of random chains and failures no walk comes back, leaves its boundary, or goes on without a reason', () => {
  const wrong = chainCases(20_261_129, often(300, 5000)).flatMap(runChainCase);
  expect(wrong.slice(0, 5)).toEqual([]);
});
