/** A node's heartbeat in the database: renews its node lease, watches the other nodes, and ends the open requests of nodes that are gone. */

import { fundsOn, limitsOn, nodesNow } from '../../db/postgres/account-limits.ts';
import type { Line } from '../../db/postgres/line.ts';
import { clearLeases, earlierEpochs, expireNodes, noteDraining, noteLeft, orphans } from '../../db/postgres/nodes.ts';
import type { LedgerCommand, LedgerResult, SpendingLimits } from '../billing/ledger/commands.ts';
import { endFor } from '../billing/ledger/recovery.ts';
import type { KeyFunds } from '../contract/key-budgets.ts';

export interface NodeHeartbeat {
  /** What an earlier start of this very node has left. */
  recoverOwnEpochs(): Promise<{ readonly settled: number; readonly voided: number }>;
  /** Ends the leases of nodes that are gone, and the open requests of theirs that are due. */
  collect(): Promise<void>;
  start(): void;
  stop(): void;
  /** It is about to end: the others see it. */
  stopping(): Promise<void>;
  /** Ends the node lease at once. @param owes it has settlements that are not in the ledger yet, and still counts as missing. */
  leave(owes: boolean): Promise<void>;
  /** That are live, as far as was seen lately. */
  nodes(): number;
  limits(userId: number, tokenId: number | null): Promise<SpendingLimits | null>;
  funds(userId: number, tokenId: number): Promise<KeyFunds | null>;
  /** With NOTIFY. @throws the driver's error. */
  notify(channel: string, text: string): Promise<void>;
}

export interface NodeHeartbeatDeps {
  readonly connect: () => Promise<Line>;
  readonly name: string;
  readonly epoch: () => number;
  readonly beat: () => Promise<void>;
  /** The database is away: it is looked for more often. */
  readonly unavailable: () => boolean;
  readonly cleanup: () => void;
  readonly submit: (command: LedgerCommand) => Promise<LedgerResult>;
  readonly print: (line: string) => void;
  readonly drain: () => void;
}

const beatMs = 3000;
const unavailableMs = 500;
const checkMs = 4000;
const cleanupMs = 1000;

export function createNodeHeartbeat(deps: NodeHeartbeatDeps): NodeHeartbeat {
  let line: Promise<Line> | null = null;
  let stopped = false;
  let live = 1;
  let draining = false;
  const timers: ReturnType<typeof setInterval>[] = [];
  const connected = async (): Promise<Line> => {
    const known = await line?.catch(() => null);
    if (known?.broken === false) return known;
    line = deps.connect();
    return line;
  };
  let turn: Promise<unknown> = Promise.resolve();
  /** One piece of work at a time: some are transactions of several steps, and all share one connection. */
  const alone = <Value>(work: (on: Line) => Promise<Value>): Promise<Value> => {
    const next = turn.then(async () => work(await connected()));
    turn = next.catch(() => undefined);
    return next;
  };
  /** @param timeoutSeconds as `orphans` takes it. @param of epochs, null = of all. */
  const settle = async (timeoutSeconds: number | undefined, of: readonly number[] | null) => {
    const count = { settled: 0, voided: 0 };
    let first = '';
    for (;;) {
      const holds = await alone((on) => orphans(on, timeoutSeconds, of));
      // They come in parts and in order: one that comes again could not be settled.
      if (holds[0] === undefined || holds[0].ref === first) return count;
      first = holds[0].ref;
      for (const hold of holds) {
        const end = { ...endFor(hold), provisional: true };
        await deps.submit(end);
        if (end.type === 'settle') count.settled++;
        else count.voided++;
      }
    }
  };
  const collect = async () => {
    const expired = await alone(expireNodes);
    if (expired.length > 0) deps.print(`nodes ${expired.join(', ')} said nothing for too long and are taken for gone`);
    await settle(undefined, null);
    await alone(clearLeases);
  };

  const check = async () => {
    const { state, count } = await alone((on) => nodesNow(on, deps.epoch()));
    live = Math.max(1, count);
    if (state === 'draining' && !draining) {
      draining = true;
      deps.drain();
    }
    await collect();
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
    nodes: () => live,
    async recoverOwnEpochs() {
      const own = await alone((on) => earlierEpochs(on, deps.name, deps.epoch()));
      if (own.length === 0) return { settled: 0, voided: 0 };
      await alone((on) => expireNodes(on, own));
      const count = await settle(0, own);
      await alone(clearLeases);
      return count;
    },
    collect,
    start() {
      void check().catch(() => undefined);
      every(beatMs, deps.beat);
      every(unavailableMs, async () => {
        if (deps.unavailable()) await deps.beat();
      });
      every(checkMs, check);
      every(cleanupMs, async () => deps.cleanup());
    },
    stop() {
      stopped = true;
      for (const timer of timers) clearInterval(timer);
    },
    async stopping() {
      draining = true;
      try {
        await alone((on) => noteDraining(on, deps.epoch()));
      } catch {
        // The database is away: they see it when its life ends.
      }
    },
    async leave(owes) {
      try {
        await alone((on) => expireNodes(on, [deps.epoch()]));
        if (!owes) await alone((on) => noteLeft(on, deps.epoch()));
        await alone(clearLeases);
      } catch {
        // The database is away: its life ends by itself.
      }
      (await line?.catch(() => null))?.close();
    },
    limits: (userId, tokenId) => alone((on) => limitsOn(on, userId, tokenId)),
    funds: (userId, tokenId) => alone((on) => fundsOn(on, userId, tokenId, Date.now() / 1000)),
    async notify(channel, text) {
      await alone((on) => on.send([{ text: 'SELECT pg_notify($1, $2)', values: [channel, text] }]));
    },
  };
}
