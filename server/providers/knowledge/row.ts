/** The two kinds of rows that say what an upstream accepts. Encoders, channel tests, `model explain`, the model lists and the strict practice upstream read the same ones. */
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { ModelParameter, Target } from '../../protocols/target.ts';

export interface WithSource {
  /** Address of the provider's document, or of a report of a refusal. */
  readonly source: string;
  /** Follows from relatives; no document says it. */
  readonly assumed?: true;
}

export interface ModelPattern {
  test(name: string): boolean;
}

type Sets = 'unsupported' | 'unsupportedWithThinking';

/** What is said of models. Later rows win, member by member; `unsupported` and `unsupportedWithThinking` add up, `supported` takes out of both. */
export interface ModelRow extends WithSource, Partial<Omit<Target, Sets>> {
  /** Upstream names, lower case, without a maker's or region's prefix. */
  readonly models: ModelPattern;
  /** Slug of the catalogue where it holds; absent = at every provider. */
  readonly provider?: string;
  readonly unsupported?: readonly ModelParameter[];
  readonly unsupportedWithThinking?: readonly ModelParameter[];
  readonly supported?: readonly ModelParameter[];
}

/** What a member of a request must be like. */
export type Demand =
  | { readonly kind: 'absent' }
  /** Not there rather than null. */
  | { readonly kind: 'notNull' }
  /** It is called otherwise here. */
  | { readonly kind: 'renamed'; readonly to: string }
  /** A number; of a list so many. */
  | { readonly kind: 'atMost'; readonly value: number }
  | { readonly kind: 'atLeast'; readonly value: number }
  /** Other words become the one given for them, or go where none is given. */
  | { readonly kind: 'oneOf'; readonly words: readonly string[]; readonly instead?: Readonly<Record<string, string>> }
  /** A word: what is an object becomes this one. */
  | { readonly kind: 'word'; readonly instead: string }
  /** A list in which these words must not stand; one that is empty then goes. */
  | { readonly kind: 'without'; readonly words: readonly string[] }
  /** Ids of calls: what does not match is replaced by a short hash of this shape, the same in call and result. */
  | { readonly kind: 'shaped'; readonly pattern: RegExp; readonly length: number }
  /** Of turns: one system message, and it comes first. `apart`: the member beside them where the dialect has the instructions. */
  | { readonly kind: 'systemFirst'; readonly apart?: 'instructions' | 'system' }
  /** Of turns: somebody of this role must speak; else this message stands behind the leading instructions. */
  | { readonly kind: 'asked'; readonly by: { readonly role: string; readonly content: string } }
  /** Of messages: where the last one is the model's, which goes on from it, it bears this member. */
  | { readonly kind: 'continued'; readonly member: string }
  /** Of messages: only the system role may repeat; other consecutive messages of one role are merged. */
  | { readonly kind: 'alternating' }
  /** It must be there: this stands in for it, and for an empty text where that is refused too. */
  | { readonly kind: 'present'; readonly value: string | boolean | object; readonly notEmpty?: true }
  /** The label of a picture must be what its first bytes say; `data` names the member beside it that has them in base64. */
  | { readonly kind: 'pictured'; readonly data: string }
  /** This word must stand in the messages; else this message leads them. */
  | {
      readonly kind: 'mentions';
      readonly word: RegExp;
      readonly by: { readonly role: string; readonly content: string };
    }
  /** Messages of these two roles cannot follow each other: this one comes between. */
  | {
      readonly kind: 'parted';
      readonly after: string;
      readonly before: string;
      readonly by: { readonly role: string; readonly content: string };
    };

/** What a provider wants of one member, whatever the model. */
export interface ProviderRow extends WithSource {
  /** Slug of the catalogue. */
  readonly provider: string;
  /** The wire it concerns. */
  readonly dialect: ProtocolId;
  /** Upstream names, as in a row of models; absent = all. */
  readonly models?: RegExp;
  /** Path in the body: `seed`, `stream_options.include_usage`, `messages[].reasoning_content`, `tools[].function.strict`. */
  readonly member: string;
  readonly demand: Demand;
  /** Only where this member stands beside it and is not empty. */
  readonly onlyWith?: string;
  /** And is of this `type`. */
  readonly onlyWithType?: string;
  /** Holds only where the gateway translates the request: clients of the provider's own dialect follow its rules themselves. */
  readonly translatedOnly?: true;
  /** What the provider answers where it is not met. Absent = 400. */
  readonly status?: number;
}
