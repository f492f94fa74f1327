/** What a site pays its upstreams: shares of the list price, by channel (`12`), and by model at a channel (`12:gpt-4.1`, `12:gpt-*`). */
import { matchesPattern } from './modifiers.ts';

interface ModelShare {
  readonly pattern: string;
  readonly share: number;
}

/** A whole name is more particular than any beginning, and a longer beginning than a shorter one. */
const weightOf = ({ pattern }: ModelShare): number =>
  pattern.endsWith('*') ? pattern.length : Number.POSITIVE_INFINITY;

export class PurchaseShares {
  private readonly channels = new Map<number, number>();
  private readonly models = new Map<number, ModelShare[]>();

  /** @param stored the option ChannelCostRatio. */
  constructor(stored: ReadonlyMap<string, number>) {
    for (const [key, share] of stored) {
      const at = key.indexOf(':');
      const id = Number(at < 0 ? key : key.slice(0, at));
      if (at < 0) this.channels.set(id, share);
      else this.models.set(id, [...(this.models.get(id) ?? []), { pattern: key.slice(at + 1), share }]);
    }
    for (const list of this.models.values()) list.sort((one, other) => weightOf(other) - weightOf(one));
  }

  /** Some model has a share of its own. */
  get hasModels(): boolean {
    return this.models.size > 0;
  }

  /** @returns undefined = unknown. */
  ofChannel(channelId: number): number | undefined {
    return this.channels.get(channelId);
  }

  /** @param model as clients call it. @returns undefined = unknown. */
  of(channelId: number, model: string): number | undefined {
    const own = this.models.get(channelId)?.find(({ pattern }) => matchesPattern(pattern, model));
    return own?.share ?? this.channels.get(channelId);
  }
}

export const noShares = new PurchaseShares(new Map());
