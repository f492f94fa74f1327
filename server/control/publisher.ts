/** Follows the change feed and tells the relay what changed, whoever changed it. */

import type { SnapshotSource } from '../domain/snapshot/load.ts';
import type { Snapshot, SnapshotDelta } from '../relay/snapshot.ts';

export interface Publisher {
  start(): Promise<void>;
  /** Looks now instead of at the next tick. */
  look(): Promise<void>;
  stop(): void;
}

/** Milliseconds between looks; a change by another process takes effect within this time. */
const everyMs = 200;

export interface PublisherDeps {
  readonly source: SnapshotSource;
  readonly publish: (news: Snapshot | SnapshotDelta) => void;
  /** Called before news of changed options go out. */
  readonly optionsChanged: () => Promise<void>;
  readonly report: (error: unknown) => void;
}

export function createPublisher(deps: PublisherDeps): Publisher {
  let seq = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  let looking: Promise<void> | null = null;

  const lookOnce = async () => {
    const news = await deps.source.since(seq);
    if (news === null) return;
    if (Object.keys(news.options).length > 0) await deps.optionsChanged();
    seq = news.seq;
    deps.publish(news);
  };
  const look = (): Promise<void> => {
    looking ??= lookOnce()
      .catch(deps.report)
      .finally(() => {
        looking = null;
      });
    return looking;
  };

  return {
    async start() {
      const snapshot = await deps.source.load();
      seq = snapshot.seq;
      deps.publish(snapshot);
      timer = setInterval(() => void look(), everyMs);
    },
    look,
    stop: () => clearInterval(timer),
  };
}
