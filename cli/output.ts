/** Everything the commands print: tables for people, plain columns for pipes, JSON for programs. */
import { AppError } from '../server/contract/errors.ts';
import { csvLine, escaped, safeJson, safeLine, safeText } from '../server/contract/safe-text.ts';
import { runQuery } from './query.ts';
import { table } from './table.ts';

export const formats = ['table', 'json', 'jsonl', 'yaml', 'csv', 'id', 'env'] as const;
/** Formats that print one document with everything in it; a table has no place for some of it. */
export const isWhole = (format: Format): boolean => format === 'json' || format === 'yaml';
export type Format = (typeof formats)[number];

export interface Column<Row> {
  readonly name: string;
  /** @param rows all that are shown with it. */
  readonly value: (row: Row, rows: readonly Row[]) => string;
  /** Numbers stand right, and are never cut. */
  readonly right?: boolean;
  /** Left out first where a line is too short: the highest first. */
  readonly priority?: number;
}

export interface Output {
  /** Standard output is a terminal that can be drawn on. */
  readonly isTty: boolean;
  readonly format: Format;
  /** Cells of a line on standard output, and whether its words may be coloured. */
  readonly layout: { readonly maxWidth: number; readonly color: boolean };
  /** Data, to stdout. */
  line(text: string): void;
  /** Data that ends its own lines. */
  raw(text: string): void;
  /** Progress and hints, to stderr. */
  note(text: string): void;
  /** A list in the chosen format. @param id what `-o id` and `-q` print. */
  list<Row>(rows: readonly Row[], columns: readonly Column<Row>[], id: (row: Row) => string): void;
  /** One object in the chosen format; `lines` is the view for people. @param variables what `-o env` prints. */
  object(value: unknown, lines: readonly string[], id: string, variables?: Readonly<Record<string, string>>): void;
}

export interface Streams {
  readonly out: { write(text: string): unknown };
  readonly err: { write(text: string): unknown };
  /** For what we draw ourselves; the two above take no control characters. */
  readonly draws?: { out(text: string): unknown; err(text: string): unknown };
  readonly outIsTty: boolean;
  readonly columns: number;
  /** Colours may be used where none are asked for. */
  readonly color?: boolean;
}

export interface Shape {
  readonly format: Format;
  /** Fields of each object to keep; ['?'] lists the fields there are. */
  readonly fields?: readonly string[];
  /** A query over the JSON value. */
  readonly query?: string;
  /** Columns of tables, by name. */
  readonly columns?: readonly string[];
  readonly header: boolean;
  /** Tables are not cut to the terminal's width. */
  readonly wide: boolean;
}

/** The one place that all output passes through. Screens, which draw with escape sequences, write to `draws` instead. */
export const guarded = (streams: Streams): Streams => ({
  ...streams,
  out: { write: (text) => streams.out.write(safeText(text)) },
  err: { write: (text) => streams.err.write(safeText(text)) },
  draws: { out: streams.out.write, err: streams.err.write },
});

/**
 * @param formatCell how times read in tables for people, @param markCells the shapes of states before their words, by column,
 * @param headingOf what stands above a column of a terminal; as they are when absent.
 */
