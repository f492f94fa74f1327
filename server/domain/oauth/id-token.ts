/**
 * Claims of an ID token that came over TLS straight from the token endpoint, so that its signature needs no second look.
 * Source: OpenID Connect Core 1.0, section 3.1.3.7 (points 2, 3, 6, 9 and 11).
 */

export type Claims = Readonly<Record<string, unknown>>;

/** Clocks may differ by this much. */
const leewaySeconds = 60;

export interface Expected {
  readonly clientId: string;
  /** '' = none was sent along. */
  readonly nonce: string;
  /** '' = the server at the token endpoint. */
  readonly issuer: string;
  /** Epoch seconds. */
  readonly now: number;
}

/** @throws Error that says which claim is wrong. */
export function claimsOf(idToken: unknown, { clientId, nonce, issuer, now }: Expected): Claims {
  const payload = typeof idToken === 'string' ? idToken.split('.')[1] : undefined;
  if (payload === undefined) throw new Error('id_token: none');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Claims;
  const { iss, aud, azp, exp } = claims;
  const audience = Array.isArray(aud) ? aud : [aud];
  if (typeof iss !== 'string' || iss === '') throw new Error('id_token: no issuer');
  if (issuer !== '' && iss !== issuer) throw new Error(`id_token: issuer ${iss}`);
  if (!audience.includes(clientId)) throw new Error('id_token: for another client');
  if (azp !== undefined && azp !== clientId) throw new Error('id_token: for another party');
  if (typeof exp !== 'number' || exp + leewaySeconds <= now) throw new Error('id_token: expired');
  if (nonce !== '' && claims.nonce !== nonce) throw new Error('id_token: another nonce');
  return claims;
}
