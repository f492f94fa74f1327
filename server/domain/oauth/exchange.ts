/** Authorization code -> access token -> profile (RFC 6749 4.1.3, RFC 7636 4.5). The answer comes over TLS straight from the service, so no signature needs checking. */
import { AppError } from '../../contract/errors.ts';
import { type Claims, claimsOf } from './id-token.ts';
import type { CodeExchange, Profile } from './providers.ts';

const timeoutMs = 10_000;

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What the browser came back with, and what was kept since it left. */
export interface Returned {
  readonly code: string;
  /** The verifier of PKCE; '' = the sign-in was begun without. */
  readonly verifier: string;
  readonly nonce: string;
  /** Epoch seconds. */
  readonly now: number;
}

/** @throws AppError oauth_unreachable when any step fails; the cause says which. */
export async function exchangeCode(
  name: string,
  exchange: CodeExchange,
  { code, verifier, nonce, now }: Returned,
  fetch: Fetch,
): Promise<Profile> {
  const { clientId, clientSecret, auth, issuer } = exchange;
  const form = new URLSearchParams({ grant_type: 'authorization_code', code });
  if (exchange.redirectUri !== '') form.set('redirect_uri', exchange.redirectUri);
  if (verifier !== '') form.set('code_verifier', verifier);
  if (auth === 'body') {
    form.set('client_id', clientId);
    form.set('client_secret', clientSecret);
  }
  const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64');
  const ask = async (step: string, url: string, init: RequestInit): Promise<unknown> => {
    const response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) });
    const answer = (await response.json()) as unknown;
    if (!response.ok || typeof answer !== 'object' || answer === null) throw new Error(`${step}: ${response.status}`);
    return answer;
  };
  try {
    const token = (await ask('token', exchange.tokenUrl, {
      method: 'POST',
      body: form.toString(),
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        ...(auth === 'basic' ? { authorization: `Basic ${basic}` } : {}),
      },
    })) as Claims;
    if (typeof token.access_token !== 'string') throw new Error(`token: ${String(token.error ?? 'none')}`);
    const claims = issuer === null ? {} : claimsOf(token.id_token, { clientId, nonce, issuer, now });
    const headers = {
      accept: 'application/json',
      authorization: `Bearer ${token.access_token}`,
      'user-agent': 'gateway',
    };
    const profile = exchange.profile((await ask('profile', exchange.profileUrl, { headers })) as Claims, claims);
    if (profile === null) throw new Error('profile: no id, or another than the token has');
    if (profile.email !== '' || exchange.emailsUrl === '') return profile;
    // Users who hide their addresses can still sign in.
    const emails = await ask('emails', exchange.emailsUrl, { headers }).catch(() => []);
    return { ...profile, email: primaryOf(emails) };
  } catch (error) {
    throw new AppError('oauth_unreachable', { name }, error);
  }
}

function primaryOf(emails: unknown): string {
  const list: readonly Claims[] = Array.isArray(emails) ? emails : [];
  const email = list.find((one) => one?.primary === true && one.verified === true)?.email;
  return typeof email === 'string' ? email : '';
}
