/** Items of an answer that is told here, for whoever keeps them when it is over. */
import type { MadeItem, ResponseContext } from '../../protocols/codec.ts';
import { codecFor } from '../../protocols/registry.ts';
import type { Inquiry } from '../intake/inquiry.ts';

const told = new WeakMap<Inquiry, () => readonly MadeItem[]>();

/** @returns undefined where nobody will name any. The last attempt is the one that was told. */
export function nameable(inquiry: Inquiry): ResponseContext['made'] {
  const keeps = codecFor(inquiry.protocol).traits.references?.keeps(inquiry.body) === true;
  return keeps && inquiry.compaction === undefined ? (items) => void told.set(inquiry, items) : undefined;
}

export const itemsTold = (inquiry: Inquiry): readonly MadeItem[] => told.get(inquiry)?.() ?? [];
