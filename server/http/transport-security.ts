/** Strict-Transport-Security: sent only where TLS is certain, because a browser that has seen it never comes back without TLS. */

export const strictTransport = { name: 'Strict-Transport-Security', value: 'max-age=31536000' } as const;

export interface RequestOrigin {
  readonly host: string | null;
  /** X-Forwarded-Proto. */
  readonly scheme: string | null;
  /** The connection comes from a proxy of ours. */
  readonly trusted: boolean;
  /** Host of the site's own https address, '' = none is configured. */
  readonly secureHost: string;
}

/** A proxy that is believed says so, or the site's own address does and this is where the browser went. */
export const cameOverTls = ({ host, scheme, trusted, secureHost }: RequestOrigin): boolean =>
  (trusted && scheme?.split(',')[0]?.trim().toLowerCase() === 'https') ||
  (secureHost !== '' && host?.toLowerCase() === secureHost);
