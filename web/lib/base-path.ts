/** The path under which a proxy serves the site, `/ai`; '' = none. The server writes it into the page. */
export const basePath =
  typeof document === 'undefined'
    ? ''
    : (document.querySelector<HTMLMetaElement>('meta[name=base-path]')?.content ?? '');

/** Address of the site as the browser sees it, without a slash at the end. */
export const siteAddress = (): string => location.origin + basePath;

/** The path of the open page as the table of pages has it. */
export const pagePath = (): string => location.pathname.slice(basePath.length) || '/';

/** Two gateways under two paths of one host share the browser's storage: names carry the path. */
export const storedName = (name: string): string => basePath + name;

/** A file as the browser finds it. @param address one of the site from its root, or one that is whole. */
export const fileAddress = (address: string): string => (/^\/(?!\/)/.test(address) ? basePath + address : address);
