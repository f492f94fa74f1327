/** Token counts in a time that grows with the text and not with its square: an encoding takes a minute for one word of 100,000 letters. */

type Count = (text: string) => number;

/** Longer runs without a border are counted in pieces; natural words are far shorter. Cut, a run has at most one token more or less for each cut. */
const run = 128;
const longRuns = new RegExp(`[\\p{L}\\p{M}]{${run + 1},}|[^\\p{L}\\p{M}\\p{N}\\s]{${run + 1},}|\\s{${run + 1},}`, 'gu');
/** More than any model reads; the rest is counted at the rate of the first part. */
const countedUnits = 4 * 1024 * 1024;
/** Tokens of a unit of prose at least. */
const minRate = 1 / 5;
/** Encodings keep lists of all tokens of a text; these are counted one after the other. */
const chunkLength = 64 * 1024;

function inChunks(count: Count, text: string): number {
  let sum = 0;
  let from = 0;
  const take = (to: number) => {
    if (to > from) sum += count(text.slice(from, to));
    from = to;
  };
  for (const { index, 0: found } of text.matchAll(longRuns)) {
    take(index);
    const end = index + found.length;
    sum += Math.ceil(found.length / run) - 1;
    while (from < end) take(Math.min(end, from + run));
  }
  take(text.length);
  return sum;
}

/** @returns at most a few per cent more than `count` would. */
export function countTokens(count: Count, text: string): number {
  const size = Math.min(text.length, countedUnits);
  let sum = 0;
  for (let from = 0; from < size; ) {
    const cut = from + chunkLength;
    // At a border between words where there is one.
    const space = cut >= size ? size : text.lastIndexOf(' ', cut);
    const to = space > from ? space : Math.min(cut, size);
    sum += inChunks(count, text.slice(from, to)) + (to < size && to === cut ? 1 : 0);
    from = to;
  }
  // The part that is read first must not make the rest cheap.
  return text.length === size ? sum : Math.ceil(sum + (text.length - size) * Math.max(sum / size, minRate));
}
