/** What an upstream keeps of an answer can only be continued where it was made, by whom it was made for. */
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
  !prepared.retold && (protocol === 'openai-responses' || protocol === 'anthropic-messages');

/** To be called where `isKept`. */
export function noteKept(
  affinity: Affinity,
  { inquiry, plan }: Exchange,
  prepared: Prepared,
  { response, container }: KeptNames,
): void {
  const { protocol, body } = inquiry;
  const made = protocol === 'openai-responses' && body.store !== false ? response : container;
  for (const id of made === null ? keptIds(inquiry) : [made, ...keptIds(inquiry)]) {
    affinity.rememberKept(id, { channelId: prepared.channel.id, ownerId: plan.ownerId });
  }
}
