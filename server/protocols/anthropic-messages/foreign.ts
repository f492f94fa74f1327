/** Thoughts of a conversation that this dialect's upstream did not sign. */
import { type Json, list, record, text } from '../shared/json.ts';
import { type ForeignBlock, isForeign, type Signing } from '../shared/signature.ts';

const isThought = (block: unknown): boolean => /^(?:redacted_)?thinking$/.test(text(record(block)?.type) ?? '');

const signatureOf = (block: Record<string, unknown>): string | null =>
  text(block.type === 'thinking' ? block.signature : block.data);

export function foreignBlocks(body: Json, signing: Signing): readonly ForeignBlock[] {
  const found: ForeignBlock[] = [];
  let bare = false;
  for (const [at, message] of list(body.messages).entries()) {
    const { role, content } = record(message) ?? {};
    if (role !== 'assistant') continue;
    bare = false;
    if (!Array.isArray(content)) continue;
    const foreign = content.map((block) => isThought(block) && isForeign(signatureOf(record(block) ?? {}), signing));
    const left = content.filter((_, index) => foreign[index] !== true);
    // Another upstream may have answered without any thought.
    bare =
      !isThought(left[0]) &&
      left.some((block) => record(block)?.type === 'tool_use') &&
      (signing.thoughtFirst === true || foreign.includes(true));
    // An empty turn is refused too.
    if (left.length === 0 && foreign.length > 0) {
      found.push({ path: ['messages', at], reason: reason(`/messages/${at}`) });
      continue;
    }
    for (const [index, drop] of foreign.entries())
      if (drop)
        found.push({ path: ['messages', at, 'content', index], reason: reason(`/messages/${at}/content/${index}`) });
  }
  return bare && record(body.thinking)?.type === 'enabled' ? [...found, ...withoutThinking(body)] : found;
}

const reason = (path: string): string => `${path}: a thought without this provider's signature`;

/** With a budget of its own the last turn that calls tools must begin with the thought that led there, and old thoughts can be cleared only while it thinks. */
function withoutThinking(body: Json): ForeignBlock[] {
  const edits = list(record(body.context_management)?.edits);
  const clearing = edits.flatMap((edit, index): ForeignBlock[] =>
    /^clear_thinking/.test(text(record(edit)?.type) ?? '')
      ? [{ path: ['context_management', 'edits', index], reason: null }]
      : [],
  );
  return [
    { path: ['thinking'], reason: '/thinking: the history calls a tool without the signed thought before it' },
    ...(clearing.length > 0 && clearing.length === edits.length
      ? [{ path: ['context_management'], reason: null }]
      : clearing),
  ];
}
