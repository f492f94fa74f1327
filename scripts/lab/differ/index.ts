/**
 * Sends the same requests through two builds of the gateway, with the same upstream, and compares what the upstream receives, what
 * the client receives, the charge and the row of the log.
 *
 *     bun scripts/lab/differ/index.ts --reference BUILD [--tree BUILD] [--cases 2000] [--seed N] [--recordings DIR] [--captures DIR]
 *                                     [--accept FILE] [--only TEXT] [--parallel 8] [--show 30] [--json FILE]
 *
 * BUILD is an executable or a checkout with its packages; the tree is this checkout unless another one is named. `--accept` names a
 * JSON list of `{ "group": "regular expression", "case": "regular expression", "reason": "..." }`: intended differences. Ends with 1
 * when there is a difference that no entry accepts, with 2 when it cannot run. A case that differs is played once more by itself; what is
 * the same then is reported as unsteady and does not count.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from './case.ts';
import { createNormaliser, type Difference, differences, exchangeView, rowViews, type View } from './compare.ts';
import { makeCases } from './generate.ts';
import { makePlan } from './plan.ts';
import { play } from './play.ts';
import { captureCases, fixtureCases, recordedResponses } from './recorded.ts';
import { openSide, type Side } from './site.ts';
import { startUpstream, type Upstream } from './upstream.ts';

interface Accepted {
  readonly group: string;
  readonly case?: string;
  readonly reason: string;
}

const args = process.argv.slice(2);
const after = (name: string): string | null => (args.includes(name) ? (args[args.indexOf(name) + 1] ?? null) : null);
const number = (name: string, fallback: number): number => {
  const value = Number(after(name) ?? fallback);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${name} takes a number`);
  return value;
};

const reference = after('--reference');
if (reference === null) {
  console.error('--reference names an executable or a checkout to compare with');
  process.exit(2);
}
const treeBuild = after('--tree') ?? join(import.meta.dirname, '..', '..', '..');
const count = number('--cases', 2000);
const seed = number('--seed', Math.floor(Date.now() / 1000));
const parallel = number('--parallel', 8);
const maxLines = number('--show', 30);
const only = after('--only');
const acceptFile = after('--accept');
const accepted: readonly Accepted[] =
  acceptFile === null ? [] : (JSON.parse(readFileSync(acceptFile, 'utf8')) as Accepted[]);

const plan = makePlan(Math.ceil(count * 0.06));
const responses = recordedResponses(after('--recordings'));
const fixed = fixtureCases(0, responses);
const captured = captureCases(fixed.length, after('--captures'));
const made = makeCases(plan, count, seed, fixed.length + captured.length, responses);
const all: readonly Case[] = [...fixed, ...captured, ...made];
const cases = only === null ? all : all.filter(({ name }) => name.includes(only));
console.log(
  `seed ${seed}: ${fixed.length} cases of fixtures and ${responses.length} recorded replies, ${captured.length} of captures, ${made.length} generated${only === null ? '' : `; ${cases.length} of them named ${only}`}`,
);

const caseOf = (id: number) => all[id];
const upstreams = [await startUpstream(caseOf), await startUpstream(caseOf)] as const;
const [first, second] = upstreams;
const opened = Date.now();
const sides = await Promise.all([
  openSide('reference', reference, plan, `http://127.0.0.1:${first.port}`),
  openSide('tree', treeBuild, plan, `http://127.0.0.1:${second.port}`),
]);
const [referenceSide, treeSide] = sides;
console.log(`both builds serve after ${((Date.now() - opened) / 1000).toFixed(1)} s; ${plan.channels.length} channels`);

const planText = JSON.stringify(plan);

interface Exchange {
  readonly view: View;
  readonly requestId: string | null;
  readonly normal: (text: string) => string;
}

async function playAt(side: Side, upstream: Upstream, one: Case): Promise<Exchange> {
  const client = await play(side.url, one.request);
  const received = upstream.take(one.id);
  const body = one.request.body;
  const known = [
    planText,
    typeof body === 'string' ? body : Buffer.from(body ?? []).toString('latin1'),
    one.request.path,
    JSON.stringify(one.request.headers),
    JSON.stringify(one.responses),
    ...received.map(({ sent }) => sent),
  ].join('\n');
  const normal = createNormaliser([upstream.port, Number(new URL(side.url).port)], known);
  return { view: exchangeView(received, client, normal), requestId: client.requestId, normal };
}

const playBoth = (one: Case) =>
  Promise.all([playAt(referenceSide, first, one), playAt(treeSide, second, one)] as const);

interface Pair {
  readonly played: Case;
  readonly exchange: readonly Difference[];
  /** Request ids of both sides with what puts their rows into lines. */
  readonly ids: readonly [Exchange, Exchange];
}

const bare = ({ requestId, normal }: Exchange): Exchange => ({ requestId, normal, view: new Map() });
async function pairOf(one: Case): Promise<Pair> {
  const [a, b] = await playBoth(one);
  return { played: one, exchange: differences(one, a.view, b.view), ids: [bare(a), bare(b)] };
}

