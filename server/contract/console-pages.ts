/** Addresses of the console's pages: only these are answered with a page whatever the caller accepts. */

/** `:id` stands for a number, `:type` for a word. */
export const consolePages = [
  '/',
  '/about',
  '/login',
  '/register',
  '/reset',
  '/user/reset',
  '/oauth/:type',
  '/device',
  '/first',
  '/key',
  '/api-docs',
  '/chat2link',
  '/chat/:id?',
  '/playground',
  '/connect',
  '/pricing',
  '/detail',
  '/token',
  '/log',
  '/midjourney',
  '/task',
  '/channel',
  '/virtual-model',
  '/redemption',
  '/orders',
  '/budget',
  '/user',
  '/user/:id',
  '/nodes',
  '/alert',
  '/audit',
  '/setting',
  '/topup',
  '/statement',
  '/invoice',
  '/document',
  '/personal',
] as const;

/** Opens a document by a link. */
export const documentPage = '/document' satisfies (typeof consolePages)[number];

export type ConsolePage = (typeof consolePages)[number];

/** Every address of the pages that have more than their path. */
export const extendedAddresses: Readonly<Partial<Record<ConsolePage, RegExp>>> = {
  '/pricing': /^\/pricing(\/.*)?$/,
  '/channel': /^\/channel(\/(add|edit\/\d+))?\/?$/,
  '/user': /^\/user(\/edit(\/\d+)?)?\/?$/,
};

/** All addresses of a page. */
export const pageAddresses = (path: ConsolePage): RegExp =>
  extendedAddresses[path] ??
  new RegExp(
    `^${path
      .replace(/\/:id\?/g, '(/\\d+)?')
      .replace(/:id/g, '\\d+')
      .replace(/:type/g, '[^/]+')}/?$`,
  );

const addresses = consolePages.map(pageAddresses);

export const isConsolePage = (path: string): boolean => addresses.some((pattern) => pattern.test(path));
