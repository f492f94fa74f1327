/** Reads what the board shows: the last minute and new rows of the log often, the hour and its curves seldom. */
import { dataDirFiles, lockOwner } from '../../server/app/data-dir.ts';
import type { Log } from '../../server/contract/entities.ts';
import type { Context } from '../context.ts';
import { addressOf } from './access.ts';
import type { BoardData, BoardKey } from './board.ts';
import { minuteOf, newRow, percent, perMinute, type Top, topOf, withMinute } from './top.ts';

/** Milliseconds for which the figures of the hour hold. */
const slowMs = 10_000;
const historySeconds = 3 * 3600;
/** Rows of the log that can be scrolled through. */
const maxLog = 500;
const firstLog = 100;

const asKey = ({ id, name, user, charge }: BoardData['recent']['keys'][number]) => ({
  id,
  name,
  user,
  charged: charge,
});

interface Slow {
  readonly top: Top;
  readonly keys: readonly Omit<BoardKey, 'minute'>[];
  readonly history: BoardData['history'];
}

export class BoardSource {
  private slow: Slow | null = null;
  private slowAt = 0;
  private log: readonly Log[] = [];
  private last: BoardData | null = null;
  private site = '';

  constructor(private readonly context: Context) {}

  /** Without a server nothing new comes, and who holds the data directory keeps one from starting. */
  private get served(): boolean {
    const { url, dataDir, env } = this.context;
    return url !== '' || Boolean(env.DATABASE_URL) || lockOwner(dataDirFiles(dataDir)) !== null;
  }

  /** Figures of the hour are read again at the next call. */
  forget(): void {
    this.slowAt = 0;
  }

  async read(): Promise<BoardData> {
    const { served, last } = this;
    if (!served && last !== null && !last.served) return { ...last, at: Date.now() };
    try {
      this.last = await this.readAll(served);
      return this.last;
    } finally {
      if (!served) await this.context.close();
    }
  }

  private async readAll(served: boolean): Promise<BoardData> {
    const { context } = this;
    const client = await context.client();
    const { slow } = this;
    const isFresh = slow !== null && Date.now() - this.slowAt < slowMs;
    // Rows of a clock that was ahead stand before newer ones: the first is not always the newest.
    const newest = this.log.reduce((most, { id }) => Math.max(most, id), -1);
    const [figures, recent, rows] = await Promise.all([
      isFresh ? slow : this.readSlow(),
      client.call('traffic.now'),
      client.call('log.tail', { after: newest, limit: newest < 0 ? firstLog : maxLog }),
    ]);
    if (rows.length > 0)
      this.log = [...this.log, ...rows.filter(({ id }) => id > newest)]
        .toSorted((a, b) => b.created_at - a.created_at || b.id - a.id)
        .slice(0, maxLog);
    if (this.site === '') this.site = String((await client.call('status.get')).system_name ?? '');
    const used = new Map(recent.keys.map((one) => [one.id, one]));
    return {
      ...{ served, recent, site: this.site, log: this.log, history: figures.history, at: Date.now() },
      place: context.url === '' && !served ? context.dataDir : addressOf(context),
      top: withMinute(figures.top, recent),
      keys: [
        ...figures.keys.map((row) => ({ ...row, minute: minuteOf(used.get(row.id), recent.seconds) })),
        ...recent.keys
          .filter(({ id }) => !figures.keys.some((row) => row.id === id))
          .map((one) => ({ ...newRow(one, recent.seconds), ...asKey(one) })),
      ],
    };
  }

  private async readSlow(): Promise<Slow> {
    const { context } = this;
    const client = await context.client();
    const end = Math.floor(Date.now() / 1000);
    const [top, keys, whole] = await Promise.all([
      topOf(context),
      client.call('traffic.all', { range: '1h', by: 'token', points: false, limit: 200 }),
      client.call('traffic.all', { start_timestamp: end - historySeconds, end_timestamp: end, step: '5m' }),
    ]);
    const points = new Map(whole.series[0]?.points.map((point) => [point.at, point]));
    const steps = Array.from({ length: Math.round((whole.to - whole.from) / whole.step) }, (_, at) =>
      points.get(whole.from + at * whole.step),
    );
    this.slow = {
      top,
      keys: keys.series
        .filter(({ id }) => id > 0)
        .map(({ id, name, username, total }) => ({
          ...{ id, name, user: username, charged: total.charge },
          requests_per_minute: perMinute(total.requests),
          success: percent(total.requests - total.errors, total.requests),
          ...{ first_token: total.first_token.p50, p95: total.latency.p95, tokens_per_second: total.tokens_per_second },
        })),
      history: {
        requests: steps.map((point) => point?.requests ?? 0),
        errors: steps.map((point) => point?.errors ?? 0),
        p95: steps.map((point) => point?.latency.p95 ?? 0),
        charge: steps.map((point) => point?.charge ?? 0),
      },
    };
    this.slowAt = Date.now();
    return this.slow;
  }
}
