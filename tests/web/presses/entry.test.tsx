// @vitest-environment happy-dom
/** What strangers press: login, registration, set-up, a shared key. */
import { pressViews } from '../press-views.ts';
import { views } from '../views.ts';

pressViews({
  login: views.login,
  register: views.register,
  reset: views.reset,
  'new-password': views['new-password'],
  device: views.device,
  key: views.key,
  setup: views.setup,
  first: views['first-empty'],
});
