/** Aligned columns, measured in terminal cells. */
import { heading, tinted } from './colour.ts';

const width = (text: string): number => Bun.stringWidth(text);

/** Cuts to so many cells, with an ellipsis. */
export function shorten(text: string, cells: number): string {
  if (width(text) <= cells) return text;
  let shown = text;
  while (shown !== '' && width(shown) > cells - 1) shown = shown.slice(0, -1);
  return `${shown}…`;
}

function cell(text: string, cells: number, right: boolean): string {
  const shown = shorten(text, cells);
  const space = ' '.repeat(Math.max(0, cells - width(shown)));
  return right ? space + shown : shown + space;
}

const narrowest = 6;

export interface TableLook {
  /** Cells of a line; the widest columns give way first, then the last ones fall off. */
  readonly room: number;
  readonly header: boolean;
  readonly colour: boolean;
}

export function table(
  columns: readonly { readonly name: string; readonly right?: boolean }[],
  cells: readonly (readonly string[])[],
  { room, header, colour }: TableLook,
): string[] {
  const widths = columns.map((column, index) =>
    Math.max(width(column.name), ...cells.map((row) => width(row[index] ?? ''))),
  );
  const needs = () => widths.reduce((sum, one) => sum + one + 2, -2);
  while (needs() > room) {
    const widest = Math.max(...widths);
    if (widest > narrowest) widths[widths.indexOf(widest)] = Math.max(narrowest, widest - Math.max(1, widest >> 3));
    else if (widths.length > 1) widths.pop();
    else break;
  }
  const paint = (values: readonly string[]) =>
    widths
      .map((cells, index) => cell(values[index] ?? '', cells, columns[index]?.right === true))
      .map((text, index) => (index === widths.length - 1 ? text.trimEnd() : text))
      .map((text) => (colour && values !== names ? tinted(text) : text))
      .join('  ')
      .trimEnd();
  const names = columns.map((column) => column.name.toUpperCase());
  const top = header ? [paint(names)] : [];
  return [...(colour ? top.map(heading) : top), ...cells.map(paint)];
}
