/** Long conversations made short: how clients ask for it, and how it is done where the upstream does not know it. */

import type { CompactionRules } from '../definition.ts';
import { type Json, record, records, text } from '../shared/json.ts';

const trigger = 'compaction_trigger';
/** Begins what was sealed here; what a provider sealed begins otherwise. */
const mark = 'gwc1.';

const instructions = `The conversation above is about to be replaced by a summary, because it no longer fits. Write that summary now, for the model that will carry on in your place and will see nothing else of what happened.

Tell, in this order:
1. What the user wants in the end, and every wish, rule and preference the user stated, in the user's own words where wording matters.
2. What has been done so far: files read, written or changed with their paths, commands run and what they said, decisions taken and why.
3. What is known that must not be found out again: names, paths, identifiers, figures, errors and their causes.
4. What is going on right now, and the next steps, in order.

Be exact and complete rather than short. Call no tools. Answer with the summary alone.`;

const introduction =
  'The conversation so far was condensed to keep it within the context. This is its summary; carry on from here without repeating what is done.';

const isOwn = (item: Json): boolean =>
  (item.type === 'compaction' || item.type === 'compaction_summary') &&
  text(item.encrypted_content)?.startsWith(mark) === true;

/** An earlier summary is part of the new one. */
const isOpened = ({ content }: Json): boolean => text(records(content)[0]?.text)?.startsWith(introduction) === true;

const userItem = (words: string): Json => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text: words }],
});

const itemsOf = (body: Json): readonly Json[] =>
  typeof body.input === 'string' ? [userItem(body.input)] : records(body.input);

/** Characters of the user's own words that stay beside a summary, newest first: 64,000 tokens, as the provider keeps them. */
const keptCharacters = 256_000;

function keptMessages(body: Json): Json[] {
  const kept: Json[] = [];
  let room = keptCharacters;
  for (const item of itemsOf(body).toReversed()) {
    if ((item.type ?? 'message') !== 'message' || item.role !== 'user' || isOpened(item)) continue;
    room -= JSON.stringify(item.content ?? '').length;
    if (room < 0) break;
    kept.push(typeof item.content === 'string' ? userItem(item.content) : { type: 'message', ...item });
  }
  return kept.reverse();
}

export const compaction: CompactionRules = {
  suffix: '/compact',
  requested: (body) => Array.isArray(body.input) && body.input.some((item) => record(item)?.type === trigger),
  summaryRequest({ tools, text: _, ...body }) {
    const items = itemsOf(body).filter(({ type }) => type !== trigger);
    return {
      ...body,
      // They stay, for the sake of a warm cache and of upstreams that want the tools of every call they see.
      ...(tools === undefined ? {} : { tools, tool_choice: 'none' }),
      input: [...items, userItem(instructions)],
    };
  },
  opened(body, open) {
    if (!Array.isArray(body.input) || !records(body.input).some(isOwn)) return null;
    const input = body.input.map((item: unknown) => {
      const known = record(item);
      if (known === null || !isOwn(known)) return item;
      return userItem(`${introduction}\n\n${open(String(known.encrypted_content).slice(mark.length))}`);
    });
    return { ...body, input };
  },
  item: (id, encrypted) => ({ id: `cmp_${id}`, type: 'compaction', encrypted_content: `${mark}${encrypted}` }),
  isPassed: (answer) => /"type"\s*:\s*"compaction(?:_summary)?"/.test(answer),
  asCall(response, body) {
    const { id, created_at, output, usage } = record(response) ?? {};
    return {
      id,
      object: 'response.compaction',
      created_at,
      output: [...keptMessages(body), ...records(output)],
      usage,
    };
  },
};
