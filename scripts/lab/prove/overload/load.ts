/** The load of the proof of overload, in a process of its own: requests at a rate, whatever becomes of those before. */
import { requestOf } from '../double.ts';
import { distributionOf, watchLoop } from './distribution.ts';
import { createLines, type Line } from './lines.ts';
import type { LoadOrder, LoadReport, Phase, PhaseReport } from './messages.ts';

const order = JSON.parse(process.argv[2] ?? '') as LoadOrder;
const bytes = Buffer.from(requestOf(order.token, order.model, 'hi', false));
/** What is still under way so long after the last phase has failed. */
const timeoutMs = 10_000;

interface PhaseCounts {
  readonly phase: Phase;
  due: number;
  queued: number;
  rejected: number;
  lastRefusal: number;
  readonly fromDue: number[];
  readonly fromWritten: number[];
  readonly rejectedAfterWrite: number[];
}

/** Each waits for a free connection from the moment it was due. */
async function runPhases(): Promise<readonly PhaseReport[]> {
  const phases = order.phases.map(
    (phase): PhaseCounts => ({
      phase,
      ...{ due: 0, queued: 0, rejected: 0, lastRefusal: 0 },
      ...{ fromDue: [], fromWritten: [], rejectedAfterWrite: [] },
    }),
  );
  const waiting: { readonly due: number; readonly counts: PhaseCounts }[] = [];
  const under = new Map<Line, { readonly due: number; readonly counts: PhaseCounts }>();
  let next = 0;
  let phaseAt = 0;
  let current: PhaseCounts | undefined;
  const send = (line: Line, one: { readonly due: number; readonly counts: PhaseCounts }) => {
    under.set(line, one);
    line.ask(bytes);
  };
  const lines = await createLines(order.port, order.connections, (line, status) => {
    const one = under.get(line);
    if (one === undefined) return;
    under.delete(line);
    const at = performance.now();
    if (status === 200) {
      one.counts.fromDue.push(at - one.due);
      one.counts.fromWritten.push(at - line.writtenAt);
    } else if (status === 503) {
      one.counts.rejected++;
      one.counts.rejectedAfterWrite.push(at - line.writtenAt);
      if (current !== undefined) current.lastRefusal = at - phaseAt;
    }
    const first = waiting[next];
    if (first === undefined) return void lines.free.push(line);
    next++;
    send(line, first);
  });
  for (const counts of phases) {
    current = counts;
    phaseAt = performance.now();
    const { perSecond, ms } = counts.phase;
    for (let now = phaseAt; now - phaseAt < ms; now = performance.now()) {
      for (const due = Math.floor(((now - phaseAt) * perSecond) / 1000); counts.due < due; counts.due++) {
        const one = { due: phaseAt + (counts.due * 1000) / perSecond, counts };
        const line = lines.free.pop();
        if (line !== undefined) send(line, one);
        else {
          waiting.push(one);
          counts.queued++;
        }
      }
      await Bun.sleep(1);
    }
  }
  const ended = performance.now();
  while (under.size > 0 && performance.now() - ended < timeoutMs) await Bun.sleep(10);
  lines.close();
  return phases.map(reportOf);
}

const reportOf = ({ phase, due, queued, rejected, lastRefusal, fromDue, ...rest }: PhaseCounts): PhaseReport => ({
  name: phase.name,
  ...{ due, queued, rejected, lastRefusal, completed: fromDue.length, failed: due - rejected - fromDue.length },
  fromDue: distributionOf(fromDue),
  fromWritten: distributionOf(rest.fromWritten),
  rejectedAfterWrite: distributionOf(rest.rejectedAfterWrite),
});

/** As many at a time as there are connections. @returns served per second. */
async function findCapacity(): Promise<number> {
  let served = 0;
  const lines = await createLines(order.port, order.connections, (line, status) => {
    if (status === 200) served++;
    line.ask(bytes);
  });
  for (const line of lines.free) line.ask(bytes);
  await Bun.sleep(order.ms / 4);
  const [before, started] = [served, performance.now()];
  await Bun.sleep(order.ms);
  const perSecond = ((served - before) * 1000) / (performance.now() - started);
  lines.close();
  return perSecond;
}

const lateness = watchLoop();
const [phases, perSecond] = order.phases.length === 0 ? [[], await findCapacity()] : [await runPhases(), 0];
process.send?.({ phases, perSecond, lateness: lateness() } satisfies LoadReport);
process.disconnect?.();
