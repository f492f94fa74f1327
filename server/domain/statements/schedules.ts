/** Statements by mail, on the first of the month or on Monday by the site's calendar: each once for a recipient and period, on whichever node. */
import type { Database } from '../../../db/open.ts';
import {
  createStatementSchedulesRepository,
  type ListedSchedule,
  type ScheduleRow,
} from '../../../db/repositories/statement-schedules.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { Role, UserStatus } from '../../contract/enum.ts';
import { AppError, formatError } from '../../contract/errors.ts';
import { savedLanguage } from '../../contract/language.ts';
import { safeLine } from '../../contract/safe-text.ts';
import {
  endedPeriod,
  mailStates,
  type ScheduleEvery,
  type StatementSchedule,
  scheduleEvery,
} from '../../contract/statement-schedule.ts';
import { objectIn } from '../../contract/stored-object.ts';
import { isEmail } from '../accounts/email.ts';
import type { LinksService } from '../links/service.ts';
import type { SendMail } from '../notifications/mailer.ts';
import type { OptionsService } from '../options/service.ts';
import type { TokensService } from '../tokens/service.ts';
import { mayStillGive } from '../users/authority.ts';
import type { UsersService } from '../users/service.ts';
import { statementMail } from './mail.ts';
import type { StatementScope, StatementsService } from './service.ts';

/** A mail that failed is tried again after so long, so often in all. */
const againSeconds = 15 * 60;
const maxTries = 8;
/** Nobody saw how a mail ended that was claimed so long ago. */
const unseenSeconds = 3600;
/** Operators are told of mails that failed within so long. */
const alertSeconds = 3 * 86_400;
/** Schedules of one user, and of an administrator, who plans them for the others. */
const maxSchedules = 50;
const maxOfAdmin = 500;

export interface NewSchedule {
  readonly userId: number;
  readonly scope: StatementScope;
  readonly every: ScheduleEvery;
  /** '' = the user's own. */
  readonly email: string;
  readonly createdBy: number;
}

export type SchedulesService = ReturnType<typeof createSchedules>;

