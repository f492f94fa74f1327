/** What an encoder asks about the model that it writes for. Rows say it (`server/providers/knowledge`); what no row says is null, and nothing is assumed of it. */

/** How a model is told to think: not at all, by a word, by tokens, by a word while it decides the tokens itself, or by a level of Gemini's. */
export type ThinkingForm = 'none' | 'effort' | 'budget' | 'adaptive' | 'level';

/** Members of the common form that a model may refuse. */
export type RefusableMember =
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'stop'
  | 'seed'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'candidates'
  | 'parallelToolCalls'
  | 'forcedToolChoice'
  | 'schemaFormat'
  | 'jsonFormat';

export interface Target {
  /** Tokens of the longest answer. */
  readonly outputCap: number | null;
  /** Tokens of the longest prompt. */
  readonly inputLimit: number | null;
  readonly thinking: ThinkingForm | null;
  /** It thinks whether asked or not. */
  readonly alwaysThinks: boolean;
  /** Words for effort that it takes, weakest first. */
  readonly efforts: readonly string[] | null;
  readonly refuses: ReadonlySet<RefusableMember>;
  /** Kinds of input besides text: image, audio, video, pdf. */
  readonly inputs: readonly string[] | null;
  /** Kinds of answer. */
  readonly outputs: readonly string[] | null;
}

export const unknownTarget: Target = {
  outputCap: null,
  inputLimit: null,
  thinking: null,
  alwaysThinks: false,
  efforts: null,
  refuses: new Set(),
  inputs: null,
  outputs: null,
};
