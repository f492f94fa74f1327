/**
 * Short-lived, encrypted tokens between two steps of one login: who has passed the first step, what was challenged. The client keeps
 * them: the server stores nothing, so a flood of anonymous logins cannot push out another user's.
 */
import { randomBytes } from 'node:crypto';
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { Vault } from '../secrets/vault.ts';

export interface OneTimeTokens<Content> {
  issue(content: Content): string;
  /** The content without using it up; null = unknown, used or late. */
  peek(ticket: string): Promise<Content | null>;
  /** The content, once for all nodes; null as above. */
  take(ticket: string): Promise<Content | null>;
}

export interface OneTimeTokenDeps {
  readonly vault: Vault;
  /** Remember which were used until they would be late anyway. */
  readonly store: EphemeralStore;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

interface Encrypted<Content> {
  readonly content: Content;
  readonly id: string;
  readonly expiresAt: number;
}

/** @param purpose bound into the seal. */
export function createOneTimeTokens<Content>(
  purpose: string,
  lifetimeMs: number,
  { vault, store, now }: OneTimeTokenDeps,
): OneTimeTokens<Content> {
  const used = (id: string) => ({ purpose: `used ${purpose}`, key: id });
  const open = (ticket: string): Encrypted<Content> | null => {
    if (ticket === '') return null;
    try {
      const sealed = JSON.parse(vault.open(purpose, ticket)) as Encrypted<Content>;
      return sealed.expiresAt <= now() ? null : sealed;
    } catch {
      return null;
    }
  };
  return {
    issue: (content) =>
      vault.encrypt(
        purpose,
        JSON.stringify({ content, id: randomBytes(12).toString('base64url'), expiresAt: now() + lifetimeMs }),
      ),
    async peek(ticket) {
      const sealed = open(ticket);
      return sealed === null || (await store.has(used(sealed.id))) ? null : sealed.content;
    },
    async take(ticket) {
      const sealed = open(ticket);
      return sealed !== null && (await store.claim(used(sealed.id), sealed.expiresAt)) ? sealed.content : null;
    },
  };
}
