/** First run: the administrator's account and the way the site is used. */
import { Role } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import type { OptionsService } from '../options/service.ts';
import type { UsersService } from '../users/service.ts';

/** What the first administrator starts with: 200 dollars. Source: backend-reference 5.1. */
const rootQuota = 100_000_000;
const shortestPassword = 8;

export interface SetupFacts {
  readonly username: string;
  readonly password: string;
  readonly confirmPassword: string;
  readonly selfUse: boolean;
  readonly demo: boolean;
}

export interface SetupState {
  readonly status: boolean;
  readonly root_init: boolean;
  readonly database_type: string;
}

export function createSetup(deps: {
  readonly users: UsersService;
  readonly options: OptionsService;
  readonly now: () => number;
}) {
  const isDone = async () => (await deps.options.meta('setup_at')) !== undefined;
  return {
    isDone,
    state: async (): Promise<SetupState> => ({
      status: await isDone(),
      root_init: await deps.users.rootExists(),
      database_type: 'sqlite',
    }),
    /** @throws AppError setup_* */
    async run(facts: SetupFacts): Promise<void> {
      if (await isDone()) throw new AppError('setup_done');
      if (!(await deps.users.rootExists())) {
        const username = facts.username.trim();
        if (username === '') throw new AppError('setup_username');
        if (facts.password.length < shortestPassword) throw new AppError('setup_password_short');
        if (facts.password !== facts.confirmPassword) throw new AppError('setup_password_mismatch');
        await deps.users.create({
          username,
          password: facts.password,
          displayName: 'Root User',
          role: Role.root,
          quota: rootQuota,
        });
      }
      await deps.options.set('SelfUseModeEnabled', String(facts.selfUse), Role.root);
      await deps.options.set('DemoSiteEnabled', String(facts.demo), Role.root);
      await deps.options.setMeta('setup_at', String(Math.floor(deps.now() / 1000)));
    },
  };
}
