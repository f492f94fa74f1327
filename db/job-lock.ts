/** Work that is done once for a whole site, however many nodes it has. */

export interface JobLock {
  /**
   * Does the work when it is due and no other node of the site is doing it.
   * @param everyMs minimum time between two starts, 0 = none. @returns whether it was done. @throws what the work throws.
   */
  take(name: string, everyMs: number, work: () => Promise<void>): Promise<boolean>;
}
