// @vitest-environment happy-dom
/** Keys of a user. */
import { pressViews } from '../press-views.ts';
import { views } from '../views.ts';

pressViews({
  tokens: views.tokens,
  'tokens-empty': views['tokens-empty'],
});
