/** Whatever reads what others send needs twice the time for twice as much, and not four times. */
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { figure } from '../support/figure.ts';
import { isLong, often } from '../support/often.ts';
import { randomOf } from '../support/random.ts';
import type { Case } from './cases.ts';
import { growthOf } from './doubling.ts';
import { readers } from './readers.ts';

/** Processor time of the smallest size; the long run measures exactly, the short one finds what is many times too slow. */
const exactMs = 20;
const exactLargest = 1 << 20;
const baseMs = often(3, exactMs);
const largest = often(1 << 17, exactLargest);
const budgetMs = often(1200, 15 * 60_000);

const seed = Number(process.env.FUZZ_SEED ?? 20261128);
/** Cases instead of a time, for one who looks for something. */
const cases = Number(process.env.DOUBLING_CASES ?? 0);

/** Some of all readers in turn, in an order made from the seed, each once. */
function* drawn(): Generator<{ readonly reader: string; readonly one: Case }> {
  const random = randomOf(seed);
  let order = [...readers].sort(() => random() - 0.5).map(({ name, cases }) => ({ name, left: [...cases] }));
  while (order.length > 0) {
    for (const { name, left } of order) {
      const at = Math.floor(random() * left.length);
      const [one, last] = [left[at], left.pop()];
      if (one === undefined || last === undefined) continue;
      if (one !== last) left[at] = last;
      yield { reader: name, one };
    }
    order = order.filter(({ left }) => left.length > 0);
  }
}

test('the time of each reader grows with what it reads and not with its square', {
  timeout: Math.max(isLong ? 30 * 60_000 : 60_000, cases * 2000),
}, () => {
  const started = performance.now();
  const slow: string[] = [];
  let measured = 0;
  for (const { reader, one } of drawn()) {
    if (cases > 0 ? measured >= cases : performance.now() - started > budgetMs && measured >= often(12, 100)) break;
    measured++;
    // A time of some ticks is no figure: what seems slow is asked at length.
    const growth = growthOf(one, baseMs, largest) === null ? null : growthOf(one, exactMs, exactLargest);
    if (growth !== null)
      slow.push(`${reader}, ${one.name}: ${growth.ms.map((ms) => ms.toFixed(1)).join(', ')} ms from ${growth.n}`);
  }
  figure(
    `seed ${seed}: ${measured} cases of ${readers.length} readers, ${slow.length} grew faster than what they read`,
  );
  expect(slow).toEqual([]);
});

