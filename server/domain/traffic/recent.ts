/**
 * The last minute, from the rows of the log: exact where the windows of traffic are too coarse. Where more ended than are
 * read, the newest are, and `seconds` says how far back they reach; rates are of these seconds.
 */
import type { Database } from '../../../db/open.ts';
import { createLogsRepository, type LogRow } from '../../../db/repositories/logs.ts';
import { LogType } from '../../contract/enum.ts';

const minuteSeconds = 60;
/** So many rows are read in some 10 ms. */
const maxRows = 2000;

export interface RecentFigures {
  /** Requests, by channel attempts: counted as `contract/counted.ts` says. */
  readonly count: number;
  readonly failed: number;
  /** Milliseconds, of what was answered; null = nothing was. */
  readonly p95: number | null;
  readonly first_token: number | null;
  readonly tokens_per_second: number | null;
  /** Quota. */
  readonly charge: number;
}

export interface Recent {
  /** Seconds that the figures are about. */
  readonly seconds: number;
  readonly refused: number;
  readonly total: RecentFigures;
  readonly channels: readonly (RecentFigures & { readonly id: number })[];
  readonly models: readonly (RecentFigures & { readonly name: string })[];
  readonly keys: readonly (RecentFigures & { readonly id: number; readonly name: string; readonly user: string })[];
}

/** What rows of one kind say together. */
class Tally {
  private count = 0;
  private failed = 0;
  private charge = 0;
  private streamMs = 0;
  private streamTokens = 0;
  private readonly times: number[] = [];
  private readonly firsts: number[] = [];

  add(row: RowFacts): void {
    this.count++;
    this.charge += row.charge;
    if (row.failed) this.failed++;
    if (!row.answered) return;
    this.times.push(row.ms);
    if (row.first === null) return;
    this.firsts.push(row.first);
    if (row.ms <= row.first) return;
    this.streamMs += row.ms - row.first;
    this.streamTokens += row.tokens;
  }

  attemptFailed(): void {
    this.count++;
    this.failed++;
  }

  figures(): RecentFigures {
    const { count, failed, charge, streamMs, streamTokens } = this;
    return {
      ...{ count, failed, charge },
      p95: shareOf(this.times, 0.95),
      first_token: shareOf(this.firsts, 0.5),
      tokens_per_second: streamMs === 0 ? null : Math.round((streamTokens * 10_000) / streamMs) / 10,
    };
  }
}

/** One of the values themselves: never above the largest. */
function shareOf(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}

interface RowFacts {
  readonly failed: boolean;
  /** By an upstream, in part or whole. */
  readonly answered: boolean;
  readonly ms: number;
  readonly first: number | null;
  readonly tokens: number;
  readonly charge: number;
  /** Channels that failed before another one served. */
  readonly left: readonly number[];
  readonly skipped: number;
}

function factsOf(row: LogRow): RowFacts {
  const other = membersOf(row.other);
  const number = (name: string): number | null => (typeof other[name] === 'number' ? other[name] : null);
  const { attempts = [] } = Object(other.admin_info) as { readonly attempts?: readonly Attempt[] };
  const first = number('frt');
  return {
    failed: row.end_reason !== 'completed' && row.end_reason !== 'imported' && row.end_reason !== '',
    answered: row.type === LogType.consume,
    ms: number('ms') ?? row.use_time * 1000,
    first: row.is_stream === 1 && first !== null && first >= 0 ? first : null,
    tokens: row.completion_tokens,
    charge: row.quota,
    left: attempts.slice(0, -1).flatMap(({ channel, reason }) => (reason === undefined ? [] : [channel ?? 0])),
    skipped: number('skipped') ?? 0,
  };
}

interface Attempt {
  readonly channel?: number;
  readonly reason?: string;
}

function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text || '{}')) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const tallyOf = <Key>(tallies: Map<Key, Tally>, key: Key): Tally => {
  const known = tallies.get(key) ?? new Tally();
  tallies.set(key, known);
  return known;
};

export function createRecent(deps: { readonly database: Database; readonly now: () => number }) {
  const repository = createLogsRepository(deps.database);

  return async (): Promise<Recent> => {
    const now = Math.floor(deps.now() / 1000);
    const from = now - minuteSeconds;
    const read = await repository.list({ from, ofUsers: true }, 0, maxRows);
    // Of the oldest second perhaps not all rows were read.
    const isCut = read.length === maxRows;
    const oldest = read.at(-1)?.created_at ?? from;
    const rows = isCut ? read.filter(({ created_at: at }) => at > oldest) : read;
    const [total, channels, models, keys] = [
      new Tally(),
      new Map<number, Tally>(),
      new Map<string, Tally>(),
      new Map<number, Tally>(),
    ];
    const owners = new Map<number, { readonly name: string; readonly user: string }>();
    let refused = 0;
    for (const row of rows) {
      if (row.type !== LogType.consume && row.type !== LogType.error) continue;
      const facts = factsOf(row);
      if (row.end_reason === 'refused') {
        refused += 1 + facts.skipped;
        continue;
      }
      total.add(facts);
      tallyOf(models, row.model_name).add(facts);
      for (const channel of facts.left) tallyOf(channels, channel).attemptFailed();
      if (row.channel_id !== 0) tallyOf(channels, row.channel_id).add(facts);
      if (row.token_id === 0) continue;
      owners.set(row.token_id, { name: row.token_name, user: row.username });
      tallyOf(keys, row.token_id).add(facts);
    }
    return {
      seconds: isCut ? Math.max(1, now - oldest) : minuteSeconds,
      refused,
      total: total.figures(),
      channels: [...channels].map(([id, tally]) => ({ id, ...tally.figures() })),
      models: [...models].map(([name, tally]) => ({ name, ...tally.figures() })),
      keys: [...keys].map(([id, tally]) => ({ id, name: '', user: '', ...owners.get(id), ...tally.figures() })),
    };
  };
}
