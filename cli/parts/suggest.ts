/** The word that was probably meant. */

/** Changes of one letter, and neighbours swapped, that lead from one word to the other. */
function distance(from: string, to: string): number {
  const rows = Array.from({ length: from.length + 1 }, (_, i) =>
    Array.from({ length: to.length + 1 }, (_unused, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= from.length; i++)
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const row = rows[i] ?? [];
      row[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + same);
      if (swapped) row[j] = Math.min(row[j] ?? 0, at(i - 2, j - 2) + 1);
    }
  return at(from.length, to.length);
}

/** @returns null when none is near: more than a third of the word would be another. */
export function bestMatch(input: string, words: readonly string[]): string | null {
  const near = words
    .map((word) => ({ word, far: distance(input.toLowerCase(), word.toLowerCase()) }))
    .filter(({ word, far }) => far <= Math.max(1, Math.floor(Math.max(word.length, input.length) / 3)));
  return near.sort((one, other) => one.far - other.far)[0]?.word ?? null;
}
