/** What monitors read, in Prometheus' text form. Names follow its conventions: base units, `_total` for what only grows. */
import { collectDefaultMetrics, Registry } from 'prom-client';

import { commitBounds, type Distribution, durationBounds } from '../../relay/shared/stats.ts';
import type { ThreadStats } from '../../threads/relay/messages.ts';
import type { SignInCount } from './sign-ins.ts';

export interface SiteStats {
  readonly relayThreads: readonly { readonly thread: number; readonly stats: ThreadStats }[];
  readonly status: {
    readonly late: number;
    readonly rejected: number;
    readonly pending: number;
    readonly failure: string;
  };
  /** Times a relay thread stood still. */
  readonly stalls: number;
  /** Milliseconds that the oldest settlement without an answer waits. */
  readonly oldestPendingMs: number;
  readonly version: string;
  /** Quota of one US dollar. */
  readonly quotaPerUnit: number;
  /** How long its leases last without the database; null = the database is a file. */
  readonly leaseSeconds: number | null;
  /** Steps of programs that sign in, since the start. */
  readonly signIns: readonly SignInCount[];
}

type Labels = Readonly<Record<string, string | number>>;
interface Value {
  readonly labels: Labels;
  readonly value: number;
  readonly metricName?: string;
}
interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly values: readonly Value[];
}

/** Every name that a dashboard or an alert may refer to, apart from those of the process itself. */
export const metricNames = [
  'gateway_build_info',
  'gateway_requests_total',
  'gateway_refusals_total',
  'gateway_tokens_total',
  'gateway_charged_dollars_total',
  'gateway_upstream_calls_total',
  'gateway_chain_targets_total',
  'gateway_responses_sockets',
  'gateway_responses_sockets_kept_bytes',
  'gateway_request_duration_seconds',
  'gateway_first_byte_seconds',
  'gateway_commit_seconds',
  'gateway_open_requests',
  'gateway_channel_up',
  'gateway_loop_delay_seconds',
  'gateway_relay_stalls_total',
  'gateway_settlements_owed',
  'gateway_settlement_oldest_seconds',
  'gateway_settlements_late_total',
  'gateway_settlements_refused_total',
  'gateway_defects_total',
  'gateway_refused_member_attempts_total',
  'gateway_other_model_answers_total',
  'gateway_sign_in_steps_total',
  'gateway_storage_up',
  'gateway_lease_seconds',
] as const;
export type MetricName = (typeof metricNames)[number];

const family = (name: MetricName, type: Family['type'], help: string, values: readonly Value[]): Family => ({
  name,
  type,
  help,
  values,
});

function distribution(name: string, labels: Labels, bounds: readonly number[], { counts, sum }: Distribution): Value[] {
  let below = 0;
  const buckets = [...bounds, Number.POSITIVE_INFINITY].map((bound, at): Value => {
    below += counts[at] ?? 0;
    const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : bound / 1000;
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum / 1000 },
    { metricName: `${name}_count`, labels, value: below },
  ];
}

/** Requests, tokens, money and times, by model, channel and operation. */
function traffic({ relayThreads, quotaPerUnit }: SiteStats): Family[] {
  const rows = relayThreads.flatMap(({ thread, stats }) =>
    stats.series.map((series) => ({
      series,
      labels: {
        model: series.model,
        channel: String(series.channelId),
        operation: series.operation,
        relay: String(thread),
      },
    })),
  );
  const each = (of: (row: (typeof rows)[number]) => readonly Value[]) => rows.flatMap(of);
  return [
    family('gateway_requests_total', 'counter', 'Requests that reached admission, by how they ended.', [
      ...each(({ series, labels }) =>
        Object.entries(series.ends).map(([end, value]) => ({ labels: { ...labels, end }, value })),
      ),
    ]),
    family('gateway_tokens_total', 'counter', 'Tokens that were billed.', [
      ...each(({ series, labels }) => [
        { labels: { ...labels, direction: 'input' }, value: series.inputTokens },
        { labels: { ...labels, direction: 'output' }, value: series.outputTokens },
      ]),
    ]),
    family('gateway_charged_dollars_total', 'counter', 'What was charged, in US dollars.', [
      ...each(({ series, labels }) => [{ labels, value: series.charged / quotaPerUnit }]),
    ]),
    family('gateway_upstream_calls_total', 'counter', 'Calls of upstreams, retries included.', [
      ...each(({ series, labels }) => [{ labels, value: series.attempts }]),
    ]),
    family(
      'gateway_chain_targets_total',
      'counter',
      'Targets of virtual models that requests came to, by result: served, why it failed, uncovered, limits or no_price.',
      relayThreads.flatMap(({ thread, stats }) =>
        stats.targets.map(({ virtualModel, model, result, count }) => ({
          labels: { virtual_model: virtualModel, model, result, relay: String(thread) },
          value: count,
        })),
      ),
    ),
    family('gateway_request_duration_seconds', 'histogram', 'From the first byte of a request to its last.', [
      ...each(({ series, labels }) =>
        distribution('gateway_request_duration_seconds', labels, durationBounds, series.duration),
      ),
    ]),
    family('gateway_first_byte_seconds', 'histogram', 'To the first byte of the answer.', [
      ...each(({ series, labels }) =>
        distribution('gateway_first_byte_seconds', labels, durationBounds, series.firstByte),
      ),
    ]),
  ];
}

