/** One conversation in the log: what its questions and its helpers cost, added up by the database. */
import { type RawBuilder, sql } from 'kysely';
import { LogType } from '../../server/contract/enum.ts';
import type { Database } from '../open.ts';

export interface ConversationPart {
  readonly prompt_id: number;
  readonly subagent_id: number;
  readonly agent_id: number;
  readonly project_id: number;
  readonly model: string;
  readonly requests: number;
  readonly quota: number;
  /** All tokens of prompts, and those of them that a cache had. */
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** Epoch seconds. */
  readonly first: number;
  readonly last: number;
}

export interface ConversationOwner {
  readonly id: number;
  readonly username: string;
  /** Of `names`. */
  readonly session_id: number;
}

/** Parts of a conversation beyond this are left out: the first ones stay. */
const mostParts = 10_000;

export function createConversationsRepository({ query, dialect }: Database) {
  const number = (member: string): RawBuilder<number> =>
    sql<number>`coalesce(${dialect.jsonNumber('logs.other', member)}, 0)`;
  // Writes of longer lives are among those of the shortest.
  const input = sql<number>`${number('input')} + ${number('cache_tokens')} + ${number('cache_creation_tokens')}`;

  return {
    /** Whose it is: of several users with one of that name, the one who began it last. */
    ownerOf: async (
      session: string,
      user: { readonly id?: number; readonly name?: string },
    ): Promise<ConversationOwner | undefined> =>
      query
        .selectFrom('names')
        .innerJoin('users', 'users.id', 'names.user_id')
        .select(['users.id', 'users.username', 'names.id as session_id'])
        .where('names.kind', '=', 'session')
        .where('names.text', '=', session)
        .$if(user.id !== undefined, (one) => one.where('users.id', '=', user.id as number))
        .$if(user.name !== undefined, (one) => one.where('users.username', '=', user.name as string))
        .orderBy('names.day', 'desc')
        .orderBy('users.id')
        .limit(1)
        .executeTakeFirst(),
    /** @param id the user's. @param session number of the name. */
    parts: async ({ id, session_id: session }: ConversationOwner): Promise<ConversationPart[]> =>
      (await query
        .selectFrom('logs')
        .select([
          'logs.prompt_id',
          'logs.subagent_id',
          'logs.agent_id',
          'logs.project_id',
          'logs.model_name as model',
          sql<number>`count(*)`.as('requests'),
          sql<number>`sum(logs.quota)`.as('quota'),
          sql<number>`CAST(sum(${input}) AS BIGINT)`.as('input'),
          sql<number>`CAST(sum(${number('cache_tokens')}) AS BIGINT)`.as('cached'),
          sql<number>`sum(logs.completion_tokens)`.as('output'),
          sql<number>`min(logs.created_at)`.as('first'),
          sql<number>`max(logs.created_at)`.as('last'),
        ])
        .where('logs.session_id', '=', session)
        // Written in the form of the index.
        .where(sql<boolean>`logs.session_id <> 0`)
        .where('logs.user_id', '=', id)
        .where(sql<boolean>`${dialect.withoutIndex('logs.type')} = ${LogType.consume}`)
        .groupBy(['logs.prompt_id', 'logs.subagent_id', 'logs.agent_id', 'logs.project_id', 'logs.model_name'])
        .orderBy(sql`min(logs.created_at)`)
        .orderBy('logs.prompt_id')
        .orderBy('logs.subagent_id')
        .limit(mostParts)
        .execute()) as ConversationPart[],
    /** By number. */
    texts: async (userId: number, ids: readonly number[]): Promise<ReadonlyMap<number, string>> => {
      const found = new Map<number, string>();
      for (let from = 0; from < ids.length; from += 500)
        for (const { id, text } of await query
          .selectFrom('names')
          .select(['id', 'text'])
          .where('user_id', '=', userId)
          .where('id', 'in', ids.slice(from, from + 500))
          .execute())
          found.set(id, text);
      return found;
    },
  };
}
