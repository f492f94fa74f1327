// @vitest-environment happy-dom
/** What is said where the site refuses each change. */
import { pressViews } from '../press-views.ts';
import { sheets, views } from '../views.ts';

const refused = { refusal: 'It may not be', changesOnly: true } as const;

pressViews({
  'login-refused': { ...views.login, ...refused },
  'register-refused': { ...views.register, ...refused },
  'oauth-callback-refused': { ...views['oauth-callback'], ...refused },
  'setup-refused': { ...views.setup, ...refused },
  'tokens-refused': { ...views.tokens, ...refused },
  'channels-refused': { ...views.channels, ...refused },
  'channel-edit-refused': {
    ...sheets['channel-edit'],
    ...refused,
    how: { sheet: true, sets: ['Add related models'] },
  },
  'users-refused': { ...views.users, ...refused },
  'account-refused': { ...views.account, ...refused },
  'wallet-refused': { ...views.wallet, ...refused },
  'redemption-refused': { ...views.redemption, ...refused },
  'nodes-refused': { ...views.nodes, ...refused },
});
