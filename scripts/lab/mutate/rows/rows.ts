/** Takes each row of knowledge away from the gateway once, while the doubles keep it, and prints the rows whose absence changes no result. `--only TEXT` looks at rows whose source or models hold it. */
import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import * as models from '../../../../server/providers/knowledge/models.ts';
import * as providers from '../../../../server/providers/knowledge/providers.ts';
import type { ModelRow, ProviderRow } from '../../../../server/providers/knowledge/row.ts';
import { aliasOf, type GridTarget } from '../../../../tests/practice/grid/targets.ts';
import { createWorld } from '../../../../tests/practice/grid/world.ts';
import { modelProbes, providerProbes, type RowProbe } from './probe.ts';
import { appliesTo, targetOfModel, targetOfProvider } from './targets.ts';

interface RowChange {
  readonly name: string;
  readonly label: string;
  readonly row: ModelRow | ProviderRow;
  readonly target: GridTarget | null;
  readonly probes: readonly RowProbe[];
}

const modelRows = (models as { all?: readonly ModelRow[] }).all ?? models.modelRows;
const providerRows = (providers as { all?: readonly ProviderRow[] }).all ?? providers.providerRows;
const rowChanges: readonly RowChange[] = [
  ...modelRows.map((row, at) => ({
    name: `models ${at}`,
    row,
    label: `${row.models} ${row.provider ?? ''} ${Object.keys(row).filter((key) => !['models', 'provider', 'source', 'assumed'].includes(key))} ${row.source}`,
    target: targetOfModel(row, modelRows),
    probes: modelProbes(row),
  })),
  ...providerRows.map((row, at) => ({
    name: `providers ${at}`,
    row,
    label: `${row.provider} ${row.dialect} ${row.member} ${row.demand.kind} ${row.models ?? ''} ${row.source}`,
    target: targetOfProvider(row),
    probes: providerProbes(row),
  })),
];

/** What each probe led to: whether the double refused it, and what it saw. */
async function runRows(
  selected: readonly RowChange[],
): Promise<Record<string, readonly (readonly [string, string])[]>> {
  const targets = new Map(
    selected.flatMap(({ target }) => (target === null ? [] : [[aliasOf(target), target] as const])),
  );
  const world = await createWorld([...targets.values()], { models: modelRows, providers: providerRows });
  const results: Record<string, readonly (readonly [string, string])[]> = {};
  // Rows share their upstreams and most of what is asked there.
  const known = new Map<string, readonly [string, string]>();
  for (const { name, target, probes } of selected) {
    if (target === null) continue;
    const seen: (readonly [string, string])[] = [];
    // A request for an alias is translated for the real model; one for the model's own name passes as it was written.
    const ways = [[aliasOf(target), world.key] as const, [target.model, world.pinned(target)] as const];
    for (const [way, [model, key]] of ways.entries())
      for (const { path, body, suffix = '' } of probes) {
        // Words behind a name are read off the upstream's own.
        if (name.startsWith('models') && (suffix === '' ? way > 0 : way === 0)) continue;
        const requested = `${model}${suffix}`;
        const place = `${key} ${requested} ${path} ${JSON.stringify(body)}`;
        const before = known.get(place);
        if (before !== undefined) {
          seen.push(before);
          continue;
        }
        world.take();
        const answer = await world.fetch(
          `http://gateway.test${path.replace('{model}', encodeURIComponent(requested))}`,
          {
            method: body === null ? 'GET' : 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            ...(body === null
              ? {}
              : { body: JSON.stringify(path.includes('{model}') ? body : { model: requested, ...body }) }),
          },
        );
        const text = await answer.text();
        const exchange = world.take().at(-1);
        // What was dropped is reported too: it is how an operator learns of it.
        const declared = exchange === undefined ? [] : await world.dropped();
        const words =
          exchange === undefined ? `${answer.status} ${body === null && answer.ok ? text : ''}` : exchange.text;
        const now = [exchange?.rejected?.rule ?? '', hash('md5', `${words} ${declared}`)] as const;
        known.set(place, now);
        seen.push(now);
      }
    results[name] = seen;
  }
  await world.close();
  return results;
}

const at = process.argv.indexOf('--only');
const only = at < 0 ? '' : (process.argv[at + 1] ?? '');

const child = process.env.GATEWAY_FLIP;
if (child !== undefined) {
  const selected =
    child === 'none'
      ? rowChanges.filter(({ label }) => label.includes(only))
      : rowChanges.filter(({ name }) => child.split(',').includes(name));
  await Bun.write(Bun.stdout, JSON.stringify(await runRows(selected)));
  process.exit(0);
}

const run = (rowChange: string): Promise<Awaited<ReturnType<typeof runRows>>> =>
  new Promise((resolve, reject) => {
    const preload = new URL('flip/without.ts', import.meta.url).pathname;
    const started = spawn(process.execPath, ['--preload', preload, new URL(import.meta.url).pathname, '--only', only], {
      env: { ...process.env, GATEWAY_FLIP: rowChange },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    started.stdout.on('data', (chunk) => {
      text += chunk;
    });
    started.on('close', () => {
      try {
        resolve(JSON.parse(text));
      } catch {
        reject(new Error(`${rowChange}: ${text.slice(0, 200)}`));
      }
    });
  });

const selected = rowChanges.filter(({ label }) => label.includes(only));
const baseline = await run('none');
const counts = { refused: 0, 'told otherwise': 0, unnoticed: 0, 'not played': 0 };
let next = 0;

/** Rows that have nothing to say of where the others are looked for are taken away together: a start costs most. */
function batches(all: readonly RowChange[]): readonly (readonly RowChange[])[] {
  const groups: RowChange[][] = [];
  const disturbs = (one: RowChange, other: RowChange): boolean =>
    other.target !== null && appliesTo(one.row, other.target);
  for (const rowChange of all) {
    const group = groups.find((some) => some.every((one) => !disturbs(one, rowChange) && !disturbs(rowChange, one)));
    if (group === undefined) groups.push([rowChange]);
    else group.push(rowChange);
  }
  return groups;
}

const groups = batches(selected);
async function work(): Promise<void> {
  for (let group = groups[next++]; group !== undefined; group = groups[next++]) {
    const results = await run(group.map(({ name }) => name).join(','));
    for (const rowChange of group) judge(rowChange, results[rowChange.name]);
  }
}

function judge(rowChange: RowChange, after: readonly (readonly [string, string])[] | undefined): void {
  const before = baseline[rowChange.name];
  const rejected = after?.some(([rule], place) => rule !== '' && before?.[place]?.[0] === '') === true;
  const fallback = after?.some(([, text], place) => text !== before?.[place]?.[1]) === true;
  const verdict = after === undefined ? 'not played' : rejected ? 'refused' : fallback ? 'told otherwise' : 'unnoticed';
  counts[verdict]++;
  if (verdict === 'unnoticed' || verdict === 'not played')
    console.log(`${verdict}\t${rowChange.name}\t${rowChange.label}`);
}
await Promise.all(Array.from({ length: Math.max(1, Math.min(8, availableParallelism() >> 1)) }, work));
console.log(
  `${selected.length} rows: ${Object.entries(counts)
    .map(([verdict, count]) => `${verdict} ${count}`)
    .join(', ')}`,
);
process.exit(counts.unnoticed === 0 ? 0 : 1);
