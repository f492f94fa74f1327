/** Authorization code -> access token -> profile (RFC 6749 4.1.3). The answer comes over TLS straight from the service, so no signature needs checking. */
import { AppError } from '../../contract/errors.ts';
import type { Exchange, Profile } from './providers.ts';

const patienceMs = 10_000;

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** @throws AppError oauth_unreachable when any step fails; the cause says which. */
export async function exchangeCode(code: string, name: string, exchange: Exchange, fetch: Fetch): Promise<Profile> {
  const { clientId, clientSecret, auth } = exchange;
  const form = new URLSearchParams({ grant_type: 'authorization_code', code });
  if (exchange.redirectUri !== '') form.set('redirect_uri', exchange.redirectUri);
  if (auth === 'body') {
    form.set('client_id', clientId);
    form.set('client_secret', clientSecret);
  }
  const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64');
  const ask = async (step: string, url: string, init: RequestInit): Promise<Readonly<Record<string, unknown>>> => {
    const response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(patienceMs) });
    const answer = (await response.json()) as unknown;
    if (!response.ok || typeof answer !== 'object' || answer === null) throw new Error(`${step}: ${response.status}`);
    return answer as Readonly<Record<string, unknown>>;
  };
  try {
    const token = await ask('token', exchange.tokenUrl, {
      method: 'POST',
      body: form.toString(),
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        ...(auth === 'basic' ? { authorization: `Basic ${basic}` } : {}),
      },
    });
    if (typeof token.access_token !== 'string') throw new Error(`token: ${String(token.error ?? 'none')}`);
    const profile = exchange.profile(
      await ask('profile', exchange.profileUrl, {
        headers: { accept: 'application/json', authorization: `Bearer ${token.access_token}`, 'user-agent': 'gateway' },
      }),
    );
    if (profile === null) throw new Error('profile: no id');
    return profile;
  } catch (error) {
    throw new AppError('oauth_unreachable', { name }, error);
  }
}
