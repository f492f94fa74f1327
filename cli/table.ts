/** Aligned columns, measured in terminal cells. */
import { colorCell, heading } from './color.ts';

const width = (text: string): number => Bun.stringWidth(text);

/** Cuts to so many cells, with an ellipsis. */
export function shorten(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let shown = text;
  while (shown !== '' && width(shown) > columns - 1) shown = shown.slice(0, -1);
  return `${shown}…`;
}

function cell(text: string, columns: number, right: boolean): string {
  const shown = shorten(text, columns);
  const space = ' '.repeat(Math.max(0, columns - width(shown)));
  return right ? space + shown : shown + space;
}

/** Words are not cut below this while a column can be left out instead; numbers are never cut. */
const readable = 16;

export interface TableLayout {
  /** Cells of a line; the least important columns are left out, then the widest texts give way. */
  readonly maxWidth: number;
  readonly header: boolean;
  readonly color: boolean;
}

export interface TableColumn {
  readonly name: string;
  readonly right?: boolean;
  /** Left out first where room is short: the highest first, then from the end. */
  readonly priority?: number;
}

/** @returns the positions of the columns that are shown. */
function fitWidths(columns: readonly TableColumn[], natural: readonly number[], maxWidth: number): readonly number[] {
  const shown = columns.map((_column, index) => index);
  const least = (index: number): number => {
    const cells = natural[index] ?? 0;
    return columns[index]?.right === true ? cells : Math.min(cells, readable);
  };
  while (shown.length > 1 && shown.reduce((sum, index) => sum + least(index) + 2, -2) > maxWidth) {
    const rank = (index: number): number => columns[index]?.priority ?? 0;
    const dropped = shown.reduce((worst, index) => (rank(index) >= rank(worst) ? index : worst));
    shown.splice(shown.indexOf(dropped), 1);
  }
  return shown;
}

function shrink(widths: number[], maxWidth: number): number[] {
  const needs = () => widths.reduce((sum, one) => sum + one + 2, -2);
  while (needs() > maxWidth && Math.max(...widths) > 1) {
    const widest = Math.max(...widths);
    widths[widths.indexOf(widest)] = widest - Math.min(needs() - maxWidth, Math.max(1, widest >> 3));
  }
  return widths;
}

export function table(
  all: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  { maxWidth, header, color }: TableLayout,
): string[] {
  const natural = all.map((column, index) =>
    Math.max(width(column.name), ...rows.map((row) => width(row[index] ?? ''))),
  );
  const shown = fitWidths(all, natural, maxWidth);
  const columns = shown.flatMap((index) => all[index] ?? []);
  const cells = rows.map((row) => shown.map((index) => row[index] ?? ''));
  const widths = shrink(
    shown.map((index) => natural[index] ?? 0),
    maxWidth,
  );
  const paint = (values: readonly string[]) =>
    widths
      .map((cells, index) => cell(values[index] ?? '', cells, columns[index]?.right === true))
      .map((text, index) => (index === widths.length - 1 ? text.trimEnd() : text))
      .map((text) => (color && values !== names ? colorCell(text) : text))
      .join('  ')
      .trimEnd();
  const names = columns.map((column) => column.name.toUpperCase());
  const top = header ? [paint(names)] : [];
  return [...(color ? top.map(heading) : top), ...cells.map(paint)];
}
