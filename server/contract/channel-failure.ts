/** What the relay tells about a channel that fails for good; told once per failure, decided upon by the control thread. */
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
