/** Registration, proof of an e-mail address, and the way back to a lost password. Nobody learns here whether somebody else has an account. */
import { randomInt } from 'node:crypto';
import type { Database } from '../../../db/open.ts';
import { createSessionsRepository } from '../../../db/repositories/sessions.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { type Language, Role, UserStatus } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import type { AffiliateService } from '../affiliate/service.ts';
import type { SendMail } from '../notifications/mailer.ts';
import type { OptionsService } from '../options/service.ts';
import { createThrottle } from '../sessions/throttle.ts';
import { checkPassword, checkUsername } from '../users/rules.ts';
import type { UsersService } from '../users/service.ts';
import { createCodes } from './codes.ts';
import { checkEmail } from './email.ts';
import { codeLetter, resetLetter, takenLetter } from './letters.ts';

const passwordAlphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';
const madePasswordLength = 12;

export interface Registration {
  readonly username: string;
  readonly password: string;
  /** '' = not sent; the console checks it too. */
  readonly password2: string;
  readonly email: string;
  readonly code: string;
  /** Invitation code, '' = none. */
  readonly affCode: string;
}

/** Who asks, for throttles and letters. */
export interface Asker {
  readonly ip: string;
  readonly language: Language;
}

export type AccountsService = ReturnType<typeof createAccounts>;

export function createAccounts(deps: {
  readonly database: Database;
  readonly options: OptionsService;
  readonly users: UsersService;
  readonly affiliate: AffiliateService;
  readonly sendMail: SendMail;
  /** A letter that could not be sent while its asker must not notice. */
  readonly report: (error: unknown) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const { options, users } = deps;
  const repository = createUsersRepository(deps.database);
  const sessions = createSessionsRepository(deps.database);
  const codes = createCodes(deps.now);
  const registrations = createThrottle({ seconds: 3600, perAddress: 20, perSubject: 20, everybody: 2000 });
  const letters = createThrottle({ seconds: 600, perAddress: 20, perSubject: 5, everybody: 500 });
  const guesses = createThrottle({ seconds: 600, perAddress: 50, perSubject: 10, everybody: 5000 });

  /** Links carry the configured address alone: a Host header is whatever the asker wants. */
  const site = () => ({ name: options.get('SystemName'), address: options.get('ServerAddress') });
  const needMail = () => {
    if (options.get('SMTPServer') === '') throw new AppError('mail_unset');
  };
  const proven = (email: string, code: string): string => {
    const address = checkEmail(email, options);
    if (!codes.take('address', address, code)) throw new AppError('code_wrong');
    return address;
  };

  return {
    /** @throws AppError setup_needed, register_*, input_invalid, username_taken, code_wrong, email_*, too_many_attempts. */
    async register(given: Registration, asker: Asker): Promise<void> {
      // The first account is the administrator's.
      if (!(await users.rootExists())) throw new AppError('setup_needed');
      if (!options.get('RegisterEnabled')) throw new AppError('register_closed');
      if (!options.get('PasswordRegisterEnabled')) throw new AppError('register_password_closed');
      const username = checkUsername(given.username);
      checkPassword(given.password);
      if (given.password2 !== '' && given.password2 !== given.password) throw new AppError('setup_password_mismatch');
      const verifies = options.get('EmailVerificationEnabled');
      if (verifies && (given.email === '' || given.code === '')) throw new AppError('register_email_needed');
      await registrations.spend(asker.ip, '');
      const email = verifies ? proven(given.email, given.code) : '';
      if (email !== '' && (await repository.emailTaken(email, 0))) throw new AppError('email_taken');
      const id = await users.create({
        username,
        password: given.password,
        displayName: username,
        role: Role.user,
        quota: 0,
        email,
        inviterId: await deps.affiliate.inviterOf(given.affCode),
      });
      await deps.affiliate.welcome({ id, username, group_name: 'default' });
    },
    /** Mails a code; an address that has an account gets another letter and the same answer. @throws AppError mail_*, email_*, too_many_attempts. */
    async sendCode(given: string, asker: Asker): Promise<void> {
      needMail();
      const email = checkEmail(given, options);
      await letters.spend(asker.ip, email);
      const taken = await repository.emailTaken(email, 0);
      await deps.sendMail(
        taken
          ? takenLetter(email, site(), asker.language)
          : codeLetter(email, codes.issue('address', email), site(), asker.language),
      );
    },
    /** Binds a proven address to an account. @throws AppError code_wrong, email_taken, email_*. */
    async bindEmail(userId: number, email: string, code: string, ip: string): Promise<void> {
      await guesses.spend(ip, email);
      const address = proven(email, code);
      if (await repository.emailTaken(address, userId)) throw new AppError('email_taken');
      await repository.setEmail(userId, address);
    },
    /** Mails a link to whoever has this address; the answer comes before it is known whether anybody does. @throws AppError mail_unset, server_address_unset, email_invalid, too_many_attempts. */
    async askReset(given: string, asker: Asker): Promise<void> {
      needMail();
      if (options.get('ServerAddress') === '') throw new AppError('server_address_unset');
      const email = given.trim();
      if (!email.includes('@')) throw new AppError('email_invalid');
      await letters.spend(asker.ip, email);
      const send = async () => {
        const user = await repository.findByEmail(email);
        if (user === undefined || user.status !== UserStatus.enabled) return;
        await deps.sendMail(resetLetter(user.email, codes.issue('reset', user.email), site(), asker.language));
      };
      void send().catch(deps.report);
    },
    /** Ends every session of the account. @param wanted '' = one is made. @returns the new password. @throws AppError reset_invalid, input_invalid, too_many_attempts. */
    async reset(email: string, token: string, wanted: string, ip: string): Promise<string> {
      await guesses.spend(ip, email);
      if (wanted !== '') checkPassword(wanted);
      if (!codes.take('reset', email.trim(), token)) throw new AppError('reset_invalid');
      const user = await repository.findByEmail(email.trim());
      if (user === undefined) throw new AppError('reset_invalid');
      const password =
        wanted ||
        Array.from({ length: madePasswordLength }, () => passwordAlphabet[randomInt(passwordAlphabet.length)]).join('');
      await users.setPassword(user.id, password);
      await sessions.removeOfUser(user.id, '');
      return password;
    },
  };
}
