/** Job locks of either engine. */

import type { JobLock } from './job-lock.ts';
import type { Database } from './open.ts';
import { createPostgresJobLock } from './postgres/job-lock.ts';

/** A file belongs to one process, so the caller's own timer is enough. */
function createLocalJobLock(): JobLock {
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

/** @param owner names this node, for all of its processes. */
export const createJobLock = (database: Database, owner: string): JobLock =>
  database.engine === 'sqlite' ? createLocalJobLock() : createPostgresJobLock(database, owner);
