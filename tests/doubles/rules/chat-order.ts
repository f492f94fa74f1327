/** Rules about the order of a chat's messages, and about calls and their results. */
import { type Json, record, records } from '../../../server/protocols/shared/json.ts';
import { invalid, type Refusal, type Rule } from '../rule.ts';

type Item = Record<string, unknown>;
export const messagesOf = (body: Json): readonly Item[] => records(body.messages);
export const callsOf = (message: Item): readonly Item[] => records(message.tool_calls);

/** Every call is answered before anybody else speaks, and nothing else is. */
export const pairedCalls = (
  id: string,
  source: string,
  words: {
    readonly missing: (ids: string, at: number) => Refusal;
    readonly orphan: (id: string, at: number) => Refusal;
  },
): Rule => ({
  id,
  source,
  reject({ body }) {
    let open = new Set<unknown>();
    for (const [at, message] of messagesOf(body).entries()) {
      if (message.role === 'tool') {
        if (!open.delete(message.tool_call_id)) return words.orphan(String(message.tool_call_id), at);
        continue;
      }
      if (open.size > 0) return words.missing([...open].join(', '), at - 1);
      open = new Set(callsOf(message).map((call) => call.id));
    }
    return open.size > 0 ? words.missing([...open].join(', '), messagesOf(body).length - 1) : null;
  },
});

/** One side may not speak twice in a row. */
export const alternating = (id: string, source: string, refusal: Refusal): Rule => ({
  id,
  source,
  reject({ body }) {
    const roles = messagesOf(body)
      .map(({ role }) => role)
      .filter((role) => role !== 'system');
    return roles.some((role, at) => role !== (at % 2 === 0 ? 'user' : 'assistant')) ? refusal : null;
  },
});

/** @param follows roles that may stand after one; a role that is not named may be followed by all. */
export const following = (
  id: string,
  source: string,
  follows: Readonly<Record<string, string>>,
  refusal: (role: string, after: string) => Refusal,
): Rule => ({
  id,
  source,
  reject({ body }) {
    const roles = messagesOf(body).map(({ role }) => String(role));
    for (const [at, role] of roles.entries()) {
      const after = roles[at - 1];
      const allowed = after === undefined ? undefined : follows[after];
      if (after !== undefined && allowed !== undefined && !allowed.split(' ').includes(role))
        return refusal(role, after);
    }
    return null;
  },
});

/** Thoughts must come back with the calls they led to. */
export const thoughtsKept = (id: string, source: string, models: RegExp, word: (at: number) => string): Rule => ({
  id,
  source,
  reject({ body, model }) {
    if (!models.test(model) || record(body.thinking)?.type === 'disabled') return null;
    const at = messagesOf(body).findIndex(
      (message) => callsOf(message).length > 0 && typeof message.reasoning_content !== 'string',
    );
    return at < 0 ? null : invalid(word(at));
  },
});

/** Arguments of calls are JSON. */
export const parsedArguments = (id: string, source: string, refusal: (callId: string) => Refusal): Rule => ({
  id,
  source,
  reject({ body }) {
    for (const call of messagesOf(body).flatMap(callsOf)) {
      try {
        JSON.parse(String(record(call.function)?.arguments));
      } catch {
        return refusal(String(call.id));
      }
    }
    return null;
  },
});
