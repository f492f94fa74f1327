/** What the chat templates of open models raise, wherever they are served: each host words it in its own way. */
import type { Json } from '../../../server/protocols/shared/json.ts';
import type { Refusal, Rule } from '../rule.ts';
import { messagesOf } from './chat-order.ts';
import { when } from './when.ts';

/** https://huggingface.co/Qwen/Qwen3.5-27B/blob/main/chat_template.jinja#L83-L86 */
export const qwen = /qwen-?3(?:[.p][5-9]|-next)/i;

const instructs = /^(?:system|developer)$/;

/** @returns where a second or a later instruction stands; -1 = nowhere. */
export const lateInstruction = (body: Json): number =>
  messagesOf(body).findIndex(({ role }, at) => at > 0 && instructs.test(String(role)));

/** One system message, and that one in front. */
export const systemFirst = (id: string, source: string, models: RegExp, refusal: Refusal): Rule =>
  when(id, source, ({ body, model }) => models.test(model) && lateInstruction(body) > 0, refusal);

/** The template knows four roles. */
export const noDeveloper = (id: string, source: string, models: RegExp, refusal: Refusal): Rule =>
  when(
    id,
    source,
    ({ body, model }) => models.test(model) && messagesOf(body).some(({ role }) => role === 'developer'),
    refusal,
  );

/** Somebody must have asked. */
export const userAsked = (id: string, source: string, models: RegExp, refusal: Refusal): Rule =>
  when(
    id,
    source,
    ({ body, model }) => models.test(model) && !messagesOf(body).some(({ role }) => role === 'user'),
    refusal,
  );
