/** Every sentence of the specification is listed, and every proof that is named exists and is one by behaviour. */
import { expect, test } from 'vitest';
import { sampleOf, sentencesOf, status } from '../../scripts/clause.ts';
import { figure } from '../support/figure.ts';

test('P12: the list of clauses is complete, and its proofs are tests', () => {
  const { rows, proven, deviating, unproven, errors } = status();
  figure(`${rows} clauses: ${proven} proven, ${deviating} deviating, ${unproven} unproven`);
  expect(errors).toEqual([]);
  expect(proven + deviating + unproven).toBe(rows);
  expect(rows).toBeGreaterThan(640);
});

test('P12: a document is cut into its sentences, items and rows', () => {
  const text =
    '# T\n\nintro\n\n## 1. First\n\n### 1.1 Part\n\n- One; two. Three\n| a | b |\n|---|---|\n\n## 2. Second\n\nFour.';
  expect([...sentencesOf('000', text)]).toEqual([
    ['000.1.1', 'One;'],
    ['000.1.2', 'two.'],
    ['000.1.3', 'Three'],
    ['000.1.4', '| a | b |'],
    ['000.2.1', 'Four.'],
  ]);
});

test('rows to be tried by hand are drawn by a seed: the same ones for the same seed, each once, none that says nothing', () => {
  const ids = (seed: string) => sampleOf(60, seed).map(({ id }) => id);
  expect(ids('one')).toEqual(ids('one'));
  expect(ids('one')).not.toEqual(ids('two'));
  expect(new Set(ids('one')).size).toBe(60);
  expect(sampleOf(10_000, 'one')).toHaveLength(status().rows);
});
