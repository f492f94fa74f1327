/** What a node says of itself in its row: written by one version, read by another. */
import { failureOf, type StorageFailure } from '../../contract/storage-reasons.ts';

export interface NodeStats {
  readonly cpu_percent: number | null;
  readonly memory_bytes: number | null;
  readonly relays: number | null;
  readonly waiting: number | null;
  readonly news_ms: number | null;
  readonly lease_seconds: number | null;
  readonly hears: boolean | null;
  readonly trouble: StorageFailure | null;
}

const whole = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? Math.round(value) : null;

const isParam = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number';

/** As words, which an earlier version has written, or as code and parameters. */
function readFailure(given: unknown): StorageFailure | null {
  if (typeof given === 'string') return failureOf(given);
  const { code, params } = Object(given) as Readonly<Record<string, unknown>>;
  if (typeof code !== 'string') return null;
  const kept = Object.entries(Object(params) as object).filter((entry): entry is [string, string | number] =>
    isParam(entry[1]),
  );
  return { code, params: Object.fromEntries(kept) };
}

export function readStats(text: string): NodeStats {
  let given: Readonly<Record<string, unknown>> = {};
  try {
    given = Object(JSON.parse(text)) as Readonly<Record<string, unknown>>;
  } catch {
    // Nothing was said yet.
  }
  return {
    cpu_percent: whole(given.cpu_percent),
    memory_bytes: whole(given.memory_bytes),
    relays: whole(given.relays),
    waiting: whole(given.waiting),
    news_ms: whole(given.news_ms),
    lease_seconds: whole(given.lease_seconds),
    hears: typeof given.hears === 'boolean' ? given.hears : null,
    trouble: readFailure(given.trouble),
  };
}
