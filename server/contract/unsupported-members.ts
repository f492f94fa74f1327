/** What a channel's upstream turned out not to take: members that are left out of requests for one of its models. */

/** `hand`: written by an administrator, or confirmed by one. `learnt`: from refusals. `probe`: found by asking the upstream. */
export const unsupportedSources = ['hand', 'learnt', 'probe'] as const;
export type UnsupportedSource = (typeof unsupportedSources)[number];

/** Users who must have met a refusal before all others are spared it. */
export const usersForAll = 2;
export const unsupportedSeconds = 7 * 86_400;
/** Of one model at one channel, and of a site. */
export const maxUnsupportedOfPair = 32;
export const maxUnsupported = 2000;

/** One that holds for every request. */
export interface UnsupportedMember {
  readonly channelId: number;
  /** The model as the upstream calls it. */
  readonly model: string;
  /** `openai-chat:temperature`, `openai-responses:reasoning.effort=xhigh`. */
  readonly member: string;
  /** Epoch seconds; 0 = it stays. */
  readonly expiresAt: number;
}

/** What one channel does not take, as far as it holds for every request. */
export interface UnsupportedOfChannel {
  readonly channelId: number;
  readonly members: readonly UnsupportedMember[];
}

/** An upstream refused these members to a user, and took the same request without them. */
export interface RefusalReport {
  readonly channelId: number;
  readonly model: string;
  readonly members: readonly string[];
  readonly userId: number;
}
