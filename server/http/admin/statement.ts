/** Monthly bills: everybody's own, and others' for administrators. */
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { statementCsv } from '../../contract/statement-csv.ts';
import { statementFocus } from '../../contract/statement-focus.ts';
import type { StatementScope } from '../../domain/statements/service.ts';
import type { Call, Download } from '../call.ts';
import { auditCall } from './audit-call.ts';
import type { HandlersOf } from './handlers-of.ts';
import { creator } from './token.ts';

interface StatementSubject {
  readonly user?: number | undefined;
  readonly token?: number | undefined;
  readonly tag?: string | undefined;
  readonly label?: string | undefined;
  readonly project?: string | undefined;
}

const seesAll = ({ actor }: Pick<Call<unknown>, 'actor'>): boolean => actor.role >= Role.admin || actor.via === 'local';

/**
 * The caller's rights to a bill are those to its account: whose account an administrator may not look at, his bills he may not either.
 * @throws AppError params_invalid, role_too_low, user_rank_read, not_found
 */
export async function scopeOf(call: Call<StatementSubject>): Promise<StatementScope> {
  const { actor, input, services } = call;
  const { user: userId, token: tokenId } = input;
  const [tag, label, project] = [input.tag || undefined, input.label || undefined, input.project || undefined];
  const named = [tokenId, tag, label, project].filter((one) => one !== undefined).length;
  if (named > 1 || (userId !== undefined && (tokenId ?? tag) !== undefined))
    throw new AppError('params_invalid', { detail: 'user, token, tag, label, project' });
  const all = seesAll(call);
  if (!all && (tag !== undefined || (userId !== undefined && userId !== actor.userId)))
    throw new AppError('role_too_low');
  // Another's key does not exist for a user.
  const token = tokenId === undefined ? null : await services.tokens.get(tokenId, all ? null : actor.userId);
  const owner = token?.user_id ?? userId;
  if (owner !== undefined && actor.via !== 'local') await services.userManagement.mayRead(actor, owner);
  if (tokenId !== undefined || tag !== undefined) return { tokenId, tag };
  if (label === undefined && project === undefined) return { userId: userId ?? (await creator(call)) };
  return { userId: all ? userId : actor.userId, label, project };
}

/** @throws AppError not_found, user_rank_read */
async function mayChange({ actor, services, input }: Call<{ readonly id: number }>): Promise<void> {
  const [userId, createdBy] = await services.schedules.ownersOf(input.id);
  if (actor.via === 'local' || [userId, createdBy].includes(actor.userId)) return;
  // Another's does not exist for a user.
  if (actor.role < Role.admin) throw new AppError('not_found', { what: `schedule ${input.id}` });
  if ((await services.users.find(userId)) !== undefined) await services.userManagement.mayRead(actor, userId);
}

/** An address that is not the user's own is an administrator's to name: the site's mail goes to no stranger. @throws AppError role_too_low */
function checkAddress({ actor }: Pick<Call, 'actor'>, email = ''): void {
  if (email.trim() !== '' && actor.via !== 'local' && actor.role < Role.admin) throw new AppError('role_too_low');
}

export const statementHandlers: HandlersOf<
  | 'statement.get'
  | 'statement.export'
  | 'statement.shares'
  | 'statement.schedules'
  | 'statement.schedule'
  | 'statement.edit_schedule'
  | 'statement.delete_schedule'
> = {
  'statement.get': async (call) =>
    call.services.statements.get(await scopeOf(call), call.input.month ?? '', call.input.check ?? false),
  'statement.shares': async (call) => {
    const { by = 'token', month = '', user } = call.input;
    if (by === 'user' && user === undefined && !seesAll(call)) throw new AppError('role_too_low');
    const { userId } =
      user === undefined && seesAll(call) ? { userId: undefined } : await scopeOf({ ...call, input: { user } });
    return call.services.statements.shares({ userId }, by, month);
  },
  'statement.schedules': async (call) => {
    const { actor, services, input } = call;
    const all = input.all === true;
    if (all && actor.via !== 'local' && actor.role < Role.admin) throw new AppError('role_too_low');
    return services.schedules.list(all ? undefined : await creator(call));
  },
  'statement.schedule': async (call) => {
    const { actor, services, input } = call;
    const { every = 'month', to, email = '' } = input;
    checkAddress(call, email);
    const scope = await scopeOf(call);
    const maker = await creator(call);
    const userId = to ?? scope.userId ?? maker;
    if (userId !== actor.userId && actor.via !== 'local') {
      if (actor.role < Role.admin) throw new AppError('role_too_low');
      await services.userManagement.mayRead(actor, userId);
    }
    const id = await services.schedules.create({ userId, scope, every, email, createdBy: maker });
    await auditCall(call, 'statement.schedule', { id, ...scope, every, to: userId, email });
    return { id };
  },
  'statement.edit_schedule': async (call) => {
    const { id, paused, every, email } = call.input;
    checkAddress(call, email);
    await mayChange(call);
    await call.services.schedules.update(id, { paused, every, email });
    await auditCall(call, 'statement.edit_schedule', call.input);
    return null;
  },
  'statement.delete_schedule': async (call) => {
    await mayChange(call);
    await call.services.schedules.remove(call.input.id);
    await auditCall(call, 'statement.delete_schedule', call.input);
    return null;
  },
  'statement.export': async (call): Promise<Download> => {
    const statement = await call.services.statements.get(await scopeOf(call), call.input.month ?? '');
    const name = statement.name.replace(/[^\p{L}\p{N}_-]+/gu, '-') || String(statement.id);
    const isFocus = call.input.format === 'focus';
    return {
      name: `${isFocus ? 'focus' : 'statement'}-${name}-${statement.month}.csv`,
      type: 'text/csv; charset=utf-8',
      chunks: (async function* () {
        // Spreadsheets take the text for what it is; programs want none of that mark.
        yield isFocus ? statementFocus(statement) : `\uFEFF${statementCsv(statement, call.meta.language)}`;
      })(),
    };
  },
};
