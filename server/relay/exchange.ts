/** What is known about one relayed request after each stage. */
import type { Prices } from '../contract/pricing-tables.ts';
import type { ProtocolId } from '../protocols/canonical.ts';
import type { Charge } from './charge.ts';
import type { Form } from './form.ts';
import type { Outline } from './json-text.ts';
import type { Estimate } from './meter.ts';
import type { Operation, RelayRoute } from './operations.ts';
import type { Prompt } from './prompt.ts';
import type { ChannelSnapshot, TokenSnapshot, UserSnapshot } from './snapshot.ts';
import type { Pricing } from './terms.ts';

/** What a caller's address is, asked for only when somebody needs it. */
export interface Peer {
  ip(): string;
}

export interface JsonContent {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly text: string;
  readonly shape: Outline & { readonly ok: true };
}

/** After `parse`: what is asked for. */
export interface Inquiry {
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
  readonly request: Request;
}

/** After `authorise`: on whose account. `tokenId` 0 = the operator's own channel test, not charged. */
export interface Principal {
  readonly user: UserSnapshot;
  readonly token: TokenSnapshot | null;
  readonly group: string;
  /** Set when an administrator named the channel in the key. */
  readonly pinnedChannel: number | null;
}

/** After `plan`: where it may go, in order, and what it may cost. */
export interface Plan {
  readonly candidates: readonly ChannelSnapshot[];
  /** Under the dearest terms the request can be served under; the bill follows what the answer reports. */
  readonly prices: Prices;
  readonly pricing: Pricing;
  /** Quota held when it starts. */
  readonly hold: number;
  /** Quota it may cost at most; more than `hold` where a stream's hold grows ahead of what is delivered. */
  readonly most: number;
  /** Of the request as it goes out. */
  readonly estimate: Estimate;
  /** Output tokens that are held for. */
  readonly held: number;
  /** How often all that open requests may cost must fit into the balance; 1 = at least once. */
  readonly overcommit: number;
  /** Paid by the house. */
  readonly house: boolean;
  /** As usual text has them; the bound of the hold is larger. */
  readonly promptTokens: number;
  /** Whose request it is: what the upstream keeps of it is theirs. */
  readonly ownerId: number;
  /** Names the conversation whose prompt an upstream may have cached. */
  readonly conversation: string | null;
  /** How the candidates came about, where the operator wants it shown. */
  readonly trace: string | null;
  /** The client is told what the answer cost. */
  readonly showCost: boolean;
}

/** After `plan`, with its money held: all that the attempts and the answer need. */
export interface Exchange {
  readonly inquiry: Inquiry;
  readonly plan: Plan;
  readonly charge: Charge;
}
