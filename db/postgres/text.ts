/** PostgreSQL keeps no NUL in a text, SQLite does: what a client sent must not make a whole batch fail. */
import type { Pool } from 'pg';

const clean = (value: unknown): unknown =>
  typeof value === 'string' && value.includes('\0')
    ? value.replaceAll('\0', '\ufffd')
    : Array.isArray(value)
      ? value.map(clean)
      : value;

/** Values of this query as PostgreSQL can keep them. */
export const cleanValues = (values: readonly unknown[]): unknown[] => values.map(clean);

/** A query as an object of text and values. */
const isConfig = (query: unknown): query is { values: unknown[] } =>
  Object.getPrototypeOf(query) === Object.prototype && Array.isArray((query as { values?: unknown }).values);

/** The same pool; every connection cleans its values. */
export function withoutNul(pool: Pool): Pool {
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((first: unknown, second?: unknown, ...rest: unknown[]) =>
      query(
        isConfig(first) ? { ...first, values: cleanValues(first.values) } : first,
        Array.isArray(second) ? cleanValues(second) : second,
        ...rest,
      )) as typeof client.query;
  });
  return pool;
}
