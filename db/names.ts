/** Names for completions, read without waiting for writers. */
import { openDatabase } from './open.ts';

const queries: Readonly<Record<string, string>> = {
  channel: 'SELECT name FROM channels ORDER BY name LIMIT 1000',
  tag: "SELECT DISTINCT tag FROM channels WHERE tag <> '' ORDER BY tag LIMIT 1000",
  token: 'SELECT name FROM tokens WHERE deleted_at IS NULL ORDER BY name LIMIT 1000',
  user: 'SELECT username FROM users WHERE deleted_at IS NULL ORDER BY username LIMIT 1000',
  group: 'SELECT DISTINCT group_name FROM users WHERE deleted_at IS NULL ORDER BY group_name LIMIT 1000',
  model: 'SELECT DISTINCT models FROM channels LIMIT 1000',
};

export function namesIn(file: string, noun: string, nativeBinding: string | undefined): string[] {
  const query = queries[noun];
  if (query === undefined) return [];
  const { raw } = openDatabase(file, { nativeBinding, readonly: true });
  try {
    return raw
      .prepare<string>(query)
      .pluck()
      .all()
      .flatMap((name) => (noun === 'model' ? name.split(',') : [name]));
  } finally {
    raw.close();
  }
}
