/** What the relay reports about a channel that fails permanently: once per failure; the control thread decides. */
export interface ChannelFailure {
  readonly channelId: number;
  readonly keyIndex: number;
  /** True when no key of the channel is left. */
  readonly lastKey: boolean;
  readonly kind: 'key' | 'host';
  readonly status: number | null;
  readonly type: string;
  readonly code: string;
  /** The upstream's words, redacted. */
  readonly message: string;
}
