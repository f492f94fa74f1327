/** Signatures of thoughts on their way through clients of another dialect: marked with where they belong, so that none is shown to a stranger. */
import type { ProtocolId } from '../canonical.ts';

const marks: readonly (readonly [ProtocolId, string])[] = [
  ['anthropic-messages', 'gw1.a.'],
  ['gemini-generate', 'gw1.g.'],
  ['openai-responses', 'gw1.r.'],
  ['openai-chat', 'gw1.c.'],
];

/** @returns the signature as a client of `dialect` keeps it. */
export function markSignature(signature: string, origin: ProtocolId | undefined, dialect: ProtocolId): string {
  if (origin === undefined || origin === dialect) return signature;
  return `${marks.find(([id]) => id === origin)?.[1] ?? ''}${signature}`;
}

/** @returns the signature as its maker gave it; without a mark it is the client's own dialect's. */
export function unmarkSignature(
  signature: string,
  dialect: ProtocolId,
): { readonly signature: string; readonly origin: ProtocolId } {
  const found = marks.find(([, mark]) => signature.startsWith(mark));
  return found === undefined
    ? { signature, origin: dialect }
    : { signature: signature.slice(found[1].length), origin: found[0] };
}
