/** Log rows as text for spreadsheets and programs. */
import type { Log } from './entities.ts';

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

/** A spreadsheet would run a text that begins like a formula. */
const harmless = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

const cell = (value: string | number | boolean): string => {
  const text = typeof value === 'string' ? harmless(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** What stands before the rows; '' for JSON lines. */
export const logHeader = (format: LogFormat): string => (format === 'csv' ? `${columns.join(',')}\r\n` : '');

export const logLine = (format: LogFormat, row: Log): string =>
  format === 'csv' ? `${columns.map((name) => cell(row[name])).join(',')}\r\n` : `${JSON.stringify(row)}\n`;
