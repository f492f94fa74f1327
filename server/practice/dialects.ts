/** What the practice upstream says in each dialect: one whole answer, or the frames of a stream. Words and counts depend on the request alone. */

import type { ChatEvent, ProtocolId } from '../protocols/canonical.ts';
import type { Codec } from '../protocols/codec.ts';
import { allCodecs, codecs } from '../protocols/registry.ts';
import { emptyUsage } from '../protocols/shared/usage.ts';

export interface ResponseContent {
  readonly model: string;
  /** Size of the request's text, in characters. */
  readonly size: number;
  /** Words of the answer. */
  readonly chunks: number;
  readonly noUsage: boolean;
  /** OpenAI chat: the client asked for a usage frame. */
  readonly includeUsage: boolean;
}

export interface Dialect {
  readonly id: ProtocolId;
  /** The content type of its streams, where they are no events. */
  readonly contentType?: string | undefined;
  whole(content: ResponseContent): unknown;
  frames(content: ResponseContent): string[];
}

const word = 'practice ';
const created = 1_700_000_000;
const promptTokens = (content: ResponseContent): number => Math.max(1, Math.ceil(content.size / 4));
const textOf = (content: ResponseContent): string => word.repeat(content.chunks).trim();
const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
interface NamedEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

const named = (value: NamedEvent): string => `event: ${value.type}\n${data(value)}`;
const words = (content: ResponseContent): readonly string[] => Array.from({ length: content.chunks }, () => word);

const chatUsage = (content: ResponseContent) => {
  const prompt = promptTokens(content);
  return { prompt_tokens: prompt, completion_tokens: content.chunks, total_tokens: prompt + content.chunks };
};

const openaiChat: Dialect = {
  id: 'openai-chat',
  whole: (content) => ({
    id: 'chatcmpl-practice',
    object: 'chat.completion',
    created,
    model: content.model,
    choices: [{ index: 0, message: { role: 'assistant', content: textOf(content) }, finish_reason: 'stop' }],
    ...(content.noUsage ? {} : { usage: chatUsage(content) }),
  }),
  frames: (content) => {
    const chunk = (choices: readonly unknown[], more: object = {}) =>
      data({
        id: 'chatcmpl-practice',
        object: 'chat.completion.chunk',
        created,
        model: content.model,
        choices,
        ...more,
      });
    const delta = (content: object, finish: string | null = null) =>
      chunk([{ index: 0, delta: content, finish_reason: finish }]);
    return [
      delta({ role: 'assistant', content: '' }),
      ...words(content).map((content) => delta({ content })),
      delta({}, 'stop'),
      ...(content.includeUsage && !content.noUsage ? [chunk([], { usage: chatUsage(content) })] : []),
      'data: [DONE]\n\n',
    ];
  },
};

const responseOf = (content: ResponseContent, status: 'in_progress' | 'completed') => {
  const prompt = promptTokens(content);
  const done = status === 'completed';
  return {
    id: 'resp_practice',
    object: 'response',
    created_at: created,
    status,
    model: content.model,
    output: done
      ? [
          {
            id: 'msg_practice',
            type: 'message',
            status,
            role: 'assistant',
            content: [{ type: 'output_text', text: textOf(content), annotations: [] }],
          },
        ]
      : [],
    usage:
      done && !content.noUsage
        ? {
            input_tokens: prompt,
            input_tokens_details: { cached_tokens: 0 },
            output_tokens: content.chunks,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: prompt + content.chunks,
          }
        : null,
  };
};

const openaiResponses: Dialect = {
  id: 'openai-responses',
  whole: (content) => responseOf(content, 'completed'),
  frames: (content) => {
    const place = { item_id: 'msg_practice', output_index: 0, content_index: 0 };
    const part = { type: 'output_text', text: '', annotations: [] };
    const item = { id: 'msg_practice', type: 'message', status: 'in_progress', role: 'assistant', content: [] };
    const completed = responseOf(content, 'completed');
    const events: NamedEvent[] = [
      { type: 'response.created', response: responseOf(content, 'in_progress') },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.content_part.added', ...place, part },
      ...words(content).map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
      { type: 'response.output_text.done', ...place, text: textOf(content) },
      { type: 'response.output_item.done', output_index: 0, item: completed.output[0] },
      { type: 'response.completed', response: completed },
    ];
    return events.map((event, index) => named({ ...event, sequence_number: index }));
  },
};

