/** What is looked at before anything of a request is read: whether its bill could be stored, its rates, and whether there is anything left to pay with. */
import { Role } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import { callerReason, reasonText } from '../../contract/storage-reasons.ts';
import type { Ledger } from '../../ledger/commands.ts';
import type { Principal } from '../intake/inquiry.ts';
import { shortage } from '../shared/shortage.ts';
import type { RelaySettings } from '../state/settings.ts';
import type { RelayState } from '../state/state.ts';
import type { Balances } from './balances.ts';
import type { BudgetAnswer } from './budgets.ts';
import { type Borrower, type Borrowing, borrowerOf, toldFor } from './lender.ts';
import type { Admission, Limits } from './limits.ts';
import type { SiteRates, SiteVisit } from './site-rates.ts';

export interface GateDeps {
  readonly state: Pick<RelayState, 'settings' | 'mayBeFree'>;
  readonly balances: Balances;
  readonly limits: Limits;
  readonly ledger: Pick<Ledger, 'healthy'>;
  /** null = all the money of the site is in reach. */
  readonly borrowing: Borrowing | null;
  /** Where all machines of a site count together; absent = each for itself. */
  readonly rates?: SiteRates | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export interface Arriving {
  readonly requestId: string;
  readonly startedMs: number;
}

/** At once, unless the whole site counts requests or money lies on other machines. @throws AppError storage_unavailable, limit_*, token_budget_*, *_exhausted. */
export type Gate = (principal: Principal, arriving: Arriving) => Admission | Promise<Admission>;

export interface Gates {
  /** For requests that are paid. */
  readonly paid: Gate;
  /** For requests that cost nothing: only the rates are looked at. */
  readonly free: Gate;
  /** For a part of a request that the site has counted: this machine alone counts it. */
  readonly part: (principal: Principal, arriving: Arriving) => Admission;
  /** It never ran, and counts in nothing. */
  withdraw(admission: Admission): void;
  /** It is over and cost nothing: it could not be read, or is free. */
  ended(admission: Admission, success: boolean): void;
}

/** A disk that was freed is noticed within a second. */
const retrySeconds = 5;

/** The operator's own requests, where the site serves nobody else, leave the balance alone. */
export const isPaidByHouse = ({ selfUse }: Pick<RelaySettings, 'selfUse'>, { user }: Principal): boolean =>
  selfUse && user.role >= Role.root;

export function createGates(deps: GateDeps): Gates {
  const { state, balances, limits, borrowing } = deps;
  const { accounts, open, tenure } = balances.money;

  /** @returns why nothing can be paid; null = something can, or may be free. */
  const unpaid = (principal: Principal): AppError | null => {
    const { user, token, group, pinnedChannel } = principal;
    const settings = state.settings();
    const lacking = balances.lacking(user.id, token?.id ?? 0, isPaidByHouse(settings, principal));
    // A price is only known with the model, which is not read yet. An administrator may name any channel, and so any group's models.
    if (lacking === null || pinnedChannel !== null || state.mayBeFree(group, user.group)) return null;
    return new AppError(
      lacking.who === 'user' ? 'user_exhausted' : 'token_exhausted',
      shortage(lacking.remain, 1, settings),
    );
  };

  const overBudget = ({ period, remain, seconds }: BudgetAnswer): AppError =>
    new AppError(period === 'day' ? 'token_budget_day' : 'token_budget_month', {
      ...shortage(remain, 1, state.settings()),
      seconds: Math.ceil(seconds),
    });

  /** Requests under way are counted together with their row, so that another thread can end them. */
  const rowFor = (principal: Principal, { requestId, startedMs }: Arriving): number => {
    if (!limits.countsRunning(principal)) return 0;
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
  };

  const counted = (principal: Principal, arriving: Arriving, site?: SiteVisit): Admission => {
    const row = rowFor(principal, arriving);
    try {
      return limits.enter(principal, { row, site });
    } catch (error) {
      open.over(row);
      throw error;
    }
  };

  const countedBySite = async (rates: SiteRates, principal: Principal, arriving: Arriving): Promise<Admission> => {
    const site = await rates.enter(principal);
    if (site === null) return counted(principal, arriving);
    try {
      return counted(principal, arriving, site);
    } catch (error) {
      site.withdraw();
      throw error;
    }
  };

  const rated = (principal: Principal, arriving: Arriving): Admission | Promise<Admission> =>
    deps.rates === undefined ? counted(principal, arriving) : countedBySite(deps.rates, principal, arriving);

  const withdraw = (admission: Admission) => {
    const { row } = admission;
    admission.withdraw();
    open.over(row);
  };

  const borrowerFor = (principal: Principal): Borrower =>
    borrowerOf(principal, isPaidByHouse(state.settings(), principal));
  /** What the request needs is asked for once, when it is known; whoever got nothing is asked about before the next is read. */
  const mayBorrow = (principal: Principal): boolean =>
    borrowing !== null && !borrowing.wasRefused(borrowerFor(principal));

  /** Nothing lies here, but other machines may have some. */
  const borrowed = async (lender: Borrowing, principal: Principal, refusal: AppError): Promise<void> => {
    const borrower = borrowerFor(principal);
    const { user, token } = principal;
    const room = () => balances.available(user.id, token?.id ?? 0, borrower.house);
    const loan = await lender.borrow(borrower, 1, room);
    if (loan === 'lent') return;
    // What lies here says less than the books: another machine may have taken back the part that was not lacking.
    const code =
      loan === 'token-exhausted' ? 'token_exhausted' : loan === 'exhausted' ? 'user_exhausted' : refusal.code;
    const named = code === refusal.code ? refusal : new AppError(code, shortage(0, 1, state.settings()), refusal);
    throw toldFor(loan, named, deps.now() / 1000);
  };

  /** @throws AppError token_budget_*, *_exhausted. */
  const solvent = (principal: Principal, admission: Admission): Admission | Promise<Admission> => {
    const budget = principal.token === null ? null : limits.usedUp(principal.token);
    const refusal = budget === null ? unpaid(principal) : overBudget(budget);
    if (refusal === null || (budget === null && mayBorrow(principal))) return admission;
    const refuse = (error: unknown): never => {
      withdraw(admission);
      throw error;
    };
    return borrowing === null || budget !== null
      ? refuse(refusal)
      : borrowed(borrowing, principal, refusal).then(() => admission, refuse);
  };

  return {
    paid(principal, arriving) {
      const storage = deps.ledger.healthy();
      if (!storage.ok)
        throw new AppError('storage_unavailable', { reason: callerReason(storage.reason), seconds: retrySeconds });
      const admission = rated(principal, arriving);
      return admission instanceof Promise
        ? admission.then((late) => solvent(principal, late))
        : solvent(principal, admission);
    },
    free: rated,
    part: counted,
    withdraw,
    ended(admission, success) {
      const { row } = admission;
      admission.ended({ tokens: 0, charged: 0, success });
      open.over(row);
    },
  };
}
