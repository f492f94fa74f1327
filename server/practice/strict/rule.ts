/** What a strict double refuses, and on whose word. */
import type { Json } from '../../protocols/shared/json.ts';
import type { Seals } from './seal.ts';

export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly param?: string;
  readonly type?: string;
  readonly code?: string;
}

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
  readonly refuse: (seen: Seen) => Refusal | null;
}

/** 400 in the provider's words. */
export const invalid = (message: string, more: Partial<Refusal> = {}): Refusal => ({ status: 400, message, ...more });

/** @returns the first refusal, with the rule that says so. */
export function firstRefusal(
  rules: readonly Rule[],
  seen: Seen,
): { readonly rule: string; readonly refusal: Refusal } | null {
  for (const { id, refuse } of rules) {
    const refusal = refuse(seen);
    if (refusal !== null) return { rule: id, refusal };
  }
  return null;
}
