/** First run: the administrator's account and the way the site is used. */
import { timingSafeEqual } from 'node:crypto';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { Role } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import type { OptionsService } from '../options/service.ts';
import type { UsersService } from '../users/service.ts';

/** What the first administrator starts with: 200 dollars. */
const rootQuota = 100_000_000;
const shortestPassword = 8;
/** Wrong codes in ten minutes, from everywhere together; beyond them guessing is refused unread, the right code never. */
const wrongGuesses = 20;

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
  /** Printed at start; null = nobody can set up over HTTP. */
  readonly setupCode: string | null;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const guesses = new RateLimiterMemory({ points: wrongGuesses, duration: 600 });
  const isDone = async () => (await deps.options.meta('setup_at')) !== undefined;

  const runOnce = async (facts: SetupFacts): Promise<void> => {
    if (await isDone()) throw new AppError('setup_done');
    // A run that died after creating the administrator is taken up where it ended.
    const begun = await deps.options.meta('setup_begun');
    const root = await deps.users.firstWithRole(Role.root);
    if (root === undefined) {
      const username = facts.username.trim();
      if (username === '') throw new AppError('setup_username');
      if ([...facts.password].length < shortestPassword) throw new AppError('setup_password_short');
      if (facts.password !== facts.confirmPassword) throw new AppError('setup_password_mismatch');
      await deps.options.setMeta('setup_begun', username);
      const id = await deps.users.create({
        username,
        password: facts.password,
        displayName: 'Root User',
        role: Role.root,
        quota: 0,
      });
      await deps.users.startingQuota(id, rootQuota);
    } else if (begun === root.username) await deps.users.startingQuota(root.id, rootQuota);
    await deps.options.set('SelfUseModeEnabled', String(facts.selfUse), Role.root);
    await deps.options.set('DemoSiteEnabled', String(facts.demo), Role.root);
    await deps.options.setMeta('setup_at', String(Math.floor(deps.now() / 1000)));
  };
  let running: Promise<void> | null = null;

  return {
    isDone,
    state: async (): Promise<SetupState> => ({
      status: await isDone(),
      root_init: await deps.users.rootExists(),
      database_type: 'sqlite',
    }),
    /** Strangers who guess must not keep the owner out, so the right code passes whatever they did. @throws AppError setup_code_required, too_many_attempts. */
    async checkCode(given: string): Promise<void> {
      if (deps.setupCode !== null && isSame(given.trim(), deps.setupCode)) return;
      if (given.trim() === '') throw new AppError('setup_code_required');
      try {
        await guesses.consume('code');
      } catch {
        throw new AppError('too_many_attempts');
      }
      throw new AppError('setup_code_required');
    },
    /** For the owner of the data directory: the code that still opens set-up over HTTP, null once it is done. */
    openCode: async (): Promise<string | null> => ((await isDone()) ? null : deps.setupCode),
    /** Two at once: the second waits, then hears that it is done. @throws AppError setup_* */
    async run(facts: SetupFacts): Promise<void> {
      while (running !== null) await running.catch(() => undefined);
      running = runOnce(facts);
      try {
        await running;
      } finally {
        running = null;
      }
    },
  };
}

function isSame(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
