/** The response object that whole answers and the events of a stream carry. */
import type { Citation, FinishReason, Part, Usage } from '../canonical.ts';
import type { ResponseContext } from '../codec.ts';
import { urlCitations } from '../shared/citations.ts';
import { records } from '../shared/json.ts';
import { markSignature } from '../shared/signature.ts';
import { portableId } from '../shared/tools.ts';
import { encodeUsage } from './usage.ts';

export type Item = Record<string, unknown>;

const responseId = (id: string): string => (id.startsWith('resp_') ? id : `resp_${id}`);

/** What an answer holds so far. */
interface SoFar {
  readonly output: readonly Item[];
  readonly usage: Usage | null;
  /** null = not over yet. */
  readonly reason: FinishReason | null;
}

export function responseObject(
  context: ResponseContext,
  status: 'in_progress' | 'completed' | 'incomplete',
  { output, usage, reason }: SoFar,
): Item {
  return {
    id: responseId(context.responseId),
    object: 'response',
    created_at: context.created,
    status,
    background: false,
    error: null,
    incomplete_details:
      status === 'incomplete'
        ? { reason: reason?.unified === 'length' ? 'max_output_tokens' : 'content_filter' }
        : null,
    instructions: null,
    max_output_tokens: null,
    model: context.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    usage: usage === null ? null : encodeUsage(usage),
    metadata: {},
  };
}

/** A refusal in words is a whole answer; one without is filtered. */
export function statusOf(reason: FinishReason, output: readonly Item[]): 'completed' | 'incomplete' {
  // A refusal whose words stand in a part of their own is complete.
  const rejected = output.some(({ content }) => records(content).some(({ type }) => type === 'refusal'));
  const cut = reason.unified === 'length' || reason.unified === 'content_filter';
  return cut || (reason.unified === 'refusal' && !rejected) ? 'incomplete' : 'completed';
}

export const messageItem = (id: string, content: readonly Item[], status = 'completed'): Item => ({
  id,
  type: 'message',
  status,
  role: 'assistant',
  content,
});

export const textPart = (text: string, citations: readonly Citation[] = []): Item => ({
  type: 'output_text',
  text,
  annotations: citations.flatMap((citation) =>
    citation.dialect === 'openai-responses'
      ? [citation.raw]
      : urlCitations([citation], text.length).map((source) => ({ type: 'url_citation', ...source })),
  ),
  logprobs: [],
});

/** Its status is optional at OpenAI; @ai-sdk/xai 4 refuses a response whose thoughts have none. */
export function thoughtItem(id: string, part: Extract<Part, { type: 'reasoning' }>, status = 'completed'): Item {
  const signature = part.redacted ?? part.signature;
  return {
    id: part.id ?? id,
    type: 'reasoning',
    status,
    summary: part.text === '' ? [] : [{ type: 'summary_text', text: part.text }],
    ...(signature === null ? {} : { encrypted_content: markSignature(signature, part.origin, 'openai-responses') }),
  };
}

export function callItem(id: string, part: Extract<Part, { type: 'tool-call' }>, status = 'completed'): Item {
  const { namespace } = part;
  const call = {
    call_id: portableId(part.id),
    ...(namespace === undefined ? {} : { namespace }),
    name: part.name,
    status,
  };
  return part.custom === true
    ? { id, type: 'custom_tool_call', ...call, input: part.arguments }
    : { id, type: 'function_call', ...call, arguments: part.arguments };
}
