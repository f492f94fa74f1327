/** First run: the administrator's account and the way the site is used. */
import { timingSafeEqual } from 'node:crypto';
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { JobLock } from '../../../db/job-lock.ts';
import type { DatabasePlace } from '../../../db/place.ts';
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { OptionsService } from '../options/service.ts';
import { createRateLimit } from '../sessions/rate-limit.ts';
import type { UsersService } from '../users/service.ts';

/** What the first administrator starts with: 200 dollars. */
const rootQuota = 100_000_000;
const minPasswordLength = 8;
/** Wrong codes in ten minutes, from everywhere together; beyond them guessing is refused unread, the right code never. */
const wrongAttempts = 20;
/** A node that ended takes its code with it after so long; one that lives keeps it alive. */
const codeMs = 30 * 60_000;
const maxNodes = 100;
/** Until another node that is at it is asked again. */
const againMs = 250;
const codes = { purpose: 'set-up codes', key: '' };

export interface SetupInput {
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
  /** Printed at start; null = set-up over HTTP is off. */
  readonly setupCode: string | null;
  /** Whose code it is where there are several nodes; '' = there is one. */
  readonly node: string;
  readonly engine: DatabasePlace['engine'];
  readonly store: EphemeralStore;
  readonly turns: JobLock;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
}) {
  const attempts = createRateLimit('wrong set-up codes', 600, wrongAttempts, deps.store);
  const isDone = async () => (await deps.options.meta('setup_at')) !== undefined;

  const runOnce = async (details: SetupInput): Promise<void> => {
    if (await isDone()) throw new AppError('setup_done');
    // A run that died after creating the administrator is taken up where it ended.
    const startedBy = await deps.options.meta('setup_begun');
    const root = await deps.users.firstWithRole(Role.root);
    if (root === undefined) {
      const username = details.username.trim();
      if (username === '') throw new AppError('setup_username');
      if ([...details.password].length < minPasswordLength) throw new AppError('setup_password_short');
      if (details.password !== details.confirmPassword) throw new AppError('setup_password_mismatch');
      await deps.options.setMeta('setup_begun', username);
      const id = await deps.users.create({
        username,
        password: details.password,
        displayName: 'Root User',
        role: Role.root,
        quota: 0,
      });
      await deps.users.startingQuota(id, rootQuota);
    } else if (startedBy === root.username) await deps.users.startingQuota(root.id, rootQuota);
    await deps.options.set('SelfUseModeEnabled', String(details.selfUse), Role.root);
    await deps.options.set('DemoSiteEnabled', String(details.demo), Role.root);
    await deps.options.setMeta('setup_at', String(Math.floor(deps.now() / 1000)));
  };
  const runAlone = async (details: SetupInput): Promise<void> => {
    // Another node that is asked at the same moment ends first.
    while (!(await deps.turns.take('setup', 0, () => runOnce(details)))) await deps.pause(againMs);
  };
  let running: Promise<void> | null = null;

  return {
    isDone,
    state: async (): Promise<SetupState> => ({
      status: await isDone(),
      root_init: await deps.users.rootExists(),
      database_type: deps.engine,
    }),
    /** Publishes the code that was printed here to the other nodes, again and again while it is valid. A restarted node prints another. */
    async shareCode(): Promise<void> {
      const { setupCode, node, store, now } = deps;
      if (setupCode === null || (await isDone())) return;
      await store.put(codes, { holder: node, value: setupCode, until: now() + codeMs }, maxNodes);
    },
    /** Wrong guesses of others must not keep the owner out: the right code always passes, whichever node has printed it. @throws AppError setup_code_required, too_many_attempts. */
    async checkCode(given: string): Promise<void> {
      const code = given.trim();
      if (code === '') throw new AppError('setup_code_required');
      if (deps.setupCode !== null && isSame(code, deps.setupCode)) return;
      if (await deps.store.has(codes, code)) return;
      throw new AppError((await attempts.take('')) ? 'setup_code_required' : 'too_many_attempts');
    },
    /** For the owner of the data directory: the code that still opens set-up over HTTP, null once it is done. */
    openCode: async (): Promise<string | null> => ((await isDone()) ? null : deps.setupCode),
    /** Two at once: the second waits, then hears that it is done. @throws AppError setup_* */
    async run(details: SetupInput): Promise<void> {
      while (running !== null) await running.catch(() => undefined);
      running = runAlone(details);
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
