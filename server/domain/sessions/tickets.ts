/**
 * Short-lived promises between two steps of one visitor: who is half-way in, what was challenged. The visitor carries them,
 * sealed: nothing is kept for those who never come back, so no flood of strangers pushes out anybody's.
 */
import { randomBytes } from 'node:crypto';
import type { Vault } from '../secrets/vault.ts';

const mostUsed = 100_000;

export interface Tickets<Content> {
  issue(content: Content): string;
  /** The content without using it up; null = unknown, used or late. */
  look(ticket: string): Content | null;
  take(ticket: string): Content | null;
}

interface Sealed<Content> {
  readonly content: Content;
  readonly id: string;
  readonly expiresAt: number;
}

/** @param purpose bound into the seal. @param now epoch milliseconds. */
export function createTickets<Content>(
  vault: Vault,
  purpose: string,
  lifetimeMs: number,
  now: () => number,
): Tickets<Content> {
  /** Ids of those that were taken, until they would be late anyway. */
  const used = new Map<string, number>();
  const open = (ticket: string): Sealed<Content> | null => {
    if (ticket === '') return null;
    try {
      const sealed = JSON.parse(vault.open(purpose, ticket)) as Sealed<Content>;
      return sealed.expiresAt <= now() || used.has(sealed.id) ? null : sealed;
    } catch {
      return null;
    }
  };
  return {
    issue: (content) =>
      vault.seal(
        purpose,
        JSON.stringify({ content, id: randomBytes(12).toString('base64url'), expiresAt: now() + lifetimeMs }),
      ),
    look: (ticket) => open(ticket)?.content ?? null,
    take(ticket) {
      const sealed = open(ticket);
      if (sealed === null) return null;
      for (const [id, expiresAt] of used) {
        if (expiresAt > now() && used.size < mostUsed) break;
        used.delete(id);
      }
      used.set(sealed.id, sealed.expiresAt);
      return sealed.content;
    },
  };
}
