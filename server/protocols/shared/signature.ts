/** Signatures of thoughts on their way through clients of another dialect: marked with where they belong, so that none is shown to a stranger. */
import type { ProtocolId } from '../canonical.ts';

const marks: readonly (readonly [ProtocolId, string])[] = [
  ['anthropic-messages', 'gw1.a.'],
  ['gemini-generate', 'gw1.g.'],
  ['openai-responses', 'gw1.r.'],
  ['openai-chat', 'gw1.c.'],
];

/**
 * Where a signature's field has bytes for its type, SDKs decode it: there mark and signature are base64 as a whole. Source:
 * https://ai.google.dev/api/caching#Part (`thoughtSignature`, "A base64-encoded string"); google-genai for Python refuses others.
 */
const bytesFields: ReadonlySet<ProtocolId> = new Set(['gemini-generate']);

const base64 = (words: string): string => Buffer.from(words).toString('base64');

/** A mark has six bytes, so it fills whole groups of base64: whatever follows, the encoded text begins alike. */
const encodedMarks = marks.map(([id, mark]) => [id, base64(mark)] as const);

/** @returns the signature as a client of `dialect` keeps it. */
export function markSignature(signature: string, origin: ProtocolId | undefined, dialect: ProtocolId): string {
  if (origin === undefined || origin === dialect) return signature;
  const marked = `${marks.find(([id]) => id === origin)?.[1] ?? ''}${signature}`;
  return bytesFields.has(dialect) ? base64(marked) : marked;
}

/** @returns the signature as its maker gave it, whichever alphabet of base64 a client wrote; without a mark it is the client's own dialect's. */
export function unmarkSignature(
  signature: string,
  dialect: ProtocolId,
): { readonly signature: string; readonly origin: ProtocolId } {
  const encoded = encodedMarks.find(([, mark]) => signature.startsWith(mark));
  const marked = encoded === undefined ? signature : Buffer.from(signature, 'base64').toString('utf8');
  const found = marks.find(([, mark]) => marked.startsWith(mark));
  return found === undefined
    ? { signature, origin: dialect }
    : { signature: marked.slice(found[1].length), origin: found[0] };
}

/** Signatures that we marked were made by an upstream of another dialect. */
export const isMarked = (signature: string): boolean =>
  marks.some(([, mark]) => signature.startsWith(mark)) || encodedMarks.some(([, mark]) => signature.startsWith(mark));

/** What an upstream says of the signatures it takes back. */
export interface Signing {
  /** Its own form; null = unknown. */
  readonly form: RegExp | null;
  /** It takes unsigned thoughts. */
  readonly unsigned: boolean;
  /** With thinking enabled, it refuses a last turn with calls that does not begin with a thought. */
  readonly thoughtFirst?: boolean;
}

/** @returns whether an upstream would refuse what bears this signature. */
export const isForeign = (signature: string | null, { form, unsigned }: Signing): boolean =>
  signature === null ? !unsigned : isMarked(signature) || (form !== null && !form.test(signature));

/** A block of a request that an upstream of its own dialect would refuse, because another maker's model produced it. */
export interface ForeignBlock {
  readonly path: readonly (string | number)[];
  /** What stands there instead; absent = nothing. */
  readonly instead?: unknown;
  /** To declare; null where something else that goes says it already. */
  readonly reason: string | null;
}
