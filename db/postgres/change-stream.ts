/**
 * The change feed where many write at once. Numbers become visible out of order there, so a place in it is no number but what
 * was visible: everything that is visible now and was not then is news, however long others keep their transactions open.
 */
import type { Change, Feed, FeedChanges } from '../repositories/changes.ts';
import type { PostgresDatabase } from './open.ts';

interface Cursor {
  /** `pg_current_snapshot()` as it was. */
  readonly snapshot: string;
  /** Which start of which server gave it: numbers of transactions may come again on another timeline, and each has another start. */
  readonly server: string;
}

interface Found {
  readonly snapshot: string;
  readonly server: string;
  readonly standby: boolean;
  /** Changes were forgotten that the cursor had not seen. */
  readonly behind: boolean;
  readonly entity: string | null;
  readonly entity_id: string | null;
}

const here = `SELECT pg_current_snapshot() AS snapshot, extract(epoch FROM pg_postmaster_start_time())::text AS server,
  pg_is_in_recovery() AS standby`;

/** One statement, so that one snapshot decides what is visible and where the next read begins. */
const newChanges = `SELECT here.snapshot::text AS snapshot, here.server, here.standby,
    feed.forgotten > pg_snapshot_xmin($1::pg_snapshot) AS behind, news.entity, news.entity_id
  FROM (${here}) here CROSS JOIN feed LEFT JOIN (
    SELECT DISTINCT entity, entity_id FROM changes
    WHERE xact >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(xact, $1::pg_snapshot)
  ) news ON true`;

/** A copy that was brought from another server has numbers that are still to come on this one. */
const withoutForeign = [
  'DELETE FROM changes WHERE xact >= pg_snapshot_xmax(pg_current_snapshot())',
  "UPDATE feed SET forgotten = '0' WHERE forgotten > pg_snapshot_xmax(pg_current_snapshot())",
];

/** Only what no node that lives may still ask for. One that was taken for dead finds the mark and reads everything. */
const deleteOld = `WITH low AS (SELECT follows FROM nodes WHERE state <> 'expired' ORDER BY follows LIMIT 1),
  marked AS (UPDATE feed SET forgotten = low.follows FROM low WHERE low.follows > feed.forgotten RETURNING feed.forgotten)
  DELETE FROM changes USING marked WHERE changes.xact < marked.forgotten`;

/**
 * Of nodes that are there, and of those that were lately and did not leave: one that is cut off may serve still. One that never
 * said how far it has read ('0') may lack every change, unless it is the node that asks, which has just read everything.
 */
const unread = `SELECT DISTINCT entity, entity_id FROM changes WHERE xact >= (
    SELECT follows FROM nodes WHERE (follows > '0' OR node <> $1) AND left_at = 0
      AND (state <> 'expired' OR expires_at > clock_timestamp() - interval '15 min') ORDER BY follows LIMIT 1)`;

const whole = ({ snapshot, server, standby }: Omit<Found, 'behind'>): Cursor => {
  if (standby) throw new Error('this server only reads: it may lack what others have received');
  return { snapshot, server };
};

export function createPostgresChangeStream({ pool }: Pick<PostgresDatabase, 'pool'>, atOnce: number): Feed {
  let number = 0;
  let cursor: Cursor | null = null;
  /** Changes that were reported and are not processed yet; the cursor moves when the last of them has been. */
  let read: { readonly parts: FeedChanges[]; readonly next: Cursor } | null = null;

  const everything = (): FeedChanges => ({ seq: ++number, changes: null });

  const acted = (seq: number): FeedChanges | null => {
    if (read === null) return null;
    while (read.parts[0] !== undefined && read.parts[0].seq <= seq) read.parts.shift();
    const [rest] = read.parts;
    if (rest !== undefined) return rest;
    cursor = read.next;
    read = null;
    return null;
  };

  return {
    async last() {
      for (const text of withoutForeign) await pool.query(text);
      const { rows } = await pool.query<Found>(
        `SELECT snapshot::text AS snapshot, server, standby FROM (${here}) here`,
      );
      const [found] = rows;
      if (found === undefined) throw new Error('the server does not say where it is');
      read = { parts: [{ seq: ++number, changes: null }], next: whole(found) };
      return number;
    },
    async after(seq) {
      const rest = acted(seq);
      if (rest !== null) return rest;
      if (cursor === null) return everything();
      const { rows } = await pool.query<Found>(newChanges, [cursor.snapshot]);
      const [first] = rows;
      if (first === undefined) return everything();
      const next = whole(first);
      if (first.behind || next.server !== cursor.server) return everything();
      const changes = rows.flatMap(({ entity, entity_id }): Change[] =>
        entity === null || entity_id === null ? [] : [{ seq: 0, entity, entity_id }],
      );
      if (changes.length === 0) {
        cursor = next;
        return null;
      }
      const parts: FeedChanges[] = [];
      for (let from = 0; from < changes.length; from += atOnce)
        parts.push({ seq: ++number, changes: changes.slice(from, from + atOnce) });
      read = { parts, next };
      return parts[0] ?? null;
    },
    unread: async (node) => (await pool.query<Pick<Change, 'entity' | 'entity_id'>>(unread, [node])).rows,
    position: () => cursor?.snapshot.split(':')[0] ?? null,
    async trim() {
      await pool.query(deleteOld);
    },
  };
}
