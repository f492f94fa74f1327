/** What newer scripts of the family ask for beside the calls of its console. */
import { UserStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { HandlersOf } from './handlers-of.ts';
import { firstPage, pageSize } from './page.ts';

export const familyHandlers: HandlersOf<
  | 'token.usage'
  | 'ratio.config'
  | 'wallet.info'
  | 'second_factor.status'
  | 'status.uptime'
  | 'model.prefill_groups'
  | 'model.vendors'
> = {
  'token.usage': async ({ services, meta }) => {
    const token = await services.tokens.byKey(meta.bearer);
    if (token === null) throw new AppError('token_invalid');
    const limits = token.model_limits.split(',').filter((model) => model !== '');
    const owner = await services.users.find(token.user_id);
    // Whom the site has shut out reads no balance by a key that is left.
    if (owner?.status !== UserStatus.enabled) throw new AppError('user_disabled');
    return {
      code: true,
      message: 'ok',
      data: {
        object: 'token_usage',
        name: token.name,
        total_granted: token.remain_quota + token.used_quota,
        total_used: token.used_quota,
        total_available: token.remain_quota,
        unlimited_quota: token.unlimited_quota,
        model_limits: Object.fromEntries(limits.map((model) => [model, true])),
        model_limits_enabled: token.model_limits_enabled,
        expires_at: Math.max(0, token.expired_time),
        day: { used: token.day_used, limit: token.day_budget },
        month: { used: token.month_used, limit: token.month_budget },
        balance: owner.balance,
        quota_per_unit: services.options.get('QuotaPerUnit'),
        display_in_currency: services.options.get('DisplayInCurrencyEnabled'),
      },
    };
  },
  'ratio.config': async ({ services, actor }) => {
    const { data } = await services.priceList.read(actor.group);
    const byTokens = data.filter(({ quota_type: type }) => type === 0);
    const byCall = data.filter(({ quota_type: type }) => type === 1);
    return {
      model_ratio: Object.fromEntries(byTokens.map((row) => [row.model_name, row.model_ratio])),
      completion_ratio: Object.fromEntries(byTokens.map((row) => [row.model_name, row.completion_ratio])),
      cache_ratio: Object.fromEntries(byTokens.map((row) => [row.model_name, row.cache_ratio])),
      model_price: Object.fromEntries(byCall.map((row) => [row.model_name, row.model_price])),
    };
  },
  'wallet.info': async ({ services }) => services.wallet.info(),
  'second_factor.status': async ({ services, actor }) => {
    const { enabled, recovery_codes_left: left } = await services.secondFactor.state(actor.userId);
    // Wrong codes slow down the client that sends them; they lock no account.
    return { enabled, locked: false, ...(enabled ? { backup_codes_remaining: left } : {}) };
  },
  'status.uptime': async () => [],
  'model.prefill_groups': async () => [],
  'model.vendors': async ({ input }) => ({
    items: [],
    page: firstPage(input.p),
    page_size: pageSize(input.page_size),
    total: 0,
  }),
};
