/** Alerts for operators. */
import type { HandlersOf } from './handlers-of.ts';

export const alertHandlers: HandlersOf<
  'alert.list' | 'alert.rules' | 'alert.preview' | 'alert.test' | 'alert.mail_test'
> = {
  'alert.list': ({ services, meta }) => services.alerts.list(meta.language),
  'alert.rules': async ({ services, meta }) => services.alerts.rules(meta.language),
  'alert.preview': ({ services, input: { kind, ...tried }, meta }) =>
    services.alerts.preview(kind, tried, meta.language),
  'alert.test': ({ services }) => services.alerts.test(),
  'alert.mail_test': async ({ services, actor, meta }) => {
    const own = actor.userId === 0 ? null : await services.users.find(actor.userId);
    return services.alerts.testMail(own?.email ?? '', meta.language);
  },
};
