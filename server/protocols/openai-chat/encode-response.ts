/** Answers in the form of chat completions, whole. */
import { completionTokensOf, promptTokensOf } from '../../contract/pricing/bucket.ts';
import type { ChatEvent, Citation, FinishReason, Part, UnifiedFinish, Usage } from '../canonical.ts';
import type { ResponseContext } from '../codec.ts';
import { collect } from '../shared/blocks.ts';
import { urlCitations } from '../shared/citations.ts';
import { present, record } from '../shared/json.ts';
import { mediaMarkdown } from '../shared/media.ts';
import { encodeCall, reasoningDetail } from './encode-messages.ts';

const finishReasons: Readonly<Record<UnifiedFinish, string>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
  refusal: 'content_filter',
  error: 'stop',
  other: 'stop',
};

/** Ids that name something in their own dialects alone. */
const elsewhere = /^(?:msg|resp)_/;

/** The upstream's own id, by which its provider finds the request; this dialect's ids have no form of their own. */
export const answerId = (id: string | null, requestId: string): string =>
  id === null || elsewhere.test(id) ? `chatcmpl-${requestId}` : id;

/** A call decides, not the upstream's word: several say `stop` although they call, some that they call and do not. Source: Wei-Shaw/sub2api#3338 */
export function finishWord({ unified, raw }: FinishReason, called: boolean): string {
  if (called && (unified === 'stop' || unified === 'other')) return 'tool_calls';
  if (!called && unified === 'tool_calls') return 'stop';
  // This dialect ends a refusal with `stop`.
  return unified === 'refusal' && raw === 'stop' ? 'stop' : finishReasons[unified];
}

export function encodeUsage(usage: Usage): Record<string, unknown> {
  const cacheWrite = usage.cacheWrite5m + usage.cacheWrite1h + usage.cacheWrite12h;
  const prompt = promptTokensOf(usage);
  const output = completionTokensOf(usage);
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: present({
      cached_tokens: usage.cacheRead,
      audio_tokens: usage.audioInput,
      cache_write_tokens: cacheWrite > 0 ? cacheWrite : undefined,
      image_tokens: usage.imageInput > 0 ? usage.imageInput : undefined,
      video_tokens: usage.videoInput > 0 ? usage.videoInput : undefined,
    }),
    completion_tokens_details: { reasoning_tokens: usage.reasoning, audio_tokens: usage.audioOutput },
  };
}

/** @param offset of the cited text in the answer. */
export const annotationsOf = (citations: readonly Citation[] = [], offset: number, length: number): unknown[] =>
  citations.flatMap((citation) =>
    citation.dialect === 'openai-chat' && record(citation.raw)?.type === 'url_citation'
      ? [citation.raw]
      : urlCitations([citation], length, offset).map((source) => ({ type: 'url_citation', url_citation: source })),
  );

const speech = ({ source }: Extract<Part, { type: 'audio' }>, context: ResponseContext): unknown =>
  source.kind === 'base64'
    ? { id: `audio_${context.responseId}`, data: source.data, transcript: '', expires_at: context.created + 3600 }
    : undefined;

export function encodeResponse(events: readonly ChatEvent[], context: ResponseContext): unknown {
  const { parts, finish, usage, id, hasToolCall } = collect(events);
  let content = '';
  let thoughts = '';
  let refusal: string | null = null;
  let audio: unknown;
  const details: Record<string, unknown>[] = [];
  const calls: Record<string, unknown>[] = [];
  const annotations: unknown[] = [];
  for (const part of parts) {
    if (part.type === 'text') {
      for (const one of annotationsOf(part.citations, content.length, part.text.length)) annotations.push(one);
      content += part.text;
    } else if (part.type === 'reasoning') {
      thoughts += part.text;
      if (part.signature !== null || part.redacted !== null) details.push(reasoningDetail(part));
    } else if (part.type === 'tool-call') calls.push(encodeCall(part));
    else if (part.type === 'refusal') refusal = (refusal ?? '') + part.text;
    else if (part.type === 'audio') audio = speech(part, context);
    else content += mediaMarkdown(part);
  }
  return present({
    id: answerId(id, context.responseId),
    object: 'chat.completion',
    created: context.created,
    model: context.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: content === '' && (calls.length > 0 || refusal !== null) ? null : content,
          refusal,
          ...(thoughts === '' ? {} : { reasoning_content: thoughts }),
          ...(details.length === 0 ? {} : { reasoning_details: details }),
          ...(annotations.length === 0 ? {} : { annotations }),
          ...(audio === undefined ? {} : { audio }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: finishWord(finish, hasToolCall),
      },
    ],
    usage: usage === null ? undefined : encodeUsage(usage),
  });
}