/** How this process stands. */
function condition({
  relayThreads,
  status,
  stalls,
  oldestPendingMs,
  version,
  leaseSeconds,
  signIns,
}: SiteStats): Family[] {
  const by = (of: (stats: ThreadStats) => readonly Value[]) =>
    relayThreads.flatMap(({ thread, stats }) =>
      of(stats).map((value) => ({ ...value, labels: { ...value.labels, relay: String(thread) } })),
    );
  const one = (value: number): Value[] => [{ labels: {}, value }];
  return [
    family('gateway_build_info', 'gauge', 'Always 1; the version is a label.', [{ labels: { version }, value: 1 }]),
    family('gateway_refusals_total', 'counter', 'Requests that ended before a channel was asked, by error code.', [
      ...by(({ refusals }) => Object.entries(refusals).map(([code, value]) => ({ labels: { code }, value }))),
    ]),
    family('gateway_commit_seconds', 'histogram', 'From the end of an answer to its bill on disk.', [
      ...relayThreads.flatMap(({ thread, stats }) =>
        distribution('gateway_commit_seconds', { relay: String(thread) }, commitBounds, stats.commit),
      ),
    ]),
    family(
      'gateway_open_requests',
      'gauge',
      'Requests under way.',
      by(({ open }) => one(open)),
    ),
    family(
      'gateway_responses_sockets',
      'gauge',
      'Open WebSockets for responses.',
      by(({ sockets }) => one(sockets.open)),
    ),
    family(
      'gateway_responses_sockets_kept_bytes',
      'gauge',
      'Conversations kept for them, at most 32 MB a thread.',
      by(({ sockets }) => one(sockets.keptBytes)),
    ),
    family('gateway_channel_up', 'gauge', '1 = in use; 0 = cooling down, ejected or disabled.', [
      ...by(({ channels }) =>
        channels.map(({ id, name, condition: word }) => ({
          labels: { channel: String(id), name, condition: word },
          value: word === 'up' ? 1 : 0,
        })),
      ),
    ]),
    family('gateway_loop_delay_seconds', 'gauge', 'How late the event loop was since the last scrape.', [
      ...by(({ loop }) =>
        loop === null
          ? []
          : [
              { labels: { stat: 'median' }, value: loop.median / 1000 },
              { labels: { stat: 'p99' }, value: loop.p99 / 1000 },
              { labels: { stat: 'max' }, value: loop.max / 1000 },
            ],
      ),
    ]),
    family('gateway_relay_stalls_total', 'counter', 'Times a relay thread stood still for 2 seconds.', one(stalls)),
    family('gateway_settlements_owed', 'gauge', 'Bills that are not on disk yet.', one(status.pending)),
    family('gateway_settlement_oldest_seconds', 'gauge', 'Age of the oldest of them.', one(oldestPendingMs / 1000)),
    family('gateway_settlements_late_total', 'counter', 'Answers that went out before their bill.', one(status.late)),
    family('gateway_settlements_refused_total', 'counter', 'Bills the ledger turned down.', one(status.rejected)),
    family(
      'gateway_defects_total',
      'counter',
      'Requests that met a defect of the program; the stack is in the log under the id of the request.',
      by(({ defects }) => one(defects)),
    ),
    family(
      'gateway_refused_member_attempts_total',
      'counter',
      'Further attempts without a member that an upstream refused; `answered` are those of them that it answered.',
      by(({ withoutMember }) =>
        Object.entries(withoutMember).map(([result, value]) => ({ labels: { result }, value })),
      ),
    ),
    family(
      'gateway_other_model_answers_total',
      'counter',
      'Answers of another model than was sent, as the upstream says.',
      by(({ otherModels }) =>
        otherModels.map(({ channelId, sent, answered, count }) => ({
          labels: { channel: String(channelId), sent, answered },
          value: count,
        })),
      ),
    ),
    family(
      'gateway_sign_in_steps_total',
      'counter',
      'Steps of programs that sign in, by how they ended: ok, or the word of the refusal.',
      signIns.map(({ step, result, count }) => ({ labels: { step, result }, value: count })),
    ),
    family('gateway_storage_up', 'gauge', '0 = nothing is sold.', one(status.failure === '' ? 1 : 0)),
    family(
      'gateway_lease_seconds',
      'gauge',
      'For how long this node serves without the database, less three seconds; a dead one’s leases are free five later.',
      leaseSeconds === null ? [] : one(leaseSeconds),
    ),
  ];
}

/** Those of the process itself are prom-client's own: memory, CPU, descriptors. */
export function createExposition(read: () => Promise<SiteStats>): { text(): Promise<string>; contentType: string } {
  const own = new Registry();
  collectDefaultMetrics({ register: own });
  // Gauges that are named like counters, and are zero under this runtime.
  for (const name of ['handles', 'requests', 'resources']) own.removeSingleMetric(`nodejs_active_${name}_total`);
  // This runtime has none of these spaces: to name its one heap so, it collects all of it at each reading.
  for (const name of ['total', 'used', 'available']) own.removeSingleMetric(`nodejs_heap_space_size_${name}_bytes`);
  return {
    contentType: own.contentType,
    async text() {
      const site = await read();
      const once = new Registry();
      // The library writes out whatever says its values: ours are counted in the relays, where nothing may cost.
      for (const { values, ...rest } of [...condition(site), ...traffic(site)])
        once.registerMetric({ ...rest, aggregator: 'sum', get: async () => ({ ...rest, values }) } as never);
      return `${await once.metrics()}${await own.metrics()}`;
    },
  };
}
