/** What became of every row of an import. */

export interface ImportReport {
  readonly counts: Readonly<Record<string, { readonly taken: number; readonly skipped: number }>>;
  /** What was left out or is not quite as it was, with the reason. */
  readonly notes: readonly string[];
  /** Quota of the source and of what was made of it; equal, or the import is not kept. */
  readonly quota: { readonly source: number; readonly imported: number };
}

export function createReporter() {
  const counts = new Map<string, { taken: number; skipped: number }>();
  const notes: string[] = [];
  const countOf = (table: string) => {
    const found = counts.get(table) ?? { taken: 0, skipped: 0 };
    counts.set(table, found);
    return found;
  };
  return {
    taken: (table: string) => void countOf(table).taken++,
    skipped(table: string, which: string, why: string) {
      countOf(table).skipped++;
      notes.push(`${table} ${which}: ${why}`);
    },
    note: (text: string) => void notes.push(text),
    report: (quota: ImportReport['quota']): ImportReport => ({ counts: Object.fromEntries(counts), notes, quota }),
  };
}
