/** Work that is done once for a whole site, however many nodes it has. */

export interface JobLock {
  /**
   * Does the work when it is due and no other node of the site is doing it.
   * @param everyMs it is not begun more often, 0 = whenever it is asked for. @returns whether it was done. @throws what the work throws.
   */
  take(name: string, everyMs: number, work: () => Promise<void>): Promise<boolean>;
}
