/**
 * Whose turn it is, as rows on the database's clock: a lock would need a session, and could not say when something was done
 * last. A node that dies in the middle of its work is believed for half a minute. What froze and wakes up may go on beside
 * another, so the work itself has to bear being done twice.
 */
import type { JobLock } from '../job-lock.ts';
import type { PostgresDatabase } from './open.ts';

const leaseSeconds = 30;
const refreshMs = 10_000;
/** Timers of one length meet each other a little early. */
const early = 0.9;
/** The node that ran the job last runs it again as long as it lives: what it remembers of the last run stays true. */
const ownShare = 0.5;

const claim = `INSERT INTO jobs (name, owner, held_until, due)
  VALUES ($1, $2, clock_timestamp() + make_interval(secs => ${leaseSeconds}), clock_timestamp() + make_interval(secs => $3 * ${early}))
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, held_until = excluded.held_until, due = excluded.due
  WHERE jobs.held_until < clock_timestamp() AND jobs.due <= clock_timestamp()
    - CASE WHEN jobs.owner = excluded.owner THEN interval '0' ELSE make_interval(secs => $3 * ${ownShare}) END
  RETURNING name`;
const refresh = `UPDATE jobs SET held_until = clock_timestamp() + make_interval(secs => ${leaseSeconds}) WHERE name = $1 AND owner = $2`;
const release = 'UPDATE jobs SET held_until = clock_timestamp() WHERE name = $1 AND owner = $2';

export function createPostgresJobLock({ pool }: Pick<PostgresDatabase, 'pool'>, owner: string): JobLock {
  return {
    async take(name, everyMs, work) {
      const { rows } = await pool.query(claim, [name, owner, everyMs / 1000]);
      if (rows.length === 0) return false;
      // A turn that cannot be renewed runs out by itself.
      const still = setInterval(() => void pool.query(refresh, [name, owner]).catch(() => undefined), refreshMs);
      try {
        await work();
      } finally {
        clearInterval(still);
        await pool.query(release, [name, owner]).catch(() => undefined);
      }
      return true;
    },
  };
}
