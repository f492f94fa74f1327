/** The next step runs when the promise is settled. */
export type Step = () => undefined | Promise<unknown>;

/** Runs steps one after the other; one that waits for a promise holds up those behind it. @param failed called with what a step throws; the next ones run all the same. */
export function createStepQueue(failed: (error: unknown) => void): (step: Step) => void {
  const waiting: Step[] = [];
  let isTaken = false;
  const go = (): void => {
    let done: ReturnType<Step>;
    while (done === undefined) {
      const next = waiting.shift();
      if (next === undefined) break;
      try {
        done = next();
      } catch (error) {
        failed(error);
      }
    }
    isTaken = done !== undefined;
    void done?.catch(failed).then(go);
  };
  return (step) => {
    waiting.push(step);
    if (isTaken) return;
    isTaken = true;
    go();
  };
}
