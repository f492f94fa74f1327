/** Conversations of every disorder, in each client's dialect: calls without results, results without calls, results in another order, instructions in the middle, empty turns, names that no upstream takes. */
import fc from 'fast-check';
import type { ProtocolId } from '../../server/protocols/canonical.ts';

export type Item = Record<string, unknown>;

export const toolNames = [
  'read',
  '查询天气',
  'a.b',
  'a_b',
  '1st',
  `mcp__${'long'.repeat(20)}_one`,
  `mcp__${'long'.repeat(20)}_two`,
] as const;

export interface Step {
  readonly kind: 'system' | 'developer' | 'user' | 'assistant' | 'calls' | 'orphan' | 'empty' | 'picture' | 'thought';
  readonly tools: readonly number[];
  /** Places of calls in the order in which their results come; a place that is missing gets none. */
  readonly order: readonly number[];
  readonly between: boolean;
  /** Whether results show a picture, in dialects where they can. */
  readonly shown: boolean;
}

/** @param more kinds besides those that hold words, calls and results alone. */
export const stepsOf = (...more: readonly Step['kind'][]) =>
  fc.array(
    fc.record<Step>({
      kind: fc.constantFrom<Step['kind']>(
        ...(['system', 'developer', 'user', 'assistant', 'calls', 'calls', 'calls', 'orphan', 'empty'] as const),
        ...more,
      ),
      tools: fc.array(fc.nat(toolNames.length - 1), { minLength: 1, maxLength: 4 }),
      order: fc.shuffledSubarray([0, 1, 2, 3]),
      between: fc.boolean(),
      shown: fc.boolean(),
    }),
    { minLength: 1, maxLength: 9 },
  );

interface Call {
  readonly id: string;
  readonly name: string;
  readonly word: string;
}

/** What is said, apart from any dialect. */
type Turn =
  | { readonly kind: 'say'; readonly role: 'system' | 'developer' | 'user' | 'assistant'; readonly text: string }
  | { readonly kind: 'calls'; readonly calls: readonly Call[] }
  | { readonly kind: 'result'; readonly call: Call; readonly text: string; readonly shows?: boolean }
  | { readonly kind: 'picture'; readonly text: string }
  | { readonly kind: 'thought'; readonly thought: string; readonly text: string };

export interface Conversation {
  /** The request without model and limits. */
  readonly body: Item;
  /** The word of each call and that of its result; null = it has none. */
  readonly pairs: readonly (readonly [call: string, result: string | null])[];
  /** Words that must arrive. */
  readonly words: readonly string[];
  /** Results that answer no call. */
  readonly orphans: number;
  /** Words of thoughts, which arrive or are declared. */
  readonly thoughts: readonly string[];
  /** How often the picture is in it, which arrives or is declared. */
  readonly pictures: number;
}

const hasRoles = (client: ProtocolId): boolean => client !== 'gemini-generate';
/** Its calls have no ids: results belong to them by name and order. */
const isNameless = (client: ProtocolId): boolean => client === 'ollama-chat';

/** Pictures stand in the results of calls. */
const showsResults = (client: ProtocolId): boolean => client === 'anthropic-messages' || client === 'openai-responses';

class Composer {
  readonly turns: Turn[] = [];
  readonly pairs: (readonly [string, string | null])[] = [];
  readonly words: string[] = [];
  orphans = 0;
  private count = 0;

  constructor(private readonly client: ProtocolId) {}

  private word(kind: string): string {
    return `${kind}${++this.count}.`;
  }

  private say(role: 'system' | 'developer' | 'user' | 'assistant', text: string): void {
    this.words.push(text);
    this.turns.push({ kind: 'say', role, text });
  }

