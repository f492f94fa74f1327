/** What the address of the log asks of the server. */
import { expect, test } from 'vitest';
import { filtersIn, isBackwards } from '../../web/features/logs/log-filters.ts';
import { sortIn, type Url } from '../../web/lib/url.ts';

const url = (query: string): Pick<Url, 'get'> => {
  const found = new URLSearchParams(query);
  return { get: (name) => found.get(name) ?? '' };
};

test('a channel is looked for by its id, or by a part of its name', () => {
  expect(filtersIn(url('channel=12'), true)).toMatchObject({ channel: 12 });
  expect(filtersIn(url('channel=west'), true)).toMatchObject({ channel_name: 'west' });
  expect(filtersIn(url('channel=west'), true).channel).toBeUndefined();
  expect(filtersIn(url('channel=12'), false).channel).toBeUndefined();
});

test('a model is looked for by a part of its name', () => {
  expect(filtersIn(url('model=gpt'), true).model_name).toBe('%gpt%');
  expect(filtersIn(url('model=gpt%25'), true).model_name).toBe('gpt%');
  expect(filtersIn(url(''), true).model_name).toBe('');
});

test('a name with = before it means this very model', () => {
  expect(filtersIn(url('model==gpt-4o'), true).model_name).toBe('gpt-4o');
});

test('outcomes that do not exist are none, the others are asked for together', () => {
  expect(filtersIn(url('status=failed,nice,refused'), true).status).toEqual(['failed', 'refused']);
  expect(filtersIn(url(''), true).status).toEqual([]);
});

test('a day is shown where nothing is said, and no range hides a request that is looked for by its id', () => {
  const { start_timestamp: from, end_timestamp: to } = filtersIn(url(''), true);
  expect(to - from).toBeGreaterThanOrEqual(86_400);
  expect(to - from).toBeLessThan(2 * 86_400);
  expect(filtersIn(url('range=all'), true).start_timestamp).toBe(0);
  expect(filtersIn(url('request=20261122191341221s6j4c5n5'), true)).toMatchObject({
    request_id: '20261122191341221s6j4c5n5',
    start_timestamp: 0,
    end_timestamp: 0,
  });
});

test('two times that hold nothing between them are known as such', () => {
  expect(isBackwards(filtersIn(url('from=2026-02-02T10:00&to=2026-02-01T10:00'), true))).toBe(true);
  expect(isBackwards(filtersIn(url('from=2026-02-01T10:00&to=2026-02-02T10:00'), true))).toBe(false);
  expect(isBackwards(filtersIn(url('from=2026-02-01T10:00'), true))).toBe(false);
});

test('an order that the list does not offer is none', () => {
  expect(sortIn(url('sort=-quota'), ['id', 'quota'])).toBe('-quota');
  expect(sortIn(url('sort=cost'), ['id', 'quota'])).toBeUndefined();
  expect(sortIn(url(''), ['id', 'quota'])).toBeUndefined();
});