const anthropicMessages: Dialect = {
  id: 'anthropic-messages',
  whole: (content) => ({
    id: 'msg_practice',
    type: 'message',
    role: 'assistant',
    model: content.model,
    content: [{ type: 'text', text: textOf(content) }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    ...(content.noUsage ? {} : { usage: { input_tokens: promptTokens(content), output_tokens: content.chunks } }),
  }),
  frames: (content) => {
    const usage = content.noUsage ? {} : { usage: { input_tokens: promptTokens(content), output_tokens: 1 } };
    const message = {
      id: 'msg_practice',
      type: 'message',
      role: 'assistant',
      model: content.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      ...usage,
    };
    return [
      named({ type: 'message_start', message }),
      named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as {
        readonly type: string;
      }),
      ...words(content).map((text) =>
        named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } } as {
          readonly type: string;
        }),
      ),
      named({ type: 'content_block_stop', index: 0 }),
      named({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        ...(content.noUsage ? {} : { usage: { output_tokens: content.chunks } }),
      }),
      named({ type: 'message_stop' }),
    ];
  },
};

const geminiAnswer = (content: ResponseContent, text: string, last: boolean) => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...(last ? { finishReason: 'STOP' } : {}) }],
  modelVersion: content.model,
  ...(content.noUsage || !last
    ? {}
    : {
        usageMetadata: {
          promptTokenCount: promptTokens(content),
          candidatesTokenCount: content.chunks,
          totalTokenCount: promptTokens(content) + content.chunks,
        },
      }),
});

const geminiGenerate: Dialect = {
  id: 'gemini-generate',
  whole: (content) => geminiAnswer(content, textOf(content), true),
  frames: (content) =>
    words(content).map((text, index) => data(geminiAnswer(content, text, index === content.chunks - 1))),
};

/** One vector per input, made of its length: the same text always gives the same vector. */
export function embeddings(model: string, input: unknown, size: number): unknown {
  const texts = (Array.isArray(input) ? input : [input]).map(String);
  const tokens = Math.max(1, Math.ceil(size / 4));
  return {
    object: 'list',
    model,
    data: texts.map((text, index) => ({
      object: 'embedding',
      index,
      embedding: Array.from({ length: 8 }, (_, place) => Math.sin(text.length + place)),
    })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

export interface Requested {
  readonly dialect: Dialect;
  /** Model and stream when the path says them. */
  readonly model?: string;
  readonly stream?: boolean;
  readonly streamsByDefault: boolean;
}

/** @returns null for a path no dialect has. */
export function dialectAt(path: string): Requested | null {
  for (const { id, definition } of allCodecs) {
    for (const { path: form, operation, stream, session, streamsByDefault } of definition.routes) {
      if (operation !== 'chat' || session === true) continue;
      const [before = '', after] = form.split('{model}');
      if (after === undefined ? path !== form : !path.startsWith(before) || !path.endsWith(after)) continue;
      const model = after === undefined ? undefined : decodeURIComponent(path.slice(before.length, -after.length));
      return {
        dialect: own[id] ?? dialectOf(codecs[id]),
        ...(model === undefined ? {} : { model }),
        ...(stream === undefined ? {} : { stream }),
        streamsByDefault: streamsByDefault === true,
      };
    }
  }
  return null;
}

/** @param known what the path alone says. */
export const dialectWith = (id: ProtocolId, known: Pick<Requested, 'model' | 'stream'>): Requested => ({
  dialect: own[id] ?? dialectOf(codecs[id]),
  ...known,
  streamsByDefault: codecs[id].definition.routes.some(
    ({ operation, streamsByDefault }) => operation === 'chat' && streamsByDefault === true,
  ),
});

/** Said by hand, apart from the product's own writers. */
const own: Readonly<Partial<Record<ProtocolId, Dialect>>> = {
  [openaiChat.id]: openaiChat,
  [openaiResponses.id]: openaiResponses,
  [anthropicMessages.id]: anthropicMessages,
  [geminiGenerate.id]: geminiGenerate,
};

/** Whatever else has a codec is said with its writer. */
function dialectOf({ id, translation, client }: Codec): Dialect {
  const eventsOf = (content: ResponseContent): ChatEvent[] => [
    { type: 'response-start', id: null, model: content.model, created },
    { type: 'text-start', index: 0 },
    ...words(content).map((text) => ({ type: 'text-delta' as const, index: 0, text })),
    { type: 'text-end', index: 0 },
    ...(content.noUsage
      ? []
      : [{ type: 'usage' as const, usage: { ...emptyUsage, input: promptTokens(content), output: content.chunks } }]),
    { type: 'finish', reason: { unified: 'stop', raw: null } },
  ];
  const contextOf = ({ model }: ResponseContent) => ({ model, responseId: 'practice', created, includeUsage: true });
  return {
    id,
    contentType: client.transform?.('')?.contentType,
    whole: (content) => translation.encodeResponse(eventsOf(content), contextOf(content)),
    frames(content) {
      const writer = translation.writer(contextOf(content));
      const shape = client.transform?.('') ?? null;
      return eventsOf(content)
        .map((event) => writer.write(event))
        .map((text) => (shape === null ? text : shape.push(text)))
        .filter((text) => text !== '');
    },
  };
}
