/**
 * Three times as much as can be served: how many are turned away, how those fare who are let in, and how soon it is over.
 * Load, upstream and the reader of the console are processes of their own, each of which says how late it was itself;
 * the gateway has one core, where processes can be kept on one, and they have another.
 */
import { join } from 'node:path';
import { canPin, cores } from '../../../cli/bench/machine.ts';
import { converse } from '../../../cli/bench/process.ts';
import type { Goal } from '../bench/goal.ts';
import type {
  Distribution,
  LoadOrder,
  LoadReport,
  PhaseReport,
  ReaderOrder,
  ReaderReport,
  UpstreamOrder,
  UpstreamReady,
  UpstreamReport,
} from './overload/messages.ts';
import { threadTimes } from './overload/thread-times.ts';
import { flag, maxGoal, minGoal, openSite, type ProbeSite } from './site.ts';

interface Part {
  /** @returns the next message that it sends. */
  next<T>(): Promise<T>;
  /** Asks for its report. */
  report<T>(): Promise<T>;
}

type Order = LoadOrder | UpstreamOrder | ReaderOrder;

function part(name: 'load' | 'upstream' | 'console', order: Order): Part {
  let received = Promise.withResolvers<unknown>();
  const script = join(import.meta.dirname, 'overload', `${name}.ts`);
  const child = converse(canPin ? cores.around : null, [process.execPath, script, JSON.stringify(order)], (message) => {
    received.resolve(message);
    received = Promise.withResolvers();
  });
  const next = <T>() => received.promise as Promise<T>;
  return {
    next,
    report<T>() {
      const answer = next<T>();
      child.send('report');
      return answer;
    },
  };
}

const ms = ({ p50, p99, max }: Distribution): string =>
  `p50 ${p50.toFixed(0)} p99 ${p99.toFixed(0)} most ${max.toFixed(0)} ms`;

function print(phase: PhaseReport): void {
  const { name, due, queued, completed, rejected, failed, lastRefusal } = phase;
  const offered = due === 0 ? 0 : (rejected / due) * 100;
  console.log(
    `${name}: ${due} due, ${completed} served, ${rejected} turned away (${offered.toFixed(0)} %), ${failed} failed; ${queued} found no free connection; last refusal after ${lastRefusal.toFixed(0)} ms`,
  );
  console.log(`  let in, from due ${ms(phase.fromDue)}; from written ${ms(phase.fromWritten)}`);
  if (rejected > 0) console.log(`  turned away, from written ${ms(phase.rejectedAfterWrite)}`);
}

const load = (site: ProbeSite, order: Omit<LoadOrder, 'port' | 'token'>): Promise<LoadReport> =>
  part('load', { ...order, port: site.port, token: site.token }).next<LoadReport>();

const warmupMs = 3000;
/** The first part of the overload does not count: it is not detected yet. */
const unknownMs = 2000;

export async function overload(args: readonly string[]): Promise<readonly Goal[]> {
  const seconds = flag(args, '--seconds', 10);
  const connections = flag(args, '--connections', 6000);
  const upstream = part('upstream', { delayMs: flag(args, '--upstream-ms', 50) });
  const { slow, instant } = await upstream.next<UpstreamReady>();
  console.log(
    canPin
      ? `the gateway on core ${cores.measured}; load, upstream and the console's reader on core ${cores.around}`
      : 'processes cannot be kept on cores of their own here: gateway, load, upstream and reader share all of them',
  );
  const site = await openSite(
    [
      { name: 'slow', url: slow, models: 'm' },
      { name: 'instant', url: instant, models: 'n' },
    ],
    [],
    {},
    canPin ? cores.measured : null,
  );
  // Until what is called often has been compiled.
  for (const model of ['m', 'n']) await load(site, { model, connections: 48, phases: [], ms: warmupMs });
  const full = await load(site, { model: 'n', connections: 48, phases: [], ms: 4000 });
  const capacity = full.perSecond;
  console.log(`capacity ${capacity.toFixed(0)} requests/s; load late ${ms(full.lateness)}`);
  await upstream.report<UpstreamReport>();
  const calm = await load(site, {
    ...{ model: 'm', connections: 1000, ms: 0 },
    phases: [{ name: 'unloaded', perSecond: capacity * 0.2, ms: 4000 }],
  });
  const [unloaded] = calm.phases as [PhaseReport];
  print(unloaded);
  console.log(
    `  load late ${ms(calm.lateness)}; upstream late ${ms((await upstream.report<UpstreamReport>()).lateness)}`,
  );
  const console_ = part('console', { url: `${site.url}/api/status`, everyMs: 50 });
  await console_.next();
  const threads = threadTimes(site.pid());
  const report = await load(site, {
    ...{ model: 'm', connections, ms: 0 },
    phases: [
      { name: 'first', perSecond: capacity * 3, ms: unknownMs },
      { name: 'overload', perSecond: capacity * 3, ms: seconds * 1000 },
      { name: 'after', perSecond: capacity * 0.2, ms: 4000 },
    ],
  });
  const reads = await console_.report<ReaderReport>();
  const [first, over, after] = report.phases as [PhaseReport, PhaseReport, PhaseReport];
  for (const phase of [first, over, after]) print(phase);
  console.log(`console: ${reads.requested} asked, ${reads.failed} failed, ${ms(reads.times)}`);
  const upstreamReport = await upstream.report<UpstreamReport>();
  console.log(
    `  late: load ${ms(report.lateness)}; upstream ${ms(upstreamReport.lateness)}; reader ${ms(reads.lateness)}`,
  );
  console.log(`  upstream asked ${upstreamReport.requested}; CPU of the gateway's threads: ${threads()}`);
  await site.run(['ledger', 'verify']);
  site.signal('SIGTERM');
  await site.ended();
  site.remove();
  return [
    minGoal('turned away', (over.rejected / over.due) * 100, 50, '%'),
    maxGoal('p99 of who is let in, by unloaded', over.fromWritten.p99 / unloaded.fromWritten.p99, 2, 'times'),
    maxGoal('p99 of the console', reads.times.p99, 300, 'ms'),
    maxGoal('looks at the console that failed', reads.failed, 0, ''),
    maxGoal('last refusal after it', after.lastRefusal, 2000, 'ms'),
  ];
}
