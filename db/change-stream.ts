/** The change feed as a follower reads it: changes after its cursor. */
import type { Database } from './open.ts';
import { createPostgresChangeStream } from './postgres/change-stream.ts';
import { createChangesRepository, type Feed } from './repositories/changes.ts';

/** The most changes that one read returns; the next read continues after them. */
const changesAtOnce = 5000;
/** Changes kept even after every follower has seen them, for followers that were disconnected for a moment. */
const keptChanges = 10_000;

/** One writer at a time: numbers become visible in their order. */
function createFileFeed(database: Database): Feed {
  const changes = createChangesRepository(database);
  return {
    last: changes.last,
    async after(seq) {
      const batch = await changes.after(seq, changesAtOnce);
      const last = batch.at(-1);
      return last === undefined ? null : { seq: last.seq, changes: batch };
    },
    unread: async () => [],
    position: () => null,
    trim: async () => changes.trim((await changes.last()) - keptChanges),
  };
}

export const createChangeStream = (database: Database): Feed =>
  database.engine === 'sqlite' ? createFileFeed(database) : createPostgresChangeStream(database, changesAtOnce);
