import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { fixtures } from './fixtures.ts';

const dialects = Object.keys(codecs) as ProtocolId[];
const bodies = fixtures.flatMap(({ request }) => (request === null ? [] : [request]));

/** What clients may put where something else belongs. */
const strange = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    1e300,
    Number.NaN,
    '',
    'x',
    [],
    {},
    [null],
    [[]],
    { type: null },
    '__proto__',
  ),
  fc.constantFrom<unknown>({ type: 'text' }, { type: 'image', source: {} }, { type: 'tool_use' }, { role: 'tool' }),
  fc.jsonValue({ maxDepth: 2 }),
);

/** The value with the member that `path` leads to replaced; each step is taken modulo the number of members. */
function replaced(value: unknown, path: readonly number[], by: unknown): unknown {
  const [step = 0, ...rest] = path;
  if (path.length === 0 || typeof value !== 'object' || value === null) return by;
  const keys = Object.keys(value);
  if (keys.length === 0) return by;
  const key = keys[step % keys.length] ?? '';
  const member = replaced((value as Record<string, unknown>)[key], rest, by);
  return Array.isArray(value) ? value.with(Number(key), member) : { ...value, [key]: member };
}

test('requests with anything anywhere are refused as the client’s mistake or told, never more', () => {
  const path = fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 7 });
  const harms = fc.array(fc.tuple(path, strange), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(fc.constantFrom(...bodies), fc.constantFrom(...dialects), harms, (body, from, changes) => {
      const harmed = changes.reduce<unknown>((whole, [where, by]) => replaced(whole, where, by), body);
      try {
        const { decodeRequest } = codecs[from].translation;
        const request = decodeRequest(harmed as Record<string, unknown>, { model: 'm', stream: false });
        for (const to of dialects) JSON.stringify(codecs[to].translation.encodeRequest(request, []));
      } catch (error) {
        expect(error).toBeInstanceOf(AppError);
        expect((error as AppError).code).toBe('body_invalid');
      }
    }),
    { numRuns: 4000 },
  );
});
