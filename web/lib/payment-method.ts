/** What ways of paying are called. */
import type { TFunction } from 'i18next';

/** As the family names them, and as an order keeps them. */
const names = {
  zfb: 'wallet.alipay',
  wx: 'wallet.wechat',
  stripe: 'wallet.stripe',
  'epay:alipay': 'wallet.alipay',
  'epay:wxpay': 'wallet.wechat',
} as const;

export const methodName = (t: TFunction, method: string): string =>
  Object.hasOwn(names, method) ? t(names[method as keyof typeof names]) : method;
