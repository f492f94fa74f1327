/** Text as a literal part of a LIKE pattern: SQLite has no default escape character, so the wildcards are replaced by the one-character wildcard. */
export const escapeLike = (text: string): string => text.replace(/[%]/g, '_');
