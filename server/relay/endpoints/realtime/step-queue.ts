/** The next step runs when the promise resolves; it must not reject. */
export type Step = () => undefined | Promise<unknown>;

/** Runs steps one after the other; one that waits for a promise holds up those behind it. */
export function createStepQueue(): (step: Step) => void {
  const waiting: Step[] = [];
  let isTaken = false;
  const go = (): void => {
    let done: ReturnType<Step>;
    try {
      while (done === undefined) {
        const next = waiting.shift();
        if (next === undefined) break;
        done = next();
      }
    } finally {
      isTaken = done !== undefined;
    }
    void done?.then(go);
  };
  return (step) => {
    waiting.push(step);
    if (isTaken) return;
    isTaken = true;
    go();
  };
}
