/** Thoughts of a conversation that this dialect's upstream did not seal. */
import { type Json, list, record, text } from '../shared/json.ts';
import { type ForeignBlock, isForeign, type Signing } from '../shared/signature.ts';

/** Ids that we gave to items of translated answers end in their position; an upstream finds nothing under them. */
const ownId = /^rs_.+_\d+$/;

export function foreignBlocks(body: Json, signing: Signing): readonly ForeignBlock[] {
  return list(body.input).flatMap((value, at): ForeignBlock[] => {
    const item = record(value);
    if (item?.type !== 'reasoning') return [];
    const signature = text(item.encrypted_content);
    // Without a seal the id alone names a thought that its upstream keeps.
    const foreign = signature === null ? ownId.test(text(item.id) ?? '') : isForeign(signature, signing);
    return foreign ? [{ path: ['input', at], reason: `/input/${at}: a thought without this provider's seal` }] : [];
  });
}
