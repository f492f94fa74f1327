/** Text of strangers on its way to a terminal, a program or a spreadsheet: upstreams, users and models choose words, never what a screen does. */
import { stringify } from 'csv-stringify/sync';

/** Control characters; those that turn the direction of writing; those that cannot be seen. Line ends and tabs are handled separately below. */
const hidden =
  '\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb';
/** Tags: whole sentences can be written in them unseen. */
const tags = '\\u{e0000}-\\u{e007f}';
/** Joiners belong to emoji and to scripts other than Latin; elsewhere they make two names look like one. */
const joiners = '(?<![^\\u0000-\\u024f])[\\u200c\\u200d]|[\\u200c\\u200d](?![^\\u0000-\\u024f])';

const inLines = new RegExp(`[${hidden}${tags}]|\\r(?!\\n)|${joiners}`, 'gu');
const inOne = new RegExp(`[${hidden}${tags}\\t\\r\\n]|${joiners}`, 'gu');
const inJson = new RegExp(`[${hidden}${tags}\\u200c\\u200d]`, 'gu');

/** Keeps line ends and tabs. */
export const safeText = (text: string): string => text.replace(inLines, ' ');

/** For one line or one cell. */
export const safeLine = (text: string): string => text.replace(inOne, ' ');

/** @param text JSON, or YAML whose strings all stand in double quotes: nothing is lost, and nothing is acted upon. */
export const escaped = (text: string): string =>
  text.replace(inJson, (found) =>
    [...Array(found.length).keys()]
      .map((index) => `\\u${found.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  );

export const safeJson = (value: unknown, indent?: number): string => escaped(JSON.stringify(value, null, indent));

/** What such a cell holds. A quotation mark before anything else is part of the text. */
export const plainCell = (cell: string): string => cell.replace(/^'(?=\s*[=+\-@＝＋－＠])/, '');

/** A spreadsheet runs a cell that begins like a formula, also behind blanks and in wide letters; a number is none. */
const safeCell = (text: string): string => {
  const safe = safeText(text);
  return /^\s*[=+\-@＝＋－＠]/.test(safe) && !/^-?\d+(\.\d+)?$/.test(safe) ? `'${safe}` : safe;
};

/** A line of CSV without its end. */
export const csvLine = (cells: readonly string[]): string =>
  stringify([cells.map(safeCell)], { eof: false, quoted_match: /[\r\n]/ });
