// @vitest-environment happy-dom
/** Users, and one's own account. */
import { pressViews } from '../press-views.ts';
import { sheets, views } from '../views.ts';

pressViews({
  users: views.users,
  'user-edit': { ...sheets['user-edit'], how: { sheet: true } },
  user: views.user,
  account: views.account,
  'account-root': views['account-root'],
});
