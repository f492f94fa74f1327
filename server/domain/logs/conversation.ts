/** What a conversation cost: its questions in their order, and its helpers. */
import { type Database, forReading } from '../../../db/open.ts';
import { createConversationsRepository } from '../../../db/repositories/conversations.ts';
import type { Conversation } from '../../contract/endpoints/log.ts';
import { AppError } from '../../contract/errors.ts';
import { otherName, otherText } from '../../contract/names.ts';

/** Rows of an answer: the newest questions and the dearest helpers. */
const maxRows = 500;

export function createConversations({ database }: { readonly database: Database }) {
  const repository = createConversationsRepository(forReading(database));

  /** @param user whose it has to be. @throws AppError not_found */
  return async (session: string, user: { readonly id?: number; readonly name?: string }): Promise<Conversation> => {
    const owner = await repository.ownerOf(session, user);
    const whole = owner === undefined ? undefined : await repository.whole(owner);
    if (owner === undefined || whole === undefined) throw new AppError('not_found', { what: `session ${session}` });
    const [begin, models, prompts, helpers] = await Promise.all([
      repository.begin(owner),
      repository.models(owner),
      repository.prompts(owner, maxRows),
      repository.helpers(owner, maxRows),
    ]);
    const { agent_id: agent = 0, project_id: project = 0 } = begin ?? {};
    const ids = new Set([agent, project]);
    for (const { prompt_id } of prompts) ids.add(prompt_id);
    for (const { subagent_id } of helpers) ids.add(subagent_id);
    const texts = await repository.texts(
      owner.id,
      [...ids].filter((id) => id > otherName),
    );
    const nameOf = (id: number): string => (id === otherName ? otherText : (texts.get(id) ?? ''));
    return {
      session,
      username: owner.username,
      agent: nameOf(agent),
      project: nameOf(project),
      models,
      ...whole,
      prompts: prompts.map(({ prompt_id, ...sums }) => ({ name: nameOf(prompt_id), ...sums })).reverse(),
      helpers: helpers.map(({ subagent_id, ...sums }) => ({ name: nameOf(subagent_id), ...sums })),
    };
  };
}

export type ConversationsService = ReturnType<typeof createConversations>;
