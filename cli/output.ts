/** Everything the commands print: tables for people, plain columns for pipes, JSON for programs. */

export type Format = 'auto' | 'json' | 'jsonl' | 'id';

export interface Column<Row> {
  readonly name: string;
  readonly value: (row: Row) => string;
  /** Numbers stand right. */
  readonly right?: boolean;
}

export interface Output {
  readonly isTty: boolean;
  readonly format: Format;
  /** Data, to stdout. */
  line(text: string): void;
  /** Data that ends its own lines. */
  raw(text: string): void;
  /** Progress and hints, to stderr. */
  note(text: string): void;
  json(value: unknown): void;
  /** A list in the chosen format. @param id what `-o id` and `-q` print. */
  list<Row>(rows: readonly Row[], columns: readonly Column<Row>[], id: (row: Row) => string): void;
  /** One object in the chosen format; `lines` is the view for people. */
  object(value: unknown, lines: readonly string[], id: string): void;
}

export interface Streams {
  readonly out: { write(text: string): unknown };
  readonly err: { write(text: string): unknown };
  readonly outIsTty: boolean;
  readonly columns: number;
}

export function createOutput(streams: Streams, format: Format): Output {
  const line = (text: string) => void streams.out.write(`${text}\n`);
  const json = (value: unknown) => line(JSON.stringify(value, null, streams.outIsTty ? 2 : undefined));
  return {
    isTty: streams.outIsTty,
    format,
    line,
    raw: (text) => void (text !== '' && streams.out.write(text)),
    note: (text) => void streams.err.write(`${text}\n`),
    json,
    list(rows, columns, id) {
      if (format === 'json') return json(rows);
      const texts =
        format === 'jsonl'
          ? rows.map((row) => JSON.stringify(row))
          : format === 'id'
            ? rows.map(id)
            : streams.outIsTty
              ? table(rows, columns, streams.columns)
              : rows.map((row) => columns.map((column) => clean(column.value(row))).join('\t'));
      for (const text of texts) line(text);
    },
    object(value, lines, id) {
      if (format === 'json') return json(value);
      if (format === 'jsonl') return line(JSON.stringify(value));
      if (format === 'id') return line(id);
      for (const text of lines) line(text);
    },
  };
}

/** Control characters of names and messages must not reach a terminal. */
export const clean = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, ' ');

const width = (text: string): number => Bun.stringWidth(text);

function fitCell(text: string, cells: number, right: boolean): string {
  let shown = text;
  if (width(shown) > cells) {
    while (shown !== '' && width(shown) > cells - 1) shown = shown.slice(0, -1);
    shown += '…';
  }
  const space = ' '.repeat(Math.max(0, cells - width(shown)));
  return right ? space + shown : shown + space;
}

function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], room: number): string[] {
  const cells = rows.map((row) => columns.map((column) => clean(column.value(row))));
  const widths = columns.map((column, index) =>
    Math.max(width(column.name), ...cells.map((row) => width(row[index] ?? ''))),
  );
  const gaps = 2 * (columns.length - 1);
  // The widest column gives way until the line fits.
  while (widths.reduce((sum, one) => sum + one, gaps) > room) {
    const widest = widths.indexOf(Math.max(...widths));
    const current = widths[widest] ?? 0;
    if (current <= 6) break;
    widths[widest] = current - 1;
  }
  const paint = (values: readonly string[]) =>
    values
      .map((value, index) => fitCell(value, widths[index] ?? 0, columns[index]?.right === true))
      .join('  ')
      .trimEnd();
  return [paint(columns.map((column) => column.name.toUpperCase())), ...cells.map(paint)];
}

/** Quota as dollars, for people. */
export const dollars = (quota: number): string => `$${(quota / 500_000).toFixed(Math.abs(quota) < 5000 ? 6 : 2)}`;

export const isoTime = (seconds: number): string => (seconds <= 0 ? '' : new Date(seconds * 1000).toISOString());
