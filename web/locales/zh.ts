/** One file per screen group; both languages have the same. */
import account from './zh/account.json';
import alertRules from './zh/alertRules.json';
import apiDocs from './zh/apiDocs.json';
import app from './zh/app.json';
import audit from './zh/audit.json';
import budgets from './zh/budgets.json';
import channels from './zh/channels.json';
import chat from './zh/chat.json';
import connect from './zh/connect.json';
import dashboard from './zh/dashboard.json';
import device from './zh/device.json';
import failure from './zh/failure.json';
import invoices from './zh/invoices.json';
import links from './zh/links.json';
import login from './zh/login.json';
import logs from './zh/logs.json';
import nav from './zh/nav.json';
import nodes from './zh/nodes.json';
import orders from './zh/orders.json';
import palette from './zh/palette.json';
import paper from './zh/paper.json';
import personal from './zh/personal.json';
import playground from './zh/playground.json';
import prices from './zh/prices.json';
import pricing from './zh/pricing.json';
import range from './zh/range.json';
import redemption from './zh/redemption.json';
import settings from './zh/settings.json';
import setup from './zh/setup.json';
import shortcuts from './zh/shortcuts.json';
import site from './zh/site.json';
import statement from './zh/statement.json';
import table from './zh/table.json';
import tasks from './zh/tasks.json';
import tokens from './zh/tokens.json';
import users from './zh/users.json';
import virtualModels from './zh/virtualModels.json';
import wallet from './zh/wallet.json';

export const zh = {
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
