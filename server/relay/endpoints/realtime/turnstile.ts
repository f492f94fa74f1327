/** Resolved = the next may go; it never rejects. */
export type Step = () => undefined | Promise<unknown>;

/** Steps one after the other: whatever comes while one waits for something waits behind it. */
export function createTurnstile(): (step: Step) => void {
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
