/** One file per screen group; both languages have the same. */
import account from './en/account.json';
import alertRules from './en/alertRules.json';
import apiDocs from './en/apiDocs.json';
import app from './en/app.json';
import audit from './en/audit.json';
import budgets from './en/budgets.json';
import channels from './en/channels.json';
import chat from './en/chat.json';
import connect from './en/connect.json';
import dashboard from './en/dashboard.json';
import device from './en/device.json';
import failure from './en/failure.json';
import invoices from './en/invoices.json';
import links from './en/links.json';
import login from './en/login.json';
import logs from './en/logs.json';
import nav from './en/nav.json';
import nodes from './en/nodes.json';
import orders from './en/orders.json';
import palette from './en/palette.json';
import paper from './en/paper.json';
import personal from './en/personal.json';
import playground from './en/playground.json';
import prices from './en/prices.json';
import pricing from './en/pricing.json';
import range from './en/range.json';
import redemption from './en/redemption.json';
import settings from './en/settings.json';
import setup from './en/setup.json';
import shortcuts from './en/shortcuts.json';
import site from './en/site.json';
import statement from './en/statement.json';
import table from './en/table.json';
import tasks from './en/tasks.json';
import tokens from './en/tokens.json';
import users from './en/users.json';
import virtualModels from './en/virtualModels.json';
import wallet from './en/wallet.json';

export const en = {
  account,
  apiDocs,
  alertRules,
  app,
  audit,
  budgets,
  channels,
  chat,
  connect,
  dashboard,
  device,
  failure,
  invoices,
  links,
  login,
  logs,
  nav,
  nodes,
  orders,
  palette,
  paper,
  personal,
  playground,
  prices,
  pricing,
  range,
  redemption,
  settings,
  setup,
  shortcuts,
  site,
  statement,
  table,
  tokens,
  users,
  virtualModels,
  wallet,
  tasks,
};
