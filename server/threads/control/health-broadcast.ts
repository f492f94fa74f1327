/**
 * What relays have learnt of channels and conversations, sent to other nodes: collected for a moment, in pieces that a
 * notice can carry. Each node has its own clock, so waits travel as how long they last.
 */
import {
  type ChannelReport,
  type HealthReport,
  type Kept,
  type KeyReport,
  type PairReport,
  shiftedChannel,
  shiftedPair,
} from '../../relay/routing/health-report.ts';

/** A notice of PostgreSQL has less than 8,000 bytes. */
const maxBytes = 7900;
/** A later message is of less use; an earlier one costs more messages. */
const batchMs = 200;
/** More conversations than fit are left out: a request that reaches another node then pays for its prompt once. */
const maxNotifications = 16;

type Item =
  | readonly [kind: 'c', report: ChannelReport]
  | readonly [kind: 'p', report: PairReport]
  | readonly [kind: 's', conversation: string, channelId: number, keyIndex?: number]
  | readonly [kind: 'k', id: string, kept: Kept]
  | readonly [kind: 'u', report: KeyReport];

interface Notice {
  readonly from: string;
  readonly items: readonly Item[];
}

/** In pieces of so many bytes; an item that fits into none is left out. */
function chunks(from: string, items: readonly Item[]): string[] {
  const empty = JSON.stringify({ from, items: [] } satisfies Notice).length;
  const texts: string[] = [];
  let chunk: string[] = [];
  let size = empty;
  const close = () => {
    if (chunk.length > 0) texts.push(`{"from":${JSON.stringify(from)},"items":[${chunk.join(',')}]}`);
    chunk = [];
    size = empty;
  };
  for (const item of items) {
    const text = JSON.stringify(item);
    const bytes = Buffer.byteLength(text) + 1;
    if (empty + bytes > maxBytes) continue;
    if (size + bytes > maxBytes) close();
    chunk.push(text);
    size += bytes;
  }
  close();
  return texts.slice(0, maxNotifications);
}

export interface HealthBroadcast {
  /** Reports to other machines. @param healthReport of this machine's relays. */
  broadcast(healthReport: HealthReport): void;
  /** @returns null for its own messages, and for unreadable ones. */
  receive(payload: string): HealthReport | null;
}

export interface HealthBroadcastDeps {
  /** Names this machine's process. */
  readonly from: string;
  readonly notify: (payload: string) => Promise<void>;
  /** Milliseconds of the clock that this machine's relays go by. */
  readonly monoNow: () => number;
  readonly wait: (ms: number, done: () => void) => unknown;
}

export function createHealthBroadcast(deps: HealthBroadcastDeps): HealthBroadcast {
  let channels = new Map<number, ChannelReport>();
  let pairs = new Map<number, PairReport>();
  let kept = new Map<string, Kept>();
  let served = new Map<string, HealthReport['served'][number]>();
  let keys = new Map<string, KeyReport>();
  let waiting = false;

  const flush = () => {
    waiting = false;
    const now = deps.monoNow();
    const items: Item[] = [
      ...[...channels.values()].map((report): Item => ['c', shiftedChannel(report, -now)]),
      ...[...pairs.values()].map((report): Item => ['p', shiftedPair(report, -now)]),
      ...[...kept].map(([id, one]): Item => ['k', id, one]),
      ...[...keys.values()].map((report): Item => ['u', report]),
      // The newest first: they are the ones that come back soon.
      ...[...served.values()].reverse().map((one): Item => ['s', ...one]),
    ];
    channels = new Map();
    pairs = new Map();
    kept = new Map();
    served = new Map();
    keys = new Map();
    // reason: other machines that hear nothing learn by themselves.
    for (const payload of chunks(deps.from, items)) void deps.notify(payload).catch(() => undefined);
  };

  return {
    broadcast(healthReport) {
      for (const word of healthReport.channels) channels.set(word.channelId, word);
      for (const word of healthReport.pairs) pairs.set(word.id, word);
      for (const [id, one] of healthReport.kept) kept.set(id, one);
      for (const one of healthReport.served) served.set(one[0], one);
      for (const one of healthReport.keys ?? []) keys.set(`${one.channelId} ${one.name}`, one);
      if (waiting) return;
      waiting = true;
      deps.wait(batchMs, flush);
    },
    receive(payload) {
      const { from, items } = JSON.parse(payload) as Notice;
      if (from === deps.from) return null;
      const now = deps.monoNow();
      const words = items.flatMap((item) => (item[0] === 'u' ? [item[1]] : []));
      return {
        channels: items.flatMap((item) => (item[0] === 'c' ? [shiftedChannel(item[1], now)] : [])),
        pairs: items.flatMap((item) => (item[0] === 'p' ? [shiftedPair(item[1], now)] : [])),
        kept: items.flatMap((item) => (item[0] === 'k' ? [[item[1], item[2]] as const] : [])),
        served: items.flatMap((item) => (item[0] === 's' ? [[item[1], item[2], item[3] ?? -1] as const] : [])),
        ...(words.length === 0 ? {} : { keys: words }),
      };
    },
  };
}