export function createOutput(
  streams: Streams,
  shape: Shape,
  formatCell: (cell: string) => string = (cell) => cell,
  markCells: (cells: readonly string[], column: string) => readonly string[] = (cells) => cells,
  headingOf: (name: string) => string = (name) => name,
): Output {
  const line = (text: string) => void streams.out.write(`${text}\n`);
  const draws = streams.draws?.out ?? streams.out.write;
  const indent = streams.outIsTty ? 2 : undefined;

  const json = (value: unknown): void => {
    if (shape.fields?.[0] === '?') {
      for (const name of Object.keys(Object(Array.isArray(value) ? value[0] : value))) line(name);
      return;
    }
    checkFields(value, shape.fields);
    const kept = shape.fields === undefined ? value : pick(value, shape.fields);
    if (shape.query === undefined) {
      line(safeJson(kept, indent));
      return;
    }
    for (const one of runQuery(shape.query, kept)) line(typeof one === 'string' ? one : safeJson(one, indent));
  };

  const selected = <Row>(columns: readonly Column<Row>[]): readonly Column<Row>[] =>
    shape.columns === undefined
      ? columns
      : shape.columns.map((name) => {
          const found = columns.find((column) => column.name === name);
          if (found === undefined)
            throw new AppError('usage', {
              detail: `--columns ${name}: ${columns.map((column) => column.name).join(', ')}`,
            });
          return found;
        });

  return {
    isTty: streams.outIsTty,
    format: shape.format,
    layout: { maxWidth: streams.columns, color: streams.color === true },
    line,
    raw: (text) => void (text !== '' && streams.out.write(text)),
    note: (text) => void streams.err.write(`${text}\n`),
    list(rows, all, id) {
      const columns = selected(all);
      switch (shape.format) {
        case 'json':
          return json(rows);
        case 'jsonl':
          checkFields(rows, shape.fields);
          for (const row of rows) line(safeJson(shape.fields === undefined ? row : pick(row, shape.fields)));
          return;
        case 'yaml':
          return line(yaml(rows));
        case 'id':
          for (const row of rows) line(safeLine(id(row)));
          return;
        case 'csv':
          if (shape.header) line(csvLine(columns.map((column) => column.name)));
          for (const row of rows) line(csvLine(columns.map((column) => column.value(row, rows))));
          return;
        case 'env':
          throw new AppError('usage', { detail: '-o env' });
        case 'table': {
          const format = streams.outIsTty && !shape.wide ? formatCell : (cell: string) => cell;
          const byColumn = columns.map((column) => {
            const texts = rows.map((row) => format(safeLine(column.value(row, rows))));
            return streams.outIsTty ? markCells(texts, column.name) : texts;
          });
          const cells = rows.map((_row, at) => byColumn.map((texts) => texts[at] ?? ''));
          const maxWidth = shape.wide ? Number.POSITIVE_INFINITY : streams.columns;
          const texts = streams.outIsTty
            ? table(
                columns.map((column) => ({ ...column, name: headingOf(column.name) })),
                cells,
                { maxWidth, header: shape.header, color: streams.color === true },
              )
            : cells.map((values) => values.join('\t'));
          for (const text of texts) draws(`${text}\n`);
        }
      }
    },
    object(value, lines, id, variables) {
      switch (shape.format) {
        case 'json':
          return json(value);
        case 'jsonl':
          return line(safeJson(value));
        case 'yaml':
          return line(yaml(value));
        case 'id':
          return line(id);
        case 'env':
          if (variables === undefined) throw new AppError('usage', { detail: '-o env' });
          for (const [name, text] of Object.entries(variables)) line(`${name}=${safeLine(text)}`);
          return;
        default:
          for (const text of lines) line(text);
      }
    },
  };
}

/** A field that no row has is a typing error; an empty list cannot show that. @throws AppError usage */
function checkFields(value: unknown, fields: readonly string[] | undefined): void {
  const things = (Array.isArray(value) ? value : [value]).map((one) => Object.keys(Object(one)));
  const known = [...new Set(things.flat())];
  const unknown = (fields ?? []).find((name) => !known.includes(name));
  if (unknown === undefined || known.length === 0) return;
  throw new AppError('usage', {
    detail: `--json=${unknown}`,
    detail_zh: `--json=${unknown}：没有这个字段；可用：${known.join(', ')}`,
    detail_en: `--json=${unknown}: there is no such field; there are: ${known.join(', ')}`,
  });
}

const pick = (value: unknown, fields: readonly string[]): unknown =>
  Array.isArray(value)
    ? value.map((one) => pick(one, fields))
    : Object.fromEntries(fields.map((name) => [name, (Object(value) as Record<string, unknown>)[name] ?? null]));

/** The YAML library has no option to quote only some strings; JSON is YAML too. */
const yaml = (value: unknown): string => {
  const plain = JSON.stringify(value);
  return escaped(plain) === plain ? Bun.YAML.stringify(value, null, 2) : safeJson(value, 2);
};

/** Lines `name   value` of an object, control characters taken out. */
export const detailLines = (value: object): string[] =>
  Object.entries(value)
    .filter(([, item]) => item !== '')
    .map(
      ([name, item]) =>
        `${name.padEnd(22)} ${safeLine(typeof item === 'object' ? JSON.stringify(item) : String(item))}`,
    );

export const isoTime = (seconds: number): string => (seconds <= 0 ? '' : new Date(seconds * 1000).toISOString());
