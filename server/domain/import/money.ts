/** Balances and counters of another database as postings of the ledger: what was granted, what was spent, by whom and where. */

import type { Ledger, LedgerCommand } from '../../billing/ledger/commands.ts';
import { AppError } from '../../contract/errors.ts';

export interface Spender {
  readonly id: number;
  readonly used: number;
}

export interface UserBalance {
  readonly userId: number;
  readonly username: string;
  readonly balance: number;
  readonly used: number;
  readonly tokens: readonly Spender[];
}

export interface Share {
  readonly userId: number;
  readonly username: string;
  readonly tokenId: number;
  readonly channelId: number;
  readonly amount: number;
}

/**
 * Splits what users spent over their tokens and over the channels, so that every counter is a sum of postings. What a
 * source cannot explain (deleted tokens, deleted channels) stands under 0.
 */
export function sharesOf(users: readonly UserBalance[], channels: readonly Spender[]): Share[] {
  const waiting = channels.filter((channel) => channel.used > 0).map((channel) => ({ ...channel }));
  const shares: Share[] = [];
  for (const { userId, username, used, tokens } of users) {
    let left = used;
    for (const token of [...tokens, { id: 0, used: Number.POSITIVE_INFINITY }]) {
      let pending = Math.min(left, Math.max(0, token.used));
      left -= pending;
      while (pending > 0) {
        const [channel] = waiting;
        const amount = Math.min(pending, channel?.used ?? pending);
        shares.push({ userId, username, tokenId: token.id, channelId: channel?.id ?? 0, amount });
        pending -= amount;
        if (channel === undefined) continue;
        channel.used -= amount;
        if (channel.used === 0) waiting.shift();
      }
    }
  }
  return shares;
}

/** @throws AppError import_failed when the ledger refuses. */
export async function post(ledger: Ledger, command: LedgerCommand): Promise<void> {
  const result = await ledger.execute(command);
  if (result.status !== 'done')
    throw new AppError('import_failed', {
      detail: `${command.ref}: ${'detail' in result ? result.detail : result.status}`,
    });
}
