/** How far an order has come: a shape and a word. */
import { useTranslation } from 'react-i18next';

export const states = ['pending', 'success', 'expired'] as const;
const classes: Readonly<Record<string, string>> = {
  pending: 'status status-wait',
  success: 'status',
  expired: 'status status-off',
};

export function OrderState({ state }: { readonly state: string }) {
  const { t } = useTranslation();
  return <span className={classes[state] ?? 'status'}>{t(`orders.s.${state as (typeof states)[number]}`)}</span>;
}
