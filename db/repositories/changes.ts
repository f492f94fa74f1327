/** The change feed that triggers write; followers ask for what came after the last number they know. */
import type { Database } from '../open.ts';

export interface Change {
  readonly seq: number;
  readonly entity: string;
  readonly entity_id: string;
}

export interface FeedChanges {
  /** The follower's cursor once it has processed them. */
  readonly seq: number;
  /** null = the range is not known any more: everything has to be read again. */
  readonly changes: readonly Change[] | null;
}

/** One follower's own: places mean nothing to another. */
export interface Feed {
  /** Called before everything is read: a change that is written in between is reported once more, which does no harm. */
  last(): Promise<number>;
  /** @param seq up to where the follower has processed changes; those it received and has not processed are reported again. @returns null = nothing. */
  after(seq: number): Promise<FeedChanges | null>;
  /** Changes that other followers may not have read when nobody reports them, as far as it is known. */
  unread(node: string): Promise<readonly Pick<Change, 'entity' | 'entity_id'>[]>;
  /** Up to where changes may be deleted for this follower; null where it needs none. */
  position(): string | null;
  /** Forgets what every follower has long seen. */
  trim(): Promise<void>;
}

export function createChangesRepository({ query }: Database) {
  return {
    last: async (): Promise<number> =>
      (
        await query
          .selectFrom('changes')
          .select((eb) => eb.fn.max('seq').as('seq'))
          .executeTakeFirst()
      )?.seq ?? 0,
    after: (seq: number, limit: number): Promise<Change[]> =>
      query
        .selectFrom('changes')
        .select(['seq', 'entity', 'entity_id'])
        .where('seq', '>', seq)
        .orderBy('seq')
        .limit(limit)
        .execute(),
    /** Forgets what every follower has long seen. */
    trim: async (upTo: number): Promise<void> => {
      await query.deleteFrom('changes').where('seq', '<=', upTo).execute();
    },
  };
}
