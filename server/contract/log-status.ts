/** How a row of the log ended, in the words that filters and the console use. */
import type { EndReason } from './enum.ts';

export const logStatuses = ['succeeded', 'retried', 'failed', 'refused', 'client_left', 'stopped', 'event'] as const;
export type LogStatus = (typeof logStatuses)[number];

/** Requests that got no whole answer. */
export const errorStatuses = ['failed', 'refused', 'client_left', 'stopped'] as const;
type ErrorStatus = (typeof errorStatuses)[number];

export const endReasonsOf = {
  failed: ['upstream_failed', 'upstream_broken', 'internal'],
  refused: ['refused', 'rejected'],
  client_left: ['client_gone'],
  stopped: ['stopped'],
} as const satisfies Record<ErrorStatus, readonly EndReason[]>;

/** What rows are counted by. */
export const logFacets = ['status', 'error', 'model', 'token', 'group', 'user', 'channel'] as const;
export type LogFacet = (typeof logFacets)[number];

/** Rows that are no requests have types of their own; `attempts` stands in a row where an attempt failed. */
export function statusOf(row: {
  readonly type: number;
  readonly end_reason: string;
  readonly other: string;
}): LogStatus {
  const ended = errorStatuses.find((status) => (endReasonsOf[status] as readonly string[]).includes(row.end_reason));
  if (ended !== undefined) return ended;
  if (row.type === 5) return 'failed';
  if (row.type !== 2 && row.type !== 0) return 'event';
  return row.other.includes(attemptsMember) ? 'retried' : 'succeeded';
}

/** As the relay writes it; inside a text of the row its quotes would be escaped. */
export const attemptsMember = '"attempts":[';
