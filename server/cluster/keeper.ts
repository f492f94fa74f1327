/** What a node does by the clock: signs of life, and what nodes that are gone have left. */
import type { Line } from '../../db/postgres/line.ts';
import { clearLeases, earlierEpochs, expireNodes, noteLeft, orphans } from '../../db/postgres/nodes.ts';
import type { LedgerCommand, LedgerResult } from '../ledger/commands.ts';
import { endFor } from '../ledger/recovery.ts';

export interface Keeper {
  /** What an earlier start of this very node has left. */
  bury(): Promise<{ readonly settled: number; readonly voided: number }>;
  start(): void;
  stop(): void;
  /** The others need not wait until its life is over. */
  leave(): Promise<void>;
}

export interface KeeperDeps {
  readonly connect: () => Promise<Line>;
  readonly name: string;
  readonly epoch: () => number;
  readonly beat: () => Promise<void>;
  readonly submit: (command: LedgerCommand) => Promise<LedgerResult>;
  readonly say: (line: string) => void;
}

const beatMs = 3000;
const lookMs = 4000;

export function createKeeper(deps: KeeperDeps): Keeper {
  let line: Line | null = null;
  let stopped = false;
  const timers: ReturnType<typeof setInterval>[] = [];
  const connected = async (): Promise<Line> => {
    if (line === null || line.broken) line = await deps.connect();
    return line;
  };
  /** @param patience as `orphans` takes it. @param of epochs, null = of all. */
  const settle = async (patience: number | undefined, of: readonly number[] | null) => {
    const count = { settled: 0, voided: 0 };
    for (const hold of await orphans(await connected(), patience, of)) {
      const end = { ...endFor(hold), provisional: true };
      await deps.submit(end);
      if (end.type === 'settle') count.settled++;
      else count.voided++;
    }
    return count;
  };

  const look = async () => {
    const gone = await expireNodes(await connected());
    if (gone.length > 0) deps.say(`nodes ${gone.join(', ')} said nothing for too long and are taken for gone`);
    await settle(undefined, null);
    await clearLeases(await connected());
  };
  /** One at a time; what fails is tried again at the next turn. */
  const every = (ms: number, work: () => Promise<void>) => {
    let running = false;
    timers.push(
      setInterval(() => {
        if (running || stopped) return;
        running = true;
        work()
          .catch(() => undefined)
          .finally(() => {
            running = false;
          });
      }, ms),
    );
  };

  return {
    async bury() {
      const own = await earlierEpochs(await connected(), deps.name, deps.epoch());
      if (own.length === 0) return { settled: 0, voided: 0 };
      await expireNodes(await connected(), own);
      const count = await settle(0, own);
      await clearLeases(await connected());
      return count;
    },
    start() {
      every(beatMs, deps.beat);
      every(lookMs, look);
    },
    stop() {
      stopped = true;
      for (const timer of timers) clearInterval(timer);
    },
    async leave() {
      try {
        await expireNodes(await connected(), [deps.epoch()]);
        await noteLeft(await connected(), deps.epoch());
        await clearLeases(await connected());
      } catch {
        // The database is away: its life ends by itself.
      }
      line?.close();
    },
  };
}