async function playAll(list: readonly Case[], atOnce: number, title: string): Promise<readonly Pair[]> {
  const pairs: Pair[] = [];
  const started = Date.now();
  let next = 0;
  let done = 0;
  let lastPrint = Date.now();
  const worker = async () => {
    for (let one = list[next++]; one !== undefined; one = list[next++]) {
      pairs.push(await pairOf(one));
      done++;
      if (Date.now() - lastPrint < 5000 && done < list.length) continue;
      lastPrint = Date.now();
      const differing = pairs.filter(({ exchange }) => exchange.length > 0).length;
      console.log(
        `${title}: ${done} of ${list.length} pairs, ${differing} differ, ${(done / ((lastPrint - started) / 1000)).toFixed(0)} a second`,
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  // Rows of broken streams follow their answers.
  await Bun.sleep(2000);
  return pairs;
}

let skipped = 0;
/** @returns differences of each pair, of what was exchanged and of what was written down. */
function judge(pairs: readonly Pair[]): ReadonlyMap<Case, readonly Difference[]> {
  const [a, b] = [referenceSide.rows(), treeSide.rows()];
  const rowsOf = ({ requestId }: Exchange, { logs, postings }: ReturnType<Side['rows']>) => ({
    log: logs.get(requestId ?? ''),
    postings: postings.get(requestId ?? '') ?? [],
  });
  return new Map(
    pairs.map(({ played, exchange, ids: [left, right] }) => {
      const views = rowViews(rowsOf(left, a), rowsOf(right, b), left.normal, right.normal);
      if (views === null) skipped++;
      return [played, views === null ? exchange : [...exchange, ...differences(played, ...views)]];
    }),
  );
}

// The first requests of a process are slow, and what waits by the clock would show it.
for (const one of cases.slice(0, 12)) await playBoth(one);
const firstRun = judge(await playAll(cases, parallel, 'compared'));
const suspects = [...firstRun].filter(([, found]) => found.length > 0).map(([one]) => one);
const confirmed: Difference[] = [];
const unstable: Difference[] = [];
const maxReplays = 400;
const again =
  suspects.length === 0 ? new Map() : judge(await playAll(suspects.slice(0, maxReplays), 1, 'played again'));
for (const one of suspects) {
  const found: readonly Difference[] = again.has(one) ? (again.get(one) ?? []) : (firstRun.get(one) ?? []);
  if (found.length > 0) confirmed.push(...found);
  else unstable.push(...(firstRun.get(one) ?? []));
}
const unmarked = upstreams.map(({ port, unmarked: list }, at) => {
  const normal = createNormaliser([port, Number(new URL(sides[at]?.url ?? '').port)], planText);
  return [...new Set(list.map(({ line, body }) => normal(`${line} ${body}`)))].sort();
});
const anonymous: Case = {
  id: -1,
  name: 'requests that name no case',
  request: { method: '', path: '', headers: {}, body: null },
  responses: [],
};
confirmed.push(
  ...differences(
    anonymous,
    new Map([['upstream requests', unmarked[0] ?? []]]),
    new Map([['upstream requests', unmarked[1] ?? []]]),
  ),
);
const logged = [referenceSide, treeSide].map((side) => side.rows().logs);
const charged = logged.map((rows) => [...rows.values()].reduce((sum, { quota }) => sum + Number(quota), 0));
for (const side of sides) await side.stop();
for (const upstream of upstreams) upstream.stop();

const reasonOf = ({ group, name }: Difference): string | null =>
  accepted.find((entry) => new RegExp(entry.group).test(group) && new RegExp(entry.case ?? '').test(name))?.reason ??
  null;
const unexpected = confirmed.filter((one) => reasonOf(one) === null);
const show = (title: string, list: readonly Difference[]) => {
  const groups = [...Map.groupBy(list, ({ group }) => group)].sort(([, a], [, b]) => b.length - a.length);
  if (groups.length > 0) console.log(`\n${title}: ${list.length} differences in ${groups.length} groups`);
  for (const [group, members] of groups.slice(0, maxLines)) {
    const [example] = members;
    if (example === undefined) continue;
    const names = [...new Set(members.map(({ name }) => name))];
    console.log(`${members.length} × ${group}`);
    console.log(
      `    case ${example.caseId}: ${names.slice(0, 3).join('; ')}${names.length > 3 ? `; and ${names.length - 3} more` : ''}`,
    );
    console.log(`    - ${example.reference}\n    + ${example.tree}`);
  }
  if (groups.length > maxLines) console.log(`and ${groups.length - maxLines} groups more`);
};
show('unexpected', unexpected);
show(
  'accepted',
  confirmed.filter((one) => reasonOf(one) !== null),
);
show('unsteady (the same when played again)', unstable);
const casesIn = (list: readonly Difference[]) => new Set(list.map(({ caseId }) => caseId)).size;
console.log(
  `\n${cases.length} pairs in ${((Date.now() - opened) / 1000).toFixed(0)} s: ${casesIn(unexpected)} differ unexpectedly, ${casesIn(confirmed) - casesIn(unexpected)} as accepted, ${casesIn(unstable)} unsteady; ${upstreams[0].unmarked.length} requests named no case; ${skipped} rows of refusals sampled away; rows ${logged.map((rows) => rows.size).join(' and ')}, charged ${charged.join(' and ')}`,
);
const json = after('--json');
if (json !== null)
  writeFileSync(json, `${JSON.stringify({ seed, pairs: cases.length, confirmed, unsteady: unstable }, null, 2)}\n`);
process.exit(unexpected.length > 0 ? 1 : 0);
