/** Scheduled jobs, once for a site: cleanup, polling of running tasks, notifications. */

import type { JobLock } from '../../../db/job-lock.ts';
import type { Feed } from '../../../db/repositories/changes.ts';
import type { Services } from '../../app/services.ts';
import type { Timers } from '../../contract/timers.ts';

/** Settlements of the time in which relay threads learned of a new budget are counted in it. */
const budgetMs = 5000;
/** A key that leaks is stopped within five minutes. */
const leakMs = 30_000;
const cleanupMs = 10 * 60 * 1000;
const alertMs = 60 * 1000;
/** Between two looks at drawings and songs under way. As new-api does. */
const tasksMs = 15_000;

export interface JobsDeps {
  readonly services: Services;
  readonly feed: Feed;
  readonly turns: JobLock;
  /** Removes the nodes that are gone; where there are several. */
  readonly cleanupNodes: () => Promise<void>;
  /** Resolves when what was acknowledged can be read. */
  readonly fresh: () => Promise<boolean>;
  readonly report: (error: unknown) => void;
  readonly timers: Pick<Timers, 'now' | 'every'>;
}

/** @returns what stops them. */
export function startJobs({ services, feed, turns, cleanupNodes, fresh, report, timers }: JobsDeps): () => void {
  const cleanup = async () => {
    await services.sessions.deleteExpired();
    await services.cleanupEphemeralStore();
    await services.unsupportedMembers.deleteExpired();
    await services.wallet.sweep();
    await services.budgets.removeGone();
    await services.links.sweep();
    await services.schedules.sweep();
    const days = services.options.get('LogRetentionDays');
    await services.logs.prepare();
    if (days > 0) await services.logs.prune(Math.floor(timers.now() / 1000) - days * 86_400);
    await services.trafficRecorder.deleteOld();
    await services.tasks.sweepItems(services.options.get('ResponseItemDays'));
    await feed.trim();
    await cleanupNodes();
  };
  const alerts = async () => {
    await services.backups.tick();
    await services.proposals.tick();
    await services.alerts.check();
  };
  const jobs = [
    ['tasks', tasksMs, services.tasks.poll],
    ['low balances', alertMs, services.quotaAlerts.look],
    ['budgets used', alertMs, services.budgetAlerts.look],
    ['statements by mail', alertMs, services.schedules.tick],
    ['alerts', alertMs, alerts],
    ['leaked keys', leakMs, services.leakStop.look],
    ['budgets', budgetMs, services.budgets.tick],
    ['sweep', cleanupMs, cleanup],
  ] as const;
  const running = jobs.map(([name, everyMs, work]) => {
    const whole = async () => {
      await fresh();
      await work();
    };
    const take = () => void turns.take(name, everyMs, whole).catch(report);
    return timers.every(take, everyMs);
  });
  const shareCode = () => void services.setup.shareCode().catch(report);
  running.push(timers.every(shareCode, cleanupMs));
  shareCode();
  // Payments that were reported just before a crash.
  void services.wallet.sweep().catch(report);
  return () => {
    for (const timer of running) timer.close();
  };
}
