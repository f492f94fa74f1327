/** Whatever reads what others send needs twice the time for twice as much, and not four times. */
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { isLong, often } from '../support/often.ts';
import { randomOf } from '../support/random.ts';
import { growthOf } from './doubling.ts';
import { type Case, readers } from './readers.ts';

/** Processor time of the smallest size; the long run measures exactly, the short one finds what is many times too slow. */
const baseMs = often(3, 20);
const largest = often(1 << 17, 1 << 20);
const budgetMs = often(1200, 15 * 60_000);

const seed = Number(process.env.FUZZ_SEED ?? 20261128);

/** Some of all readers in turn, in an order made from the seed. */
function* drawn(): Generator<{ readonly reader: string; readonly one: Case }> {
  const random = randomOf(seed);
  const order = [...readers].sort(() => random() - 0.5);
  for (;;)
    for (const { name, cases } of order) {
      const one = cases[Math.floor(random() * cases.length)];
      if (one !== undefined) yield { reader: name, one };
    }
}

test('the time of each reader grows with what it reads and not with its square', {
  timeout: isLong ? 30 * 60_000 : 60_000,
}, () => {
  const started = performance.now();
  const slow: string[] = [];
  let measured = 0;
  for (const { reader, one } of drawn()) {
    if (performance.now() - started > budgetMs && measured >= often(12, 100)) break;
    measured++;
    const growth = growthOf(one, baseMs, largest);
    if (growth !== null)
      slow.push(`${reader}, ${one.name}: ${growth.ms.map((ms) => ms.toFixed(1)).join(', ')} ms from ${growth.n}`);
  }
  expect(slow).toEqual([]);
});

test('a reader whose time grows with the square is found', () => {
  const square: Case = {
    name: 'each with each',
    prepare: (n) => () => {
      let sum = 0;
      for (let one = 0; one < n; one++) for (let other = 0; other < n; other++) sum += one ^ other;
      return sum;
    },
  };
  // Many times the tick of the clock: a shorter time says nothing.
  expect(growthOf(square, 10, 1 << 17)).not.toBeNull();
});

/** Files, and folders by a slash at their end, that read nothing of others, and why. */
const nothingForeign: ReadonlyMap<string, string> = new Map([
  ...['canonical', 'codec', 'definition', 'registry', 'target'].map(
    (name) => [`protocols/${name}.ts`, 'types and tables'] as const,
  ),
  ['protocols/shared/model-card.ts', 'names of models that the operator configured'],
  ['protocols/shared/simple-wire.ts', 'feeds each frame to the reader of a wire once'],
  ['protocols/shared/wait-hint.ts', 'members of one error, and spans of 40 characters'],
  ['protocols/shared/written-call.ts', 'changes each event once, and keeps nothing'],
  ['providers/', 'rows, addresses and keys of the operator; bodies and answers whose lists are walked once'],
  ['routing/', 'the configuration'],
  ['relay/admission/', 'what `relay/intake` has read; texts are searched once for each word of the operator'],
  ['relay/delivery/', 'what `relay/upstream` has read'],
  ['relay/endpoints/', 'what `relay/intake` has read, and events of conversations one by one'],
  ['relay/routing/', 'how channels are doing'],
  ['relay/shared/recordings/', 'sound: `tests/relay/recording-times.test.ts` doubles its hostile forms'],
  ['relay/shared/sound.ts', 'the beginning of a recording, 64 KB of it'],
  ['relay/state/', 'the configuration'],
  ...[
    'audio',
    'busy-responses',
    'deadline',
    'defect',
    'interval-timers',
    'items',
    'quota-numbers',
    'render-error',
    'stats',
    'traffic',
  ].map((name) => [`relay/shared/${name}.ts`, 'numbers, and words of ours'] as const),
  ...['parse', 'parsed-request', 'playground', 'references', 'request-id', 'compressed-body'].map(
    (name) => [`relay/intake/${name}.ts`, 'calls the readers of this folder, or a native one, once'] as const,
  ),
  ['relay/upstream/', 'calls the readers of the dialects with each chunk once'],
  ...['channel-test', 'core', 'relay-deps', 'relay-request', 'relay'].map(
    (name) => [`relay/${name}.ts`, 'calls others'] as const,
  ),
]);

const server = resolve(import.meta.dirname, '../../server');
const files = [...new Bun.Glob('{protocols,providers,routing,relay}/**/*.ts').scanSync({ cwd: server })].sort();
const covers = (place: string, path: string): boolean =>
  path === place || (place.endsWith('/') && path.startsWith(place));

test('each file that reads has hostile input here, or a reason why it needs none', () => {
  const places = [...readers.flatMap((reader) => reader.files), ...nothingForeign.keys()];
  expect(files.filter((path) => !places.some((place) => covers(place, path)))).toEqual([]);
  expect(places.filter((place) => !files.some((path) => covers(place, path)))).toEqual([]);
});
