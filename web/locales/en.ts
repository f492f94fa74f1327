/** One file per screen group; both languages have the same. */
import app from './en/app.json';
import channels from './en/channels.json';
import login from './en/login.json';
import logs from './en/logs.json';
import nav from './en/nav.json';
import playground from './en/playground.json';
import redemption from './en/redemption.json';
import settings from './en/settings.json';
import setup from './en/setup.json';
import site from './en/site.json';
import tokens from './en/tokens.json';
import users from './en/users.json';
import wallet from './en/wallet.json';

export const en = {
  app,
  channels,
  login,
  logs,
  nav,
  playground,
  redemption,
  settings,
  setup,
  site,
  tokens,
  users,
  wallet,
};
