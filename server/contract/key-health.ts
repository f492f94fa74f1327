/** What relays know of channels and their keys, told to the control thread. */

/** What it asks. */
export interface HealthQuestion {
  readonly ids: readonly number[];
  /** As clients name it; null = whatever model of each channel does best. */
  readonly model: string | null;
  /** Also how each key is doing. */
  readonly keys?: boolean;
}

/** How a key of a channel with several stands in the relay's eyes, in use or not. */
export interface KeyHealth {
  readonly name: string;
  /** Until it is tried again; 0 = now. */
  readonly waitMs: number;
  /** Until its upstream lets it work again, where it said so; it is tried before. */
  readonly spentMs: number;
  /** As clients name them, with how long the key waits at each. */
  readonly models: readonly { readonly model: string; readonly waitMs: number }[];
  /** The upstream turned the key down, and has not taken it since. */
  readonly isRefused: boolean;
  /** What the upstream said when it failed last; '' = it did not. */
  readonly error: string;
  /** Epoch milliseconds; 0 = never. */
  readonly errorAt: number;
  readonly usedAt: number;
}
