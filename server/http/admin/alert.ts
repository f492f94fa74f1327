/** Alerts for operators. */
import type { HandlersOf } from './handlers-of.ts';

export const alertHandlers: HandlersOf<'alert.list' | 'alert.test'> = {
  'alert.list': ({ services, meta }) => services.alerts.list(meta.language),
  'alert.test': ({ services }) => services.alerts.test(),
};
