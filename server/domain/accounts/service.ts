/** Registration, proof of an e-mail address, and password reset. None of them reveals whether an address has an account. */
import { randomInt } from 'node:crypto';
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { Database } from '../../../db/open.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { type Language, Role, UserStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { AffiliateService } from '../affiliate/service.ts';
import type { SendMail } from '../notifications/mailer.ts';
import type { OptionsService } from '../options/service.ts';
import type { Devices } from '../sessions/devices.ts';
import { networkOf } from '../sessions/network.ts';
import type { SignUps } from '../sessions/sign-ups.ts';
import { createThrottle } from '../sessions/throttle.ts';
import type { Credentials } from '../users/credentials.ts';
import { checkPassword, checkUsername } from '../users/rules.ts';
import type { UsersService } from '../users/service.ts';
import { createCodes } from './codes.ts';
import { checkEmail } from './email.ts';
import { createEmailQuota } from './email-quota.ts';
import { codeEmail, resetEmail, takenEmail } from './email-templates.ts';

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
export interface Requester {
  readonly ip: string;
  readonly language: Language;
  /** What the browser remembers of accounts it was inside, '' = nothing. */
  readonly deviceCookie: string;
  /** 0 = not logged in. */
  readonly userId: number;
}

export type AccountsService = ReturnType<typeof createAccounts>;

export function createAccounts(deps: {
  readonly database: Database;
  readonly store: EphemeralStore;
  readonly options: OptionsService;
  readonly users: UsersService;
  readonly affiliate: AffiliateService;
  readonly credentials: Credentials;
  readonly devices: Devices;
  /** New accounts of one network. */
  readonly signUps: SignUps;
  readonly sendMail: SendMail;
  /** A letter that could not be sent while its asker must not notice. */
  readonly report: (error: unknown) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
}) {
  const { options, users } = deps;
  const repository = createUsersRepository(deps.database);
  const codes = createCodes(deps.store, deps.now);
  const emailQuota = createEmailQuota(deps.store);
  const attempts = createThrottle(
    'codes',
    { seconds: 600, perAddress: 50, perSubject: 10, anonymous: 100, everyone: 5000 },
    deps,
  );

  /** Links carry the configured address alone: a Host header is whatever the asker wants. */
  const site = () => ({ name: options.get('SystemName'), address: options.get('ServerAddress') });
  const needMail = () => {
    if (options.get('SMTPServer') === '') throw new AppError('mail_unset');
  };
  const proven = async (email: string, code: string, guesser: string): Promise<string> => {
    const address = checkEmail(email, options);
    if (!(await codes.take('address', address, code, guesser))) throw new AppError('code_wrong');
    return address;
  };
  const nameOf = ({ ip, userId }: Requester): string => (userId > 0 ? `user ${userId}` : networkOf(ip));

  return {
    /** @throws AppError setup_needed, register_*, invitation_needed, input_invalid, username_taken, code_wrong, email_*, too_many_attempts. */
    async register(given: Registration, requester: Requester): Promise<void> {
      // The first account is the administrator's.
      if (!(await users.rootExists())) throw new AppError('setup_needed');
      if (!options.get('RegisterEnabled')) throw new AppError('register_closed');
      if (!options.get('PasswordRegisterEnabled')) throw new AppError('register_password_closed');
      const username = checkUsername(given.username);
      checkPassword(given.password);
      if (given.password2 !== '' && given.password2 !== given.password) throw new AppError('setup_password_mismatch');
      const verifies = options.get('EmailVerificationEnabled');
      if (verifies && (given.email === '' || given.code === '')) throw new AppError('register_email_needed');
      const network = networkOf(requester.ip);
      await deps.signUps.within(network, async () => {
        const inviterId = await deps.affiliate.invitation(given.affCode);
        const email = verifies ? await proven(given.email, given.code, nameOf(requester)) : '';
        if (email !== '' && (await repository.emailTaken(email, 0))) throw new AppError('email_taken');
        const id = await users.create({
          username,
          password: given.password,
          displayName: username,
          role: Role.user,
          quota: 0,
          email,
          inviterId,
        });
        await deps.affiliate.welcome({ id, username, group_name: 'default' }, network);
      });
    },
    /** Mails a code; an address that has an account gets another letter and the same answer. @throws AppError mail_*, email_*, too_many_attempts. */
    async sendCode(given: string, requester: Requester): Promise<void> {
      needMail();
      const email = checkEmail(given, options);
      if (!(await emailQuota.allows('address', email, { ...requester, device: '' }))) return;
      const taken = await repository.emailTaken(email, 0);
      await deps.sendMail(
        taken
          ? takenEmail(email, site(), requester.language)
          : codeEmail(email, await codes.issue('address', email, nameOf(requester)), site(), requester.language),
      );
    },
    /** Whether a user reads what is mailed to an address. @throws AppError code_wrong, email_*, too_many_attempts. */
    async prove(userId: number, email: string, code: string, requester: Requester): Promise<void> {
      await attempts.enter({ ip: requester.ip, device: '' }, String(userId));
      await proven(email, code, nameOf(requester));
    },
    /** Binds a proven address to an account. @throws AppError code_wrong, email_taken, email_*. */
    async bindEmail(userId: number, email: string, code: string, requester: Requester): Promise<void> {
      await attempts.enter({ ip: requester.ip, device: '' }, String(userId));
      const address = await proven(email, code, nameOf(requester));
      if (await repository.emailTaken(address, userId)) throw new AppError('email_taken');
      await repository.setEmail(userId, address);
    },
    /** Mails a link to the account with this address. The response is the same, and as fast, whether there is one or not. @throws AppError mail_unset, server_address_unset, email_invalid, too_many_attempts. */
    async askReset(given: string, requester: Requester): Promise<void> {
      needMail();
      if (options.get('ServerAddress') === '') throw new AppError('server_address_unset');
      const email = given.trim();
      if (!email.includes('@')) throw new AppError('email_invalid');
      const user = await repository.findByEmail(email);
      const device = deps.devices.nameOf(requester.deviceCookie, user);
      if (!(await emailQuota.allows('reset', email, { ...requester, device }))) return;
      const send = async () => {
        if (user === undefined || user.status !== UserStatus.enabled) return;
        const token = await codes.issue('reset', user.email, nameOf(requester));
        await deps.sendMail(resetEmail(user.email, token, site(), requester.language));
      };
      void send().catch(deps.report);
    },
    /** Ends every credential of the account. @param requested '' = one is made. @returns the new password. @throws AppError reset_invalid, input_invalid, too_many_attempts. */
    async reset(email: string, token: string, requested: string, ip: string): Promise<string> {
      await attempts.enter({ ip, device: '' }, '');
      if (requested !== '') checkPassword(requested);
      if (!(await codes.take('reset', email.trim(), token, networkOf(ip)))) throw new AppError('reset_invalid');
      const user = await repository.findByEmail(email.trim());
      if (user === undefined) throw new AppError('reset_invalid');
      const password =
        requested ||
        Array.from({ length: madePasswordLength }, () => passwordAlphabet[randomInt(passwordAlphabet.length)]).join('');
      await codes.delete('reset', user.email);
      await deps.credentials.replace(user.id, password);
      return password;
    },
  };
}
