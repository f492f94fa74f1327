/** How much of what bounds a key is used over the whole site, as answers and questions of agents say it: at most two seconds old. */
import type { Account } from '../../billing/balances/account.ts';
import { type BudgetedHolder, ownUses } from '../../billing/balances/budgets.ts';
import { allBudgets, type KeyFunds, periodBudgets, withWindows } from '../../contract/key-budgets.ts';
import type { BudgetUse, TokenLimits } from '../../contract/snapshot.ts';
import type { BudgetRules } from '../../protocols/definition.ts';
import type { Principal } from '../intake/parsed-request.ts';
import type { LeaseSource } from './lease-client.ts';

/** Limits and use of a key where several machines serve the site. */
interface Known {
  readonly funds: KeyFunds;
  /** By the monotonic clock. */
  readonly untilMs: number;
}

const knownMs = 2000;
const maxKnown = 10_000;

interface KeyBudgetsDeps {
  /** null = this machine has all the money of the site. */
  readonly leaseSource: LeaseSource | null;
  readonly now: () => number;
  readonly monoNow: () => number;
}

export class KeyBudgets {
  private readonly known = new Map<number, Known>();
  private readonly asking = new Map<number, Promise<KeyFunds | null>>();

  constructor(private readonly deps: KeyBudgetsDeps) {}

  /** Asks ahead for what the headers of an answer will say. It waits for nothing. */
  prefetch({ token, user }: Principal): void {
    if (this.deps.leaseSource === null || token === null || this.recent(token.id) !== null) return;
    void this.ask(user.id, token.id);
  }

  /** Funds without waiting; null = none are known that are recent. */
  at(account: Account): KeyFunds | null {
    return this.deps.leaseSource === null ? account.funds() : this.recent(account.tokenId);
  }

  /** null = the ledger cannot be asked. */
  async read(account: Account): Promise<KeyFunds | null> {
    return this.at(account) ?? (this.deps.leaseSource === null ? null : this.ask(account.userId, account.tokenId));
  }

  /** @param isFree nothing is charged to the balance. */
  of(
    funds: KeyFunds,
    kinds: BudgetRules['kinds'],
    {
      limits,
      isFree,
      holders,
    }: {
      readonly limits: TokenLimits | null;
      readonly isFree: boolean;
      readonly holders: readonly BudgetedHolder[] | null;
    },
  ): readonly BudgetUse[] {
    const now = this.deps.now() / 1000;
    const own = kinds === 'periods' ? periodBudgets(funds, limits, now) : allBudgets(funds, limits, isFree, now);
    return withWindows(own, ownUses(holders, now));
  }

  private recent(tokenId: number): KeyFunds | null {
    const found = this.known.get(tokenId);
    return found !== undefined && this.deps.monoNow() < found.untilMs ? found.funds : null;
  }

  /** One question at a time for each key. */
  private ask(userId: number, tokenId: number): Promise<KeyFunds | null> {
    const { leaseSource, monoNow } = this.deps;
    const begun = this.asking.get(tokenId);
    if (begun !== undefined || leaseSource === null) return begun ?? Promise.resolve(null);
    const untilMs = monoNow() + knownMs;
    const answer = leaseSource
      .funds(userId, tokenId)
      .then(
        (funds) => {
          if (this.known.size >= maxKnown) this.known.clear();
          this.known.set(tokenId, { funds, untilMs });
          return funds;
        },
        () => null,
      )
      .finally(() => void this.asking.delete(tokenId));
    this.asking.set(tokenId, answer);
    return answer;
  }
}
