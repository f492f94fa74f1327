/** One conversation in the log: what its questions and its helpers cost, added up by the database. */
import { type RawBuilder, sql } from 'kysely';
import { refundRef } from '../../server/billing/ledger/commands.ts';
import { LogType } from '../../server/contract/enum.ts';
import type { Database } from '../open.ts';

/** Cost of some charged requests of a conversation. */
export interface ConversationCost {
  readonly requests: number;
  /** Without what was given back. */
  readonly quota: number;
  /** All tokens of prompts, and those of them that a cache had. */
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
}

/** And what helpers of its agent are of them. */
export interface ConversationSum extends ConversationCost {
  readonly subagents: number;
  readonly subagent_quota: number;
}

export interface ConversationOwner {
  readonly id: number;
  readonly username: string;
  /** Id of the row of `names` with the session. */
  readonly session_id: number;
}

export function createConversationsRepository({ query, dialect }: Database) {
  const number = (member: string): RawBuilder<number> =>
    sql<number>`coalesce(${dialect.jsonNumber('logs.other', member)}, 0)`;
  // Writes of longer lives are among those of the shortest.
  const input = sql<number>`${number('input')} + ${number('cache_tokens')} + ${number('cache_creation_tokens')}`;

  // Found by its key for each row: joined, all postings might be read.
  const quota = sql<number>`(logs.quota - coalesce((SELECT amount FROM postings WHERE postings.ref = ${sql.lit(refundRef(''))} || logs.request_id), 0))`;
  const costs = [
    sql<number>`count(*)`.as('requests'),
    sql<number>`sum(${quota})`.as('quota'),
    sql<number>`CAST(sum(${input}) AS BIGINT)`.as('input_tokens'),
    sql<number>`CAST(sum(${number('cache_tokens')}) AS BIGINT)`.as('cached_tokens'),
    sql<number>`sum(logs.completion_tokens)`.as('output_tokens'),
  ] as const;
  const helped = [
    sql<number>`count(DISTINCT nullif(logs.subagent_id, 0))`.as('subagents'),
    sql<number>`sum(CASE WHEN logs.subagent_id = 0 THEN 0 ELSE ${quota} END)`.as('subagent_quota'),
  ] as const;
  const began = sql<number>`min(logs.created_at)`;
  const requestsOf = ({ id, session_id: session }: ConversationOwner) =>
    query
      .selectFrom('logs')
      .where('logs.session_id', '=', session)
      // Written in the form of the index.
      .where(sql<boolean>`logs.session_id <> 0`)
      .where('logs.user_id', '=', id)
      .where(sql<boolean>`${dialect.withoutIndex('logs.type')} = ${LogType.consume}`);

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
    /** All of it; undefined = it has no charged request. */
    whole: (
      owner: ConversationOwner,
    ): Promise<
      (ConversationSum & { readonly prompt_count: number; readonly from: number; readonly to: number }) | undefined
    > =>
      requestsOf(owner)
        .select([...costs, ...helped])
        .select([
          sql<number>`count(DISTINCT logs.prompt_id)`.as('prompt_count'),
          began.as('from'),
          sql<number>`max(logs.created_at)`.as('to'),
        ])
        .having(sql`count(*)`, '>', 0)
        .executeTakeFirst(),
    /** Time of its first request. */
    begin: (
      owner: ConversationOwner,
    ): Promise<{ readonly agent_id: number; readonly project_id: number } | undefined> =>
      requestsOf(owner)
        .select(['logs.agent_id', 'logs.project_id'])
        .orderBy('logs.created_at')
        .orderBy('logs.id')
        .limit(1)
        .executeTakeFirst(),
    models: async (owner: ConversationOwner): Promise<string[]> =>
      (await requestsOf(owner).select('logs.model_name').distinct().orderBy('logs.model_name').execute()).map(
        ({ model_name }) => model_name,
      ),
    /** The newest ones first. */
    prompts: (
      owner: ConversationOwner,
      most: number,
    ): Promise<(ConversationSum & { readonly prompt_id: number; readonly at: number })[]> =>
      requestsOf(owner)
        .select(['logs.prompt_id', began.as('at'), ...costs, ...helped])
        .groupBy('logs.prompt_id')
        .orderBy('at', 'desc')
        .orderBy('logs.prompt_id')
        .limit(most)
        .execute(),
    /** The dearest ones first. */
    helpers: (
      owner: ConversationOwner,
      most: number,
    ): Promise<(ConversationCost & { readonly subagent_id: number })[]> =>
      requestsOf(owner)
        .where('logs.subagent_id', '<>', 0)
        .select(['logs.subagent_id', ...costs])
        .groupBy('logs.subagent_id')
        .orderBy('quota', 'desc')
        .orderBy('logs.subagent_id')
        .limit(most)
        .execute(),
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
