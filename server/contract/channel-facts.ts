/** What a channel's upstream turned out not to take: members that are left out of requests for one of its models. */

/** `hand`: written by an administrator, or confirmed by one. `learnt`: from refusals. `probe`: found by asking the upstream. */
export const factSources = ['hand', 'learnt', 'probe'] as const;
export type FactSource = (typeof factSources)[number];

/** Users who must have met a refusal before all others are spared it. */
export const usersForAll = 2;
export const factSeconds = 7 * 86_400;
/** Of one model at one channel, and of a site. */
export const maxFactsOfPair = 32;
export const maxFacts = 2000;

/** One that holds for every request. */
export interface ChannelFact {
  readonly channelId: number;
  /** As the upstream calls it. */
  readonly model: string;
  /** `openai-chat:temperature`, `openai-responses:reasoning.effort=xhigh`. */
  readonly member: string;
  /** Epoch seconds; 0 = it stays. */
  readonly expiresAt: number;
}

/** All facts of one channel that hold for every request. */
export interface FactsOfChannel {
  readonly channelId: number;
  readonly facts: readonly ChannelFact[];
}

/** An upstream refused these members to a user, and took the same request without them. */
export interface FactReport {
  readonly channelId: number;
  readonly model: string;
  readonly members: readonly string[];
  readonly userId: number;
}
