/** What a crash left behind: open requests of an earlier run are charged what had been seen of them, or voided. */
import type { HeldLog, LedgerStore, StoredHold } from '../ports.ts';
import type { Settle, Void } from './commands.ts';

export interface RecoveryReport {
  readonly epoch: number;
  readonly settled: number;
  readonly voided: number;
}

/** How to end a request whose process is gone. */
export function endFor(hold: StoredHold): Settle | Void {
  if (hold.observed === 0) return { type: 'void', ref: hold.ref, log: null };
  const { house: selfUse = false, budgets, ...log } = JSON.parse(hold.log) as HeldLog;
  return {
    type: 'settle',
    ref: hold.ref,
    userId: hold.user_id,
    tokenId: hold.token_id,
    channelId: hold.channel_id,
    amount: hold.observed,
    at: log.createdAt,
    log,
    house: selfUse,
    tokens: log.promptTokens + log.completionTokens,
    model: log.model,
    username: log.username,
    ...(budgets === undefined ? {} : { budgets }),
  };
}

/** Idempotent: the ref is the request id, so a settlement that did get through before the crash stays the only one. */
export function recover(store: LedgerStore): RecoveryReport {
  const epoch = store.nextEpoch();
  let settled = 0;
  let voided = 0;
  for (const hold of store.holds(epoch)) {
    const end = endFor(hold);
    store.apply([end]);
    if (end.type === 'settle') settled++;
    else voided++;
  }
  return { epoch, settled, voided };
}
