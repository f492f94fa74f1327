/** Arguments of a call that come in pieces, each with the place in the object where it belongs. */
import { ExactNumber, number, record, records, text } from '../shared/json.ts';

type Place = Record<string, unknown> | unknown[];

/** Longer paths would nest deeper than can be written again. */
const deepest = 64;
const segments = /\.([^.[\]]+)|\[(\d*)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/g;

/** `$.list[2].name` as `['list', 2, 'name']`; `[]` alone closes a list that may be empty, given as -1. */
function segmentsOf(path: string): (string | number)[] {
  return [...path.matchAll(segments)].slice(0, deepest).map(([, name, index, single, double]) => {
    if (index !== undefined) return index === '' ? -1 : Number(index);
    return name ?? (single ?? double ?? '').replace(/\\(.)/g, '$1');
  });
}

const emptyFor = (next: string | number): Place =>
  // What a model calls `__proto__` is a member like any other.
  typeof next === 'number' ? [] : (Object.create(null) as Record<string, unknown>);

/** Lists have no holes, whatever number is named. */
const keyIn = (place: Place, segment: string | number): string =>
  Array.isArray(place) && typeof segment === 'number' ? String(Math.min(segment, place.length)) : String(segment);

function read(place: Place, key: string): unknown {
  return (place as Record<string, unknown>)[key];
}

const numberIn = ({ numberValue }: Record<string, unknown>): unknown =>
  numberValue instanceof ExactNumber ? numberValue : number(numberValue);

function put(root: Place, path: readonly (string | number)[], value: (before: unknown) => unknown): void {
  let place = root;
  for (const [at, segment] of path.entries()) {
    if (segment === -1) return;
    const key = keyIn(place, segment);
    const next = path[at + 1];
    const before = read(place, key);
    if (next === undefined) {
      (place as Record<string, unknown>)[key] = value(before);
      return;
    }
    const inner = typeof before === 'object' && before !== null ? (before as Place) : emptyFor(next);
    (place as Record<string, unknown>)[key] = inner;
    place = inner;
  }
}

export interface PartialArguments {
  /** @param chunks `partialArgs` as they came. */
  take(chunks: unknown): void;
  /** JSON text of all that came. */
  whole(): string;
}

export function collectArguments(): PartialArguments {
  const root = emptyFor('');
  /** Where a text goes on with the next piece. */
  let open: string | null = null;
  return {
    take(chunks) {
      for (const chunk of records(chunks)) {
        const path = text(chunk.jsonPath) ?? '';
        const goesOn = open === path;
        const words = typeof chunk.stringValue === 'string' ? chunk.stringValue : null;
        const value = words ?? numberIn(chunk) ?? (typeof chunk.boolValue === 'boolean' ? chunk.boolValue : null);
        const hasValue = words !== null || value !== null || 'nullValue' in chunk;
        const places = segmentsOf(path);
        if (hasValue || places.at(-1) === -1)
          put(root, places, (before) =>
            goesOn && words !== null && typeof before === 'string' ? before + words : value,
          );
        open = chunk.willContinue === true ? path : null;
      }
    },
    whole: () => JSON.stringify(root),
  };
}

/** Whether a call is one piece of several. */
export const isPartial = (call: Record<string, unknown>): boolean =>
  call.partialArgs !== undefined || (call.willContinue === true && record(call.args) === null);
