/** What the relay needs to know of a dialect besides encoding and decoding it: its paths, members, headers, lists and habits, so that no other module depends on which dialect it is. */
import type { BudgetUse, RateUse } from '../contract/snapshot.ts';
import type { ChatRequest } from './canonical.ts';
import type { CacheDiagnostics } from './shared/cache-diagnosis.ts';
import type { Target } from './target.ts';

type Members = Readonly<Record<string, unknown>>;

export interface DialectRoute {
  /** `{model}` stands for one segment that names the model; a verb may follow after a colon. */
  readonly path: string;
  readonly operation: 'chat' | 'count_tokens' | 'embeddings';
  /** Set where the path alone decides whether the answer is streamed. */
  readonly stream?: boolean;
  /** Streamed unless the request says otherwise. */
  readonly streamsByDefault?: true;
  /** The console's playground. */
  readonly session?: true;
  /** Makes a conversation short. */
  readonly compacts?: true;
  /** The request as the dialect's chat has it, where the path takes another form. @throws AppError body_invalid. */
  readonly asChat?: (body: Members) => Members;
}

/**
 * How many searches of the provider's own a request may have at most. Pages and other servers' answers have no such limit:
 * `max_content_tokens` cuts texts and no documents, and no member says how much a server of the caller's choice returns.
 */
export interface SearchLimit {
  readonly member: string;
  /** It stands in the tool; else in the request. */
  readonly inTool: boolean;
  /** Types of tools that it limits. */
  readonly type: RegExp;
}

/** Where a request says how long its answer may get. */
export interface LimitMembers {
  /** At the top, the one to write first. */
  readonly names: readonly string[];
  /** Written instead for models that do not think. */
  readonly legacyName?: string;
  /** Other names of the limit at some hosts of the dialect: one that is there may raise the limit, and is lowered with it. */
  readonly others?: readonly string[];
  /** Or in an object, by all its spellings. */
  readonly nested?: {
    readonly objects: readonly string[];
    readonly names: readonly string[];
    /** Numbers of answers asked for. */
    readonly choices: readonly string[];
  };
  /** Objects with the room that a thought may take of it: in the request, or in the object above. */
  readonly thoughts: readonly (readonly [object: string, member: string])[];
}

/** Members that are billed by or bound something, so that no parser may read them otherwise than ours. */
export interface GateMembers {
  readonly names: readonly string[];
  /** Objects of which the same is true, and what in them. */
  readonly objects: readonly string[];
  readonly inObjects: readonly string[];
}

export interface InstructionPlaces {
  /** The member that holds the turns. */
  readonly turns: string;
  /** The member beside it that holds the instructions; absent = they are the first of the turns. */
  readonly apart?: 'instructions' | 'system';
  /** A host of which nobody knows may refuse them behind the first turn. */
  readonly isRisky?: true;
}

/** Where a chat has its system prompt: the first of its turns, a text or blocks, or an object with parts. */
export interface SystemPlace {
  readonly member: string;
  readonly form: 'turns' | 'text' | 'parts';
}

/** Members that follow from what a model takes. */
export interface TargetMembers {
  /** Where the conversation stands. */
  readonly turns: string;
  /** At the top, or in an object there: `reasoning.effort`. */
  readonly members: readonly string[];
}

/** What stands behind a model's name and asks for thought. */
export interface ModelSuffix {
  /** The name without the suffix. */
  readonly model: string;
  readonly effort: string | null;
  /** Tokens; 0 = off. */
  readonly budget: number | null;
  /** Part of the longest answer to spend on thinking. */
  readonly share: number | null;
}

/** Members to change in the client's JSON: JSON text, or undefined to remove one. */
export type MemberEdits = ReadonlyMap<string, string | undefined>;

/** Whether a model's name may carry a suffix about thinking, and how much of an answer they take. */
export interface ThinkingSettings {
  readonly claude: boolean;
  readonly claudeShare: number;
  readonly gemini: boolean;
  readonly geminiShare: number;
}

/** What an operator sets for upstreams of single dialects. */
export interface OperatorSettings {
  /** Tokens an Anthropic request may write when its client named no limit; null = the operator leaves it to the model. */
  readonly claudeMaxTokens: (model: string, requested?: string) => number | null;
  /** Header overrides of a model at Anthropic. */
  readonly claudeHeaders: (model: string) => Readonly<Record<string, string>>;
  /** Version of Google's API for a model. */
  readonly geminiVersion: (model: string) => string;
  readonly geminiSafety: readonly { readonly category: string; readonly threshold: string }[];
  /** Models that answer with pictures. */
  readonly geminiImagineModels: ReadonlySet<string>;
}

