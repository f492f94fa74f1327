/** Items of answers that were told here are kept for their owner, sealed, as long as the operator allows. */
import type { Exchange } from '../admission/exchange.ts';
import type { Capsule } from '../intake/inquiry.ts';
import type { Recall } from '../intake/references.ts';
import type { ItemStore, SealedItem } from '../shared/items.ts';
import { itemsTold } from '../upstream/nameable.ts';

export interface ItemKeeping {
  /** To be called when an answer is over, before its client hears of it. */
  keep(exchange: Exchange): void;
  recall(userId: number, ids: readonly string[]): ReturnType<Recall>;
}

/** Pictures told as text need not be kept. */
const longest = 1024 * 1024;

export function createItemKeeping(deps: {
  readonly store: ItemStore;
  readonly capsule: Capsule;
  /** 0 = nothing is kept. */
  readonly days: () => number;
}): ItemKeeping {
  const { store, capsule, days } = deps;
  return {
    keep({ inquiry, plan }) {
      if (days() === 0) return;
      const items: SealedItem[] = [];
      for (const { id, item } of itemsTold(inquiry)) {
        const text = JSON.stringify(item);
        if (text.length <= longest) items.push({ id, sealed: capsule.seal(text) });
      }
      // What cannot be kept is asked for again in words of its own when it is named.
      if (items.length > 0) store.keepItems(plan.ownerId, items, days()).catch(() => undefined);
    },
    async recall(userId, ids) {
      const kept = days() === 0 ? [] : await store.keptItems(userId, ids);
      return new Map(kept.map(({ id, sealed }) => [id, capsule.open(sealed)]));
    },
  };
}
