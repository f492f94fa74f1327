/** What is looked at before anything of a request is read: whether its bill could be stored, its rates, and whether there is anything left to pay with. */

import type { Balances } from '../../billing/balances/balances.ts';
import type { BudgetAnswer } from '../../billing/balances/budgets.ts';
import type { Ledger } from '../../billing/ledger/commands.ts';
import { Role } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import { callerReason, reasonText } from '../../contract/storage-reasons.ts';
import type { Principal } from '../intake/inquiry.ts';
import { shortage } from '../shared/shortage.ts';
import type { RelaySettings } from '../state/settings.ts';
import type { RelayState } from '../state/state.ts';
import { type Borrower, type Borrowing, borrowerOf, toldFor } from './lender.ts';
import type { Admission, Limits } from './limits.ts';
import type { SiteRates, SiteVisit } from './site-rates.ts';

export interface GateCore {
  readonly state: Pick<RelayState, 'settings' | 'mayBeFree'>;
  readonly balances: Balances;
  readonly limits: Limits;
  readonly ledger: Pick<Ledger, 'healthy'>;
  /** null = all the money of the site is in reach. */
  readonly borrowing: Borrowing | null;
  /** Where all machines of a site count together; null = each for itself. */
  readonly rates: SiteRates | null;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export interface Arriving {
  readonly requestId: string;
  readonly startedMs: number;
}

/** A disk that was freed is noticed within a second. */
const retrySeconds = 5;

/** The operator's own requests, where the site serves nobody else, leave the balance alone. */
export const isPaidByHouse = ({ selfUse }: Pick<RelaySettings, 'selfUse'>, { user }: Principal): boolean =>
  selfUse && user.role >= Role.root;

/** @throws AppError storage_unavailable where no bill could be stored. */
export function checkStorage(ledger: Pick<Ledger, 'healthy'>): void {
  const storage = ledger.healthy();
  if (!storage.ok)
    throw new AppError('storage_unavailable', { reason: callerReason(storage.reason), seconds: retrySeconds });
}

export class Gate {
  constructor(private readonly core: GateCore) {}

  /** For requests that are paid. At once, unless the whole site counts requests or money lies on other machines. @throws AppError storage_unavailable, limit_*, token_budget_*, *_exhausted. */
  paid(principal: Principal, arriving: Arriving): Admission | Promise<Admission> {
    checkStorage(this.core.ledger);
    const admission = this.free(principal, arriving);
    return admission instanceof Promise
      ? admission.then((later) => this.canPay(principal, later))
      : this.canPay(principal, admission);
  }

  /** For requests that cost nothing: only the rates are looked at. @throws AppError storage_unavailable, limit_*. */
  free(principal: Principal, arriving: Arriving): Admission | Promise<Admission> {
    const { rates } = this.core;
    return rates === null ? this.part(principal, arriving) : this.countedBySite(rates, principal, arriving);
  }

  /** For a part of a request that the site has counted: this machine alone counts it. @throws AppError storage_unavailable, limit_*. */
  part(principal: Principal, arriving: Arriving, site?: SiteVisit): Admission {
    const row = this.rowFor(principal, arriving);
    try {
      return this.core.limits.enter(principal, { row, site });
    } catch (error) {
      this.core.balances.money.open.over(row);
      throw error;
    }
  }

  /** It never ran, and counts in nothing. */
  withdraw(admission: Admission): void {
    const { row } = admission;
    admission.withdraw();
    this.core.balances.money.open.over(row);
  }

  /** It is over and cost nothing: it could not be read, or is free. */
  ended(admission: Admission, success: boolean): void {
    const { row } = admission;
    admission.ended({ tokens: 0, charged: 0, success });
    this.core.balances.money.open.over(row);
  }

