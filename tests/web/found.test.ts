/** What is found and put in order without asking: ids of requests, models, sorted columns. */
import type { TFunction } from 'i18next';
import { expect, test } from 'vitest';
import { logColumns } from '../../web/features/logs/log-columns.tsx';
import { isRequestId, modelsNamed } from '../../web/shell/palette-entries.ts';

test('the palette knows the id of a request, and models by a part of their name', () => {
  expect(isRequestId('20261122191341221s6j4c5n5')).toBe(true);
  expect(isRequestId(' 20261122191341221s6j4c5n5 ')).toBe(true);
  for (const other of ['gpt-4o', '2026', '20261122191341', 'laptop 20261122191341221s6'])
    expect(isRequestId(other)).toBe(false);
  expect(modelsNamed(['gpt-4o', 'gpt-4o-mini', 'o3'], 'GPT-4')).toEqual(['gpt-4o', 'gpt-4o-mini']);
  expect(
    modelsNamed(
      Array.from({ length: 9 }, (_, at) => `m${at}`),
      'm',
    ),
  ).toHaveLength(5);
});

test('time, model, duration, tokens and cost of the log may be sorted', () => {
  const columns = logColumns({
    t: ((key: string) => key) as unknown as TFunction,
    money: String as never,
    reader: { id: 1, admin: true },
    maxMs: 1000,
  });
  expect(columns.filter(({ order }) => order !== undefined).map(({ id }) => id)).toEqual([
    'time',
    'model',
    'seconds',
    'prompt',
    'completion',
    'cost',
  ]);
});
