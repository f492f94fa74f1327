import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editMembers, outline } from '../../server/relay/intake/json-text.ts';

const shapeOf = (text: string) => {
  const shape = outline(text);
  if (!shape.ok) throw new Error(shape.reason);
  return shape;
};

test('edits change the named members and leave every other byte alone', () => {
  const text = '{ "model" : "a\\"b", "x": [1, {"model": "inner"}],\n "stream":true }';
  expect(editMembers(text, shapeOf(text), new Map([['model', '"c"']]))).toBe(
    '{ "model" : "c", "x": [1, {"model": "inner"}],\n "stream":true }',
  );
  expect(editMembers(text, shapeOf(text), new Map([['new', '1']]))).toBe(
    '{ "model" : "a\\"b", "x": [1, {"model": "inner"}],\n "stream":true ,"new":1}',
  );
  expect(JSON.parse(editMembers(text, shapeOf(text), new Map([['stream', undefined]])))).toEqual({
    model: 'a"b',
    x: [1, { model: 'inner' }],
  });
  expect(editMembers('{}', shapeOf('{}'), new Map([['a', '1']]))).toBe('{"a":1}');
});

test('hostile nesting is refused before anything parses it', () => {
  expect(outline(`{"a":${'['.repeat(50_000)}`)).toEqual({ ok: false, reason: 'too_deep' });
  expect(outline(`{"a":[${'1,'.repeat(200_000)}1]}`)).toEqual({ ok: false, reason: 'too_deep' });
  expect(outline('[1]').ok).toBe(false);
  expect(outline('{"a": "').ok).toBe(false);
});

test('for any JSON object an edit equals the edit of the parsed object', () => {
  const key = fc.constantFrom('model', 'stream', 'a"b', '你', 'messages', '');
  fc.assert(
    fc.property(
      fc.dictionary(key, fc.jsonValue({ maxDepth: 3 })),
      key,
      fc.option(fc.jsonValue({ maxDepth: 2 })),
      fc.nat(3),
      (object, name, value, indent) => {
        const text = JSON.stringify(object, null, indent);
        const edited = editMembers(
          text,
          shapeOf(text),
          new Map([[name, value === null ? undefined : JSON.stringify(value)]]),
        );
        const expected: Record<string, unknown> = { ...object };
        if (value === null) delete expected[name];
        else expected[name] = value;
        expect(JSON.parse(edited)).toEqual(JSON.parse(JSON.stringify(expected)));
      },
    ),
    { numRuns: 1000 },
  );
});

test('every kind of white space that JSON knows stands outside of the members', () => {
  for (const space of [' ', '\n', '\r', '\t', '\t\r\n ']) {
    const text = `${space}{${space}"a"${space}:${space}1${space},${space}"b":2${space}}${space}`;
    expect([space, editMembers(text, shapeOf(text), new Map([['a', '3']]))]).toEqual([
      space,
      text.replace(`${space}1${space}`, `${space}3${space}`),
    ]);
  }
});
