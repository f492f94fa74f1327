/** What a double hears in a request and what it says: the words depend on the request alone. */
import { sample } from '../../server/practice/sample.ts';
import { nameFrom } from './seal.ts';

export interface HeardTool {
  readonly name: string;
  readonly schema: unknown;
}

/** A tool that takes a text as it is. */
export interface HeardText {
  readonly name: string;
  readonly namespace?: string;
}

export interface Heard {
  readonly tools: readonly HeardTool[];
  readonly texts?: readonly HeardText[];
  readonly choice: 'auto' | 'none' | 'required' | { readonly name: string };
  readonly parallel: boolean;
  /** The last turn brings results of calls. */
  readonly answered: boolean;
  /** What the answer must follow; undefined = nothing, null = any JSON. */
  readonly schema: unknown;
  readonly thinks: boolean;
  readonly stream: boolean;
  /** A frame of its own for usage was asked for. */
  readonly usageFrame: boolean;
}

export interface SaidCall {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  /** Set where the tool takes a text. */
  readonly text?: { readonly input: string; readonly namespace?: string | undefined };
}

export interface Plan {
  readonly thoughts: readonly string[];
  readonly words: readonly string[];
  readonly calls: readonly SaidCall[];
  readonly usage: {
    /** Tokens of the whole prompt, cached ones among them. */
    readonly prompt: number;
    readonly cached: number;
    /** Tokens of the whole answer, thoughts among them. */
    readonly output: number;
    readonly thought: number;
  };
}

/** Words that show a lost byte, a lost quote and a pair of surrogates torn apart. */
const answer = ['Practice ', 'makes ', '“perfect”: ', 'naïve ', 'café, ', '日本語 ', '🚀', '.'];
const thinking = ['First I weigh ', 'what was asked — ', 'then I answer. '];
const texts = ['Zürich', 'say "日本" 🚀', 'a\\b'];

/** @param text the request as it came. @param idOf a call's id from a seed and its tool. */
export function planFor(received: Heard, text: string, idOf: (seed: string, name: string) => string): Plan {
  const { choice } = received;
  const named = typeof choice === 'object' ? received.tools.filter(({ name }) => name === choice.name) : received.tools;
  const calling = choice !== 'none' && !received.answered ? named.slice(0, received.parallel ? 2 : 1) : [];
  const calls = calling.map(({ name, schema }, at) => ({
    id: idOf(`${at} ${text}`, name),
    name,
    args: sample(schema, texts),
  }));
  const json = received.schema === undefined || calls.length > 0 ? null : jsonFor(received.schema);
  const words =
    json !== null
      ? [json.slice(0, 5), json.slice(5)]
      : calls.length > 0
        ? ['I will ', 'look — ', 'one moment.']
        : answer;
  const thoughts = received.thinks ? thinking : [];
  const prompt = Math.max(8, Math.ceil(text.length / 4));
  const thought = thoughts.length * 7;
  return {
    thoughts,
    words,
    calls,
    usage: { prompt, cached: Math.floor(prompt / 2), output: words.length + thought + calls.length * 9, thought },
  };
}

const jsonFor = (schema: unknown): string =>
  JSON.stringify(schema === null ? { practice: true } : sample(schema, texts));

/** An id of the usual form. */
export const idWith =
  (prefix: string, length: number) =>
  (seed: string): string =>
    `${prefix}${nameFrom(seed, length)}`;

/** Splits JSON where no parser expects it. */
export function torn(args: unknown): readonly string[] {
  const text = JSON.stringify(args);
  const at = Math.ceil(text.length / 3);
  return [text.slice(0, at), text.slice(at, 2 * at), text.slice(2 * at)].filter((chunk) => chunk !== '');
}
