/** One call of an upstream, ready to be sent. */

import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { UpstreamHalf } from '../../protocols/codec.ts';

export interface UpstreamCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** null = a question without one (GET). */
  readonly body: Uint8Array<ArrayBuffer> | string | null;
  readonly channel: ChannelSnapshot;
  readonly upstream: UpstreamHalf;
  /** It orders something: two of them are two orders. */
  readonly once?: boolean;
}
