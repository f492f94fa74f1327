/** Seals of thoughts in a conversation that belong to upstreams of other dialects. */
import { type Json, list, record, records, text } from '../shared/json.ts';
import { type ForeignBlock, isMarked } from '../shared/signature.ts';

const isStrange = (detail: unknown): boolean => {
  const { signature, data } = record(detail) ?? {};
  return [text(signature), text(data)].some((seal) => seal !== null && isMarked(seal));
};

export function foreignBlocks(body: Json): readonly ForeignBlock[] {
  const found: ForeignBlock[] = [];
  for (const [at, message] of list(body.messages).entries()) {
    const details = records(record(message)?.reasoning_details);
    const strange = details.flatMap((detail, index) => (isStrange(detail) ? [index] : []));
    if (strange.length === 0) continue;
    const path = ['messages', at, 'reasoning_details'];
    const reason = `/messages/${at}/reasoning_details: a signature that belongs to another provider`;
    if (strange.length === details.length) found.push({ path, reason });
    else found.push(...strange.map((index, n) => ({ path: [...path, index], reason: n === 0 ? reason : null })));
  }
  return found;
}
