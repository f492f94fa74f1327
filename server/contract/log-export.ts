/** Log rows as text for spreadsheets and programs. */
import type { Log } from './entities.ts';
import { csvLine, safeJson } from './safe-text.ts';

export const logFormats = ['csv', 'jsonl'] as const;
export type LogFormat = (typeof logFormats)[number];

const columns = [
  'id',
  'created_at',
  'type',
  'request_id',
  'username',
  'token_name',
  'group',
  'model_name',
  'channel',
  'is_stream',
  'use_time',
  'prompt_tokens',
  'completion_tokens',
  'quota',
  'usage_source',
  'end_reason',
  'content',
  'other',
] as const satisfies readonly (keyof Log)[];

/** What stands before the rows; '' for JSON lines. */
export const logHeader = (format: LogFormat): string => (format === 'csv' ? `${columns.join(',')}\r\n` : '');

export const logLine = (format: LogFormat, row: Log): string =>
  format === 'csv' ? `${csvLine(columns.map((name) => String(row[name])))}\r\n` : `${safeJson(row)}\n`;
