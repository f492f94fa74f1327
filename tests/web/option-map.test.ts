/** Options that are maps, as rows and back. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { optionKeys, optionRow } from '../../server/contract/options.ts';
import { issueOf, listOf, mapShapeOf, rowsIn, textOf } from '../../web/features/settings/option-map.ts';

const numbers = { depth: 1, value: 'number' } as const;
const pairs = { depth: 2, value: 'number' } as const;

test('every shipped map can be edited as rows, and comes back the same', () => {
  const maps = optionKeys.filter((key) => mapShapeOf(key) !== undefined);
  expect(maps).toContain('GroupRatio');
  expect(maps.length).toBeGreaterThan(15);
  for (const key of maps) {
    const shape = mapShapeOf(key) ?? numbers;
    const { fallback } = optionRow(key);
    const rows = rowsIn(fallback, shape);
    expect([key, rows === null]).toEqual([key, false]);
    expect([key, JSON.parse(textOf(rows ?? [], shape))]).toEqual([key, JSON.parse(fallback)]);
  }
});

test('any map of numbers comes back as it was, whatever its names', () => {
  const names = fc.string({ minLength: 1 });
  const value = fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => one + 0);
  fc.assert(
    fc.property(fc.dictionary(names, value), (map) => {
      expect(JSON.parse(textOf(rowsIn(JSON.stringify(map), numbers) ?? [], numbers))).toEqual({ ...map });
    }),
  );
  fc.assert(
    fc.property(fc.dictionary(names, fc.dictionary(names, value, { minKeys: 1 })), (map) => {
      expect(JSON.parse(textOf(rowsIn(JSON.stringify(map), pairs) ?? [], pairs))).toEqual(
        JSON.parse(JSON.stringify(map)),
      );
    }),
  );
});

test('a text that is no such map can only be edited as text', () => {
  for (const text of ['[1]', '{"a":"b"}', '{"a":{"b":1}}', '{"a":', 'null', '{"a":null}'])
    expect([text, rowsIn(text, numbers)]).toEqual([text, null]);
  expect(rowsIn('{"a":1}', pairs)).toBeNull();
  expect(rowsIn('', numbers)).toEqual([]);
});

test('a row without a name, a name that is there twice and a value that is no number are named', () => {
  const row = (name: string, value: string) => ({ names: [name], value });
  const [a, again, nameless, word, blank] = [row('a', '1'), row('a', '2'), row('', '3'), row('b', 'x'), row('', '')];
  const rows = [a, again, nameless, word, blank];
  expect(rows.map((one) => issueOf(one, rows, numbers))).toEqual(['twice', 'twice', 'name', 'number', null]);
  expect(issueOf(word, [word], { depth: 1, value: 'text' })).toBeNull();
  // What is no number is left for the option's kind to refuse.
  expect(JSON.parse(textOf([word, blank], numbers))).toEqual({ b: 'x' });
  expect(optionRow('GroupRatio').kind.check(textOf([word], numbers))).not.toBeNull();
});

test('variables for programs and headers with names are rows, and groups in order are entries', () => {
  for (const key of ['agents.claude_env', 'names.headers'] as const) {
    const shape = mapShapeOf(key) ?? numbers;
    expect(rowsIn('{"A":"b"}', shape)).toEqual([{ names: ['A'], value: 'b' }]);
    expect(rowsIn('{"A":1}', shape)).toBeNull();
  }
  const groups = listOf('AutoGroups');
  expect(groups?.entriesIn('["vip","default"]')).toEqual(['vip', 'default']);
  expect(groups?.textOf(['default', 'vip'])).toBe('["default","vip"]');
  expect(groups?.entriesIn('{"vip":1}')).toBeNull();
});

test('links to chats are rows that are stored as a list of objects with one name each', () => {
  const shape = mapShapeOf('Chats') ?? numbers;
  const stored = '[{"a chat":"https://a.example"},{"another":"app://b"}]';
  const rows = rowsIn(stored, shape);
  expect(rows).toEqual([
    { names: ['a chat'], value: 'https://a.example' },
    { names: ['another'], value: 'app://b' },
  ]);
  expect(JSON.parse(textOf(rows ?? [], shape))).toEqual(JSON.parse(stored));
  expect(rowsIn('', shape)).toEqual([]);
  for (const text of ['{"a":"b"}', '[{"a":"b","c":"d"}]', '[1]', '[{"a":1}]', '[{}]', 'x'])
    expect([text, rowsIn(text, shape)]).toEqual([text, null]);
});

test('every shipped list comes back the same, and a text that is no list can only be edited as text', () => {
  for (const key of ['EmailDomainWhitelist', 'gemini.supported_imagine_models'] as const) {
    const { fallback } = optionRow(key);
    const entries = listOf(key)?.entriesIn(fallback) ?? null;
    expect([key, entries === null]).toEqual([key, false]);
    expect([key, listOf(key)?.textOf(entries ?? [])]).toEqual([key, fallback]);
  }
  for (const text of ['{"a":1}', '[1]', '["a"', 'a,b'])
    expect([text, listOf('gemini.supported_imagine_models')?.entriesIn(text)]).toEqual([text, null]);
  expect(listOf('gemini.supported_imagine_models')?.entriesIn('')).toEqual([]);
});
