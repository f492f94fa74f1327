/** Answers in Cohere's form, whole. */
import type { ChatEvent, Citation, FinishReason, Part } from '../canonical.ts';
import type { ResponseContext } from '../codec.ts';
import { collect } from '../shared/blocks.ts';
import { Quotes, urlCitations } from '../shared/citations.ts';
import { guardedLookup, present, record, text } from '../shared/json.ts';
import { mediaMarkdown } from '../shared/media.ts';
import { portableId, wrapCustom } from '../shared/tools.ts';
import { finishReasons } from './reader.ts';
import { encodeUsage } from './usage.ts';

/** A call decides, not the upstream's word: several say `stop` although they call, some that they call and do not. */
export function finishWord({ unified, raw }: FinishReason, called: boolean): string {
  if (called && (unified === 'stop' || unified === 'other')) return 'TOOL_CALL';
  if (!called && unified === 'tool_calls') return 'COMPLETE';
  // The dialect's own word, where the upstream gave it.
  if (raw !== null && guardedLookup(finishReasons, raw) === unified) return raw;
  switch (unified) {
    case 'length':
      return 'MAX_TOKENS';
    case 'tool_calls':
      return 'TOOL_CALL';
    case 'content_filter':
    case 'refusal':
      return 'ERROR_TOXIC';
    default:
      return 'COMPLETE';
  }
}

const argumentsOf = (part: Extract<Part, { type: 'tool-call' }>): string =>
  part.custom === true ? wrapCustom(part.arguments) : part.arguments;

/** @param offset of the cited text in the answer. */
export function citationsOf(citations: readonly Citation[] = [], offset: number, words: string): unknown[] {
  const own = citations.filter(({ dialect }) => dialect === 'cohere-chat').map(({ raw }) => raw);
  const others = citations.filter(({ dialect }) => dialect !== 'cohere-chat');
  const quotes = new Quotes(words);
  return [
    // Each of its sources brought the whole mark.
    ...new Set(own),
    ...urlCitations(others, words.length, offset).map((source) => {
      const entry = record(source) ?? {};
      const start = Number(entry.start_index ?? 0);
      const end = Number(entry.end_index ?? 0);
      const id = text(entry.url) ?? '';
      const document = { id, title: text(entry.title) ?? '', url: id };
      return {
        start,
        end,
        text: quotes.take(start - offset, end - offset),
        sources: [{ type: 'document', id, document }],
        type: 'TEXT_CONTENT',
      };
    }),
  ];
}

export function encodeResponse(events: readonly ChatEvent[], context: ResponseContext): unknown {
  const { parts, finish, usage, id, hasToolCall } = collect(events);
  const thoughts: unknown[] = [];
  const calls: unknown[] = [];
  const citations: unknown[] = [];
  let words = '';
  for (const part of parts) {
    if (part.type === 'reasoning' && part.text !== '') thoughts.push({ type: 'thinking', thinking: part.text });
    else if (part.type === 'tool-call') {
      const { name } = part;
      calls.push({ id: portableId(part.id), type: 'function', function: { name, arguments: argumentsOf(part) } });
    } else if (part.type === 'text') {
      for (const citation of citationsOf(part.citations, words.length, part.text)) citations.push(citation);
      words += part.text;
    } else if (part.type === 'refusal') words += part.text;
    else words += mediaMarkdown(part);
  }
  const content = [...thoughts, ...(words === '' || hasToolCall ? [] : [{ type: 'text', text: words }])];
  return {
    id: id ?? context.responseId,
    finish_reason: finishWord(finish, hasToolCall),
    message: present({
      role: 'assistant',
      content: content.length === 0 ? undefined : content,
      // Words before calls are their plan.
      tool_plan: hasToolCall && words !== '' ? words : undefined,
      tool_calls: hasToolCall ? calls : undefined,
      citations: citations.length === 0 ? undefined : citations,
    }),
    ...(usage === null ? {} : { usage: encodeUsage(usage) }),
  };
}
