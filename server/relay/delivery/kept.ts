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

export function noteKept(affinity: Affinity, { inquiry, plan }: Exchange, prepared: Prepared, answer: KeptNames): void {
  const { kept } = codecFor(inquiry.protocol).traits;
  if (prepared.retold || kept === undefined) return;
  const made = kept.made(inquiry.body, answer);
  for (const id of made === null ? keptIds(inquiry) : [made, ...keptIds(inquiry)]) {
    affinity.rememberKept(id, { channelId: prepared.channel.id, ownerId: plan.ownerId });
  }
}
