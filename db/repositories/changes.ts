/** The change feed that triggers write; followers ask for what came after the last number they know. */
import type { Database } from '../open.ts';

export interface Change {
  readonly seq: number;
  readonly entity: string;
  readonly entity_id: string;
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
