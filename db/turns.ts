/** Work that is done once for a whole site, however many nodes it has. */
import type { Database } from './open.ts';
import { createPostgresTurns } from './postgres/turns.ts';

export interface Turns {
  /**
   * Does the work when it is due and nobody of the site is at it.
   * @param everyMs it is not begun more often, 0 = whenever it is asked for. @returns whether it was done. @throws what the work throws.
   */
  take(name: string, everyMs: number, work: () => Promise<void>): Promise<boolean>;
}

/** One process has the file; whoever asks there keeps the time. */
function createOwnTurns(): Turns {
  const running = new Set<string>();
  return {
    async take(name, _everyMs, work) {
      if (running.has(name)) return false;
      running.add(name);
      try {
        await work();
      } finally {
        running.delete(name);
      }
      return true;
    },
  };
}

/** @param owner names this node, whichever of its processes asks. */
export const createTurns = (database: Database, owner: string): Turns =>
  database.engine === 'sqlite' ? createOwnTurns() : createPostgresTurns(database, owner);