/** How the suffix of a model's name asks for thought in this dialect. */
export interface SuffixRules {
  /** @param hasEffortSuffix whether a word of effort may stand behind this name. @returns null when the name says nothing besides the model. */
  read(model: string, thinking: ThinkingSettings, hasEffortSuffix: (model: string) => boolean): ModelSuffix | null;
  /** The suffix as edits on a body that is passed on otherwise; what the client itself said about thinking wins. */
  edits(body: Members, suffix: ModelSuffix, fallbackMaxTokens: number | null): MemberEdits;
  /** A share of the answer, in a request that is translated. */
  share(request: ChatRequest, share: number, fallbackMaxTokens: number | null): ChatRequest;
}

/** Embeddings of this dialect, and how they become OpenAI's where they are not. */
export interface Embeddings {
  /** What a provider calls the operation. */
  readonly operation: string;
  /** Set where clients call it by several methods with bodies of their own: the provider's address of the one that was called. */
  readonly called?: (address: string, requested: string) => string;
  readonly common: null | {
    toRequest(body: Members, model: string): Record<string, unknown>;
    /** @param requested the client's request. */
    fromAnswer(answer: unknown, requested: Members, model: string): unknown;
    /** For upstreams; absent = none is called in this form. */
    readonly upstream?: {
      fromRequest(body: Members, model: string): Record<string, unknown>;
      toAnswer(answer: unknown, model: string, format: unknown): unknown;
    };
  };
}

/** What a model costs its caller, in dollars per million tokens or per call, and who provides it. */
export interface ModelOffer {
  /** At the dearest channel; `least`: the share of it that the cheapest one costs, absent = all cost the same. */
  readonly price:
    | (({ readonly input: number; readonly output: number } | { readonly call: number }) & { readonly least?: number })
    | null;
  readonly provider: string;
}

export interface ModelList {
  /** @returns the name that is asked for, '' = all; null = no path of this list. */
  named(path: string): string | null;
  /** Whether this one is meant where lists share a path. */
  isRequested(path: string, headers: Headers, query: string): boolean;
  /** Its clients keep the list, and ask whether it is still the same (`ETag`). */
  readonly isKept?: true;
  /** Cards say what a model costs, and whose it is, where programs may sign in. */
  readonly describes?: true;
  /** @param target what is known of it. @param offer what it costs; absent = it is not said. */
  /** @param hasSockets responses are served over sockets, too. */
  card(id: string, target: Target, offer?: ModelOffer, hasSockets?: boolean): Record<string, unknown>;
  list(cards: readonly Record<string, unknown>[], query: URLSearchParams): Record<string, unknown>;
}

export interface BudgetRules {
  /** `all`: limit and balance as well as the periods, and only where programs may sign in. */
  readonly kinds: 'periods' | 'all';
  /** Of an answer. @param budgets the shorter period first. */
  headers(budgets: readonly BudgetUse[]): Readonly<Record<string, string>>;
}

/** What a path of `GatewayRules` answers: rules for the client, the use of budgets, what it reports of itself and nobody keeps, or that there is nothing. */
export type GatewayPath = 'settings' | 'usage' | 'sink' | 'absent';

export interface GatewayRules {
  readonly paths: ReadonlyMap<string, GatewayPath>;
  /** @param models the key may use. @param environment variables that the operator sets in the client. @param id of the owner, stable. */
  settings(models: readonly string[], environment: Readonly<Record<string, string>>, id: string): GatewaySettings;
  /** @param spent in the current month, in dollars. @param perUnit quota of a dollar. */
  usage(budgets: readonly BudgetUse[], spent: number, perUnit: number): unknown;
}

export interface GatewaySettings {
  readonly body: unknown;
  readonly etag: string;
}

/** What upstreams of this dialect keep, and where a request or an answer names it. */
export interface KeptRules {
  /** Ids by which a request asks for something that its upstream keeps. */
  requested(body: Members): readonly string[];
  /** Ids that a client repeats as part of its conversation: they are refused to others, and pass where their owner is unknown. */
  referenced?(body: Members): readonly string[];
  /** Ids of what was made and is kept. @param answer a whole answer, or what is known of it so far. */
  made(body: Members, answer: unknown): readonly string[];
}

/** Items of earlier answers that requests name instead of repeating them. */
export interface ReferenceRules {
  /** Ids of those that were made here, as often as they are named. */
  requested(body: Members): readonly string[];
  /** The body with them in full. */
  resolved(body: Members, itemOf: (id: string) => unknown): Members;
  /** Whether the items of its answer may be named later. */
  isStored(body: Members): boolean;
}

/** How a client has its conversation made short. */
export interface CompactionRules {
  /** What follows the address of the chat in the address of a compaction, where there is one. */
  readonly suffix: string;
  /** Whether a request for chat asks for it. */
  requested(body: Members): boolean;
  /** The same in plain words, for upstreams that do not know it. */
  summaryRequest(body: Members): Members;
  /** The body with what was made here opened; null = nothing was. @param open throws the error that the caller gets. */
  opened(body: Members, open: (encrypted: string) => string): Members | null;
  /** What a client keeps instead of the conversation. */
  item(id: string, encrypted: string): unknown;
  /** Whether an answer, or a frame of one, holds such a thing. */
  isPassed(answer: string): boolean;
  /** An answer in the form of the call that has an address of its own. @param body of the request. */
  asCall(response: unknown, body: Members): unknown;
}

