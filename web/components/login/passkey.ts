/** Passkeys in this browser; the library comes when it is needed. */
import { call } from '../../lib/api.ts';

export const canPasskey = (): boolean => typeof window.PublicKeyCredential === 'function';

export async function enterWithPasskey() {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  const { ticket, options } = await call('passkey.login_options');
  const response = await startAuthentication({
    optionsJSON: options as Parameters<typeof startAuthentication>[0]['optionsJSON'],
  });
  return call('passkey.login', { ticket, response });
}

export async function addPasskey(name: string): Promise<void> {
  const { startRegistration } = await import('@simplewebauthn/browser');
  const { ticket, options } = await call('passkey.register_options');
  const response = await startRegistration({
    optionsJSON: options as Parameters<typeof startRegistration>[0]['optionsJSON'],
  });
  await call('passkey.register', { ticket, name, response });
}

/** The person closed the browser's own dialog: nothing to complain about. */
export const wasCancelled = (error: unknown): boolean => error instanceof Error && error.name === 'NotAllowedError';
