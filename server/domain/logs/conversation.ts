/** What a conversation cost: its questions in their order, and its helpers. */
import { type Database, forReading } from '../../../db/open.ts';
import { type ConversationPart, createConversationsRepository } from '../../../db/repositories/conversations.ts';
import type { Conversation } from '../../contract/endpoints/log.ts';
import { AppError } from '../../contract/errors.ts';
import { otherName, otherText } from '../../contract/names.ts';

/** Rows of an answer: the newest questions and the dearest helpers. */
const mostRows = 500;

interface Sums {
  requests: number;
  quota: number;
  input_tokens: number;
  cached_tokens: number;
  output_tokens: number;
}
const nothing: Sums = { requests: 0, quota: 0, input_tokens: 0, cached_tokens: 0, output_tokens: 0 };

function add(sums: Sums, part: ConversationPart): void {
  sums.requests += part.requests;
  sums.quota += part.quota;
  sums.input_tokens += part.input;
  sums.cached_tokens += part.cached;
  sums.output_tokens += part.output;
}

export function createConversations({ database }: { readonly database: Database }) {
  const repository = createConversationsRepository(forReading(database));

  /** @param user whose it has to be. @throws AppError not_found */
  return async (session: string, user: { readonly id?: number; readonly name?: string }): Promise<Conversation> => {
    const owner = await repository.ownerOf(session, user);
    const parts = owner === undefined ? [] : await repository.parts(owner);
    const [begin] = parts;
    if (owner === undefined || begin === undefined) throw new AppError('not_found', { what: `session ${session}` });
    const ids = new Set(parts.flatMap((part) => [part.prompt_id, part.subagent_id, part.agent_id, part.project_id]));
    const texts = await repository.texts(
      owner.id,
      [...ids].filter((id) => id > otherName),
    );
    const nameOf = (id: number): string => (id === otherName ? otherText : (texts.get(id) ?? ''));

    const whole = { ...nothing };
    const helpers = { ...nothing };
    const bySubagent = new Map<number, Sums>();
    const byPrompt = new Map<number, Sums & { at: number; subagents: Set<number>; subagent_quota: number }>();
    for (const part of parts) {
      add(whole, part);
      const prompt = byPrompt.get(part.prompt_id) ?? {
        ...nothing,
        ...{ at: part.first, subagents: new Set<number>(), subagent_quota: 0 },
      };
      byPrompt.set(part.prompt_id, prompt);
      add(prompt, part);
      prompt.at = Math.min(prompt.at, part.first);
      if (part.subagent_id === 0) continue;
      add(helpers, part);
      prompt.subagents.add(part.subagent_id);
      prompt.subagent_quota += part.quota;
      const own = bySubagent.get(part.subagent_id) ?? { ...nothing };
      bySubagent.set(part.subagent_id, own);
      add(own, part);
    }
    return {
      session,
      username: owner.username,
      agent: nameOf(begin.agent_id),
      project: nameOf(begin.project_id),
      from: Math.min(...parts.map(({ first }) => first)),
      to: Math.max(...parts.map(({ last }) => last)),
      models: [...new Set(parts.map(({ model }) => model))].sort(),
      ...whole,
      subagents: bySubagent.size,
      subagent_quota: helpers.quota,
      prompt_count: byPrompt.size,
      prompts: [...byPrompt]
        .map(([id, { subagents, ...sums }]) => ({ name: nameOf(id), ...sums, subagents: subagents.size }))
        .sort((one, other) => one.at - other.at)
        .slice(-mostRows),
      helpers: [...bySubagent]
        .map(([id, sums]) => ({ name: nameOf(id), ...sums }))
        .sort((one, other) => other.quota - one.quota || (one.name < other.name ? -1 : 1))
        .slice(0, mostRows),
    };
  };
}

export type ConversationsService = ReturnType<typeof createConversations>;
