/** Newcomers in a line: while they wait, everybody else's next step and the console have their turn. */

export interface LineDeps {
  /** Milliseconds that never jump. */
  readonly now: () => number;
  /** Calls when the loop has gone through all that had come. */
  readonly afterTurn: (run: () => unknown) => void;
}

export interface Line {
  length(): number;
  /** Milliseconds for which the first has waited; 0 = none waits. */
  waitedMs(): number;
  /** Resolves when all who came before have been taken up. */
  join(): Promise<void>;
}

interface Waiter {
  readonly since: number;
  readonly take: () => void;
}

/** How long new requests are taken in each turn of the loop. */
const takeMs = 10;
/** Places that are empty by now are kept up to so many. */
const maxEmpty = 1000;

export function createRequestQueue({ now, afterTurn }: LineDeps): Line {
  let waiters: Waiter[] = [];
  let first = 0;
  const takeUp = async () => {
    const started = now();
    for (let place = waiters[first]; place !== undefined; place = waiters[first]) {
      if (now() - started >= takeMs) {
        if (first > maxEmpty) {
          waiters = waiters.slice(first);
          first = 0;
        }
        return afterTurn(takeUp);
      }
      first++;
      place.take();
      // Its beginning runs now, so that the clock knows of it.
      await null;
    }
    waiters = [];
    first = 0;
  };
  return {
    length: () => waiters.length - first,
    waitedMs() {
      const place = waiters[first];
      return place === undefined ? 0 : now() - place.since;
    },
    join() {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiters.push({ since: now(), take: resolve });
      if (waiters.length === 1) afterTurn(takeUp);
      return promise;
    },
  };
}
