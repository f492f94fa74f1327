import { sql } from 'kysely';

/** Text as a literal part of a LIKE pattern: SQLite has no default escape character, so the wildcards are replaced by the one-character wildcard. */
export const escapeLike = (text: string): string => text.replace(/[%]/g, '_');

/** The column begins with this text, wildcards taken literally. */
export const beginsWith = (column: string, text: string) =>
  sql<boolean>`${sql.ref(column)} LIKE ${`${text.replace(/[\\%_]/g, '\\$&')}%`} ESCAPE '\\'`;
