/** Chains at random: a walk ends, reaches each target once, and leaves neither boundary, conditions nor a signed turn. */
import { expect, test } from 'vitest';
import { chainCases, runChainCase } from '../../scripts/lab/chains/cases.ts';
import { maxLeaves, type VirtualModel } from '../../server/contract/virtual-models.ts';
import { chainProblems, compileChains } from '../../server/routing/chains.ts';
import { often } from '../support/often.ts';

test('of random chains and failures no walk comes back, leaves its boundary, or goes on without a reason', () => {
  const wrong = chainCases(20_261_129, often(300, 5000)).flatMap(runChainCase);
  expect(wrong.slice(0, 5)).toEqual([]);
});

test('chains that come to a million targets are read as far as the first one too many', () => {
  const models = Array.from(
    { length: 5 },
    (_, at): VirtualModel => ({
      id: at,
      name: `v${at}`,
      enabled: true,
      boundary: '',
      targets: Array(16).fill({ model: at === 4 ? 'm' : `v${at + 1}` }),
    }),
  );
  expect(chainProblems(models).map(({ kind }) => kind)).toEqual(Array(4).fill('leaves'));
  expect(compileChains(models).get('v0')?.leaves).toHaveLength(maxLeaves);
});
