/**
 * One usage of what an upstream states in several places of one answer. Members are merged as they are stated, before they are
 * split into buckets: the largest of each bucket would charge 3,840 tokens for 2,048 whose cached part is stated later.
 */
import { type Json, number, record } from './json.ts';
import { digits, maxTokens } from './usage.ts';

/** Parts of a total that add up to it, by the total beside them: the last complete list says how all of it falls into parts. */
const partsOf: Readonly<Record<string, string>> = {
  cache_creation: 'cache_creation_input_tokens',
  promptTokensDetails: 'promptTokenCount',
  candidatesTokensDetails: 'candidatesTokenCount',
  cacheTokensDetails: 'cachedContentTokenCount',
};

/** Deeper objects are taken as they come: no dialect has them. */
const maxDepth = 6;

/** What an answer has stated so far of its usage. */
export class StatedUsage {
  /** In the members of its dialect; null = nothing. */
  members: Json | null = null;
  /** The last report lowered what an earlier one had stated. */
  corrected = false;

  /**
   * Adds what a frame, or another place of a whole answer, states.
   * @param isFinal the upstream said that its answer is over: what it states now may correct what it estimated before.
   * @returns whether anything is known now that was not before.
   */
  add(stated: unknown, isFinal: boolean): boolean {
    const later = record(stated);
    if (later === null) return false;
    const merged = this.members === null ? later : mergeUsage(this.members, later, isFinal, this);
    if (merged === this.members) return false;
    this.members = merged;
    return true;
  }

  /** Whether the usage of the answer was lowered by its last report, for `Usage`. */
  mark(): { readonly corrected: true } | undefined {
    return this.corrected ? { corrected: true } : undefined;
  }
}

/**
 * Zero, null, absent members and counts that cannot be never erase what was stated. A smaller number counts only in a final
 * report. Objects and lists of details are merged member by member, so that none is lost to a report without it.
 * @param marks learns whether a number was lowered.
 * @returns `earlier` itself where `later` adds nothing.
 */
export function mergeUsage(
  earlier: Json,
  later: Json,
  isFinal: boolean,
  marks: { corrected: boolean } = { corrected: false },
  depth = 0,
): Json {
  let merged: Record<string, unknown> | null = null;
  for (const name in later) {
    if (name === '__proto__') continue;
    const before = earlier[name];
    const value = mergeValue(before, later[name], isFinal, marks, depth);
    if (value === before) continue;
    merged ??= { ...earlier };
    merged[name] = value;
  }
  for (const name in partsOf) {
    const parts = later[name];
    if (parts === undefined || earlier[name] === undefined) continue;
    const total = countIn((merged ?? earlier)[partsOf[name] ?? '']);
    if (total === 0 || sumOf(parts) !== total || sumOf((merged ?? earlier)[name]) === total) continue;
    merged ??= { ...earlier };
    merged[name] = parts;
  }
  return merged ?? earlier;
}

function mergeValue(
  before: unknown,
  value: unknown,
  isFinal: boolean,
  marks: { corrected: boolean },
  depth: number,
): unknown {
  if (value === undefined || value === null) return before;
  if (before === undefined || before === null) return value;
  const stated = numberIn(before);
  const count = numberIn(value);
  if (stated === null) {
    if (Array.isArray(before)) return Array.isArray(value) ? mergeLists(before, value, isFinal, marks, depth) : before;
    const known = record(before);
    if (known === null) return value === '' ? before : value;
    const details = record(value);
    return details === null || depth >= maxDepth ? before : mergeUsage(known, details, isFinal, marks, depth + 1);
  }
  if (!canBe(stated)) return value;
  // What cannot be says nothing.
  if (count === null || count === 0 || !canBe(count) || (Number.isInteger(stated) && !Number.isInteger(count)))
    return stated === 0 && typeof value === 'object' ? value : before;
  if (count > stated) return value;
  if (count === stated || !isFinal) return before;
  marks.corrected = true;
  return value;
}

const canBe = (count: number): boolean => count >= 0 && count <= maxTokens;

/** Counts by modality are merged by it, calls of models in their order; of other lists the longer one counts. */
function mergeLists(
  before: readonly unknown[],
  list: readonly unknown[],
  isFinal: boolean,
  marks: { corrected: boolean },
  depth: number,
): readonly unknown[] {
  if (list.length === 0) return before;
  if (before.length === 0 || depth >= maxDepth) return list;
  const keys = list.map(keyOf);
  const known = before.map(keyOf);
  if (keys.includes(null) || known.includes(null)) return list.length < before.length ? before : list;
  const isByName = isNamed(keys) && isNamed(known);
  if (!isByName && keys.some((key, at) => at < known.length && key !== known[at]))
    return list.length < before.length ? before : list;
  const merged = [...before];
  let changed = false;
  for (const [at, item] of list.entries()) {
    const place = isByName ? known.indexOf(keys[at] ?? null) : at;
    const one = record(before[place]);
    const other = record(item);
    if (other === null) continue;
    const value = one === null ? item : mergeUsage(one, other, isFinal, marks, depth + 1);
    if (value === one) continue;
    changed = true;
    if (one === null) merged.push(item);
    else merged[place] = value;
  }
  return changed ? merged : before;
}

const modality = 'modality ';

/** Each entry is the only one of its modality. */
const isNamed = (keys: readonly (string | null)[]): boolean =>
  new Set(keys).size === keys.length && keys.every((key) => key?.startsWith(modality) === true);

/** What an entry of a list counts; null = it is no entry of counts. */
function keyOf(item: unknown): string | null {
  const entry = record(item);
  if (entry === null) return null;
  return typeof entry.modality === 'string' ? `${modality}${entry.modality}` : `call ${entry.type} ${entry.model}`;
}

/** Numbers, and the digits that some proxies write; null = neither. */
function numberIn(value: unknown): number | null {
  if (typeof value === 'string') return digits.test(value) ? Number(value) : null;
  return number(value);
}

const countIn = (value: unknown): number => Math.max(0, numberIn(value) ?? 0);

/** Of the counts in an object, or in the entries of a list. */
function sumOf(parts: unknown): number {
  let sum = 0;
  if (Array.isArray(parts)) for (const part of parts) sum += countIn(record(part)?.tokenCount);
  else for (const value of Object.values(record(parts) ?? {})) sum += countIn(value);
  return sum;
}

/** Whether one of the members counts something. */
export function isCounted(usage: unknown, names: readonly string[]): boolean {
  const stated = record(usage);
  if (stated !== null) for (const name of names) if (countIn(stated[name]) > 0) return true;
  return false;
}

/** The first of the spellings of one count that counts anything; zero beside a count is none. */
export function statedCount(value: unknown, twin: unknown): unknown {
  if (twin === undefined || twin === null || countIn(value) > 0) return value ?? twin;
  return value === undefined || value === null || (numberIn(value) === 0 && countIn(twin) > 0) ? twin : value;
}
