/** The benchmark's lower tiers ask for no key and write no bill, so they exist in front of practice upstreams on this machine alone. */
import { AppError } from './contract/errors.ts';
import type { ChannelSnapshot } from './contract/snapshot.ts';
import { proofOf, proofPath } from './practice/proof.ts';
import type { TierLevel } from './relay/admission/tiers.ts';

export interface BenchTier {
  readonly tier: TierLevel;
  /** @throws AppError bench_tier_refused unless every channel is a practice upstream on this machine. */
  prove(channels: Iterable<ChannelSnapshot>): Promise<void>;
  /** Whether a channel is one of those proven: it may have been edited since. */
  isProven(channel: ChannelSnapshot): boolean;
}

interface BenchDeps {
  readonly fetch: typeof fetch;
  readonly nonce: () => string;
}

/** Longer than any practice upstream takes. */
const patienceMs = 5000;
const loopback = /^(127(\.\d{1,3}){3}|localhost|\[::1\])$/;

const isHere = (address: string): boolean => URL.canParse(address) && loopback.test(new URL(address).hostname);

export function benchTier(wanted: string | undefined, deps: BenchDeps): BenchTier {
  const tier: TierLevel = wanted === '1' ? 1 : wanted === '2' ? 2 : 3;
  const proven = new Set<string>();

  const answers = async (address: string): Promise<boolean> => {
    const nonce = deps.nonce();
    try {
      const response = await deps.fetch(`${new URL(address).origin}${proofPath}?nonce=${nonce}`, {
        redirect: 'error',
        signal: AbortSignal.timeout(patienceMs),
      });
      return (await response.text()) === proofOf(nonce);
    } catch {
      return false;
    }
  };

  return {
    tier,
    isProven: (channel) => proven.has(channel.baseUrl),
    async prove(channels) {
      if (tier === 3) return;
      for (const { id, name, baseUrl } of channels) {
        if (!isHere(baseUrl) || !(await answers(baseUrl)))
          throw new AppError('bench_tier_refused', { tier, channel: `#${id} ${name}` });
        proven.add(baseUrl);
      }
    },
  };
}
