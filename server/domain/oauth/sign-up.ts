/** New accounts for people another service vouches for: the site's rules for registration hold for them as well. */
import { randomBytes, randomInt } from 'node:crypto';
import type { Database } from '../../../db/open.ts';
import { createUsersRepository, type Identity, type UserRow } from '../../../db/repositories/users.ts';
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { checkEmail, isEmail } from '../accounts/email.ts';
import type { AffiliateService } from '../affiliate/service.ts';
import type { OptionsService } from '../options/service.ts';
import { networkOf } from '../sessions/network.ts';
import type { SignUps } from '../sessions/sign-ups.ts';
import { maxUsernameLength } from '../users/rules.ts';
import type { UsersService } from '../users/service.ts';

const nameAttempts = 20;
const maxDisplayNameLength = 20;

export interface NewUser {
  readonly identity: Identity;
  /** As messages name the service. */
  readonly service: string;
  /** Start of the username when the wanted one is taken. */
  readonly prefix: string;
  readonly username: string;
  readonly displayName: string;
  /** '' = the service has verified none. */
  readonly email: string;
  /** Invitation code, '' = none. */
  readonly affCode: string;
  readonly ip: string;
}

export function createSignUp(deps: {
  readonly database: Database;
  readonly options: OptionsService;
  readonly users: UsersService;
  readonly affiliate: AffiliateService;
  /** New accounts of one network. */
  readonly signUps: SignUps;
}) {
  const { options, users } = deps;
  const repository = createUsersRepository(deps.database);

  const freeName = async (requested: string, prefix: string): Promise<string> => {
    const plain = [...requested.replace(/[^\p{L}\p{N}_.-]/gu, '')].slice(0, maxUsernameLength).join('');
    if (plain !== '' && !(await repository.nameTaken(plain, 0))) return plain;
    for (let attempt = 0; attempt < nameAttempts; attempt++) {
      const name = `${prefix}${randomInt(10_000 * 10 ** Math.min(attempt, 4))}`;
      if (!(await repository.nameTaken(name, 0))) return name;
    }
    throw new AppError('username_taken');
  };

  /** @returns the address to keep, '' = none. @throws AppError email_unproven, email_domain, email_alias. */
  const admitted = (email: string, service: string): string => {
    if (isEmail(email)) return checkEmail(email, options);
    if (options.get('EmailDomainRestrictionEnabled')) throw new AppError('email_unproven', { name: service });
    return '';
  };

  const registered = async (input: NewUser, email: string, network: string): Promise<UserRow> => {
    const inviterId = await deps.affiliate.invitation(input.affCode);
    const username = await freeName(input.username, input.prefix);
    const id = await users.create({
      username,
      // The password is random: the user logs in with the other service, or resets it by mail.
      password: randomBytes(32).toString('base64url'),
      passwordMade: true,
      displayName: [...input.displayName].slice(0, maxDisplayNameLength).join(''),
      role: Role.user,
      quota: 0,
      email: email !== '' && !(await repository.emailTaken(email, 0)) ? email : '',
      inviterId,
      identity: input.identity,
    });
    await deps.affiliate.welcome({ id, username, group_name: 'default' }, network);
    const user = await users.find(id);
    if (user === undefined) throw new AppError('user_unknown');
    return user;
  };

  return {
    /** @throws AppError setup_needed, register_closed, invitation_needed, email_*, too_many_attempts. */
    async register(input: NewUser): Promise<UserRow> {
      if (!(await users.rootExists())) throw new AppError('setup_needed');
      if (!options.get('RegisterEnabled')) throw new AppError('register_closed');
      const email = admitted(input.email, input.service);
      const network = networkOf(input.ip);
      return deps.signUps.within(network, () => registered(input, email, network));
    },
    /** Keeps a verified address for an account that has none, where the site's rules allow it. */
    async keepEmail(user: UserRow, email: string): Promise<void> {
      if (user.email !== '' || !isEmail(email)) return;
      try {
        checkEmail(email, options);
      } catch {
        return;
      }
      if (!(await repository.emailTaken(email, user.id))) await repository.setEmail(user.id, email);
    },
  };
}
