/** What a crash left behind: open requests of an earlier run are charged what had been seen of them, or voided. */
import type { HeldLog, LedgerStore } from '../../db/ledger-store.ts';

export interface RecoveryReport {
  readonly epoch: number;
  readonly settled: number;
  readonly voided: number;
}

/** Idempotent: the ref is the request id, so a settlement that did get through before the crash stays the only one. */
export function recover(store: LedgerStore): RecoveryReport {
  const epoch = store.nextEpoch();
  let settled = 0;
  let voided = 0;
  for (const hold of store.holds(epoch)) {
    const { house = false, ...log } = JSON.parse(hold.log) as HeldLog;
    if (hold.observed === 0) {
      store.apply([{ type: 'void', ref: hold.ref, log: null }]);
      voided++;
      continue;
    }
    store.apply([
      {
        type: 'settle',
        ref: hold.ref,
        userId: hold.user_id,
        tokenId: hold.token_id,
        channelId: hold.channel_id,
        amount: hold.observed,
        at: log.createdAt,
        log,
        house,
        tokens: log.promptTokens + log.completionTokens,
        model: log.model,
        username: log.username,
      },
    ]);
    settled++;
  }
  return { epoch, settled, voided };
}
