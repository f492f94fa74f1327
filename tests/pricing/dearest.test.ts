/** Bounds from several readings: what may lower one, and what never does. */
import { expect, test } from 'vitest';
import { cheapestOnlyIf, dearest } from '../../server/contract/pricing/dearest.ts';

const at = <T>(place: string, value: T) => ({ place, value });

test('the largest reading holds, wherever it stands', () => {
  expect(dearest([at('header', 1), at('frames', 60), at('size', 30)], 0)).toBe(60);
});

test('no reading goes below the least', () => {
  expect(dearest([], 5)).toBe(5);
  expect(dearest([at('header', -1), at('frames', 0)], 5)).toBe(5);
});

test('a value that is not a finite number is no reading', () => {
  expect(dearest([at('a', Number.NaN), at('b', Number.POSITIVE_INFINITY), at('c', 7)], 1)).toBe(7);
});

const off = (value: unknown) => value === false;

test('every spelling lowers, the exact one among them: it costs less', () => {
  expect(cheapestOnlyIf([at('enabled', false)], 'enabled', off)).toBe(true);
  expect(cheapestOnlyIf([at('Enabled', false), at('enabled', false)], 'enabled', off)).toBe(true);
});

test('one spelling that does not lower keeps the price, first or last', () => {
  expect(cheapestOnlyIf([at('enabled', true), at('Enabled', false)], 'enabled', off)).toBe(false);
  expect(cheapestOnlyIf([at('enabled', false), at('Enabled', true)], 'enabled', off)).toBe(false);
});

test('a spelling that is not the exact one lowers nothing alone', () => {
  expect(cheapestOnlyIf([at('Enabled', false)], 'enabled', off)).toBe(false);
});

test('without a reading nothing is lowered', () => {
  expect(cheapestOnlyIf([], 'enabled', off)).toBe(false);
});
