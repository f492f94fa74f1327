// @vitest-environment happy-dom
/** Codes, orders, wallet and statements. */
import { pressViews } from '../press-views.ts';
import { views } from '../views.ts';

pressViews({
  redemption: views.redemption,
  orders: views.orders,
  'orders-callbacks': views['orders-callbacks'],
  wallet: views.wallet,
  statement: views.statement,
});