test('frames that each report usage after the end have what came before them searched once', () => {
  const name = 'nested arguments passed through, frame 1 again: the same';
  const { cases = [] } = readers.find(({ name }) => name === 'streams of gemini-generate') ?? {};
  const found = cases.filter((one) => one.name === name);
  expect(found).toHaveLength(1);
  expect(found.map((one) => growthOf(one, 10, 1 << 18))).toEqual([null]);
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

const inFolder = (folder: string, why: string, names: readonly string[]): readonly (readonly [string, string])[] =>
  names.map((name) => [`${folder}/${name}.ts`, why]);

/** Files, and folders by a slash at their end, that read nothing of others, and why. */
const nothingForeign: ReadonlyMap<string, string> = new Map([
  ...['canonical', 'codec', 'definition', 'registry', 'target'].map(
    (name) => [`protocols/${name}.ts`, 'types and tables'] as const,
  ),
  ['protocols/rate-headers.ts', 'numbers of our own limits'],
  ['protocols/refusals.ts', 'a table of our own refusals'],
  ['protocols/shared/cache-diagnosis.ts', 'two members of one answer, a reason of 40 characters'],
  ['protocols/shared/answer-losses.ts', 'looks at each event once, and keeps a list with a bound'],
  ['providers/knowledge/own-hosts.ts', 'names and addresses that the operator configured'],
  ['protocols/shared/model-card.ts', 'names of models that the operator configured'],
  ['protocols/shared/simple-wire.ts', 'feeds each frame to the reader of a wire once'],
  ['protocols/shared/signed-turn.ts', 'looks at each turn once, from the last to the one that began it'],
  ['protocols/shared/wait-hint.ts', 'members of one error, and spans of 40 characters'],
  ['protocols/shared/written-call.ts', 'changes each event once, and keeps nothing'],
  ...inFolder('providers', 'rows, addresses and names, which the operator chooses from', [
    'adapter-registry',
    'adapter',
    'base-url',
    'catalogue-list',
    'catalogue',
    'import-names',
    'key-starts',
    'litellm-place',
    'litellm',
    'makers',
    'probe',
    'provider',
  ]),
  ['providers/account.ts', 'what providers answer to their operator'],
  ...inFolder('providers/adapters', 'addresses, and questions and answers whose texts are joined once', [
    'aiproxy-library',
    'azure',
  ]),
  ...inFolder('providers/knowledge', 'rows of models and providers, which are found by short names', [
    'bedrock',
    'beta-headers',
    'encodings',
    'endpoints',
    'error-codes',
    'explanation',
    'facts',
    'models',
    'open-lists',
    'own',
    'package-rows',
    'price-view',
    'cache-diagnosis',
    'probe',
    'providers',
    'removable-members',
    'responses',
    'row',
    'second-dialects',
    'streams',
    'target',
    'tool-types',
    'vertex',
  ]),
  ['providers/knowledge/rows/', 'rows of models'],
  ...inFolder('providers/knowledge', 'patterns, which `patterns.test.ts` measures', [
    'agent-headers',
    'agent-lines',
    'rejection',
    'signature',
  ]),
  ...inFolder('providers/signing', 'signs a request of ours', ['jwt', 'signed-url', 'sigv4', 'tc3']),
  ...inFolder('routing', 'the configuration', ['candidates', 'endpoint', 'protocol', 'target']),
  ...inFolder('relay/admission', 'numbers: balances, limits, rates, and what was counted', [
    'calibration',
    'gate',
    'lease-client',
    'limits',
    'money-queue',
    'observer',
    'plan',
    'reservation',
    'reserve',
    'site-rates',
    'usage-marks',
  ]),
  ['relay/admission/search-limit.ts', 'the members of one tool by their names, once'],
  ['relay/admission/counting/', 'texts in a thread of its own: `tests/relay/counting.test.ts` doubles them'],
  ...inFolder('relay/delivery', 'frames and pieces, each once, and how requests end', [
    'await-answer',
    'await-commit',
    'bytes',
    'rejection-log',
    'respond',
    'response-items',
    'settle',
    'stream',
  ]),
  ...inFolder('relay/endpoints', 'lists of ours', ['billing', 'models']),
  ['relay/endpoints/count-tokens.ts', 'hands texts to the counting thread'],
  ['relay/admission/evidence.ts', 'hands the prompt to readers that stand here: its opening, and the proof of it'],
  ['relay/admission/key-budgets.ts', 'figures of the ledger'],
  ['relay/delivery/count-so-far.ts', 'counts what its readers, which stand here, have read'],
  ['relay/endpoints/gateway-client.ts', 'answers of ours, and names of options'],
  ['providers/knowledge/probe-questions.ts', 'questions of ours'],
  ['providers/model-lists.ts', 'lists of ours'],
  ['relay/admission/chain.ts', 'targets that the operator configured, 64 at most'],
  ['relay/admission/target-admission.ts', 'counts, and groups of targets that the operator configured'],
  ['relay/upstream/cache-diagnosis.ts', 'hands one text to `relay/intake/json-text.ts`, which is doubled here'],
  ['relay/intake/agent.ts', 'words of four headers'],
  ['relay/intake/names.ts', 'the first units of names, and of one question; structures of 8 KB'],
  ['routing/chains.ts', 'targets that the operator configured, 64 at most'],
  ['relay/endpoints/realtime/close-code.ts', 'the reason in a close frame, 123 bytes of it'],
  ...inFolder('relay/endpoints/realtime', 'events one by one, of which sums are kept', [
    'conversation',
    'realtime',
    'session',
    'step-queue',
    'transcript',
    'turn-reserve',
    'turns',
  ]),
  ...inFolder('relay/endpoints/responses-socket', 'events one by one, and items that are joined once', [
    'kept-input',
    'responses-socket',
    'sockets',
    'vendor-words',
  ]),
  ...inFolder('relay/endpoints/tasks', 'members of an order by their names', [
    'calls',
    'midjourney',
    'routes',
    'store',
    'submission',
    'suno',
    'tasks',
  ]),
  ...inFolder('relay/routing', 'how channels are doing', [
    'first-bytes',
    'health-report',
    'health',
    'key-log',
    'learnt-members',
    'pairs',
    'short-waits',
  ]),
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
  ...['body-memory', 'parse', 'parsed-request', 'playground', 'references', 'request-id', 'compressed-body'].map(
    (name) => [`relay/intake/${name}.ts`, 'calls the readers of this folder, or a native one, once'] as const,
  ),
  ...inFolder('relay/upstream', 'calls and connections; chunks go to the readers of the dialects once each', [
    'access-tokens',
    'attempt',
    'call',
    'cause',
    'client-disconnect',
    'compact',
    'http',
    'line',
    'open-stream',
    'response-body',
    'send',
    'thinking',
    'websocket',
  ]),
  ...['channel-test', 'core', 'preview', 'relay-deps', 'relay-request', 'relay'].map(
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
