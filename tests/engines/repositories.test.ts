/** Every repository over both engines: the same calls, the same answers. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { engines, type TestEngine } from '../support/engines.ts';
import { expectGolden } from '../support/golden-file.ts';
import { listening, type Recorded } from './recording.ts';
import { shortLived } from './short-lived.ts';
import { fillLog, keysAndChannels, paper, people, signingIn, theLog, theTraffic } from './walk.ts';

interface Walked {
  readonly received: readonly Recorded[];
  readonly methods: readonly string[];
}

async function walk(engine: TestEngine): Promise<Walked> {
  const database = await engine.open();
  try {
    const clock = { at: 1_000_000 };
    const { repositories, heard: received, methods } = listening(database, clock);
    await people(repositories);
    await signingIn(repositories);
    await keysAndChannels(repositories);
    await paper(repositories);
    await fillLog(database, database.engine === 'postgres' ? 'usage_hour_parts' : 'usage_hours');
    await theLog(repositories);
    await theTraffic(repositories);
    await shortLived(repositories, clock);
    return { received, methods };
  } finally {
    await database.close();
  }
}

/** What one engine alone keeps for several machines; the last digit of a sum of fractions. */
const comparable = (answered: unknown): unknown =>
  JSON.parse(
    JSON.stringify(answered ?? null, (key, value: unknown) => {
      if (key === 'leased' || key === 'lease_from') return undefined;
      return key === 'list' && typeof value === 'number' ? value.toFixed(6) : value;
    }),
  );

let walks: Walked[] = [];

beforeAll(async () => {
  walks = [];
  for (const engine of engines) walks.push(await walk(engine));
});
afterAll(() => {
  walks = [];
});

test.each(Array.from({ length: engines.length }, (_, index) => index))(
  'every method of every repository was called (engine %i)',
  (index) => {
    const { received = [], methods = [] } = walks[index] ?? {};
    const called = new Set(received.map(({ call }) => call));
    expect(methods.filter((method) => !called.has(method))).toEqual([]);
  },
);

test('both engines were asked the same and answered the same', () => {
  const [one, other] = walks;
  expect(other?.received.length).toBe(one?.received.length);
  const differing = (one?.received ?? []).filter(
    (call, index) => !isDeepStrictEqual(comparable(call), comparable(other?.received[index])),
  );
  expect(differing.map(({ call, requested }) => `${call}(${JSON.stringify(requested)})`)).toEqual([]);
});

/** As JSON; a row that was shown before is only named the second time. */
function shownBy(seen: Set<string>): (value: unknown) => string {
  const nameOf = (row: Readonly<Record<string, unknown>>): string | null => {
    const text = JSON.stringify(row);
    if (text.length < 80) return null;
    if (!seen.has(text)) {
      seen.add(text);
      return null;
    }
    const [first] = Object.entries(row);
    return first === undefined || typeof first[1] === 'object'
      ? null
      : `as above: ${first[0]} ${JSON.stringify(first[1])}`;
  };
  return (value) =>
    JSON.stringify(comparable(value), (_, one: unknown) =>
      typeof one === 'object' && one !== null && !Array.isArray(one)
        ? (nameOf(one as Readonly<Record<string, unknown>>) ?? one)
        : one,
    );
}

test('repositories return the recorded rows', () => {
  const shown = shownBy(new Set());
  const lines = (walks[0]?.received ?? []).flatMap(({ call, requested, answered }) => [
    `${call}(${requested.map(shown).join(', ')})`,
    `  ${shown(answered)}`,
  ]);
  expectGolden('tests/engines/outlines/repositories.txt', lines);
});