  step(step: Step): void {
    const { kind } = step;
    switch (kind) {
      case 'calls':
        this.calls(step);
        return;
      case 'orphan': {
        this.orphans++;
        const text = this.word('orphan');
        this.words.push(text);
        this.turns.push({
          kind: 'result',
          call: { id: `lost${this.count}`, name: `gone${this.count}`, word: '' },
          text,
        });
        return;
      }
      case 'empty':
        this.turns.push({ kind: 'say', role: 'assistant', text: '' });
        return;
      case 'picture': {
        const text = this.word('picture');
        this.words.push(text);
        this.turns.push({ kind: 'picture', text });
        return;
      }
      case 'thought': {
        const text = this.word('said');
        this.words.push(text);
        this.turns.push({ kind: 'thought', thought: this.word('thought'), text });
        return;
      }
      default:
        this.say(kind, this.word(kind));
    }
  }

  private calls({ tools, order, between, shown }: Step): void {
    const calls = tools.map(
      (tool): Call => ({ id: `id${++this.count}`, name: toolNames[tool] ?? '', word: this.word('call') }),
    );
    this.turns.push({ kind: 'calls', calls });
    if (between) this.say('system', this.word('between'));
    // A result without a call would belong to one that waits.
    const places = isNameless(this.client) ? calls.keys() : order;
    const results = new Map<Call, string>();
    for (const place of places) {
      const call = calls[place];
      if (call === undefined) continue;
      const text = this.word('result');
      results.set(call, text);
      this.words.push(text);
      this.turns.push({ kind: 'result', call, text, shows: shown && showsResults(this.client) });
    }
    for (const call of calls) this.pairs.push([call.word, results.get(call) ?? null]);
  }
}

export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const pngBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } };
const pngPart = { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'auto' };
const schema = { type: 'object', properties: { input: { type: 'string' } } };
const functions = toolNames.map((name) => ({ type: 'function', function: { name, parameters: schema } }));

type ChatLike = 'openai-chat' | 'cohere-chat' | 'ollama-chat';

function chatTurn(turn: Turn, client: ChatLike): Item {
  const isOllama = client === 'ollama-chat';
  switch (turn.kind) {
    case 'say':
      return {
        role: turn.role === 'developer' && client !== 'openai-chat' ? 'system' : turn.role,
        content: turn.text,
      };
    case 'calls':
      return {
        role: 'assistant',
        ...(isOllama ? { content: '' } : client === 'openai-chat' ? { content: null } : {}),
        tool_calls: turn.calls.map(({ id, name, word }) =>
          isOllama
            ? { function: { name, arguments: { input: word } } }
            : { id, type: 'function', function: { name, arguments: JSON.stringify({ input: word }) } },
        ),
      };
    case 'result':
      return isOllama
        ? { role: 'tool', tool_name: turn.call.name, content: turn.text }
        : { role: 'tool', tool_call_id: turn.call.id, content: turn.text };
    case 'picture':
      return isOllama
        ? { role: 'user', content: turn.text, images: [png] }
        : {
            role: 'user',
            content: [
              { type: 'text', text: turn.text },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
            ],
          };
    case 'thought':
      return isOllama
        ? { role: 'assistant', content: turn.text, thinking: turn.thought }
        : client === 'openai-chat'
          ? { role: 'assistant', content: turn.text, reasoning_content: turn.thought }
          : {
              role: 'assistant',
              content: [
                { type: 'thinking', thinking: turn.thought },
                { type: 'text', text: turn.text },
              ],
            };
  }
}

function messagesTurn(turn: Turn): Item {
  switch (turn.kind) {
    case 'say':
      return { role: turn.role === 'developer' ? 'system' : turn.role, content: turn.text };
    case 'calls':
      return {
        role: 'assistant',
        content: turn.calls.map(({ id, name, word }) => ({ type: 'tool_use', id, name, input: { input: word } })),
      };
    case 'result':
      return {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: turn.call.id,
            content: turn.shows === true ? [{ type: 'text', text: turn.text }, pngBlock] : turn.text,
          },
        ],
      };
    case 'picture':
      return {
        role: 'user',
        content: [{ type: 'text', text: turn.text }, pngBlock],
      };
    case 'thought':
      return {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: turn.thought, signature: 'c2lnbmVk' },
          { type: 'text', text: turn.text },
        ],
      };
  }
}

