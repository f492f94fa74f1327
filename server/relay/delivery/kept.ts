/** What an upstream keeps of an answer can only be continued where it was made, by whom it was made for. */
import { codecFor } from '../../protocols/registry.ts';
import type { Exchange } from '../admission/exchange.ts';
import { type Affinity, keptIds } from '../routing/affinity.ts';
import type { Prepared } from '../upstream/prepare.ts';

/** Whether the upstream may keep something that the client can name again. */
export const isKept = ({ inquiry: { protocol } }: Exchange, prepared: Prepared): boolean =>
  !prepared.retold && codecFor(protocol).traits.kept !== undefined;

/** To be called where `isKept`. @param answer a whole answer, or what is known of it so far. */
export function noteKept(affinity: Affinity, { inquiry, plan }: Exchange, prepared: Prepared, answer: unknown): void {
  const made = codecFor(inquiry.protocol).traits.kept?.made(inquiry.body, answer) ?? [];
  const kept = { channelId: prepared.channel.id, ownerId: plan.ownerId };
  for (const id of made) affinity.rememberKept(id, kept);
  for (const id of keptIds(inquiry)) affinity.rememberKept(id, kept);
}
