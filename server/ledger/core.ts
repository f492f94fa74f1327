/** The rules of money as pure functions: what a command would write, and what a repeated ref means. Storage and threads are elsewhere. */
import { Account, type LedgerCommand, type LedgerResult, type LogEntry, type PostingKind } from './commands.ts';

/** Largest amount of one posting, in quota. Invariant I10. */
export const mostQuota = 1_000_000_000_000_000;

export interface Posting {
  readonly ref: string;
  /** Account that pays. */
  readonly debit: number;
  /** Account that receives. */
  readonly credit: number;
  readonly amount: number;
  readonly kind: PostingKind;
  readonly tokenId: number;
  readonly channelId: number;
  readonly at: number;
}

export interface UsageHour {
  /** Start of the hour, epoch seconds. */
  readonly hourAt: number;
  readonly userId: number;
  readonly username: string;
  readonly model: string;
  readonly channelId: number;
  readonly tokens: number;
  readonly quota: number;
}

/** All a command writes, in one transaction or not at all. */
export interface Effects {
  readonly posting: Posting | null;
  readonly log: LogEntry | null;
  /** A settlement counts a request and moves the used counters of user, token and channel. */
  readonly counted: boolean;
  readonly hour: UsageHour | null;
  readonly dropsHold: boolean;
}

export type Decision =
  | { readonly kind: 'write'; readonly effects: Effects }
  | { readonly kind: 'hold' }
  | { readonly kind: 'refuse'; readonly result: LedgerResult & { readonly status: 'refused' } };

const refuse = (reason: 'insufficient' | 'invalid' | 'unknown_account', detail: string): Decision => ({
  kind: 'refuse',
  result: { status: 'refused', reason, detail },
});

const isQuota = (amount: number, least: number): boolean =>
  Number.isSafeInteger(amount) && amount >= least && amount <= mostQuota;

/**
 * @param balanceOf balance of a user's account, undefined when there is none. Only deductions ask for the amount:
 * a settlement pays for work that is done, so it is posted even if the hold was too small.
 */
export function decide(command: LedgerCommand, balanceOf: (userId: number) => number | undefined): Decision {
  if (command.ref === '') return refuse('invalid', 'ref is empty');
  switch (command.type) {
    case 'settle': {
      if (!isQuota(command.amount, 0)) return refuse('invalid', `amount ${command.amount}`);
      if (command.amount > 0 && balanceOf(command.userId) === undefined)
        return refuse('unknown_account', `user ${command.userId}`);
      const { ref, userId, tokenId, channelId, amount, at } = command;
      return {
        kind: 'write',
        effects: {
          posting:
            amount === 0
              ? null
              : { ref, debit: userId, credit: Account.revenue, amount, kind: 'settle', tokenId, channelId, at },
          log: command.log,
          counted: userId > 0 && command.tokens > 0,
          hour:
            command.tokens > 0 && userId > 0
              ? {
                  hourAt: at - (at % 3600),
                  userId,
                  username: command.username,
                  model: command.model,
                  channelId,
                  tokens: command.tokens,
                  quota: amount,
                }
              : null,
          dropsHold: true,
        },
      };
    }
    case 'hold':
      return isQuota(command.estimate, 0) && isQuota(command.observed, 0)
        ? { kind: 'hold' }
        : refuse('invalid', 'hold amounts');
    case 'void':
      return {
        kind: 'write',
        effects: { posting: null, log: command.log, counted: false, hour: null, dropsHold: true },
      };
    case 'grant':
    case 'deduct': {
      if (!isQuota(command.amount, 1)) return refuse('invalid', `amount ${command.amount}`);
      const balance = balanceOf(command.userId);
      if (balance === undefined) return refuse('unknown_account', `user ${command.userId}`);
      const gives = command.type === 'grant';
      if (!gives && balance < command.amount) return refuse('insufficient', `balance ${balance}`);
      const other = command.from ?? (gives ? Account.mint : Account.adjust);
      return {
        kind: 'write',
        effects: {
          posting: {
            ref: command.ref,
            debit: gives ? other : command.userId,
            credit: gives ? command.userId : other,
            amount: command.amount,
            kind: command.kind ?? command.type,
            tokenId: 0,
            channelId: 0,
            at: command.at,
          },
          log: command.log,
          counted: false,
          hour: null,
          dropsHold: false,
        },
      };
    }
  }
}

/** What it means that a ref had been posted before. */
export function repeated(known: Pick<Posting, 'debit' | 'credit' | 'amount'>, posting: Posting): LedgerResult {
  const same = known.debit === posting.debit && known.credit === posting.credit && known.amount === posting.amount;
  return { status: same ? 'duplicate' : 'conflict' };
}
