import type { Dialect } from '../dialect.ts';

/** Text as a literal part of a LIKE pattern: SQLite has no default escape character, so the wildcards are replaced by the one-character wildcard. */
export const escapeLike = (text: string): string => text.replace(/[%]/g, '_');

/** The column begins with this text, wildcards taken literally. */
export const startsWith = (dialect: Dialect, column: string, text: string) =>
  dialect.like(column, `${text.replace(/[\\%_]/g, '\\$&')}%`, '\\');
