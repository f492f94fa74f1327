/** Parts of responses that a later request may name by their ids: kept here for their owner, sealed, as long as the operator allows; of what an upstream keeps, where it was made and for whom. */
import type { MadeItem } from '../../protocols/codec.ts';
import { codecFor } from '../../protocols/registry.ts';
import type { Reservation } from '../admission/reservation.ts';
import type { EncryptedBlob } from '../intake/parsed-request.ts';
import type { LoadItems } from '../intake/references.ts';
import { type Affinity, keptIds } from '../routing/affinity.ts';
import type { EncryptedItem, ItemStore } from '../shared/items.ts';
import type { Prepared } from '../upstream/prepare.ts';

export interface ResponseItems {
  /** Called when a response that made items is complete, before its client sees the end. */
  keep(reservation: Reservation, made: readonly MadeItem[]): void;
  loadItems(userId: number, ids: readonly string[]): ReturnType<LoadItems>;
}

/** Images written as text need not be kept. */
const maxLength = 1024 * 1024;

export function createResponseItems(deps: {
  readonly store: ItemStore;
  readonly encryptedBlob: EncryptedBlob;
  /** 0 = nothing is kept. */
  readonly days: () => number;
  /** Called for what could not be stored. */
  readonly noteLost: (error: unknown) => void;
}): ResponseItems {
  const { store, encryptedBlob, days } = deps;
  return {
    keep({ plan }, made) {
      if (days() === 0) return;
      const items: EncryptedItem[] = [];
      for (const { id, item } of made) {
        const text = JSON.stringify(item);
        if (text.length <= maxLength) items.push({ id, sealed: encryptedBlob.encrypt(text) });
      }
      // An item that cannot be stored is reported as missing when a later request names it.
      if (items.length > 0) store.keepItems(plan.ownerId, items, days()).catch(deps.noteLost);
    },
    async loadItems(userId, ids) {
      const kept = days() === 0 ? [] : await store.keptItems(userId, ids);
      return new Map(kept.map(({ id, sealed }) => [id, encryptedBlob.open(sealed)]));
    },
  };
}

/** To be called where what the upstream keeps can be named again. @param answer a whole answer, or what is known of it so far. */
export function noteKept(affinity: Affinity, { parsed, plan }: Reservation, prepared: Prepared, answer: unknown): void {
  const made = codecFor(parsed.protocol).definition.kept?.made(parsed.body, answer) ?? [];
  const kept = { channelId: prepared.channel.id, ownerId: plan.ownerId };
  for (const id of made) affinity.storeItem(id, kept);
  for (const id of keptIds(parsed)) affinity.storeItem(id, kept);
}
