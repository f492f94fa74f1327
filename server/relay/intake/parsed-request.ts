/** Facts about a request once it is authenticated and read: its caller, its body, and its operation. */
import { isOwnTraffic } from '../../contract/counted.ts';
import type { Prices } from '../../contract/pricing/price.ts';
import type { ChannelSnapshot, TokenSnapshot, UserSnapshot } from '../../contract/snapshot.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import { commonProtocol } from '../../protocols/registry.ts';
import { ExactNumber, hasExactNumbers, parseExact, record } from '../../protocols/shared/json.ts';
import type { ClientHeaders } from '../../routing/endpoint.ts';
import type { Form } from './form.ts';
import type { Outline } from './json-text.ts';
import { noPrompt, type Prompt } from './prompt.ts';
import type { Operation, RelayRoute } from './routes.ts';

/** The caller's address, computed only when needed. */
export interface Peer {
  ip(): string;
}

export interface JsonContent {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly text: string;
  readonly shape: Outline & { readonly ok: true };
}

/** After `parse`: what is requested. */
export interface ParsedRequest {
  readonly requestId: string;
  readonly startedMs: number;
  readonly route: RelayRoute;
  readonly protocol: ProtocolId;
  readonly operation: Operation;
  readonly model: string;
  readonly stream: boolean;
  /** The client's own bytes; null when the body is a form. */
  readonly json: JsonContent | null;
  readonly form: Form | null;
  /** The members of the JSON object, or the form's text fields. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The words in the body. */
  readonly prompt: Prompt;
  /** The longest answer that was written into the body because no longer one can be paid. */
  readonly ceiling?: number;
  /** Set where the conversation is to be made short. */
  readonly compaction?: Compaction;
  /** Set where work is ordered that is fetched later. */
  readonly order?: Order;
  /** Set where it came over a socket of the client's. */
  readonly socket?: SocketTurn;
  readonly request: Request;
  readonly clientHeaders: ClientHeaders;
}

/** Where a turn's answer goes. */
export interface TurnSink {
  write(chunk: string | Uint8Array): void;
  /** @returns a promise as long as the client takes nothing. */
  flush(): Promise<void> | null;
  end(): void;
}

/** A request that came over a socket: its stream is written to the socket itself, because the reader of a response's body takes all that comes, however slow its client is. */
export interface SocketTurn {
  /** Set with a response that streams. Rejects where its connection would be broken off. */
  pipe: ((sink: TurnSink) => Promise<void>) | null;
}

/**
 * The body for translations: numbers inside of its members keep their digits. What admits, prices and limits reads
 * `body`, where every number is one.
 */
export const exactBody = ({ body, json }: Pick<ParsedRequest, 'body' | 'json'>): ParsedRequest['body'] =>
  json !== null && hasExactNumbers(json.text) ? exactMembers(json.text) : body;

function exactMembers(text: string): ParsedRequest['body'] {
  const members = record(parseExact(text)) ?? {};
  for (const [name, value] of Object.entries(members))
    if (value instanceof ExactNumber) members[name] = Number(value.source);
  return members;
}

/** Seals words so that only this site reads them again, whichever of its threads and whenever. */
export interface EncryptedBlob {
  encrypt(text: string): string;
  /** @throws AppError secret_unreadable. */
  open(encrypted: string): string;
}

/** How a summary is requested: in a conversation, or with a path of its own. */
export interface Compaction {
  readonly form: 'item' | 'call';
  readonly encrypt: EncryptedBlob['encrypt'];
}

/** Work as its upstream's own interface wants it. */
export interface Order {
  readonly path: string;
  /** How often its work is done, and at what terms; absent = once, at the ordinary ones. */
  readonly work?: Partial<Pick<Prices, 'priceFactor' | 'surcharges'>>;
  /** null = it is only queried. */
  bodyFor(channel: ChannelSnapshot): Readonly<Record<string, unknown>> | null;
}

/** After `authorise`: on whose account. `tokenId` 0 = the operator's own channel test, not charged. */
export interface Principal {
  readonly user: UserSnapshot;
  readonly token: TokenSnapshot | null;
  /** HMAC of the key that was presented; '' = none was. */
  readonly keyHmac: string;
  readonly group: string;
  /** Set where the key has several, in the order in which they are tried; `group` is the first of them. */
  readonly groups?: readonly string[];
  /** Set when an administrator named the channel in the key. */
  readonly pinnedChannel: number | null;
}

/** A caller with one group: for what cannot go on to another, the first that serves the model. */
export function inServingGroup(
  state: { candidates(group: string, model: string, bound?: string): { readonly length: number } },
  principal: Principal,
  model: string,
): Principal {
  const { groups, ...caller } = principal;
  if (groups === undefined) return principal;
  const bound = caller.token?.channels;
  return { ...caller, group: groups.find((group) => state.candidates(group, model, bound).length > 0) ?? caller.group };
}

/** None of the users' traffic. */
export const isOwn = ({ user, token }: Principal): boolean =>
  isOwnTraffic({ tokenId: token?.id ?? 0, userId: user.id, role: user.role });

/** A request without a body: a conversation, or work that was ordered before. */
export interface RequestBase {
  readonly requestId: string;
  readonly startedMs: number;
  readonly operation: Operation;
  readonly model?: string;
}

export const requestWithoutBody = (
  request: Request,
  { model = '', operation, ...details }: RequestBase,
): ParsedRequest => ({
  ...details,
  route: { path: new URL(request.url).pathname, protocol: commonProtocol, operation },
  protocol: commonProtocol,
  operation,
  model,
  stream: operation === 'realtime',
  json: null,
  form: null,
  body: {},
  prompt: noPrompt,
  request,
  clientHeaders: request.headers.toJSON(),
});
