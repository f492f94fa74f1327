/** Monthly bills: everybody's own, and others' for administrators. */
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { statementCsv } from '../../contract/statement-csv.ts';
import { statementFocus } from '../../contract/statement-focus.ts';
import type { StatementOf } from '../../domain/statements/service.ts';
import type { Call, Download } from '../call.ts';
import type { HandlersOf } from './handlers-of.ts';
import { creator } from './token.ts';

interface StatementSubject {
  readonly month?: string | undefined;
  readonly user?: number | undefined;
  readonly token?: number | undefined;
  readonly tag?: string | undefined;
}

/** @throws AppError params_invalid, role_too_low, user_rank_read, not_found */
async function subjectOf(call: Call<StatementSubject>): Promise<StatementOf> {
  const { actor, input, services } = call;
  const { user: userId, token: tokenId } = input;
  const tag = input.tag || undefined;
  if ([userId, tokenId, tag].filter((one) => one !== undefined).length > 1)
    throw new AppError('params_invalid', { detail: 'user, token, tag' });
  const all = actor.role >= Role.admin || actor.via === 'local';
  if (!all && (tag !== undefined || (userId !== undefined && userId !== actor.userId)))
    throw new AppError('role_too_low');
  // Another's key does not exist for a user.
  const token = tokenId === undefined ? null : await services.tokens.get(tokenId, all ? null : actor.userId);
  const owner = token?.user_id ?? userId;
  // Whose account an administrator may not look at, his bills he may not either.
  if (owner !== undefined && actor.via !== 'local') await services.userManagement.mayRead(actor, owner);
  return tokenId === undefined && tag === undefined ? { userId: userId ?? (await creator(call)) } : { tokenId, tag };
}

export const statementHandlers: HandlersOf<'statement.get' | 'statement.export'> = {
  'statement.get': async (call) =>
    call.services.statements.get(await subjectOf(call), call.input.month ?? '', call.input.check ?? false),
  'statement.export': async (call): Promise<Download> => {
    const statement = await call.services.statements.get(await subjectOf(call), call.input.month ?? '');
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
