/** Checks before anything of a request is read: whether its bill can be stored, its rates, and whether any balance is left. */

import type { Account, BudgetShortage } from '../../billing/balances/account.ts';
import type { BudgetedHolder, HolderShortage } from '../../billing/balances/budgets.ts';
import type { Balances } from '../../billing/balances/money.ts';
import { noRow, type OpenRequest } from '../../billing/balances/open-requests.ts';
import type { Ledger } from '../../billing/ledger/commands.ts';
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { callerReason, reasonText } from '../../contract/storage-reasons.ts';
import type { Principal } from '../intake/parsed-request.ts';
import { budgetRefusal, shortage } from '../shared/quota-numbers.ts';
import type { RelaySettings } from '../state/settings.ts';
import type { RelayState } from '../state/state.ts';
import { type LeaseClient, type Lessee, lesseeOf, lesseeOfBudget, maxLeases, refusalAfter } from './lease-client.ts';
import type { Admission, Limits } from './limits.ts';
import type { SiteRates, SiteVisit } from './site-rates.ts';

export interface GateCore {
  readonly state: Pick<RelayState, 'settings' | 'mayBeFree'>;
  readonly balances: Balances;
  readonly limits: Limits;
  readonly ledger: Pick<Ledger, 'healthy'>;
  /** null = all the money of the site is in reach. */
  readonly leaseClient: LeaseClient | null;
  /** Where all machines of a site count together; null = each for itself. */
  readonly rates: SiteRates | null;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export interface Incoming {
  readonly requestId: string;
  readonly startedMs: number;
}

/** A disk that was freed is noticed within a second. */
const retrySeconds = 5;

/** The operator's own requests, where the site has no other users, leave the balance alone. */
export const isFreeSelfUse = (
  { selfUse }: Pick<RelaySettings, 'selfUse'>,
  { user }: Pick<Principal, 'user'>,
): boolean => selfUse && user.role >= Role.root;

/** @throws AppError storage_unavailable where no bill could be stored. */
export function checkStorage(ledger: Pick<Ledger, 'healthy'>): void {
  const storage = ledger.healthy();
  if (!storage.ok)
    throw new AppError('storage_unavailable', { reason: callerReason(storage.reason), seconds: retrySeconds });
}

export class Gate {
  constructor(private readonly core: GateCore) {}

  /** For paid requests. At once, unless the whole site counts requests or the balance is leased by other machines. @throws AppError storage_unavailable, limit_*, token_budget_*, budget_*, *_exhausted. */
  paid(principal: Principal, incoming: Incoming): Admission | Promise<Admission> {
    checkStorage(this.core.ledger);
    const admission = this.free(principal, incoming);
    return admission instanceof Promise ? this.canPayLater(principal, admission) : this.canPay(principal, admission);
  }

  private async canPayLater(principal: Principal, admission: Promise<Admission>): Promise<Admission> {
    return this.canPay(principal, await admission);
  }

  /** For free requests: only the rates are checked. @throws AppError storage_unavailable, limit_*. */
  free(principal: Principal, incoming: Incoming): Admission | Promise<Admission> {
    const { rates } = this.core;
    return rates === null ? this.part(principal, incoming) : this.countedBySite(rates, principal, incoming);
  }

  /** For a part of a request that the site has counted: this machine alone counts it. @throws AppError storage_unavailable, limit_*. */
  part(principal: Principal, incoming: Incoming, site?: SiteVisit): Admission {
    const { limits, balances } = this.core;
    // Requests under way are counted together with their row, so that another thread can end them.
    const open = limits.countsRunning(principal) ? this.rowFor(principal, incoming) : noRow;
    try {
      return limits.enter(principal, { open, site });
    } catch (error) {
      balances.money.open.over(open);
      throw error;
    }
  }

  /** It never ran, and counts in nothing. */
  rollBack(admission: Admission): void {
    admission.rollBack();
    this.core.balances.money.open.over(admission.open);
  }

  /** It is over and cost nothing: it could not be read, or is free. */
  ended(admission: Admission, success: boolean): void {
    admission.ended(0, success);
    this.core.balances.money.open.over(admission.open);
  }

  private rowFor({ user, token, group }: Principal, { requestId, startedMs }: Incoming): OpenRequest {
    const { balances } = this.core;
    const open = balances.money.open.begin(balances.account(user.id, token?.id ?? 0), {
      ref: requestId,
      model: '',
      group,
      startedMs,
      streams: false,
      promptTokens: 0,
      selfUse: false,
      epoch: balances.money.nodeLease?.epoch() ?? 0,
    });
    if (open === null) throw new AppError('storage_unavailable', { reason: reasonText('too_many'), seconds: 1 });
    return open;
  }

  private async countedBySite(rates: SiteRates, principal: Principal, incoming: Incoming): Promise<Admission> {
    const site = await rates.enter(principal);
    if (site === null) return this.part(principal, incoming);
    try {
      return this.part(principal, incoming, site);
    } catch (error) {
      site.rollBack();
      throw error;
    }
  }

