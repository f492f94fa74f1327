/** Answers in Ollama's form, whole, and what its lines have in common with that. */
import { completionTokensOf, promptTokensOf } from '../../contract/pricing/bucket.ts';
import type { ChatEvent, FinishReason, Part, Usage } from '../canonical.ts';
import type { ResponseContext } from '../codec.ts';
import { collect } from '../shared/blocks.ts';
import { mediaMarkdown } from '../shared/media.ts';
import { argumentsObject, wrapCustom } from '../shared/tools.ts';

type Call = Extract<Part, { type: 'tool-call' }>;

export const head = ({ model, created }: ResponseContext) => ({
  model,
  created_at: new Date(created * 1000).toISOString(),
});

/** @param index among the calls of the answer. */
export const encodeCall = ({ id, name, arguments: input, custom }: Call, index: number) => ({
  id,
  function: { index, name, arguments: argumentsObject(custom === true ? wrapCustom(input) : input) },
});

/** What the last line says. Calls end with `stop` here. */
export const tail = ({ unified }: FinishReason, usage: Usage | null) => ({
  done: true,
  done_reason:
    unified === 'length' ? 'length' : unified === 'content_filter' || unified === 'refusal' ? 'content_filter' : 'stop',
  ...(usage === null ? {} : { prompt_eval_count: promptTokensOf(usage), eval_count: completionTokensOf(usage) }),
});

export function encodeResponse(events: readonly ChatEvent[], context: ResponseContext): unknown {
  const { parts, finish, usage } = collect(events);
  let content = '';
  let thinking = '';
  const calls: unknown[] = [];
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'refusal') content += part.text;
    else if (part.type === 'reasoning') thinking += part.text;
    else if (part.type === 'tool-call') calls.push(encodeCall(part, calls.length));
    else content += mediaMarkdown(part);
  }
  const message = {
    role: 'assistant',
    content,
    ...(thinking === '' ? {} : { thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return { ...head(context), message, ...tail(finish, usage) };
}
