/** Resolved = the next may go; it never rejects. */
export type Step = () => undefined | Promise<unknown>;

/** Steps one after the other: whatever comes while one waits for something waits behind it. */
export function createTurnstile(): (step: Step) => void {
  const waiting: Step[] = [];
  let isTaken = false;
  const go = (): void => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const done = next();
      if (done !== undefined) return void done.then(go);
    }
    isTaken = false;
  };
  return (step) => {
    waiting.push(step);
    if (isTaken) return;
    isTaken = true;
    go();
  };
}
