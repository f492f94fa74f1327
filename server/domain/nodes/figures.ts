/** What a node says of itself in its row: written by one version, read by another. */

export interface NodeFigures {
  readonly cpu_percent: number | null;
  readonly memory_bytes: number | null;
  readonly relays: number | null;
  readonly waiting: number | null;
  readonly news_ms: number | null;
  readonly hears: boolean | null;
  readonly trouble: string;
}

const whole = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? Math.round(value) : null;

export function readFigures(text: string): NodeFigures {
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
    hears: typeof given.hears === 'boolean' ? given.hears : null,
    trouble: typeof given.trouble === 'string' ? given.trouble : '',
  };
}
