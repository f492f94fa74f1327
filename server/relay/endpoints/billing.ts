/** Questions of old OpenAI clients about an account: how much there is, and how much was used. */

import type { Balances } from '../../billing/balances/money.ts';
import { AppError } from '../../contract/errors.ts';
import type { LeaseSource } from '../admission/lease-client.ts';
import type { Authorize } from '../intake/authorize.ts';
import type { Peer } from '../intake/parsed-request.ts';
import type { RelayState } from '../state/state.ts';

const path = /^(?:\/v1)?\/dashboard\/billing\/(subscription|usage)\/?$/;
export const isBillingPath = (requested: string): boolean => path.test(requested);

/** The amount reported for a key without a limit. */
const endless = 100_000_000;

export interface BillingDeps {
  readonly state: RelayState;
  readonly balances: Balances;
  readonly authorize: Authorize;
  /** Where several machines serve one site, the ledger is in their database. */
  readonly leaseSource: LeaseSource | null;
}

/** @throws AppError as `identify` does; storage_unavailable. */
export async function answerBilling(
  deps: BillingDeps,
  request: Request,
  requested: string,
  peer: Peer,
): Promise<Response> {
  if (request.method !== 'GET') throw new AppError('method_not_allowed', { method: request.method });
  const { user, token } = deps.authorize.identify(request, peer);
  const { tokenStat, inCurrency, quotaPerUnit } = deps.state.settings;
  const tokenId = tokenStat && token !== null ? token.id : null;
  const limits =
    (await deps.leaseSource?.limits(user.id, tokenId)) ?? deps.balances.account(user.id, tokenId ?? 0).limits();
  const amountOf = (quota: number): number => (inCurrency ? quota / quotaPerUnit : quota);
  if (path.exec(requested)?.[1] === 'usage')
    return Response.json({ object: 'list', total_usage: amountOf(limits.used) * 100 });
  const limit = Number.isFinite(limits.limit) ? amountOf(limits.limit) : endless;
  return Response.json({
    object: 'billing_subscription',
    has_payment_method: true,
    soft_limit_usd: limit,
    hard_limit_usd: limit,
    system_hard_limit_usd: limit,
    access_until: token !== null && token.expiresAt > 0 ? token.expiresAt : 0,
  });
}
