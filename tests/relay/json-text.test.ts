import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editMembers, editPaths, outline } from '../../server/relay/intake/json-text.ts';

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

const anyKey = fc.oneof(fc.constantFrom('model', 'stream', 'a"b', '你', 'messages', '', 'n', 'seed'), fc.string());
const anyObject = fc.dictionary(anyKey, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 12, noNullPrototype: true });
const anyBlank = fc.constantFrom('', ' ', '\n', '\t', '\r\n', ' \n\t');

/** The object with blanks wherever JSON allows them. */
const spaced = (object: Readonly<Record<string, unknown>>, blank: string): string =>
  `${blank}{${blank}${Object.entries(object)
    .map(([key, value]) => `${JSON.stringify(key)}${blank}:${blank}${JSON.stringify(value)}`)
    .join(`${blank},${blank}`)}${blank}}${blank}`;

/** What a member becomes: kept, removed, another value, or another name with its value. */
const anyFate = fc.oneof(
  fc.constant('keep' as const),
  fc.constant('remove' as const),
  fc.constant('rename' as const),
  fc.record({ set: fc.jsonValue({ maxDepth: 2 }) }),
);

test('removing, renaming and setting any subset of members equals the same edit of the parsed object', () => {
  fc.assert(
    fc.property(
      anyObject,
      fc.array(anyFate, { minLength: 12, maxLength: 12 }),
      fc.dictionary(anyKey, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3, noNullPrototype: true }),
      anyBlank,
      (object, fates, more, blank) => {
        const edits = new Map<string, string | undefined>();
        const expected = new Map(Object.entries(object));
        for (const [index, [key, value]] of Object.entries(object).entries()) {
          const fate = fates[index] ?? 'keep';
          if (fate === 'keep') continue;
          if (typeof fate === 'object') {
            edits.set(key, JSON.stringify(fate.set));
            expected.set(key, fate.set);
            continue;
          }
          edits.set(key, undefined);
          expected.delete(key);
          const renamed = `${key} renamed`;
          if (fate !== 'rename' || renamed in object) continue;
          edits.set(renamed, JSON.stringify(value));
          expected.set(renamed, value);
        }
        for (const [key, value] of Object.entries(more)) {
          edits.set(key, JSON.stringify(value));
          expected.set(key, value);
        }
        const text = spaced(object, blank);
        const edited: unknown = JSON.parse(editMembers(text, shapeOf(text), edits));
        expect(edited).toEqual(JSON.parse(JSON.stringify(Object.fromEntries(expected))));
      },
    ),
    { numRuns: Number(process.env.EDIT_RUNS ?? 2000) },
  );
});

test('members at the end of a body are removed with the commas before them', () => {
  const text = '{"model":"m","user":"u","logit_bias":{},"seed":1}';
  const without = (...keys: string[]) => editMembers(text, shapeOf(text), new Map(keys.map((key) => [key, undefined])));
  expect(without('logit_bias', 'seed')).toBe('{"model":"m","user":"u"}');
  expect(without('user', 'logit_bias', 'seed')).toBe('{"model":"m"}');
  expect(without('model', 'user', 'logit_bias', 'seed')).toBe('{}');
  expect(without('model', 'seed')).toBe('{"user":"u","logit_bias":{}}');
  expect(
    editMembers(
      text,
      shapeOf(text),
      new Map([...['user', 'seed'].map((key) => [key, undefined] as const), ['random_seed', '1']]),
    ),
  ).toBe('{"model":"m","logit_bias":{},"random_seed":1}');
});

test('removing and setting values at any depth equals the same edit of the parsed body', () => {
  type Json = ReturnType<typeof JSON.parse>;
  const placesOf = (value: Json, path: (string | number)[] = []): (string | number)[][] => {
    if (typeof value !== 'object' || value === null) return path.length > 0 ? [path] : [];
    const inside = Array.isArray(value)
      ? value.flatMap((item: Json, index: number) => placesOf(item, [...path, index]))
      : Object.keys(value).flatMap((key) => placesOf(value[key], [...path, key]));
    return path.length > 0 ? [path, ...inside] : inside;
  };
  /** Removed elements leave a hole until the end, so that the places of the others stay what they were. */
  const hole = Symbol('hole');
  const filled = (value: Json): Json =>
    Array.isArray(value)
      ? value.filter((item: Json) => item !== hole).map(filled)
      : typeof value === 'object' && value !== null
        ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item)]))
        : value;
  fc.assert(
    fc.property(
      anyObject,
      fc.array(fc.record({ pick: fc.nat(), set: fc.option(fc.jsonValue({ maxDepth: 1 }), { nil: hole }) }), {
        maxLength: 6,
      }),
      anyBlank,
      (object, picks, blank) => {
        const text = spaced(object, blank);
        const expected: Json = JSON.parse(text);
        const places = placesOf(expected);
        const taken: (string | number)[][] = [];
        const edits = [];
        for (const { pick, set } of picks) {
          const path = places[pick % Math.max(places.length, 1)];
          // Two edits of one branch: the outer one wins, which is another test's question.
          if (
            path === undefined ||
            taken.some(
              (other) => other.every((step, at) => path[at] === step) || path.every((step, at) => other[at] === step),
            )
          )
            continue;
          taken.push(path);
          edits.push({ path, value: set === hole ? undefined : JSON.stringify(set) });
          const owner = path.slice(0, -1).reduce((value: Json, step) => value[step], expected);
          const last = path.at(-1) ?? '';
          if (set !== hole || Array.isArray(owner))
            Object.defineProperty(owner, last, { value: set, enumerable: true, configurable: true, writable: true });
          else delete owner[last];
        }
        expect(JSON.parse(editPaths(text, edits))).toEqual(JSON.parse(JSON.stringify(filled(expected))));
      },
    ),
    { numRuns: Number(process.env.EDIT_RUNS ?? 2000) },
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
