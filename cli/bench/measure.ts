/** Rounds in which everybody gets the same requests, one after the other, so that all share the machine's good and bad moments. */

import { coreMicros, cores, cpuMicros, threadTimes, usedByThreads, written } from './machine.ts';
import { load } from './process.ts';
import type { Upstreams } from './site.ts';
import { lowNoise, type Sample, type SampleStats, statsOf, type Table } from './stats.ts';
import { bodyOf, type Shape, type Subject } from './targets.ts';

export interface Plan {
  readonly rounds: number;
  /** Seconds that one measurement takes. */
  readonly seconds: number;
  /** The longest that a subject is warmed with one shape. */
  readonly warmSeconds: number;
  readonly shapes: readonly Shape[];
}

export interface MeasureDeps {
  readonly measure: (subject: Subject, shape: Shape) => Promise<Sample>;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** What is done at the moment. */
  readonly onProgress: (what: string) => void;
}

/** How much less a span may cost than the one before when compilation is over. */
const settledShare = 0.9;
/** What others disturbed is measured again, so often at most, and so long. */
const extraRounds = 3;

const mapped = (numbers: Readonly<Record<string, number>> | null, change: (value: number) => number) =>
  numbers === null ? null : Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, change(value)]));

/** @param upstreams whose CPU counts as the load's. */
export const sampling =
  (upstreams: Upstreams, seconds: number): MeasureDeps['measure'] =>
  async (subject, shape) => {
    const upstream = upstreams.pids[shape.upstream];
    const { pid } = subject;
    const read = () => ({
      at: performance.now(),
      used: typeof pid === 'number' ? cpuMicros(pid) : pid === 'none' ? 0 : null,
      wrote: typeof pid === 'number' ? written(pid) : null,
      threads: typeof pid === 'number' ? threadTimes(pid) : null,
      around: cpuMicros(upstream) ?? 0,
      busy: (coreMicros(cores.measured) ?? 0) + (coreMicros(cores.around) ?? 0),
    });
    const before = read();
    const { cpu: loadCpu, ...result } = await load({
      port: subject.port(shape.upstream),
      path: subject.path,
      token: subject.token,
      body: bodyOf(subject.model(shape.upstream) ?? '', shape.stream),
      headers: subject.headers,
      connections: shape.connections,
      seconds,
      once: false,
    });
    const after = read();
    const used = before.used === null || after.used === null ? null : after.used - before.used;
    const others = after.busy - before.busy - (used ?? 0) - (after.around - before.around) - loadCpu;
    const perRequest = (total: number): number => total / Math.max(1, result.requests);
    return {
      ...result,
      cpu: used === null || pid === 'none' ? null : perRequest(used),
      threads: mapped(usedByThreads(before.threads, after.threads), perRequest),
      written:
        before.wrote === null || after.wrote === null
          ? null
          : {
              calls: perRequest(after.wrote.calls - before.wrote.calls),
              disk: perRequest(after.wrote.disk - before.wrote.disk),
            },
      // A target whose CPU is unknown would have its own work counted as that of other processes.
      noise: used === null ? 0 : Math.max(0, others / ((after.at - before.at) * 1000)),
    };
  };

/** The first thousands of requests measure the compiler: warm until a span costs hardly less than the one before. */
export async function warm(deps: MeasureDeps, subject: Subject, shape: Shape, longestSeconds: number): Promise<void> {
  const until = deps.now() + longestSeconds * 1000;
  let last = Number.POSITIVE_INFINITY;
  while (deps.now() < until) {
    const { cpu, p50, requests } = await deps.measure(subject, shape);
    const cost = cpu ?? p50;
    if (requests > 0 && cost >= last * settledShare) return;
    last = cost;
  }
}

/** @param subjects the first is the way without a gateway. */
export async function measureAll(
  deps: MeasureDeps,
  plan: Plan,
  subjects: readonly [Subject, ...Subject[]],
): Promise<Table> {
  const { rounds, shapes } = plan;
  const samples = new Map<string, Sample[]>();
  const of = (shape: Shape, { name }: Subject): readonly Sample[] => samples.get(`${shape.name}|${name}`) ?? [];
  const pairs = shapes.flatMap((shape) =>
    subjects.filter(({ model }) => model(shape.upstream) !== null).map((subject) => ({ shape, subject })),
  );
  for (const [index, { shape, subject }] of pairs.entries()) {
    deps.onProgress(`warm-up ${index + 1}/${pairs.length} · ${shape.name} · ${subject.name}`);
    await warm(deps, subject, shape, plan.warmSeconds);
  }
  const began = deps.now();
  const budgetMs = pairs.length * rounds * (plan.seconds + 1) * 1000 * 2;
  for (let round = 0; round < rounds * extraRounds; round++) {
    for (const { shape, subject } of pairs) {
      const enough = lowNoise(of(shape, subject)).length >= rounds || deps.now() - began > budgetMs;
      if (round >= rounds && enough) continue;
      const which = round < rounds ? `round ${round + 1}/${rounds}` : 'once more';
      deps.onProgress(`${which} · ${shape.name} · ${subject.name}`);
      samples.set(`${shape.name}|${subject.name}`, [...of(shape, subject), await deps.measure(subject, shape)]);
    }
  }
  const [direct] = subjects;
  const rows = (shape: Shape): Record<string, SampleStats> =>
    Object.fromEntries(
      pairs
        .filter((pair) => pair.shape === shape)
        .map(({ subject }) => [subject.name, statsOf(of(shape, subject), of(shape, direct))]),
    );
  return Object.fromEntries(shapes.map((shape) => [shape.name, rows(shape)]));
}