export function createSchedules(deps: {
  readonly database: Database;
  readonly options: OptionsService;
  readonly users: UsersService;
  readonly tokens: TokensService;
  readonly statements: Pick<StatementsService, 'get' | 'subject'>;
  readonly links: Pick<LinksService, 'toStatement' | 'revoke'>;
  readonly sendMail: SendMail;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const { options } = deps;
  const repository = createStatementSchedulesRepository(deps.database);
  const people = createUsersRepository(deps.database);
  const seconds = () => Math.floor(deps.now() / 1000);

  /** @throws AppError not_found */
  const stored = async (id: number): Promise<ScheduleRow> => {
    const row = await repository.find(id);
    if (row === undefined) throw new AppError('not_found', { what: `schedule ${id}` });
    return row;
  };
  /** @throws AppError email_invalid */
  const checkEmail = (email: string): string => {
    if (email !== '' && !isEmail(email)) throw new AppError('email_invalid');
    return email;
  };

  /** Who made it may have lost his rights since. @returns whose statement it is. @throws AppError role_too_low, not_found */
  const checkRights = async ({ created_by: createdBy, user_id: userId }: ScheduleRow, scope: StatementScope) => {
    const maker = await deps.users.find(createdBy);
    const ownerId = scope.tokenId === undefined ? scope.userId : (await deps.tokens.get(scope.tokenId, null)).user_id;
    const owner = ownerId === undefined ? undefined : await deps.users.find(ownerId);
    const toHimself = userId === createdBy || (maker?.role ?? 0) >= Role.admin;
    if (!toHimself || !mayStillGive(maker, ownerId ?? 0, owner)) throw new AppError('role_too_low');
    return ownerId;
  };

  /** @returns what became of it. */
  const send = async (row: ScheduleRow, period: string): Promise<'sent' | 'empty'> => {
    const scope = JSON.parse(row.scope) as StatementScope;
    const owner = await checkRights(row, scope);
    const user = (await people.byIds([row.user_id]))[0];
    if (user === undefined || user.status !== UserStatus.enabled) throw new AppError('user_unknown');
    const setting = objectIn(user.setting);
    const own = typeof setting.notification_email === 'string' ? setting.notification_email : '';
    const to = row.email || own || user.email;
    if (to === '') throw new AppError('email_invalid');
    const statement = await deps.statements.get(scope, period);
    if (statement.lines.length === 0) return 'empty';
    const site = options.get('ServerAddress');
    const made = site === '' ? null : await deps.links.toStatement({ ...scope, userId: owner }, period, row.created_by);
    const link = made === null ? '' : `${site}${made.path}`;
    try {
      await deps.sendMail(statementMail(to, statement, link, savedLanguage(setting) ?? 'zh'));
    } catch (error) {
      // The next try makes another.
      if (made !== null) await deps.links.revoke(made.id);
      throw error;
    }
    return 'sent';
  };

  const attempt = async (row: ScheduleRow, period: string): Promise<void> => {
    const now = seconds();
    const tries = await repository.claim(row.id, period, now, { retryBefore: now - againSeconds, maxTries });
    if (tries === 0) return;
    const [state, words] = await send(row, period).then(
      (sent) => [sent, ''] as const,
      (error: unknown) => {
        const reason = error instanceof AppError ? formatError(error.code, error.params, 'en') : String(error);
        return ['failed', safeLine(reason).slice(0, 300)] as const;
      },
    );
    // What was sent and cannot be noted stays claimed: as a failure it would be sent again.
    await repository.finish(row.id, period, state, words);
  };

  return {
    /** @param userId whose mail box, or who made it; absent = all. */
    async list(userId?: number): Promise<StatementSchedule[]> {
      const now = seconds();
      return (await repository.list(userId)).map((row) => viewOf(row, now));
    },
    /** @throws AppError email_invalid, params_invalid, not_found, user_unknown */
    async create({ userId, scope, every, email, createdBy }: NewSchedule): Promise<number> {
      const user = await deps.users.find(userId);
      if (user === undefined) throw new AppError('user_unknown');
      const isAdmin = ((await deps.users.find(createdBy))?.role ?? 0) >= Role.admin;
      const most = isAdmin ? maxOfAdmin : maxSchedules;
      if ((await repository.list(createdBy)).length >= most)
        throw new AppError('params_invalid', { detail: `> ${most}` });
      // Named as it is now; what does not exist is refused here.
      const { of, name } = await deps.statements.subject(scope);
      return repository.create({
        ...{ user_id: userId, scope: JSON.stringify(scope), of_kind: of, name, every, email: checkEmail(email.trim()) },
        ...{ paused: 0, since: seconds(), created_by: createdBy, created_at: seconds() },
      });
    },
    /** Whose mail box, and who made it. @throws AppError not_found */
    async ownersOf(id: number): Promise<readonly [userId: number, createdBy: number]> {
      const row = await stored(id);
      return [row.user_id, row.created_by];
    },
    /** What was not sent while it was paused is not sent later. @throws AppError not_found, email_invalid */
    async update(
      id: number,
      {
        paused,
        every,
        email,
      }: { paused?: boolean | undefined; every?: ScheduleEvery | undefined; email?: string | undefined },
    ): Promise<void> {
      const row = await stored(id);
      const resumed = paused === false && row.paused === 1;
      await repository.update(id, {
        ...(paused === undefined ? {} : { paused: paused ? 1 : 0 }),
        ...(resumed || (every !== undefined && every !== row.every) ? { since: seconds() } : {}),
        ...(every === undefined ? {} : { every }),
        ...(email === undefined ? {} : { email: checkEmail(email.trim()) }),
      });
    },
    /** @throws AppError not_found */
    async remove(id: number): Promise<void> {
      await stored(id);
      await repository.remove(id);
    },
    /** Sends what is due and was not sent yet. */
    async tick(): Promise<void> {
      const now = seconds();
      for (const every of scheduleEvery) {
        const period = endedPeriod(every, options.get('invoice.time_zone'), now);
        if (period === null) continue;
        const due = await repository.due(every, period.end);
        if (due.length === 0) continue;
        const done = await repository.done(period.name, now - againSeconds, maxTries);
        for (const row of due) if (!done.has(row.id)) await attempt(row, period.name);
      }
    },
    /** Who is gone is sent nothing, and nobody is told of it each month. */
    sweep: (): Promise<void> => repository.removeGone(),
    /** Mails that failed for good, or whose end nobody saw. @param since epoch seconds; absent = as long as alerts are sent. */
    async troubles(
      since?: number,
    ): Promise<
      readonly { readonly id: number; readonly period: string; readonly error: string; readonly at: number }[]
    > {
      const now = seconds();
      const rows = await repository.troubles(since ?? now - alertSeconds, now - unseenSeconds, maxTries);
      return rows.map(({ schedule_id: id, period, error, tried_at: at }) => ({ id, period, error, at }));
    },
  };
}

function viewOf(row: ListedSchedule, now: number): StatementSchedule {
  const unseen = row.state === 'claimed' && now - (row.tried_at ?? 0) > unseenSeconds;
  return {
    ...{ id: row.id, user_id: row.user_id, username: row.username ?? '', of: row.of_kind, name: row.name },
    every: row.every as ScheduleEvery,
    email: row.email,
    paused: row.paused === 1,
    created_time: row.created_at,
    period: row.period ?? '',
    state: unseen ? 'unknown' : (mailStates.find((one) => one === row.state) ?? 'none'),
    tries: row.tries ?? 0,
    tried_time: row.tried_at ?? 0,
    error: row.error ?? '',
  };
}
