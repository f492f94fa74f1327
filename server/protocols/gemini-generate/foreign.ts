/** Thoughts and calls of a conversation that this dialect's upstream did not sign. */
import { type Json, list, record, text } from '../shared/json.ts';
import { type ForeignBlock, isForeign, type Signing } from '../shared/signature.ts';
import { lostSignature } from './encode-request.ts';

/** Other makers' ids; this dialect's own calls have none, or bear a signature. */
const foreignId = /^(?:call_|toolu_|chatcmpl-|fc_)/;

export function foreignBlocks(body: Json, signing: Signing): readonly ForeignBlock[] {
  const found: ForeignBlock[] = [];
  for (const [at, content] of list(body.contents).entries()) {
    const parts = list(record(content)?.parts);
    const own = parts.map((value, index) => inPart(record(value) ?? {}, ['contents', at, 'parts', index], signing));
    const gone = own.filter((blocks) => blocks[0]?.path.length === 4 && blocks[0].instead === undefined);
    if (gone.length > 0 && gone.length === parts.length)
      found.push({ path: ['contents', at], reason: gone[0]?.[0]?.reason ?? null });
    else found.push(...own.flat(), ...unsignedCall(parts, at));
  }
  return found;
}

function inPart(part: Record<string, unknown>, path: readonly (string | number)[], signing: Signing): ForeignBlock[] {
  const member = part.thoughtSignature === undefined ? 'thought_signature' : 'thoughtSignature';
  const signature = text(part[member]);
  if (signature === null || signature === lostSignature || !isForeign(signature, signing)) return [];
  const reason = `/${path.join('/')}: a signature that belongs to another provider`;
  const words = typeof part.text === 'string' ? part.text : null;
  if (callOf(part) !== null) return [{ path: [...path, member], instead: lostSignature, reason }];
  return part.thought === true || words === '' ? [{ path, reason }] : [{ path: [...path, member], reason }];
}

const callOf = (part: Record<string, unknown>): Record<string, unknown> | null =>
  record(part.functionCall) ?? record(part.function_call);

/** The first call of a turn bears the signature of all. */
function unsignedCall(parts: readonly unknown[], at: number): ForeignBlock[] {
  const index = parts.findIndex((value) => callOf(record(value) ?? {}) !== null);
  const part = record(parts[index]);
  if (part === null || !foreignId.test(text(callOf(part)?.id) ?? '')) return [];
  if ((text(part.thoughtSignature) ?? text(part.thought_signature)) !== null) return [];
  const path = ['contents', at, 'parts', index, 'thoughtSignature'];
  return [{ path, instead: lostSignature, reason: `/contents/${at}/parts/${index}: a call without a signature` }];
}
