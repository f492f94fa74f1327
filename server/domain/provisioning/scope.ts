/** How far an access token with scopes reaches with a declarative file: as far as with the single calls, and no further. */
import type { UserRow } from '../../../db/repositories/users.ts';
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { ProvisionDocument } from '../../contract/provision.ts';
import { scopesAllow } from '../../contract/scopes.ts';

export interface ProvisionScope {
  readonly scopes: readonly string[];
  readonly userId: number;
  readonly username: string;
}

/** Sections of a file by a call of the area that they belong to. */
const sections = {
  options: 'option.set',
  groups: 'option.set',
  ratios: 'option.set',
  channels: 'channel.update',
  virtual_models: 'virtual_model.update',
  users: 'user.update',
  tokens: 'token.update',
  codes: 'redemption.create',
  budgets: 'budget.set',
  schedules: 'statement.schedule',
} as const satisfies Partial<Record<keyof ProvisionDocument, string>>;

const reject = (call: string): never => {
  throw new AppError('scope_too_small', { call: `provision.apply (${call})` });
};

/** @throws AppError scope_too_small naming the first section that is out of reach. */
export async function checkScope(
  document: ProvisionDocument,
  {
    prune,
    dryRun,
    scope,
    users,
  }: {
    readonly prune: boolean;
    readonly dryRun: boolean;
    readonly scope: ProvisionScope;
    readonly users: {
      findByLogin(login: string): Promise<UserRow | undefined>;
      firstWithRole(role: number): Promise<UserRow | undefined>;
    };
  },
): Promise<void> {
  const allows = (id: string): boolean => scopesAllow(scope.scopes, { id }, !dryRun);
  for (const [section, id] of Object.entries(sections)) {
    // Pruning reaches for objects that the file does not name.
    const touched =
      document[section as keyof typeof sections] !== undefined ||
      (prune && (section === 'channels' || section === 'tokens'));
    if (touched && !allows(id)) reject(section);
  }
  if (dryRun) return;
  for (const { username, role } of document.users ?? []) {
    const row = await users.findByLogin(username);
    // The right to create an administrator, or to set an administrator's password, would be the right to do everything.
    if ((role ?? 'user') !== 'user' || (row !== undefined && (row.role >= Role.admin || row.id === scope.userId)))
      reject(`users: ${username}`);
  }
  for (const { name, owner } of document.tokens ?? []) {
    const row = owner === undefined ? await users.firstWithRole(Role.root) : await users.findByLogin(owner);
    if (row?.id === scope.userId) continue;
    // A key of an administrator would spend his balance. Users that the file creates are none.
    if (!allows(sections.users) || (row !== undefined && row.role >= Role.admin)) reject(`tokens: ${name}`);
  }
}

/** A comparison would say whether a password was guessed. */
export const withoutPasswords = (document: ProvisionDocument): ProvisionDocument =>
  document.users === undefined
    ? document
    : { ...document, users: document.users.map(({ password: _, ...user }) => user) };
