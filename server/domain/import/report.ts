/** What became of every row of an import, and what will not act after it. */
import type { PriceDifference } from './price.ts';
import type { Loss, Words } from './schema.ts';

/** The words of the reader's language. */
export type Localize = (zh: string, en: string) => string;

export interface ImportReport {
  readonly counts: Readonly<Record<string, { readonly taken: number; readonly skipped: number }>>;
  /** What was left out or is not quite as it was, with the reason. */
  readonly notes: readonly string[];
  /** Tables, columns and members of the source that do not act here. */
  readonly losses: readonly {
    readonly what: string;
    readonly rows: number;
    readonly quota: number;
    readonly consequence: string;
  }[];
  /** Models of the channels whose price at the source is another than the one here. */
  readonly prices: { readonly kept: boolean; readonly differences: readonly PriceDifference[] };
  /** Quota of the source and of what was made of it; equal, or the import is not kept. */
  readonly quota: { readonly source: number; readonly imported: number };
}

export type Reporter = ReturnType<typeof createReporter>;

/** Rows of one table with the same to be said of them. */
interface NoteGroup {
  readonly table: string;
  readonly which: string[];
  readonly why: string;
}

/** So many rows are listed one by one; of more, only the first ones and their number, to keep the report readable. */
const maxNamed = 20;

function linesOf({ table, which, why: reason }: NoteGroup, localize: Localize): readonly string[] {
  if (which.length <= maxNamed) return which.map((one) => `${table} ${one}: ${reason}`);
  const first = which.slice(0, maxNamed).join(', ');
  const rest = which.length - maxNamed;
  return [`${table} ${first}${localize(` 等 ${which.length} 项`, ` and ${rest} more`)}: ${reason}`];
}

export function createReporter(localize: Localize) {
  const counts = new Map<string, { taken: number; skipped: number }>();
  const notes: (string | NoteGroup)[] = [];
  const groups = new Map<string, NoteGroup>();
  let lost: readonly Loss[] = [];
  let prices: ImportReport['prices'] = { kept: false, differences: [] };
  const countOf = (table: string) => {
    const found = counts.get(table) ?? { taken: 0, skipped: 0 };
    counts.set(table, found);
    return found;
  };
  const named = (table: string, which: string, { zh, en }: Words): void => {
    const reason = localize(zh, en);
    const found = groups.get(`${table} ${reason}`);
    if (found !== undefined) return void found.which.push(which);
    const group: NoteGroup = { table, which: [which], why: reason };
    groups.set(`${table} ${reason}`, group);
    notes.push(group);
  };
  return {
    taken: (table: string) => void countOf(table).taken++,
    skipped(table: string, which: string, reason: Words) {
      countOf(table).skipped++;
      named(table, which, reason);
    },
    /** Of rows that come along. */
    named,
    note: (zh: string, en: string) => void notes.push(localize(zh, en)),
    losses(found: readonly Loss[]) {
      lost = found;
    },
    prices(differences: readonly PriceDifference[], kept: boolean) {
      prices = { kept, differences };
    },
    report: (quota: ImportReport['quota']): ImportReport => ({
      counts: Object.fromEntries(counts),
      notes: notes.flatMap((note) => (typeof note === 'string' ? [note] : linesOf(note, localize))),
      losses: lost.map(({ what, rows, quota: amount, zh, en }) => ({
        what,
        rows,
        quota: amount,
        consequence: localize(zh, en),
      })),
      prices,
      quota,
    }),
  };
}
