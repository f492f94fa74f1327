/** Log rows as text for spreadsheets and programs. */
import type { Log } from './entities.ts';
import { logColumns } from './log-columns.ts';
import { csvLine, safeJson } from './safe-text.ts';

export const logFormats = ['csv', 'jsonl'] as const;
export type LogFormat = (typeof logFormats)[number];

const columns = Object.keys(logColumns) as (keyof typeof logColumns)[];

/** What stands before the rows; '' for JSON lines. */
export const logHeader = (format: LogFormat): string => (format === 'csv' ? `${columns.join(',')}\r\n` : '');

export const logLine = (format: LogFormat, row: Log): string =>
  format === 'csv' ? `${csvLine(columns.map((name) => String(row[name])))}\r\n` : `${safeJson(row)}\n`;
