/** Long work of one connection in slices, so that whoever shares the thread or the file gets a turn between two. */

/** A slice that takes longer is followed by smaller ones, one that takes less than half by larger ones. Milliseconds. */
const sliceMs = 10;
const firstRows = 100;
const maxRows = 2000;

/** Others run for as long as this work just did: it takes half of the thread at most, and half of the file's lock. */
export const pauseFor = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, Math.ceil(ms));
  });

/** @param deleteSome deletes at most so many rows. @returns how many it deleted; fewer than it might = none are left. */
export async function deleteInSlices(deleteSome: (limit: number) => Promise<number>): Promise<number> {
  let deleted = 0;
  for (let limit = firstRows; ; ) {
    const begun = performance.now();
    const some = await deleteSome(limit);
    deleted += some;
    if (some < limit) return deleted;
    const ms = performance.now() - begun;
    if (ms > sliceMs) limit = Math.max(1, Math.floor(limit / 2));
    else if (ms < sliceMs / 2) limit = Math.min(maxRows, limit * 2);
    await pauseFor(ms);
  }
}
