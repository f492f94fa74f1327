/** The other machines of a site, as the control thread deals with them: it hears what they say, and says how this one stands. */

import { createMembers } from '../../../db/postgres/members.ts';
import {
  createNotificationListener,
  type NotificationListener,
  openEarLine,
  sayOver,
} from '../../../db/postgres/notifications.ts';
import type { PostgresDatabase } from '../../../db/postgres/open.ts';
import type { HealthReport } from '../../relay/routing/health-reports.ts';
import { createHealthBroadcast } from './health-broadcast.ts';

export interface Peers {
  tell(news: HealthReport): void;
  stop(): void;
}

export interface PeersDeps {
  readonly database: PostgresDatabase;
  /** Of this machine. */
  readonly node: string;
  /** Of this process. */
  readonly run: string;
  readonly steady: () => number;
  /** How far the change feed has been read, null = not begun. */
  readonly follows: () => string | null;
  /** When everything that could be known was known, by the steady clock. */
  readonly knownAt: () => number;
  /** Something has changed. */
  readonly changed: () => void;
  readonly heard: (news: HealthReport) => void;
  /** Limits are shared by so many nodes. */
  readonly nodes: (count: number) => void;
  readonly figures: () => Readonly<Record<string, unknown>>;
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
  const { database, steady } = deps;
  const say = sayOver(database.pool);
  const members = createMembers(database);
  const load = createLoad(steady);
  const gossip = createHealthBroadcast({
    from: deps.run,
    say: (payload) => say(healthChannel, payload),
    steady,
    wait: (ms, done) => setTimeout(done, ms),
  });
  let nodes = 1;
  let failing = false;

  const hear = (channel: string, payload: string) => {
    if (channel === changesChannel) return deps.changed();
    try {
      const news = gossip.hear(payload);
      if (news !== null) deps.heard(news);
    } catch (error) {
      // Another version says it otherwise.
      deps.report(error);
    }
  };
  const ear: NotificationListener = createNotificationListener({
    connect: () => openEarLine(database.place),
    say,
    channels: [changesChannel, healthChannel],
    hear,
    back: deps.changed,
    name: deps.run.replaceAll('-', ''),
    wait: (ms) => Bun.sleep(ms),
  });

  const look = async (): Promise<void> => {
    const figures = {
      ...deps.figures(),
      cpu_percent: load(),
      memory_bytes: process.memoryUsage.rss(),
      news_ms: Math.max(0, Math.round(steady() - deps.knownAt())),
      hears: ear.hears(),
    };
    const follows = deps.follows();
    if (follows !== null) await members.report(deps.node, follows, JSON.stringify(figures));
    // A database that does not answer says nothing about the others.
    const count = Math.max(1, await members.sharing());
    if (count !== nodes) deps.nodes(count);
    nodes = count;
  };
  const lookOnce = () =>
    look().then(
      () => {
        failing = false;
      },
      (error: unknown) => {
        if (!failing) deps.report(error);
        failing = true;
      },
    );
  let looking = false;
  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    void lookOnce().finally(() => {
      looking = false;
    });
  }, reportMs);
  await lookOnce();

  return {
    tell: gossip.tell,
    stop() {
      clearInterval(timer);
      ear.close();
    },
  };
}
