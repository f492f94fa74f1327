/** Edits deep inside of a text: what is not edited keeps every byte, whatever it is spaced with. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editPaths } from '../../server/relay/intake/json-text.ts';

test.each([' ', '\n', '\r', '\t', '', ' \t\r\n'])('elements with %j between them', (space) => {
  const list = `[${space}1${space},${space}"a]\\"b"${space},${space}{"x":[1,2]}${space}]`;
  const at = (path: (string | number)[], value: string | undefined) => editPaths(`{"l":${list}}`, [{ path, value }]);
  expect(at(['l', 1], '7')).toBe(`{"l":${list.replace('"a]\\"b"', '7')}}`);
  expect(at(['l', 2, 'x', 0], '7')).toBe(`{"l":${list.replace('[1,2]', '[7,2]')}}`);
  expect(at(['l', 0], undefined)).toBe(`{"l":[${space}"a]\\"b"${space},${space}{"x":[1,2]}${space}]}`);
  expect(at(['l', 9], '7')).toBe(`{"l":${list}}`);
});

test('any element of any list, replaced or taken out, as if it had been read and written', () => {
  const spaces = fc.constantFrom('', ' ', '\t', '\n  ');
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { minLength: 1, maxLength: 5 }), fc.nat(4), spaces, (items, at, space) => {
      const text = `[${items.map((item) => space + JSON.stringify(item)).join(`${space},`)}${space}]`;
      const replaced = JSON.parse(editPaths(text, [{ path: [at], value: '"new"' }]));
      expect(replaced).toEqual(JSON.parse(JSON.stringify(items.map((item, index) => (index === at ? 'new' : item)))));
      const removed = JSON.parse(editPaths(text, [{ path: [at], value: undefined }]));
      expect(removed).toEqual(JSON.parse(JSON.stringify(items.filter((_item, index) => index !== at))));
    }),
    { numRuns: 200 },
  );
});