/** How providers of this dialect keep the beginning of a prompt in their cache. */
export interface CacheRules {
  /** The member that holds the messages. */
  readonly turns: string;
  /** The member of a message that holds its blocks; absent = messages are hashed whole. */
  readonly blocks?: string;
  /** The member that asks for a cache: in a block, a tool, an instruction, or at the top for all of it; absent = providers cache by themselves. */
  readonly mark?: string;
  /** Members at the top that are not hashed. */
  readonly unhashed: readonly string[];
  /** Members that name what stands elsewhere and is read before the messages. */
  readonly elsewhere: readonly string[];
  /** How a provider says why its cache was missed; absent = none does. */
  readonly diagnostics?: CacheDiagnostics;
}

export interface ProtocolDefinition {
  /** The name that the dialect's makers give it. */
  readonly label: string;
  readonly routes: readonly DialectRoute[];
  /** Other exact paths it answers, read with GET. */
  readonly paths?: readonly string[];
  /** What is the same for everybody, by path. */
  readonly fixed?: Readonly<Record<string, unknown>>;
  /** Describes the model that the body of a POST names. */
  readonly modelDetails?: {
    readonly path: string;
    modelIn(body: Members): unknown;
    card(target: Target): Record<string, unknown>;
  };
  /** Documented paths that are not served. */
  readonly absent?: readonly string[];
  /** Whether a path without a route is one of its clients'. */
  claims(path: string): boolean;
  /** What providers call its chat. */
  readonly chatOperation: string;
  /** What they call it when it streams, where that has an address of its own. */
  readonly streamOperation?: string;
  readonly embeddings?: Embeddings;
  /** The path names the model, so the body need not. */
  readonly modelInPath?: true;
  /** Its parser takes `serviceTier` and `service_tier` for one name. */
  readonly camelNames?: true;
  /** Usage in a stream comes only when it is asked for. */
  readonly requestsUsage?: true;
  /** Responses on which other models worked report the share of each model. */
  readonly namesShares?: true;
  /** Context that the request enables beyond the model's usual one, in tokens; 0 = none. */
  readonly wantedContext?: (headers: Headers, body: Members) => number;
  /** The query of a client's address is part of its request. */
  readonly passesQuery?: true;
  /** How the limits of the caller stand, as headers in the words of the dialect's maker; absent = in OpenAI's. @param nowMs of the wall clock; null = not known. */
  readonly rateHeaders?: (uses: readonly RateUse[], nowMs: number | null) => Readonly<Record<string, string>>;
  /** How clients are told of what bounds their key; absent = they show nothing of it. */
  readonly budgets?: BudgetRules;
  /** What clients ask of a gateway that they signed in to. */
  readonly gateway?: GatewayRules;
  /** Beginning of headers that mean something to this dialect alone. */
  readonly headerPrefix?: string;
  /** Sent upstream where the client sends none. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly limit: LimitMembers;
  /** Absent = no number of searches can be asked for. */
  readonly searchLimit?: SearchLimit;
  /** Absent = a request passes whatever its model is called upstream. */
  readonly matches?: TargetMembers;
  /** Where instructions may stand among the turns, or in a member beside them. Absent = they have a place of their own and no other. */
  readonly systemPlace: SystemPlace;
  readonly instructions?: InstructionPlaces;
  readonly gate?: GateMembers;
  /** Absent = nothing is known of caches. */
  readonly cache?: CacheRules;
  /** How much of a thought the client asks for: its words too, only the seal that a later turn needs, or nothing. Absent = its words. */
  thoughts?(body: Members): 'words' | 'seals' | 'nothing';
  countAnswer(tokens: number): Record<string, unknown>;
  /** What providers call its count of tokens. */
  readonly countOperation?: string;
  readonly models?: ModelList;
  readonly kept?: KeptRules;
  readonly references?: ReferenceRules;
  readonly compaction?: CompactionRules;
  /** Takes a line out that stands before everything else in the prompt. @returns null = it is not there. */
  withoutLine?(body: Members, line: RegExp): MemberEdits | null;
  readonly suffix: SuffixRules;
  /** What options of the operator add to a call of its upstreams. */
  readonly operator?: {
    readonly headers?: (settings: OperatorSettings, model: string) => Readonly<Record<string, string>>;
    /** @param requested the model as the client calls it. */
    readonly maxTokens?: (settings: OperatorSettings, model: string, requested: string) => number | null;
    /** In the path of its addresses. */
    readonly version?: (settings: OperatorSettings, model: string) => string;
    readonly change?: (request: ChatRequest, settings: OperatorSettings) => ChatRequest;
  };
}
