/** Breaks what keeps several machines exact, one line at a time, and runs the test that has to notice: `GATEWAY_TEST_DATABASE=postgres://… node scripts/launch.mjs break-cluster [name]`, or without an address on a server of its own. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Break, breaks } from './break/cluster.ts';
import { type Copy, copyTree } from './mutate/copy.ts';
import { postgresPrograms, startPostgres } from './servers/postgres.ts';

const root = resolve(import.meta.dirname, '..');

type Verdict = 'noticed' | 'UNNOTICED' | 'NOT APPLIED' | 'HUNG';

const patienceMs = 120_000;

async function verdictOf(copy: Copy, one: Break, url: string): Promise<Verdict> {
  const text = readFileSync(join(copy.dir, one.file), 'utf8');
  const broken = text.replace(one.from, () => one.to);
  if (broken === text) return 'NOT APPLIED';
  const vitest = ['--bun', 'node_modules/vitest/vitest.mjs', 'run', '--pool=threads', '--maxWorkers=1', '--bail=1'];
  const wanted = [one.test, ...(one.name === '' ? [] : ['-t', one.name])];
  return copy.during(new Map([[one.file, broken]]), async () => {
    const child = Bun.spawn([process.execPath, ...vitest, ...wanted], {
      cwd: copy.dir,
      env: { ...process.env, GATEWAY_TEST_DATABASE: url },
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    const late = setTimeout(() => child.kill('SIGKILL'), patienceMs);
    const code = await child.exited;
    clearTimeout(late);
    if (child.signalCode === 'SIGKILL') return 'HUNG';
    return code === 0 ? 'UNNOTICED' : 'noticed';
  });
}

const bin = postgresPrograms();
const given = process.env.GATEWAY_TEST_DATABASE ?? '';
const server = given === '' && bin !== null ? await startPostgres(bin) : null;
const url = server?.url ?? given;
const copy = copyTree(root);
let missed = 0;
try {
  const [word = ''] = process.argv.slice(2);
  const wanted = breaks.filter(({ rule }) => rule.includes(word));
  for (const one of wanted) {
    const verdict = await verdictOf(copy, one, url);
    if (verdict !== 'noticed') missed++;
    console.log(`${verdict.padEnd(12)} ${one.rule.padEnd(58)} ${one.test}${one.name === '' ? '' : ` “${one.name}”`}`);
  }
  console.log(`${wanted.length - missed} of ${wanted.length} noticed`);
} finally {
  copy.remove();
  server?.remove();
}
process.exit(missed === 0 ? 0 : 1);
