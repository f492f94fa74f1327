/** The change feed as a follower reads it: what changed after a place that was given to it before. */
import type { Database } from './open.ts';
import { createPostgresFeed } from './postgres/feed.ts';
import { type Change, createChangesRepository } from './repositories/changes.ts';

export interface FeedNews {
  /** Where the follower stands once it has acted on them. */
  readonly seq: number;
  /** null = nobody knows any more: everything has to be read anew. */
  readonly changes: readonly Change[] | null;
}

/** One follower's own: places mean nothing to another. */
export interface Feed {
  /** Asked before everything is read: what slips in between is told once more, which does no harm. */
  last(): Promise<number>;
  /** @param seq up to where the follower has acted; what it was told and has not acted on is told again. @returns null = nothing. */
  after(seq: number): Promise<FeedNews | null>;
  /** What may be forgotten on its behalf; null where nobody needs to know. */
  follows(): string | null;
  /** Forgets what every follower has long seen. */
  trim(): Promise<void>;
}

/** Changes told at once; more come with the next question. */
const changesAtOnce = 5000;
/** Kept although every follower has seen them: whoever was away for a moment needs no more than these. */
const keptChanges = 10_000;

/** One writer at a time: numbers become visible in their order. */
function createFileFeed(database: Database): Feed {
  const changes = createChangesRepository(database);
  return {
    last: changes.last,
    async after(seq) {
      const news = await changes.after(seq, changesAtOnce);
      const last = news.at(-1);
      return last === undefined ? null : { seq: last.seq, changes: news };
    },
    follows: () => null,
    trim: async () => changes.trim((await changes.last()) - keptChanges),
  };
}

export const createFeed = (database: Database): Feed =>
  database.engine === 'sqlite' ? createFileFeed(database) : createPostgresFeed(database, changesAtOnce);
