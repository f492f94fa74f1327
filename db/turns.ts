/** Whose turn it is, on either engine. */
import type { Database } from './open.ts';
import { createPostgresTurns } from './postgres/turns.ts';
import type { Turns } from './turn.ts';

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