  /** Requests under way are counted together with their row, so that another thread can end them. */
  private rowFor(principal: Principal, { requestId, startedMs }: Arriving): number {
    if (!this.core.limits.countsRunning(principal)) return 0;
    const { accounts, open, tenure } = this.core.balances.money;
    const { user, token, group } = principal;
    const row = open.begin({
      ref: requestId,
      model: '',
      group,
      user: accounts.user(user.id),
      token: token === null ? 0 : accounts.token(token.id),
      userId: user.id,
      tokenId: token?.id ?? 0,
      startedMs,
      streams: false,
      promptTokens: 0,
      house: false,
      epoch: tenure?.epoch() ?? 0,
    });
    if (row === null) throw new AppError('storage_unavailable', { reason: reasonText('too_many'), seconds: 1 });
    return row;
  }

  private async countedBySite(rates: SiteRates, principal: Principal, arriving: Arriving): Promise<Admission> {
    const site = await rates.enter(principal);
    if (site === null) return this.part(principal, arriving);
    try {
      return this.part(principal, arriving, site);
    } catch (error) {
      site.withdraw();
      throw error;
    }
  }

  /** @throws AppError token_budget_*, *_exhausted; what was counted in is withdrawn then. */
  private canPay(principal: Principal, admission: Admission): Admission | Promise<Admission> {
    const { borrowing, limits } = this.core;
    const budget = principal.token === null ? null : limits.usedUp(principal.token);
    const refusal = budget === null ? this.exhausted(principal) : this.overBudget(budget);
    if (refusal === null || (budget === null && this.mayBorrow(principal))) return admission;
    const refuse = (error: unknown): never => {
      this.withdraw(admission);
      throw error;
    };
    return borrowing === null || budget !== null
      ? refuse(refusal)
      : this.borrowed(borrowing, principal, refusal).then(() => admission, refuse);
  }

  /** @returns why nothing can be paid; null = something can, or may be free. */
  private exhausted(principal: Principal): AppError | null {
    const { state, balances } = this.core;
    const { user, token, group, pinnedChannel } = principal;
    const settings = state.settings();
    const lacking = balances.lacking(user.id, token?.id ?? 0, isPaidByHouse(settings, principal));
    // A price is only known with the model, which is not read yet. An administrator may name any channel, and so any group's models.
    if (lacking === null || pinnedChannel !== null || state.mayBeFree(group, user.group)) return null;
    return new AppError(
      lacking.who === 'user' ? 'user_exhausted' : 'token_exhausted',
      shortage(lacking.remain, 1, settings),
    );
  }

  private overBudget({ period, remain, seconds }: BudgetAnswer): AppError {
    return new AppError(period === 'day' ? 'token_budget_day' : 'token_budget_month', {
      ...shortage(remain, 1, this.core.state.settings()),
      seconds: Math.ceil(seconds),
    });
  }

  private borrowerFor(principal: Principal): Borrower {
    return borrowerOf(principal, isPaidByHouse(this.core.state.settings(), principal));
  }

  /** What the request needs is asked for once, when it is known; whoever got nothing is asked about before the next is read. */
  private mayBorrow(principal: Principal): boolean {
    const { borrowing } = this.core;
    return borrowing !== null && !borrowing.wasRefused(this.borrowerFor(principal));
  }

  /** Nothing lies here, but other machines may have some. */
  private async borrowed(lender: Borrowing, principal: Principal, refusal: AppError): Promise<void> {
    const { state, balances, now } = this.core;
    const borrower = this.borrowerFor(principal);
    const { user, token } = principal;
    const room = () => balances.available(user.id, token?.id ?? 0, borrower.house);
    const loan = await lender.borrow(borrower, 1, room);
    if (loan === 'lent') return;
    // What lies here says less than the books: another machine may have taken back the part that was not lacking.
    const code =
      loan === 'token-exhausted' ? 'token_exhausted' : loan === 'exhausted' ? 'user_exhausted' : refusal.code;
    const named = code === refusal.code ? refusal : new AppError(code, shortage(0, 1, state.settings()), refusal);
    throw toldFor(loan, named, now() / 1000);
  }
}
