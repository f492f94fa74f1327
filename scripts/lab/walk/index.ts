/**
 * Counts the road of one request: which functions of server/ and db/ are entered between the relay's door and the committed charge.
 *
 *     bun scripts/lab/walk/index.ts [--streamed] [--translated] [--task] [--realtime] [--files] [--heap] [--json FILE] [--root DIR]
 *
 * Without a scenario all four are walked. `--files` lists the functions of each file, `--heap` measures objects and bytes as well,
 * `--root` walks another checkout with its packages installed.
 */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type HeapStats, heapEnvironment } from './heap.ts';
import { recordFunctionsOf } from './instrument.ts';
import { openScenario, type ScenarioName, scenarioNames } from './scenarios.ts';

export interface Walk {
  readonly scenario: ScenarioName;
  /** Files of which at least one function was entered. */
  readonly files: number;
  /** Functions entered, each time. A generator counts when it is first asked for a value. */
  readonly calls: number;
  /** Entered functions whose file is another one than that of the function entered just before, the first of all included. */
  readonly fileChanges: number;
  /** File changes into a file that had been entered before. */
  readonly returns: number;
  /** Different functions entered. */
  readonly functions: number;
  readonly heap: HeapStats | null;
  readonly byFile: readonly {
    readonly file: string;
    readonly calls: number;
    readonly functions: readonly { readonly name: string; readonly line: number; readonly calls: number }[];
  }[];
}

const args = process.argv.slice(2);
const after = (name: string): string | undefined => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
const root = resolve(after('--root') ?? join(import.meta.dirname, '..', '..', '..'));
const jsonFile = after('--json');
const selected = scenarioNames.filter((name) => args.includes(`--${name}`));
const warmupRequests = 20;

const recorder = recordFunctionsOf(root);

async function walk(name: ScenarioName): Promise<Walk> {
  const scenario = await openScenario(root, name);
  for (let n = 0; n < warmupRequests; n++) await scenario.request();
  recorder.start();
  await scenario.request();
  const entered = recorder.stop();
  await scenario.close();
  const files = new Map<string, Map<number, number>>();
  let fileChanges = 0;
  let last = '';
  for (const id of entered) {
    const file = recorder.places[id]?.file ?? '';
    const functions = files.get(file) ?? new Map<number, number>();
    files.set(file, functions.set(id, (functions.get(id) ?? 0) + 1));
    if (file !== last) fileChanges++;
    last = file;
  }
  const byFile = [...files].map(([file, functions]) => ({
    file,
    calls: [...functions.values()].reduce((all, calls) => all + calls, 0),
    functions: [...functions].map(([id, calls]) => {
      const { name = '', line = 0 } = recorder.places[id] ?? {};
      return { name, line, calls };
    }),
  }));
  return {
    scenario: name,
    files: files.size,
    calls: entered.length,
    fileChanges,
    returns: fileChanges - files.size,
    functions: byFile.reduce((all, { functions }) => all + functions.length, 0),
    heap: args.includes('--heap') ? heapOf(name) : null,
    byFile,
  };
}

/** In a process of its own: the loader would count its own numbers, and collections must be off from the start. */
function heapOf(name: ScenarioName): HeapStats {
  const child = Bun.spawnSync([process.execPath, join(import.meta.dirname, 'heap.ts'), root, name], {
    env: { ...process.env, ...heapEnvironment },
    stderr: 'inherit',
  });
  if (child.exitCode !== 0) throw new Error(`the heap of ${name} could not be measured`);
  return JSON.parse(child.stdout.toString().trim().split('\n').at(-1) ?? '') as HeapStats;
}

const percent = (share: number): string => `±${(share * 100).toFixed(1)} %`;

const results: Walk[] = [];
for (const name of selected.length > 0 ? selected : scenarioNames) {
  const result = await walk(name);
  results.push(result);
  const { files, calls, fileChanges, returns, functions, heap } = result;
  console.log(
    `${name}: ${files} files, ${calls} calls of ${functions} functions, ${fileChanges} file changes (${returns} returns)`,
  );
  if (heap !== null)
    console.log(
      `${name}: ${heap.objects} objects ${percent(heap.objectsJitter)}, ${heap.bytes} bytes ${percent(heap.bytesJitter)} a request (median of ${heap.iterations} × ${heap.requestsPerRound})`,
    );
  if (args.includes('--files'))
    for (const { file, functions: entered } of result.byFile)
      console.log(
        `  ${file}: ${entered.map(({ name: own, line, calls: times }) => `${own || `line ${line}`}${times > 1 ? ` ×${times}` : ''}`).join(', ')}`,
      );
}
if (jsonFile !== undefined) writeFileSync(jsonFile, `${JSON.stringify({ root, walks: results }, null, 2)}\n`);
process.exit(0);
