/** Rows of the audit trail for calls that everybody may make. */
import type { Call } from '../call.ts';

/** A user's own calls are not in the trail; what is given to others, and what is done for them, is. On the machine every call is in it already. */
export async function auditCall({ actor, meta, services }: Call, action: string, input: unknown): Promise<void> {
  if (actor.via === 'local') return;
  await services.audit.record({ action, actorId: actor.userId, actor: actor.username, ip: meta.ip, input });
}
