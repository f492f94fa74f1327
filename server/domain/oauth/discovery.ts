/** The issuer and the three endpoints an OIDC provider publishes at its well-known address. */
import { AppError } from '../../contract/errors.ts';

const timeoutMs = 10_000;

/** @param fetch the guarded one. @throws AppError oidc_discovery, or the guard's own. */
export async function discover(address: string, fetch: (url: string, init: RequestInit) => Promise<Response>) {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(timeoutMs) });
    const found = (await response.json()) as Readonly<Record<string, unknown>>;
    const [authorization, token, userInfo] = [
      found.authorization_endpoint,
      found.token_endpoint,
      found.userinfo_endpoint,
    ];
    if (typeof authorization !== 'string' || typeof token !== 'string' || typeof userInfo !== 'string')
      throw new Error(`HTTP ${response.status}: endpoints are missing`);
    const issuer = typeof found.issuer === 'string' ? found.issuer : '';
    return { issuer, authorization_endpoint: authorization, token_endpoint: token, user_info_endpoint: userInfo };
  } catch (error) {
    // An address that may not be called, or leads elsewhere, has words of its own.
    if (error instanceof AppError) throw error;
    throw new AppError('oidc_discovery', {}, error);
  }
}
