/** Short-lived promises between two steps of one visitor: who is half-way in, what was challenged. In memory, used once. */
import { randomBytes } from 'node:crypto';

const most = 10_000;

export interface Tickets<Content> {
  issue(content: Content): string;
  /** The content without using it up; null = unknown or late. */
  look(ticket: string): Content | null;
  take(ticket: string): Content | null;
}

/** @param now epoch milliseconds. */
export function createTickets<Content>(lifetimeMs: number, now: () => number): Tickets<Content> {
  const kept = new Map<string, { readonly content: Content; readonly expiresAt: number }>();
  const look = (ticket: string): Content | null => {
    const found = kept.get(ticket);
    return found === undefined || found.expiresAt <= now() ? null : found.content;
  };
  return {
    issue(content) {
      // Insertion order is age, so late ones and those of a flood are first.
      for (const [key, { expiresAt }] of kept) {
        if (expiresAt > now() && kept.size < most) break;
        kept.delete(key);
      }
      const ticket = randomBytes(24).toString('base64url');
      kept.set(ticket, { content, expiresAt: now() + lifetimeMs });
      return ticket;
    },
    look,
    take(ticket) {
      const content = look(ticket);
      kept.delete(ticket);
      return content;
    },
  };
}
