/** Stage 3: plan, limits and money held: what every paid request passes, whatever it asks for. */
import { AppError } from '../contract/errors.ts';
import type { Ledger } from '../ledger/commands.ts';
import { shorten } from './afford.ts';
import { type ChargeDeps, createCharge } from './charge.ts';
import type { Exchange, Inquiry, Principal } from './exchange.ts';
import { type Limits, unlimited } from './limits.ts';
import { makePlan, type PlanDeps } from './plan.ts';
import type { Wallets } from './wallets.ts';
import { checkWords } from './words.ts';

export interface AdmitDeps {
  readonly plan: PlanDeps;
  readonly charge: ChargeDeps;
  readonly ledger: Ledger;
  readonly wallets: Wallets;
  readonly limits: Limits;
}

/** @throws AppError sensitive_words, storage_unavailable, channel_*, model_price_unset, rate_limited, *_exhausted. */
export type Admit = (inquiry: Inquiry, principal: Principal, free: boolean) => Exchange;

export function createAdmit(deps: AdmitDeps): Admit {
  const { state } = deps.plan;
  return (inquiry, principal, free) => {
    checkWords(state.settings(), inquiry.prompt);
    const storage = deps.ledger.healthy();
    if (!storage.ok) throw new AppError('storage_unavailable', { reason: storage.reason });
    const planned = makePlan(deps.plan, inquiry, principal, free);
    const tokenId = principal.token?.id ?? 0;
    const available = deps.wallets.available(principal.user.id, tokenId);
    const shorter =
      free || planned.hold <= available || state.settings().passThrough ? null : shorten(inquiry, planned, available);
    const hold = free ? 0 : (shorter?.hold ?? planned.hold);
    const plan = { ...planned, hold };
    const admission = free ? unlimited : deps.limits.admit(principal, { tokens: plan.promptTokens, hold });
    const held = deps.wallets.hold(principal.user.id, tokenId, hold);
    if (!held.ok && !free) {
      admission.ended({ tokens: 0, charged: 0, success: false });
      throw new AppError(held.who === 'user' ? 'user_exhausted' : 'token_exhausted', {
        remain: held.remain,
        need: hold,
      });
    }
    const asked = shorter?.inquiry ?? inquiry;
    return {
      inquiry: asked,
      plan,
      charge: createCharge(deps.charge, { inquiry: asked, principal, plan, free, admission }),
    };
  };
}
