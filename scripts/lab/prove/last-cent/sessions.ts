/** Sessions of a coding agent, by a seed: tools and system first, then turns of an answer and the result of a tool, marked as Claude Code marks them. */

export type Random = () => number;

/** Mulberry32. */
export function randomFrom(start: number): Random {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const vocabulary =
  'the function returns a value when its argument is empty const result await error line file import export type string number test expect path index server client request response token cache value object array module build change write read open close state'.split(
    ' ',
  );

/** Of usual words, as files and logs have them. */
export function prose(random: Random, letters: number): string {
  let text = '';
  while (text.length < letters) {
    const word = vocabulary[Math.floor(random() * vocabulary.length)] ?? '';
    text += random() < 0.1 ? `${word}(${Math.floor(random() * 10_000)});\n` : `${word} `;
  }
  return text.slice(0, letters);
}

interface TextBlock {
  readonly type: 'text';
  readonly text: string;
  readonly cache_control?: { readonly type: 'ephemeral' };
}
interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: readonly TextBlock[];
}

const mark = { cache_control: { type: 'ephemeral' } } as const;

export interface SessionShape {
  readonly model: string;
  readonly name: string;
  /** Of the whole prompt at its first turn. */
  readonly letters: number;
  readonly maxTokens: number;
}

/** One agent at work. */
export interface AgentSession {
  /** Of the request. */
  readonly path: string;
  /** The prompt of the next turn. @param tail what a branch of it asks last. */
  body(tail?: string | null): Readonly<Record<string, unknown>>;
  /** What came of a turn, and what its tool found. */
  goOn(answer: string): void;
}

export class Session implements AgentSession {
  readonly path = '/v1/messages';
  private readonly messages: Message[] = [];
  private readonly tools: readonly object[];
  private readonly system: readonly TextBlock[];

  constructor(
    private readonly random: Random,
    private readonly shape: SessionShape,
  ) {
    const head = Math.min(shape.letters / 2, 60_000);
    this.tools = Array.from({ length: 12 }, (_, at) => ({
      ...{ name: `tool_${at}`, description: prose(random, head / 24) },
      input_schema: { type: 'object', properties: { path: { type: 'string' } } },
    }));
    this.system = [{ type: 'text', text: prose(random, head / 2), ...mark }];
    this.say('user', prose(random, shape.letters - head));
  }

  body(tail: string | null = null): Readonly<Record<string, unknown>> {
    const { model, name, maxTokens } = this.shape;
    const all =
      tail === null ? this.messages : [...this.messages, { role: 'user', content: [textBlock(tail)] } as const];
    const users = all.flatMap(({ role }, at) => (role === 'user' ? [at] : [])).slice(-2);
    const messages = all.map((message, at) =>
      users.includes(at) ? { ...message, content: message.content.map((block) => ({ ...block, ...mark })) } : message,
    );
    return {
      ...{ model, max_tokens: maxTokens, stream: true, metadata: { user_id: name } },
      ...{ tools: this.tools, system: this.system, messages },
    };
  }

  goOn(answer: string): void {
    this.say('assistant', answer);
    this.say('user', prose(this.random, 200 + Math.floor(this.random() * 2400)));
  }

  private say(role: Message['role'], text: string): void {
    this.messages.push({ role, content: [textBlock(text)] });
  }
}

const textBlock = (text: string): TextBlock => ({ type: 'text', text });