function responsesItems(turn: Turn): readonly Item[] {
  switch (turn.kind) {
    case 'say':
      return [{ role: turn.role, content: turn.text }];
    case 'calls':
      return turn.calls.map(({ id, name, word }) => ({
        type: 'function_call',
        call_id: id,
        name,
        arguments: JSON.stringify({ input: word }),
      }));
    case 'result':
      return [
        {
          type: 'function_call_output',
          call_id: turn.call.id,
          output: turn.shows === true ? [{ type: 'input_text', text: turn.text }, pngPart] : turn.text,
        },
      ];
    case 'picture':
      return [
        {
          role: 'user',
          content: [{ type: 'input_text', text: turn.text }, pngPart],
        },
      ];
    case 'thought':
      return [
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: turn.thought }] },
        { role: 'assistant', content: turn.text },
      ];
  }
}

function geminiTurn(turn: Turn): Item {
  switch (turn.kind) {
    case 'say':
      return { role: turn.role === 'assistant' ? 'model' : 'user', parts: [{ text: turn.text }] };
    case 'calls':
      return {
        role: 'model',
        parts: turn.calls.map(({ id, name, word }) => ({ functionCall: { id, name, args: { input: word } } })),
      };
    case 'result':
      return {
        role: 'user',
        parts: [{ functionResponse: { id: turn.call.id, name: turn.call.name, response: { output: turn.text } } }],
      };
    case 'picture':
      return { role: 'user', parts: [{ text: turn.text }, { inlineData: { mimeType: 'image/png', data: png } }] };
    case 'thought':
      return { role: 'model', parts: [{ text: turn.thought, thought: true }, { text: turn.text }] };
  }
}

function bodyOf(client: ProtocolId, turns: readonly Turn[]): Item {
  switch (client) {
    case 'anthropic-messages':
      return { messages: turns.map(messagesTurn), tools: toolNames.map((name) => ({ name, input_schema: schema })) };
    case 'openai-responses':
      return {
        input: turns.flatMap(responsesItems),
        tools: toolNames.map((name) => ({ type: 'function', name, parameters: schema, strict: false })),
      };
    case 'gemini-generate':
      return {
        contents: turns.map(geminiTurn),
        tools: [{ functionDeclarations: toolNames.map((name) => ({ name, parameters: schema })) }],
      };
    default:
      return { messages: turns.map((turn) => chatTurn(turn, client)), tools: functions };
  }
}

/** @param client the dialect in which it is written. */
export function conversationOf(steps: readonly Step[], client: ProtocolId): Conversation {
  const composer = new Composer(client);
  for (const step of steps)
    composer.step(!hasRoles(client) && step.kind === 'developer' ? { ...step, kind: 'user' } : step);
  const { turns, pairs, words, orphans } = composer;
  const thoughts = turns.flatMap((turn) => (turn.kind === 'thought' ? [turn.thought] : []));
  const pictures = turns.filter((turn) => turn.kind === 'picture' || (turn.kind === 'result' && turn.shows)).length;
  return { body: bodyOf(client, turns), pairs, words, orphans, thoughts, pictures };
}

/** What of a conversation neither arrived nor is declared. @param made as the upstream gets it. */
export function undeclaredIn(
  { thoughts, pictures }: Conversation,
  made: string,
  dropped: readonly string[],
): readonly string[] {
  const isDeclared = (word: RegExp): boolean => dropped.some((line) => word.test(line));
  const thoughtsLost = thoughts.some((thought) => !made.includes(thought)) && !isDeclared(/thought|reasoning|thinking/);
  const picturesLost = made.split(png).length - 1 < pictures && !isDeclared(/image/);
  return [...(thoughtsLost ? ['a thought'] : []), ...(picturesLost ? ['a picture'] : [])];
}
