/** Who spends how much here: what is likely to be needed in the next seconds, and what nobody uses any more. */
import type { LeaseKind } from '../../db/postgres/ledger-known.ts';
import type { LedgerCommand } from '../ledger/commands.ts';

export interface Uses {
  /** A loan was asked for, or came. @param small there is so little that each request has a lease of its own. */
  lent(kind: LeaseKind, subject: number, small: boolean): void;
  /** Written in the books. */
  settled(commands: readonly LedgerCommand[]): void;
  /** Quota that the account is likely to use in the next ten seconds. */
  forecast(account: number): number;
  /** Gives back what was not used for a while. */
  sweep(): void;
  forget(): void;
}

export interface UsesDeps {
  /** Milliseconds; only differences count. */
  readonly now: () => number;
  readonly giveBack: (kind: LeaseKind, subject: number) => void;
}

interface Use {
  readonly kind: LeaseKind;
  readonly subject: number;
  at: number;
  small: boolean;
  /** Spent since, and in the ten seconds before. */
  since: number;
  spent: number;
  before: number;
}

const spanMs = 10_000;

export function createUses({ now, giveBack }: UsesDeps): Uses {
  const uses = new Map<string, Use>();
  const keyOf = (kind: LeaseKind, subject: number) => `${kind} ${subject}`;
  const turned = (use: Use): Use => {
    const at = now();
    if (at - use.since < spanMs) return use;
    use.before = at - use.since < 2 * spanMs ? use.spent : 0;
    use.spent = 0;
    use.since = at;
    return use;
  };
  const noted = (kind: LeaseKind, subject: number, small: boolean): Use => {
    const at = now();
    const use = { kind, subject, at, small, since: at, spent: 0, before: 0 };
    uses.set(keyOf(kind, subject), use);
    return use;
  };
  const spend = (kind: LeaseKind, subject: number, amount: number) => {
    // What a long request leaves is given back, too.
    const use = uses.get(keyOf(kind, subject)) ?? noted(kind, subject, false);
    turned(use).spent += amount;
    use.at = now();
    if (use.small) giveBack(kind, subject);
  };
  return {
    lent(kind, subject, small) {
      const use = uses.get(keyOf(kind, subject)) ?? noted(kind, subject, small);
      use.at = now();
      use.small = small;
    },
    settled(commands) {
      for (const command of commands) {
        if (command.type !== 'settle') continue;
        if (command.house !== true) spend('account', command.userId, command.amount);
        if (command.tokenId > 0) spend('token', command.tokenId, command.amount);
      }
    },
    forecast(account) {
      const use = uses.get(keyOf('account', account));
      return use === undefined ? 0 : Math.max(turned(use).before, use.spent);
    },
    sweep() {
      for (const [key, use] of uses) {
        if (now() - use.at < spanMs) continue;
        uses.delete(key);
        giveBack(use.kind, use.subject);
      }
    },
    forget: () => uses.clear(),
  };
}
