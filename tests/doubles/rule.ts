/** What a strict double refuses, and on whose word. */

import { invalid, type Refusal } from '../../server/practice/row-rules.ts';
import type { Json } from '../../server/protocols/shared/json.ts';
import type { Seals } from './seal.ts';

export { invalid, type Refusal };

/** One request as its rules see it. */
export interface Seen {
  readonly model: string;
  readonly body: Json;
  readonly headers: Headers;
  readonly stream: boolean;
  readonly seals: Seals;
}

export interface Rule {
  readonly id: string;
  /** Address of the document, or of a report of the refusal. */
  readonly source: string;
  readonly reject: (seen: Seen) => Refusal | null;
}

/** @returns the first refusal, with the rule that says so. */
export function firstRefusal(
  rules: readonly Rule[],
  seen: Seen,
): { readonly rule: string; readonly refusal: Refusal } | null {
  for (const { id, reject } of rules) {
    const refusal = reject(seen);
    if (refusal !== null) return { rule: id, refusal };
  }
  return null;
}
