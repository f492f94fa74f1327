/** A clock that never goes back and says the same in every thread of the process. */

/** @returns milliseconds. */
export function createSteadyClock(): () => number {
  // Each thread's own clock begins with the thread; the system's is the same for all, and slower to read.
  const [seconds, nanoseconds] = process.hrtime();
  const ahead = seconds * 1000 + nanoseconds / 1e6 - performance.now();
  return () => performance.now() + ahead;
}
