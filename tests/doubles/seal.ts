/** Signatures that a double makes and knows again without keeping anything: what it did not sign itself, or what was changed since, it refuses. */
import { createHmac, hash } from 'node:crypto';

const secret = 'practice seals are worth nothing elsewhere';
const mark = 'Eq';

export interface Seals {
  /** @param bound what may not change while the signature stays; '' = nothing. */
  sign(kind: string, bound: string): string;
  knows(kind: string, bound: string, signature: string): boolean;
}

/** @param maker who signs: platforms that take each other's thoughts share one. */
export function sealsOf(maker: string): Seals {
  const macOf = (kind: string, digest: string) =>
    createHmac('sha256', secret).update(`${maker}\n${kind}\n${digest}`).digest('base64url');
  const sign = (kind: string, bound: string) => {
    const digest = hash('sha256', bound, 'hex').slice(0, 24);
    return Buffer.from(`${mark}.${digest}.${macOf(kind, digest)}`).toString('base64');
  };
  return { sign, knows: (kind, bound, signature) => signature === sign(kind, bound) };
}

/** A name that follows from a request alone, in the letters that ids are made of. */
export function nameFrom(seed: string, length: number): string {
  const digits = BigInt(`0x${hash('sha512', seed, 'hex')}`).toString(36);
  return digits.slice(0, length).padEnd(length, '0');
}
