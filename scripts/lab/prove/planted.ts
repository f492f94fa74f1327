/**
 * What becomes of requests that meet a defect of ours: `node scripts/launch.mjs lab/prove/planted --seed N --count 300 [--root DIR] [--only ID] [--verbose]`.
 * A throw is planted in front of a random statement of relay, protocols or providers that requests pass, each with a request of its own;
 * from a random visit on, once or always. `--root` looks at another checkout with its packages installed.
 *
 * Wanted of each: written down with its stack and the request's id; charged at most what was delivered; the channel's health as before,
 * no other channel asked; the client gets the error, or all of its answer; nothing stays held or locked; a request that reached an
 * upstream has its log row; and the next request is served.
 */
import { join, resolve } from 'node:path';
import { flag, numberFlag } from './planted/flags.ts';
import { ofTimers, plantIn } from './planted/plant.ts';
import { noEnd, openRequests, type Ran } from './planted/requests.ts';

const root = resolve(flag('root') ?? join(import.meta.dirname, '..', '..', '..'));
const seed = numberFlag('seed', 1);
const count = numberFlag('count', 300);
const only = flag('only');
const verbose = process.argv.includes('--verbose');

/** Mulberry32. */
function randomFrom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const random = randomFrom(seed);
const below = (limit: number): number => Math.floor(random() * limit);

const plants = plantIn(root);
const uncaught: unknown[] = [];
process.on('uncaughtException', (error) => void uncaught.push(error));
process.on('unhandledRejection', (error) => void uncaught.push(error));
const requests = await openRequests(root);

/** Visits of each statement by each request. */
const visited: { readonly name: string; readonly id: number; readonly visits: number }[] = [];
const sound = new Map<string, Ran>();
for (const name of requests.names) {
  plants.record();
  const ran = await requests.run(name);
  for (const [id, visits] of plants.recorded()) visited.push({ name, id, visits });
  if (ran.trouble !== null || !ran.isComplete || ran.harmed)
    throw new Error(`${name} fails without a defect: ${ran.trouble} ${ran.text.slice(0, 300)}`);
  if (uncaught.length > 0) throw uncaught[0];
  sound.set(name, ran);
}
const ids = [...new Set(visited.map(({ id }) => id))];
console.log(`${requests.names.length} requests pass ${ids.length} of ${plants.places.length} statements`);

const kinds = [
  'unreported',
  'without id',
  'overcharged',
  'health',
  'another channel',
  'client',
  'left open',
  'no row',
  'died',
] as const;
type Kind = (typeof kinds)[number];

function judged(name: string, ran: Ran, planted: Error, always: boolean): Kind[] {
  const usual = sound.get(name) as Ran;
  const reports = ran.reported.filter(({ error }) => error === planted);
  const found: Kind[] = [];
  if (reports.length === 0 || planted.stack === undefined) found.push('unreported');
  else if (!reports.some(({ requestId }) => requestId !== '' && ran.requestIds.includes(requestId)))
    found.push('without id');
  const whole = ran.words === usual.words && ran.status === usual.status && ran.isComplete && !ran.saysInternal;
  const due = ran.words === 0 && !whole ? 0 : whole ? usual.charged : usual.prompt + ran.words;
  // Of an answer that did not end within its time it is not known what its client got.
  if (ran.charged > due && ran.trouble !== noEnd) found.push('overcharged');
  if (ran.harmed) found.push('health');
  if (ran.otherCalls > 0) found.push('another channel');
  // What writes to the client may be the defective part: then the connection breaks off.
  if (!whole && !ran.saysInternal && !(always && ran.text.endsWith('(broken off)'))) found.push('client');
  if (ran.trouble !== null) found.push('left open');
  if (ran.rows === 0 && usual.rows !== 0) found.push('no row');
  if (uncaught.length > 0) found.push('died');
  return found;
}

const failures = new Map<Kind, string[]>(kinds.map((kind) => [kind, []]));
const aside: string[] = [];
let done = 0;
let unreached = 0;
let sick = 0;
const started = performance.now();
while (done < count && unreached < 3 * count) {
  const id = only === undefined ? (ids[below(ids.length)] as number) : Number(only);
  const passing = visited.filter((one) => one.id === id);
  const { name, visits } = passing[below(passing.length)] as (typeof visited)[number];
  const from = 1 + below(visits);
  const always = random() < 0.5;
  const { file, line } = plants.places[id] as { file: string; line: number };
  await requests.freshen();
  uncaught.length = 0;
  const planted = plants.plant(id, from, always);
  const ran = await Promise.race([
    // What looks at the gateway afterwards meets no defect.
    requests.run(name, plants.clear).catch((error: unknown) => new Error('cannot be looked at', { cause: error })),
    Bun.sleep(30_000).then(() => new Error('no result within 30 s')),
  ]);
  plants.clear();
  // Nothing else would say it: what is uncaught is collected above.
  if (ran instanceof Error) {
    console.error(`#${id} ${file}:${line} ${name}, visit ${from}${always ? ' on' : ''}`, ran);
    process.exit(2);
  }
  if (!plants.met()) {
    unreached++;
    if (only !== undefined) break;
    continue;
  }
  done++;
  const found = judged(name, ran, planted, always);
  const what = `#${id} ${file}:${line} ${name}, visit ${from}${always ? ' on' : ''}`;
  if (plants.metOutside()) aside.push(`${what}: ${found.join(', ') || 'well'}`);
  else if (found.length > 0) sick++;
  if (!plants.metOutside()) for (const kind of found) failures.get(kind)?.push(what);
  if (verbose && found.length > 0)
    console.log(
      `${what}: ${found.join(', ')}`,
      JSON.stringify({ ...ran, text: ran.text.slice(-300), reported: ran.reported.length }),
      uncaught[0] === undefined ? '' : String((uncaught[0] as Error)?.stack ?? uncaught[0]),
    );
  // Timers are everybody's: what a defect leaves half done there would be found with requests after this one.
  if (ran.trouble !== null || ran.harmed || plants.metOutside() || ofTimers.test(file)) await requests.reopen();
  if (only !== undefined) break;
}
const seconds = ((performance.now() - started) / 1000).toFixed(0);
console.log(
  `seed ${seed}: ${done} planted in ${seconds} s (${unreached} were not met), ${done - aside.length - sick} ended well, ${sick} did not, ${aside.length} outside of requests`,
);
for (const [kind, places] of failures)
  console.log(
    `${kind}: ${places.length}${
      verbose
        ? ''
        : places
            .slice(0, 12)
            .map((place) => `\n  ${place}`)
            .join('')
    }`,
  );
for (const place of aside) console.log(`outside of a request: ${place}`);
process.exit(sick === 0 ? 0 : 1);
