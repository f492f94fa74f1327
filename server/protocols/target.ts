/** What an encoder asks about the model that it writes for. Rows say it (`server/providers/knowledge`); what no row says is null or false, and nothing is assumed of it. */
import type { modelParameters, thinkingForms } from '../contract/model-rules.ts';

/** How thinking is requested of a model: not at all, by a word, by tokens, by a word while it decides the tokens itself, or by a level of Gemini's. */
export type ThinkingForm = (typeof thinkingForms)[number];

/** Members of the common form that a model may refuse. */
export type ModelParameter = (typeof modelParameters)[number];

/** A thought that no limit of the answer counts. */
export interface ApartThought {
  /** Tokens at most. */
  readonly most: number;
  /** The member of chat completions that allows fewer. */
  readonly member?: 'thinking_budget';
  /** The model thinks only where a request asks for it. */
  readonly onRequest?: true;
}

export interface Target {
  /** Tokens of the longest answer. */
  readonly outputCap: number | null;
  /** Tokens of the longest prompt. */
  readonly inputLimit: number | null;
  readonly thinking: ThinkingForm | null;
  /** What it thinks is counted by no limit of the answer. */
  readonly apartThought: ApartThought | null;
  /** Its thinking cannot be switched off. */
  readonly thinkingRequired: boolean;
  /** It thinks where a request does not mention thinking. */
  readonly thinkingByDefault: boolean;
  /** Its thoughts are words of the answer, whole and not a summary. */
  readonly thoughtsVisible: boolean;
  /** What it writes in a second, thoughts included. */
  readonly tokensPerSecond: number | null;
  /** Words for effort that it takes, weakest first; `none` among them = this word switches thinking off. */
  readonly efforts: readonly string[] | null;
  /** Least and most tokens of a thought, where it is requested by tokens. */
  readonly budget: readonly [least: number, most: number] | null;
  readonly unsupported: ReadonlySet<ModelParameter>;
  /** Refused besides while it thinks. */
  readonly unsupportedWithThinking: ReadonlySet<ModelParameter>;
  /** The name it wants for the longest answer, where its dialect has an older and a newer one. */
  readonly limitMember: 'max_tokens' | 'max_completion_tokens' | null;
  /** The member by which thinking is switched off where its dialect has only a word for it: `thinking: {type}` or `enable_thinking`. */
  readonly thinkingSwitch: 'thinking' | 'enable_thinking' | null;
  /** A word of effort may stand behind its name: `-high`. */
  readonly effortSuffix: boolean;
  /** Calls in the history must bear their signature, or the documented stand-in for one. */
  readonly signedCalls: boolean;
  /** It gives ids to its calls and wants them back, with each result the one of its call. */
  readonly callIds?: true;
  /** Marks of what to cache are an extension of its dialect that it takes. */
  readonly cacheMarks?: true;
  /** Kinds of input besides text: image, audio, video, pdf. */
  readonly inputs: readonly string[] | null;
  /** Kinds of answer. */
  readonly outputs: readonly string[] | null;
}

export const unknownTarget: Target = {
  outputCap: null,
  inputLimit: null,
  thinking: null,
  apartThought: null,
  thinkingRequired: false,
  thinkingByDefault: false,
  thoughtsVisible: false,
  tokensPerSecond: null,
  efforts: null,
  budget: null,
  unsupported: new Set(),
  unsupportedWithThinking: new Set(),
  limitMember: null,
  thinkingSwitch: null,
  effortSuffix: false,
  signedCalls: false,
  inputs: null,
  outputs: null,
};
