/**
 * A provider of OpenAI's Chat Completions and Responses that bills by the published rules of prompt caching, and knows nothing of
 * gateway: no line is shared with it. Source: https://developers.openai.com/api/docs/guides/prompt-caching.
 *
 * It caches by itself what begins alike to the letter: tools and the form of the answer, then message by message. From 1,024 tokens on
 * a prompt reads what was seen before in steps of 128 tokens; nothing is written for a price. What nobody used for five minutes is gone.
 */
import type { Billed, CachingProvider, ProviderRules } from './provider.ts';

type Json = Readonly<Record<string, unknown>>;

const lifeMs = 300_000;
const leastTokens = 1024;
const step = 128;
/** Of the frame of each message. */
const frameTokens = 4;
/** The list prices of gpt-5: $1.25, $0.125, $10 a million. */
const rates = { input: 0.625, written: 0, read: 0.0625, output: 5 };

/** Members that make up the beginning, in this order. */
const head = ['model', 'tools', 'response_format', 'text', 'instructions'];

export class OpenAiProvider implements CachingProvider {
  /** When the beginning of each hash is forgotten. */
  private readonly kept = new Map<string, number>();

  constructor(private readonly rules: ProviderRules) {}

  forget(): void {
    this.kept.clear();
  }

  bill(body: Json, output: number, keeps = true): Billed {
    const { lettersPerToken, now } = this.rules;
    const turns = body.input ?? body.messages;
    const parts = [JSON.stringify(head.map((name) => body[name] ?? null))];
    for (const turn of Array.isArray(turns) ? turns : [turns]) parts.push(JSON.stringify(turn));
    const at = now();
    let hash = '';
    let tokens = 0;
    let seen = 0;
    for (const text of parts) {
      hash = Bun.hash(`${hash}\0${text}`).toString(36);
      tokens += frameTokens + Math.ceil(text.length / lettersPerToken(text));
      if ((this.kept.get(hash) ?? 0) > at) seen = tokens;
      if (keeps) this.kept.set(hash, at + lifeMs);
    }
    const read = seen < leastTokens ? 0 : seen - (seen % step);
    return { read, written: 0, input: tokens - read, output, rates };
  }
}

/** The stream of an answer. */
export function openAiStreamOf(path: string, model: string, words: string, billed: Billed): string {
  const { input, read, output } = billed;
  const all = input + read;
  const sent = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
  if (path.endsWith('/chat/completions')) {
    const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model };
    const usage = { prompt_tokens: all, completion_tokens: output, total_tokens: all + output };
    const details = { prompt_tokens_details: { cached_tokens: read } };
    return [
      sent({ ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: words }, finish_reason: null }] }),
      sent({ ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
      sent({ ...chunk, choices: [], usage: { ...usage, ...details } }),
      'data: [DONE]\n\n',
    ].join('');
  }
  let number = 0;
  const event = (type: string, members: object) =>
    `event: ${type}\n${sent({ type, sequence_number: number++, ...members })}`;
  const response = { id: 'resp_1', object: 'response', created_at: 1, model, status: 'in_progress', output: [] };
  const part = { type: 'output_text', text: words, annotations: [] };
  const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] };
  const usage = {
    ...{ input_tokens: all, output_tokens: output, total_tokens: all + output },
    ...{ input_tokens_details: { cached_tokens: read }, output_tokens_details: { reasoning_tokens: 0 } },
  };
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  return [
    event('response.created', { response }),
    event('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', content: [] } }),
    event('response.content_part.added', { ...place, part: { ...part, text: '' } }),
    event('response.output_text.delta', { ...place, delta: words }),
    event('response.output_text.done', { ...place, text: words }),
    event('response.content_part.done', { ...place, part }),
    event('response.output_item.done', { output_index: 0, item }),
    event('response.completed', { response: { ...response, status: 'completed', output: [item], usage } }),
  ].join('');
}
