/** Time-based one-time passwords (RFC 6238: SHA-1, 6 digits, 30 s) with recovery codes. */
import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { Database } from '../../../db/open.ts';
import { createSecondFactorsRepository } from '../../../db/repositories/second-factor.ts';
import { AppError } from '../../contract/errors.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Passwords } from '../users/password.ts';
import { hashSecret } from '../users/service.ts';
import { type AttemptSource, createThrottle } from './throttle.ts';

const stepSeconds = 30;
/** Clocks may be one step apart. */
const window = 1;
const recoveryCodes = 10;
const attempts = { seconds: 3600, perAddress: 100, perSubject: 5, anonymous: 10, everyone: 5000 };
/**
 * Wrong codes of unknown clients in an hour after which six-digit codes of unknown clients are not checked: many addresses together
 * could find one. Recovery codes are too long to be guessed, and a browser that was logged in before is not unknown: the owner still gets in.
 */
const maxAnonymous = 20;

export type SecondFactorService = ReturnType<typeof createSecondFactor>;

const totpOf = (secret: string, issuer = '', label = ''): TOTP =>
  new TOTP({ secret: Secret.fromBase32(secret), issuer, label, algorithm: 'SHA1', digits: 6, period: stepSeconds });

/** Ten characters in two groups, as people copy them. */
const madeCode = (): string => {
  const hex = randomBytes(5).toString('hex');
  return `${hex.slice(0, 5)}-${hex.slice(5)}`;
};
const isSixDigits = (code: string): boolean => /^\d{6}$/.test(code.replace(/\s/g, ''));
const plainCode = (code: string): string => code.toLowerCase().replace(/[^0-9a-f]/g, '');
/** As new-api writes a backup code before it hashes it; '' = it is none. */
const movedInCode = (code: string): string =>
  /^([A-Z0-9]{4})-?([A-Z0-9]{4})$/.exec(code.trim().toUpperCase())?.slice(1).join('-') ?? '';

export function createSecondFactor(deps: {
  readonly database: Database;
  readonly vault: Vault;
  readonly store: EphemeralStore;
  readonly passwords: Passwords;
  readonly siteName: () => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
}) {
  const repository = createSecondFactorsRepository(deps.database);
  const throttle = createThrottle('second factors', attempts, deps);
  const secretOf = (sealed: string): string => deps.vault.open('second-factor', sealed);

  /** @returns the step of the code, null when it is none of now. */
  const stepOf = (secret: string, code: string): number | null => {
    if (!isSixDigits(code)) return null;
    const delta = totpOf(secret).validate({ token: code.replace(/\s/g, ''), timestamp: deps.now(), window });
    return delta === null ? null : Math.floor(deps.now() / 1000 / stepSeconds) + delta;
  };
  const newCodes = async (userId: number): Promise<string[]> => {
    const codes = Array.from({ length: recoveryCodes }, madeCode);
    await repository.replaceCodes(
      userId,
      codes.map((code) => hashSecret(plainCode(code))),
    );
    return codes;
  };

  /** Codes that were moved in lie hashed as passwords are, each with a salt of its own. */
  const takeMovedIn = async (userId: number, code: string): Promise<boolean> => {
    const moved = movedInCode(code);
    for (const hash of moved === '' ? [] : await repository.slowHashes(userId))
      if (await deps.passwords.verify(moved, hash)) return repository.takeCode(userId, hash);
    return false;
  };

  const check = async (userId: number, code: string, guesser: AttemptSource): Promise<void> => {
    const subject = String(userId);
    await throttle.enter(guesser, subject);
    const factor = await repository.find(userId);
    if (factor === undefined) throw new AppError('second_factor_off');
    if (isSixDigits(code) && guesser.device === '' && (await throttle.anonymousAt(subject)) > maxAnonymous)
      throw new AppError('second_factor_guarded');
    const step = stepOf(secretOf(factor.secret_sealed), code);
    const right =
      step === null
        ? factor.enabled_at > 0 &&
          ((await repository.takeCode(userId, hashSecret(plainCode(code)))) || (await takeMovedIn(userId, code)))
        : await repository.takeStep(userId, step);
    if (!right) throw new AppError('code_wrong');
    await throttle.succeeded(guesser, subject);
  };

  return {
    isOn: async (userId: number): Promise<boolean> => ((await repository.find(userId))?.enabled_at ?? 0) > 0,
    async state(userId: number) {
      const enabled = ((await repository.find(userId))?.enabled_at ?? 0) > 0;
      return { enabled, recovery_codes_left: enabled ? await repository.codesLeft(userId) : 0 };
    },
    /** A secret for an authenticator; nothing changes until a code proves that it is kept. @throws AppError second_factor_on */
    async begin(userId: number, username: string): Promise<{ secret: string; uri: string }> {
      if (((await repository.find(userId))?.enabled_at ?? 0) > 0) throw new AppError('second_factor_on');
      const secret = new Secret({ size: 20 }).base32;
      await repository.begin(userId, deps.vault.encrypt('second-factor', secret));
      return { secret, uri: totpOf(secret, deps.siteName(), username).toString() };
    },
    /** @returns recovery codes, shown once. @throws AppError second_factor_*, code_wrong, too_many_attempts. */
    async enable(userId: number, code: string, guesser: AttemptSource): Promise<string[]> {
      if (((await repository.find(userId))?.enabled_at ?? 0) > 0) throw new AppError('second_factor_on');
      await check(userId, code, guesser);
      await repository.enable(userId, Math.floor(deps.now() / 1000));
      return newCodes(userId);
    },
    /** A code of the authenticator or a recovery code; each is taken once. @throws AppError second_factor_off, code_wrong, too_many_attempts. */
    check,
    async renewCodes(userId: number, code: string, guesser: AttemptSource): Promise<string[]> {
      await check(userId, code, guesser);
      return newCodes(userId);
    },
    async disable(userId: number, code: string, guesser: AttemptSource): Promise<void> {
      await check(userId, code, guesser);
      await repository.remove(userId);
    },
    /** For a user who lost authenticator and codes. The caller checks the right to do this. */
    reset: (userId: number): Promise<void> => repository.remove(userId),
  };
}
