/** The peers of this machine, for the control thread: receives their reports, and reports this machine's health. */

import { createMembers } from '../../../db/postgres/members.ts';
import {
  createNotificationListener,
  type NotificationListener,
  notifyOver,
  openListenerConnection,
} from '../../../db/postgres/notifications.ts';
import type { PostgresDatabase } from '../../../db/postgres/open.ts';
import type { NodeCount } from '../../contract/snapshot.ts';
import { sleep, type Timers } from '../../contract/timers.ts';
import type { HealthReport } from '../../relay/routing/health-report.ts';
import { createHealthBroadcast } from './health-broadcast.ts';

export interface Peers {
  broadcast(healthReport: HealthReport): void;
  stop(): void;
}

export interface PeersDeps {
  readonly database: PostgresDatabase;
  /** Name of this machine. */
  readonly node: string;
  /** Id of this process. */
  readonly run: string;
  readonly timers: Timers;
  /** How far the change feed has been read, null = not begun. */
  readonly follows: () => string | null;
  /** When everything that could be known was known, by the steady clock. */
  readonly knownAt: () => number;
  /** Something has changed. */
  readonly changed: () => void;
  readonly received: (healthReport: HealthReport) => void;
  /** Limits are shared by so many nodes. */
  readonly nodes: (count: NodeCount) => void;
  readonly stats: () => Readonly<Record<string, unknown>>;
  readonly report: (error: unknown) => void;
}

const changesChannel = 'gateway_changes';
const healthChannel = 'gateway_heard';
const reportMs = 3000;
const percent = 100;

/** Cores that this process has used since the last question, in hundredths. */
function createLoad(now: () => number): () => number {
  let last = { at: now(), used: process.cpuUsage() };
  return () => {
    const used = process.cpuUsage(last.used);
    const at = now();
    const share = (used.user + used.system) / 1000 / Math.max(1, at - last.at);
    last = { at, used: process.cpuUsage() };
    return Math.round(share * percent);
  };
}

/** Resolves when it knows of the others, or that the database does not say. */
export async function startPeers(deps: PeersDeps): Promise<Peers> {
  const { database, timers } = deps;
  const { monoNow } = timers;
  const notify = notifyOver(database.pool);
  const members = createMembers(database);
  const load = createLoad(monoNow);
  const healthBroadcast = createHealthBroadcast({
    from: deps.run,
    notify: (payload) => notify(healthChannel, payload),
    monoNow,
    wait: (ms, done) => timers.set(done, ms),
  });
  let nodes: NodeCount = { live: 1, recent: 1 };
  let failing = false;

  const receive = (channel: string, payload: string) => {
    if (channel === changesChannel) return deps.changed();
    try {
      const healthReport = healthBroadcast.receive(payload);
      if (healthReport !== null) deps.received(healthReport);
    } catch (error) {
      // Another version may encode it differently.
      deps.report(error);
    }
  };
  const listener: NotificationListener = createNotificationListener({
    connect: () => openListenerConnection(database.place),
    notify,
    channels: [changesChannel, healthChannel],
    receive,
    back: deps.changed,
    name: deps.run.replaceAll('-', ''),
    wait: (ms) => sleep(timers, ms),
  });

  const check = async (): Promise<void> => {
    const stats = {
      ...deps.stats(),
      cpu_percent: load(),
      memory_bytes: process.memoryUsage.rss(),
      news_ms: Math.max(0, Math.round(monoNow() - deps.knownAt())),
      hears: listener.isListening(),
    };
    const follows = deps.follows();
    if (follows !== null) await members.report(deps.node, follows, JSON.stringify(stats));
    // A database that does not answer is no evidence against the others.
    const found = await members.sharing();
    const count = { live: Math.max(1, found.live), recent: Math.max(1, found.recent) };
    if (count.live !== nodes.live || count.recent !== nodes.recent) deps.nodes(count);
    nodes = count;
  };
  const checkOnce = () =>
    check().then(
      () => {
        failing = false;
      },
      (error: unknown) => {
        if (!failing) deps.report(error);
        failing = true;
      },
    );
  let looking = false;
  const look = () => {
    if (looking) return;
    looking = true;
    void checkOnce().finally(() => {
      looking = false;
    });
  };
  const timer = timers.every(look, reportMs);
  await checkOnce();

  return {
    broadcast: healthBroadcast.broadcast,
    stop() {
      timer.close();
      listener.close();
    },
  };
}
