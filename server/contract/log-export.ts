/** Log rows as text: a table for people, or whole rows as JSON for programs. */
import type { Log } from './entities.ts';
import { statusOf } from './log-status.ts';
import { formatUsd } from './pricing/charge.ts';
import { csvLine, safeJson } from './safe-text.ts';

export const logFormats = ['csv', 'jsonl'] as const;
export type LogFormat = (typeof logFormats)[number];

/** Decimals of the smallest amount there is. */
const dollarDecimals = (perUnit: number): number => Math.max(6, Math.ceil(Math.log10(perUnit)));

const usd = (quota: number, perUnit: number): string =>
  `${quota < 0 ? '-' : ''}${formatUsd(Math.abs(quota), dollarDecimals(perUnit), perUnit)}`;

/** Rows of other products know whole seconds alone. */
const milliseconds = ({ other, use_time: seconds }: Log): string =>
  /"ms":(\d+)/.exec(other)?.[1] ?? String(seconds * 1000);

const types = ['unknown', 'topup', 'consume', 'manage', 'system', 'error'] as const;

type Column = (row: Log, perUnit: number) => string | number | boolean;

/** By heading, in their order. */
const columns: Readonly<Record<string, Column>> = {
  // As spreadsheets read a time.
  time_utc: (row) => new Date(row.created_at * 1000).toISOString().slice(0, 19).replace('T', ' '),
  type: (row) => types[row.type] ?? 'unknown',
  status: (row) => statusOf(row),
  user: (row) => row.username,
  key: (row) => row.token_name,
  group: (row) => row.group,
  model: (row) => row.model_name,
  channel: (row) => (row.channel === 0 ? '' : row.channel),
  channel_name: (row) => row.channel_name,
  stream: (row) => row.is_stream,
  duration_ms: milliseconds,
  input_tokens: (row) => row.prompt_tokens,
  output_tokens: (row) => row.completion_tokens,
  usd: (row, perUnit) => usd(row.quota, perUnit),
  quota: (row) => row.quota,
  usage_source: (row) => row.usage_source,
  end_reason: (row) => row.end_reason,
  content: (row) => row.content,
  request_id: (row) => row.request_id,
  id: (row) => row.id,
};

/** What stands before the rows; '' for JSON lines. */
export const logHeader = (format: LogFormat): string =>
  format === 'csv' ? `${Object.keys(columns).join(',')}\r\n` : '';

/** @param quotaPerUnit quota that is worth a dollar. */
export const logLine = (format: LogFormat, row: Log, quotaPerUnit: number): string =>
  format === 'csv'
    ? `${csvLine(Object.values(columns).map((value) => String(value(row, quotaPerUnit))))}\r\n`
    : `${safeJson(row)}\n`;
