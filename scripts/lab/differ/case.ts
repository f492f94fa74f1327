/** One request of a client with all that the upstreams answer to it. */

export interface ClientRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface Usage {
  readonly prompt: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
}

/** What a model says; it is written in the wire that it is asked in. */
export interface ModelOutput {
  readonly thoughts: readonly string[];
  readonly words: readonly string[];
  readonly calls: readonly ToolCall[];
  readonly finish: 'stop' | 'length' | 'tools' | 'filtered' | 'stop word';
  /** null = the upstream does not say. */
  readonly usage: Usage | null;
  readonly choices: number;
  readonly model: string;
  readonly tier: string | null;
}

export interface RecordedReply {
  readonly dialect: string;
  readonly streamed: boolean;
  readonly contentType: string;
  readonly body: string;
}

/** What goes wrong, or is unusual, on the way back. */
export type Variant =
  | { readonly kind: 'none' }
  | { readonly kind: 'status'; readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'garbage'; readonly status: number; readonly text: string }
  /** The connection breaks after this share of the body. */
  | { readonly kind: 'cut'; readonly share: number }
  /** The body ends well after this share of its frames. */
  | { readonly kind: 'short'; readonly share: number }
  /** The upstream reports an error after this share of its frames. */
  | { readonly kind: 'error frame'; readonly share: number }
  | { readonly kind: 'pings' }
  | { readonly kind: 'windows lines' }
  | { readonly kind: 'unknown members' }
  | { readonly kind: 'last frame twice' };

export interface Reply {
  readonly modelOutput: ModelOutput;
  /** Instead of the meaning, where the upstream is asked in the dialect that it was recorded in. */
  readonly recorded: RecordedReply | null;
  readonly variant: Variant;
  /** Bytes of one write; 0 = frame by frame. */
  readonly chunks: number;
}

export interface Case {
  /** Its mark stands in the words of the prompt. */
  readonly id: number;
  /** What it is about, for groups of differences. */
  readonly name: string;
  readonly request: ClientRequest;
  /** Of one attempt after the other; the last one stays. */
  readonly responses: readonly Reply[];
}

export const markOf = (id: number): string => `case-${String(id).padStart(6, '0')}`;
export const markIn = (text: string): number | null => {
  const found = /case-(\d{6})/.exec(text)?.[1];
  return found === undefined ? null : Number(found);
};
