/** Passkeys (WebAuthn, discoverable credentials): register, list, rename, remove, log in. */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { Database } from '../../../db/open.ts';
import { createPasskeysRepository } from '../../../db/repositories/passkeys.ts';
import type { UserRow } from '../../../db/repositories/users.ts';
import { AppError } from '../../contract/errors.ts';
import type { Vault } from '../secrets/vault.ts';
import type { LoginMethods } from '../users/login-methods.ts';
import type { UsersService } from '../users/service.ts';
import { createOneTimeTokens } from './one-time-tokens.ts';
import { createThrottle } from './throttle.ts';

const challengeMs = 5 * 60_000;
const maxNameLength = 40;
const max = 20;

/** Its certificate reader wants the polyfill to be there first, whatever order a bundler chooses; both load with the first passkey. */
async function webAuthn() {
  await import('reflect-metadata');
  return import('@simplewebauthn/server');
}

export interface NewPasskey {
  readonly ticket: string;
  readonly name: string;
  /** What the browser's authenticator said. */
  readonly response: unknown;
}

export type PasskeysService = ReturnType<typeof createPasskeys>;

export function createPasskeys(deps: {
  readonly database: Database;
  readonly users: UsersService;
  readonly vault: Vault;
  readonly store: EphemeralStore;
  readonly loginMethods: LoginMethods;
  readonly siteName: () => string;
  /** Configured address of the site, '' = as the browser came. */
  readonly siteAddress: () => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
}) {
  const repository = createPasskeysRepository(deps.database);
  const registrations = createOneTimeTokens<{ readonly userId: number; readonly challenge: string }>(
    'passkey-registration',
    challengeMs,
    deps,
  );
  const logins = createOneTimeTokens<{ readonly challenge: string }>('passkey-login', challengeMs, deps);
  const throttle = createThrottle(
    'passkeys',
    { seconds: 600, perAddress: 60, perSubject: 60, anonymous: 60, everyone: 5000 },
    deps,
  );
  const seconds = () => Math.floor(deps.now() / 1000);
  const site = (cameTo: string) => {
    const origin = new URL(deps.siteAddress() || cameTo).origin;
    return { expectedOrigin: origin, expectedRPID: new URL(origin).hostname };
  };

  return {
    list: async (userId: number) =>
      (await repository.list(userId)).map(({ id, name, created_at, last_used_at }) => ({
        id,
        name,
        created_time: created_at,
        last_used_time: last_used_at,
      })),
    async registerOptions(user: UserRow, cameTo: string) {
      const known = await repository.list(user.id);
      if (known.length >= max) throw new AppError('passkey_limit', { most: max });
      const { generateRegistrationOptions } = await webAuthn();
      const options = await generateRegistrationOptions({
        rpName: deps.siteName(),
        rpID: site(cameTo).expectedRPID,
        userName: user.username,
        userDisplayName: user.display_name || user.username,
        userID: new TextEncoder().encode(String(user.id)),
        attestationType: 'none',
        excludeCredentials: known.map(({ credential_id }) => ({ id: credential_id })),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      });
      return { ticket: registrations.issue({ userId: user.id, challenge: options.challenge }), options };
    },
    /** @throws AppError ticket_late, passkey_invalid. */
    async register(userId: number, { ticket, name, response }: NewPasskey, cameTo: string): Promise<void> {
      const pending = await registrations.take(ticket);
      if (pending === null || pending.userId !== userId) throw new AppError('ticket_late');
      const { verifyRegistrationResponse } = await webAuthn();
      const { registrationInfo } = await verifyRegistrationResponse({
        response: response as RegistrationResponseJSON,
        expectedChallenge: pending.challenge,
        requireUserVerification: true,
        ...site(cameTo),
      }).catch((error: unknown) => {
        throw new AppError('passkey_invalid', {}, error);
      });
      if (registrationInfo === undefined) throw new AppError('passkey_invalid');
      const { id, publicKey, counter, transports } = registrationInfo.credential;
      if ((await repository.findByCredential(id)) !== undefined) throw new AppError('passkey_invalid');
      await repository.create({
        credential_id: id,
        user_id: userId,
        name: name.trim().slice(0, maxNameLength) || `Passkey ${new Date(deps.now()).toISOString().slice(0, 10)}`,
        public_key: Buffer.from(publicKey).toString('base64url'),
        counter,
        transports: (transports ?? []).join(','),
        created_at: seconds(),
        last_used_at: 0,
      });
    },
    /** @throws AppError not_found */
    async rename(id: number, userId: number, name: string): Promise<void> {
      const requested = name.trim().slice(0, maxNameLength);
      if (requested === '') throw new AppError('token_name_required');
      if (!(await repository.rename(id, userId, requested))) throw new AppError('not_found', { what: `passkey ${id}` });
    },
    /** @throws AppError not_found, passkey_only. */
    async remove(id: number, userId: number): Promise<void> {
      const user = await deps.users.find(userId);
      const locksOut =
        user !== undefined &&
        (user.password_made === 1 || !deps.loginMethods.byPassword()) &&
        (await repository.list(userId)).some((key) => key.id === id) &&
        !(await deps.loginMethods.besides(user, { passkey: id }));
      if (locksOut) throw new AppError('passkey_only');
      if (!(await repository.remove(id, userId))) throw new AppError('not_found', { what: `passkey ${id}` });
    },
    async loginOptions(cameTo: string, ip: string) {
      await throttle.enter({ ip, device: '' }, '');
      const { generateAuthenticationOptions } = await webAuthn();
      const options = await generateAuthenticationOptions({
        rpID: site(cameTo).expectedRPID,
        userVerification: 'required',
      });
      return { ticket: logins.issue({ challenge: options.challenge }), options };
    },
    /** @throws AppError ticket_late, passkey_invalid. */
    async login(ticket: string, given: unknown, cameTo: string): Promise<UserRow> {
      const pending = await logins.take(ticket);
      if (pending === null) throw new AppError('ticket_late');
      const response = given as AuthenticationResponseJSON;
      const known = typeof response?.id === 'string' ? await repository.findByCredential(response.id) : undefined;
      const user = known === undefined ? undefined : await deps.users.find(known.user_id);
      if (known === undefined || user === undefined) throw new AppError('passkey_invalid');
      const { verifyAuthenticationResponse } = await webAuthn();
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response,
        expectedChallenge: pending.challenge,
        requireUserVerification: true,
        credential: {
          id: known.credential_id,
          publicKey: new Uint8Array(Buffer.from(known.public_key, 'base64url')),
          counter: known.counter,
        },
        ...site(cameTo),
      }).catch((error: unknown) => {
        throw new AppError('passkey_invalid', {}, error);
      });
      if (!verified) throw new AppError('passkey_invalid');
      await repository.used(known.id, authenticationInfo.newCounter, seconds());
      return user;
    },
  };
}
