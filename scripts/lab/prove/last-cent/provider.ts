/**
 * A provider of Anthropic's messages that bills by the published rules of prompt caching, and knows nothing of gateway: no line is
 * shared with it. Sources: https://platform.claude.com/docs/en/build-with-claude/prompt-caching, …/pricing.
 *
 * What stands before the messages (model, tools, system, tool choice, thinking) and each block of a message are hashed one after another.
 * At each mark the whole beginning is kept for five minutes from its last use. A prompt reads the longest beginning that is kept at
 * one of its marks or up to 20 blocks before it; from there to its last mark is written, the rest is plain input. Beginnings of less
 * than 1,024 tokens are not kept.
 */

interface Block {
  readonly text: string;
  readonly marked: boolean;
}

export interface Billed {
  readonly input: number;
  readonly read: number;
  readonly written: number;
  readonly output: number;
  readonly rates: Rates;
}

/** Quota of a token; 500,000 quota are a dollar. */
interface Rates {
  readonly input: number;
  readonly written: number;
  readonly read: number;
  readonly output: number;
}

/** Whoever keeps prompts and bills them. */
export interface CachingProvider {
  /** What the prompt costs, with an answer of so many tokens. @param keeps false = it is only asked, and nothing is kept. */
  bill(body: Readonly<Record<string, unknown>>, output: number, keeps?: boolean): Billed;
  /** Forgets everything, whatever was promised. */
  forget(): void;
}

export interface ProviderRules {
  /** Letters that make a token, of a text. */
  readonly lettersPerToken: (text: string) => number;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}

const lifeMs = 300_000;
const blocksBack = 20;
const leastTokens = 1024;
/** Of the frame of each block. */
const frameTokens = 5;

/** The list prices of claude-sonnet-4-5: $3, $3.75, $0.30, $15 a million. */
const rates: Rates = { input: 1.5, written: 1.875, read: 0.15, output: 7.5 };

export const priceOf = ({ rates, ...billed }: Billed): number =>
  Math.round(
    billed.input * rates.input +
      billed.written * rates.written +
      billed.read * rates.read +
      billed.output * rates.output,
  );

type Json = Readonly<Record<string, unknown>>;
const isMarked = (block: unknown): boolean => (block as Json | null)?.cache_control !== undefined;
const withoutMark = (block: unknown): string => {
  const { cache_control: _mark, ...rest } = block as Json;
  return JSON.stringify(rest);
};

function blocksOf(body: Json): readonly Block[] {
  const list = (value: unknown): readonly unknown[] =>
    Array.isArray(value) ? value : value === undefined ? [] : [{ type: 'text', text: value }];
  const plain = JSON.stringify([body.model, body.tool_choice ?? null, body.thinking ?? null]);
  const blocks: Block[] = [];
  let head = plain;
  for (const block of [...list(body.tools), ...list(body.system)]) {
    blocks.push({ text: head + withoutMark(block), marked: isMarked(block) });
    head = '';
  }
  for (const message of list(body.messages) as readonly Json[])
    for (const block of list(message.content))
      blocks.push({ text: `${String(message.role)}${withoutMark(block)}`, marked: isMarked(block) });
  return blocks;
}

export class Provider implements CachingProvider {
  /** When the beginning of each hash is forgotten. */
  private readonly kept = new Map<string, number>();

  constructor(private readonly rules: ProviderRules) {}

  forget(): void {
    this.kept.clear();
  }

  bill(body: Json, output: number, keeps = true): Billed {
    const { lettersPerToken, now } = this.rules;
    const blocks = blocksOf(body);
    const hashes: string[] = [];
    const sums: number[] = [];
    let before = '';
    let sum = 0;
    for (const { text } of blocks) {
      before = Bun.hash(`${before}\0${text}`).toString(36);
      sum += frameTokens + Math.ceil(text.length / lettersPerToken(text));
      hashes.push(before);
      sums.push(sum);
    }
    const marks = blocks.flatMap(({ marked }, at) => (marked ? [at] : [])).slice(-4);
    const at = now();
    let hit = -1;
    for (const mark of marks)
      for (let place = mark; place > mark - blocksBack && place > hit; place--)
        if ((this.kept.get(hashes[place] ?? '') ?? 0) > at) hit = place;
    const last = marks.at(-1) ?? -1;
    const read = sums[hit] ?? 0;
    const end = last >= 0 && (sums[last] ?? 0) >= leastTokens ? (sums[last] ?? 0) : 0;
    if (keeps) {
      for (const mark of marks) if ((sums[mark] ?? 0) >= leastTokens) this.kept.set(hashes[mark] ?? '', at + lifeMs);
      if (hit >= 0) this.kept.set(hashes[hit] ?? '', at + lifeMs);
    }
    const cached = Math.max(read, end);
    return { read, written: cached - read, input: sum - cached, output, rates };
  }
}

/** The stream of an answer. */
export function streamOf(model: string, words: string, { input, read, written, output }: Billed): string {
  const usage = { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written };
  const event = (type: string, members: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: null };
  return [
    event('message_start', { message: { ...message, usage: { ...usage, output_tokens: 1 } } }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: words } }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: output } }),
    event('message_stop', {}),
  ].join('');
}
