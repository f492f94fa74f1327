/** For whoever looks on: how single requests ended. Nothing of it is put together while nobody looks. */
import type { Inquiry, Principal } from '../intake/inquiry.ts';
import type { EndedRequest } from './charge.ts';

/** What became known of a request before it was turned away. */
export interface Seen {
  principal: Principal | null;
  inquiry: Inquiry | null;
  /** It was refused before its body, which names the model, was read. */
  unread?: true;
}

export interface TurnedAway {
  readonly request: Request;
  readonly requestId: string;
  readonly path: string;
  readonly code: string;
  readonly status: number;
  readonly seen: Seen;
}

export interface RequestObserver {
  ended(request: EndedRequest): void;
  /** Nobody was asked. */
  turnedAway(request: TurnedAway): void;
}
