/** What an upstream keeps of an answer can only be continued where it was made, by whom it was made for. */
import { codecFor } from '../../protocols/registry.ts';
import { record, text } from '../../protocols/shared/json.ts';
import type { Exchange } from '../admission/exchange.ts';
import { type Affinity, keptIds } from '../routing/affinity.ts';
import type { Prepared } from '../upstream/prepare.ts';

/** Names of what the upstream keeps; null = nothing. */
export interface KeptNames {
  readonly response: string | null;
  readonly container: string | null;
}

export const keptIn = (body: unknown): KeptNames => {
  const answered = record(body);
  return { response: text(answered?.id), container: text(record(answered?.container)?.id) };
};

/** Whether the upstream may keep something that the client can name again. */
export const isKept = ({ inquiry: { protocol } }: Exchange, prepared: Prepared): boolean =>
  !prepared.retold && codecFor(protocol).traits.kept !== undefined;

/** To be called where `isKept`. */
export function noteKept(affinity: Affinity, { inquiry, plan }: Exchange, prepared: Prepared, answer: KeptNames): void {
  const made = codecFor(inquiry.protocol).traits.kept?.made(inquiry.body, answer) ?? null;
  for (const id of made === null ? keptIds(inquiry) : [made, ...keptIds(inquiry)]) {
    affinity.rememberKept(id, { channelId: prepared.channel.id, ownerId: plan.ownerId });
  }
}
