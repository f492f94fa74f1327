/**
 * Are honest recordings charged right, and altered ones never below what a decoder plays? `node scripts/launch.mjs lab/fuzz/recordings FOLDER`
 * reads what `recordings.py write FOLDER` made (a developer's tool: Python with `pip install av numpy`).
 * `[--cases 20000] [--seed N] [--plays 1000] [--largest BYTES] [--python PATH] [--readers FILE]`: headers altered by seed; those found shorter, and then others,
 * up to so many, are played by the decoder; another build's `length.ts` can be asked instead of this one's.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { type Alteration, altered } from '../../../tests/fuzz/alter.ts';
import { randomOf } from '../../../tests/support/random.ts';
import { flag } from '../prove/site.ts';

interface Form {
  readonly file: string;
  /** What the decoder plays of it. */
  readonly seconds: number;
  /** A reader of this form exists. */
  readonly read: boolean;
}

interface Case extends Alteration {
  readonly form: Form;
  readonly seed: number;
  readonly charged: number;
}

const args = process.argv.slice(2);
const folder = args[0] ?? '';
const text = (name: string, fallback: string): string => {
  const at = args.indexOf(name);
  return at < 0 ? fallback : (args[at + 1] ?? fallback);
};
const cases = flag(args, '--cases', 20_000);
const first = flag(args, '--seed', 1);
const plays = flag(args, '--plays', 1000);
const readers = resolve(
  text('--readers', join(import.meta.dirname, '../../../server/relay/shared/recordings/length.ts')),
);
const { audioSeconds } = (await import(readers)) as { audioSeconds: (file: Uint8Array, size: number) => number };

/** Seconds that an encoder's delay and a rounded frame may take. */
const slack = 0.3;
const most = 1.1;
/** Larger files say nothing more. */
const largest = flag(args, '--largest', 1_500_000);

const forms = JSON.parse(readFileSync(join(folder, 'forms.json'), 'utf8')) as Form[];
const bytesOf = new Map<Form, Uint8Array>();
let wrong = 0;
for (const form of forms) {
  const bytes = new Uint8Array(readFileSync(join(folder, form.file)));
  const charged = audioSeconds(bytes, bytes.length);
  // What nothing plays says nothing of its length.
  if (form.seconds <= 0) continue;
  const isShort = charged < form.seconds - slack;
  const isLong = charged > most * form.seconds + 0.05;
  if (isShort || isLong) {
    if (form.read) wrong++;
    console.log(
      `${form.read ? 'honest' : 'unread'} ${isShort ? 'below' : 'above'}: ${form.file} plays ${form.seconds.toFixed(2)} s, charged ${charged.toFixed(2)} s`,
    );
  }
  if (bytes.length <= largest) bytesOf.set(form, bytes);
}
const heardForms = forms.filter(({ seconds }) => seconds > 0).length;
console.log(`${heardForms} honest forms, ${wrong} charged wrongly`);

const selected = [...bytesOf.entries()];
const short: Case[] = [];
const others: Case[] = [];
let slowest = 0;
const started = performance.now();
for (let seed = first; seed < first + cases; seed++) {
  const random = randomOf(seed);
  const [form, bytes] = selected[Math.floor(random() * selected.length)] ?? [];
  if (form === undefined || bytes === undefined) break;
  const { file, words } = altered(bytes, random);
  const at = performance.now();
  const charged = audioSeconds(file, file.length);
  slowest = Math.max(slowest, performance.now() - at);
  const found = { form, seed, file, words, charged };
  if (charged < form.seconds * 0.98 - slack) short.push(found);
  else if (others.length < plays) others.push(found);
}
console.log(
  `${cases} altered from ${first}: ${short.length} charged less than as they were, slowest ${slowest.toFixed(0)} ms, ${((performance.now() - started) / 1000).toFixed(1)} s`,
);

/** Seconds that the decoder plays of each. */
async function played(list: readonly Case[]): Promise<readonly number[]> {
  const place = mkdtempSync(join(tmpdir(), 'recordings-'));
  const python = spawn(text('--python', 'python3'), [join(import.meta.dirname, 'recordings.py'), 'play'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const answers = createInterface({ input: python.stdout })[Symbol.asyncIterator]();
  const found: number[] = [];
  for (const { file, seed } of list) {
    const path = join(place, `${seed}`);
    writeFileSync(path, file);
    python.stdin.write(`${path}\n`);
    const { value, done } = await answers.next();
    rmSync(path);
    if (done === true) break;
    found.push(Number(value));
  }
  python.stdin.end();
  rmSync(place, { recursive: true });
  return found;
}

const asked = [...short.slice(0, plays), ...others.slice(0, Math.max(0, plays - short.length))];
const heard = await played(asked);
const below = new Map<string, { count: number; line: string; share: number }>();
let holes = 0;
heard.forEach((seconds, index) => {
  const one = asked[index];
  if (one === undefined || seconds <= 0 || Math.ceil(one.charged) >= seconds - slack) return;
  holes++;
  const share = one.charged / seconds;
  const name = one.form.file.slice(4);
  const kept = below.get(name);
  const line = `seed ${one.seed}: plays ${seconds.toFixed(1)} s, charged ${one.charged.toFixed(2)} s; ${one.words}`;
  below.set(name, {
    count: (kept?.count ?? 0) + 1,
    line: kept !== undefined && kept.share < share ? kept.line : line,
    share: Math.min(kept?.share ?? share, share),
  });
});
for (const [name, { count, line }] of below) console.log(`below: ${name} × ${count}, worst ${line}`);
console.log(`${heard.length} played, ${holes} charged below what plays, in ${below.size} forms`);
process.exit(wrong === 0 && holes === 0 ? 0 : 1);