  /** @throws AppError token_budget_*, budget_*, *_exhausted; what was counted in is withdrawn then. */
  private canPay(principal: Principal, admission: Admission): Admission | Promise<Admission> {
    const { state, leaseClient, balances } = this.core;
    const { user, token } = principal;
    const account = balances.account(user.id, token?.id ?? 0);
    const budget = token === null || token.limits === null ? null : account.budgetUsedUp(token.limits);
    if (budget !== null) return this.reject(admission, this.overBudget(budget));
    if (balances.budgets.isEmpty) return this.hasBalance(principal, admission, account);
    const holders = balances.budgets.of({
      tokenId: token?.id ?? 0,
      userId: user.id,
      userGroup: user.group,
      labels: token?.labels,
    });
    const usedUp = holders === null ? null : account.holderUsedUp(holders);
    if (usedUp === null || holders === null) return this.hasBalance(principal, admission, account);
    if (leaseClient === null) return this.reject(admission, budgetRefusal(usedUp, state.settings));
    return this.canPayRenewed(principal, admission, this.renewUses(leaseClient, account, holders, usedUp), account);
  }

  private async canPayRenewed(
    principal: Principal,
    admission: Admission,
    renewed: Promise<HolderShortage | null>,
    account: Account,
  ): Promise<Admission> {
    const usedUp = await renewed.catch((error: unknown) => this.reject(admission, error));
    return usedUp === null
      ? this.hasBalance(principal, admission, account)
      : this.reject(admission, budgetRefusal(usedUp, this.core.state.settings));
  }

  /** Asks the ledger for use on other machines and for resets. @returns what is used up then. */
  private async renewUses(
    leaseClient: LeaseClient,
    account: Account,
    holders: readonly BudgetedHolder[],
    first: HolderShortage,
  ): Promise<HolderShortage | null> {
    let usedUp: HolderShortage | null = first;
    for (let asked = 0; usedUp !== null && asked < maxLeases; asked++) {
      const { budget }: HolderShortage = usedUp;
      const lack = account.lacksOf(holders, { money: 1, requests: 1, tokens: 1 }).find(({ id }) => id === budget);
      if (lack !== undefined) await leaseClient.acquire(lesseeOfBudget(budget), lack.need, lack.available);
      usedUp = account.holderUsedUp(holders);
      if (usedUp?.budget === budget) break;
    }
    return usedUp;
  }

  private hasBalance(principal: Principal, admission: Admission, account: Account): Admission | Promise<Admission> {
    const { state, leaseClient } = this.core;
    const { user, group, pinnedChannel } = principal;
    const settings = state.settings;
    const free = isFreeSelfUse(settings, principal);
    // Quota that other requests of the user hold is waited for once the need is known.
    const missing = account.findShortage(free, true);
    // A price is only known with the model, which is not read yet. An administrator may name any channel, and so any group's models.
    if (missing === null || pinnedChannel !== null || state.mayBeFree(group, user.group)) return admission;
    const code = missing.scope === 'user' ? 'user_exhausted' : 'token_exhausted';
    const refusal = new AppError(code, shortage(missing.remain, 1, settings));
    if (leaseClient === null) return this.reject(admission, refusal);
    // The need is asked for once, when it is known; a caller that got nothing is checked before the next body is read.
    const lessee = lesseeOf(principal, free);
    if (!leaseClient.wasRejected(lessee)) return admission;
    return this.admitLeased(admission, this.acquireLease(leaseClient, lessee, account, refusal));
  }

  private async admitLeased(admission: Admission, leased: Promise<void>): Promise<Admission> {
    await leased.catch((error: unknown) => this.reject(admission, error));
    return admission;
  }

  private reject(admission: Admission, error: unknown): never {
    this.rollBack(admission);
    throw error;
  }

  private overBudget({ period, remain, seconds, resets }: BudgetShortage): AppError {
    return new AppError(period === 'day' ? 'token_budget_day' : 'token_budget_month', {
      ...shortage(remain, 1, this.core.state.settings),
      seconds: Math.ceil(seconds),
      resets,
    });
  }

  /** Nothing is leased here, but other machines may have some. */
  private async acquireLease(
    leaseClient: LeaseClient,
    lessee: Lessee,
    account: Account,
    refusal: AppError,
  ): Promise<void> {
    const { state, now } = this.core;
    const outcome = await leaseClient.acquire(lessee, 1, () => account.available(lessee.selfUse));
    if (outcome === 'granted') return;
    // Requests on other machines hold it, and that is waited for once the need is known.
    if ((outcome === 'exhausted' || outcome === 'token-exhausted') && (await leaseClient.total(lessee)) >= 1) return;
    // The machine's balance is below the ledger's: another machine may have taken back the part that was not missing.
    const code =
      outcome === 'token-exhausted' ? 'token_exhausted' : outcome === 'exhausted' ? 'user_exhausted' : refusal.code;
    const named = code === refusal.code ? refusal : new AppError(code, shortage(0, 1, state.settings), refusal);
    throw refusalAfter(outcome, named, now() / 1000);
  }
}
