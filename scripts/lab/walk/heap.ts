/** Counts what one request of a scenario allocates, in a process that never collects garbage: `heap.ts ROOT SCENARIO`. Prints one line of JSON. */
import { heapStats } from 'bun:jsc';
import { median } from '../../../cli/bench/stats.ts';
import { openScenario, type ScenarioName } from './scenarios.ts';

export interface HeapStats {
  /** Cells of the collector's heap that one request allocates: objects, strings, functions, promises, and others. */
  readonly objects: number;
  /** Bytes of those cells and of their storage in the collector's heap; memory outside of it, as of long buffers, is not in it. */
  readonly bytes: number;
  /** Half the distance between the least and the most of the rounds, as a share of the median. */
  readonly objectsJitter: number;
  readonly bytesJitter: number;
  readonly iterations: number;
  readonly requestsPerRound: number;
}

/** Nothing is ever collected, so that what was allocated is what is there. */
export const heapEnvironment = { BUN_JSC_useGC: 'false' };

const warmupRequests = 300;
const iterations = 7;
const requestsPerRound = 200;

const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((all, count) => all + count, 0);
const now = () => {
  const { objectTypeCounts, heapCapacity } = heapStats();
  return { objects: sum(objectTypeCounts), bytes: heapCapacity };
};
const jitterOf = (values: readonly number[]): number =>
  (Math.max(...values) - Math.min(...values)) / 2 / median(values);

export async function measure(root: string, name: ScenarioName): Promise<HeapStats> {
  const scenario = await openScenario(root, name);
  for (let n = 0; n < warmupRequests; n++) await scenario.request();
  const objects: number[] = [];
  const bytes: number[] = [];
  for (let round = 0; round < iterations; round++) {
    const before = now();
    for (let n = 0; n < requestsPerRound; n++) await scenario.request();
    const after = now();
    if (after.objects <= before.objects) throw new Error('garbage was collected during the measurement');
    objects.push((after.objects - before.objects) / requestsPerRound);
    bytes.push((after.bytes - before.bytes) / requestsPerRound);
  }
  await scenario.close();
  return {
    objects: Math.round(median(objects)),
    bytes: Math.round(median(bytes)),
    objectsJitter: jitterOf(objects),
    bytesJitter: jitterOf(bytes),
    iterations,
    requestsPerRound,
  };
}

if (import.meta.main) {
  const [root = '', name = ''] = process.argv.slice(2);
  console.log(JSON.stringify(await measure(root, name as ScenarioName)));
  process.exit(0);
}
