/** Newcomers in a line: while they wait, everybody else's next step and the console have their turn. */

export interface LineDeps {
  /** Milliseconds that never jump. */
  readonly now: () => number;
  /** Calls when the loop has gone through all that had come. */
  readonly afterTurn: (run: () => unknown) => void;
}

export interface Line {
  length(): number;
  /** Milliseconds for which the first has waited; 0 = nobody waits. */
  waitedMs(): number;
  /** Resolves when all who came before have been taken up. */
  join(): Promise<void>;
}

interface Place {
  readonly since: number;
  readonly take: () => void;
}

/** So long in each turn of the loop newcomers are taken up. */
const takeMs = 10;
/** Places that are empty by now are kept up to so many. */
const mostEmpty = 1000;

export function createLine({ now, afterTurn }: LineDeps): Line {
  let places: Place[] = [];
  let first = 0;
  const takeUp = async () => {
    const began = now();
    for (let place = places[first]; place !== undefined; place = places[first]) {
      if (now() - began >= takeMs) {
        if (first > mostEmpty) {
          places = places.slice(first);
          first = 0;
        }
        return afterTurn(takeUp);
      }
      first++;
      place.take();
      // Its beginning runs now, so that the clock knows of it.
      await null;
    }
    places = [];
    first = 0;
  };
  return {
    length: () => places.length - first,
    waitedMs() {
      const place = places[first];
      return place === undefined ? 0 : now() - place.since;
    },
    join() {
      const { promise, resolve } = Promise.withResolvers<void>();
      places.push({ since: now(), take: resolve });
      if (places.length === 1) afterTurn(takeUp);
      return promise;
    },
  };
}
