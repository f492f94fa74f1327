/** Runs one endpoint for any transport: rights, demo mode, input, handler. */

import type * as z from 'zod/mini';
import type { Services } from '../app/services.ts';
import type { Access, Endpoint } from '../contract/endpoint.ts';
import { type EndpointId, endpointById } from '../contract/endpoints/index.ts';
import { Role } from '../contract/enum.ts';
import { AppError } from '../contract/errors.ts';
import { textIn } from '../contract/language.ts';
import { areaOf, scopesAllow } from '../contract/scopes.ts';
import { changesBetween } from '../domain/audit/changes.ts';
import { handlers } from './admin/handlers.ts';
import { readThings, thingsOf } from './audited-things.ts';
import type { Actor, Call, CallMeta, Reply } from './call.ts';

const minRole: Readonly<Record<Exclude<Access, 'local'>, number>> = {
  public: Role.guest,
  user: Role.user,
  admin: Role.admin,
  root: Role.root,
};

export const isMutation = (row: Endpoint): boolean => row.mutation ?? row.method !== 'GET';

export interface Invocation {
  readonly actor: Actor;
  readonly meta: CallMeta;
  readonly services: Services;
  readonly reply: Reply;
}

/** @throws AppError login_required, role_too_low, scope_too_small, demo_readonly, params_invalid, and whatever the handler throws. */
export async function invoke(id: string, raw: unknown, invocation: Invocation): Promise<unknown> {
  const row: Endpoint | undefined = endpointById(id);
  if (row === undefined) throw new AppError('not_found', { what: id });
  const { actor, services } = invocation;
  allow(row, actor);
  if (
    isMutation(row) &&
    row.demo !== true &&
    !(row.demo === 'root' && actor.role >= Role.root) &&
    actor.via !== 'local' &&
    services.options.get('DemoSiteEnabled') &&
    (await services.setup.isDone())
  ) {
    throw new AppError('demo_readonly');
  }
  const parsed = (row.input as z.ZodMiniType).safeParse(raw);
  if (!parsed.success) throw new AppError('params_invalid', describe(parsed.error.issues));
  // A token that may manage people would otherwise give its own user a password, and with it everything.
  if (actor.scopes !== undefined && areaOf(row) === 'users' && isMutation(row) && idOf(parsed.data) === actor.userId)
    throw new AppError('scope_too_small', { call: id });
  if (row.botCheck === true && actor.via !== 'local') await services.botCheck(tokenOf(raw), invocation.meta.ip);
  const handler = handlers[id as EndpointId] as (call: Call<unknown>) => Promise<unknown>;
  let changed = true;
  const unchanged = (): void => {
    changed = false;
  };
  const reply = { ...invocation.reply, unchanged };
  const audited = isPrivileged(row, actor);
  const things = audited ? await thingsOf(id, services, parsed.data) : [];
  const before = await readThings(services, things);
  const result = await handler({ ...invocation, reply, input: parsed.data });
  if (changed && audited) {
    await services.audit.record({
      action: id,
      actorId: actor.userId,
      actor: actor.username,
      ip: invocation.meta.ip,
      input: parsed.data,
      changes: changesBetween(before, await readThings(services, things)),
    });
  }
  return result;
}

const tokenOf = (raw: unknown): string => {
  const { turnstile } = (raw ?? {}) as { readonly turnstile?: unknown };
  return typeof turnstile === 'string' ? turnstile : '';
};

const idOf = (input: unknown): unknown => ((input ?? {}) as { readonly id?: unknown }).id;

/** A change that takes more than a user's own rights, what the operator does to what belongs to users, and the first of all. */
const isPrivileged = (row: Endpoint, { via }: Actor): boolean =>
  isMutation(row) &&
  (row.id === 'setup.run' || (row.access !== 'public' && (row.access !== 'user' || via === 'local')));

function allow(row: Endpoint, actor: Actor): void {
  if (actor.via === 'local') return;
  if (row.access === 'local') throw new AppError('local_only', { call: row.id });
  if (row.access !== 'public' && actor.via === 'anonymous') throw new AppError('login_required');
  if (actor.role < minRole[row.access]) throw new AppError('role_too_low');
  // What anybody may read needs no scope.
  if (
    actor.scopes !== undefined &&
    (row.access !== 'public' || isMutation(row)) &&
    !scopesAllow(actor.scopes, row, isMutation(row))
  )
    throw new AppError('scope_too_small', { call: row.id });
}

/** Words of the validator, so far as they say more than that something is wrong. */
const kinds: Readonly<Record<string, { readonly zh: string; readonly en: string }>> = {
  int: { zh: '必须是整数', en: 'must be a whole number' },
  number: { zh: '必须是数字', en: 'must be a number' },
  string: { zh: '必须是文本', en: 'must be a text' },
  boolean: { zh: '必须是 true 或 false', en: 'must be true or false' },
  array: { zh: '必须是列表', en: 'must be a list' },
  object: { zh: '必须是对象', en: 'must be an object' },
};
const wrong = { zh: '值无效', en: 'is not valid' };

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly code?: string | undefined;
  readonly expected?: unknown;
  readonly values?: readonly unknown[];
}

const wordsOf = ({ code, expected, values }: Issue): { readonly zh: string; readonly en: string } => {
  if (code === 'invalid_value' && values !== undefined)
    return { zh: `必须是 ${values.join('、')} 之一`, en: `must be one of ${values.join(', ')}` };
  if (code === 'too_small') return { zh: '过小', en: 'is too small' };
  if (code === 'too_big') return { zh: '过大', en: 'is too large' };
  return kinds[String(expected)] ?? wrong;
};

/** One text for each language. */
function describe(issues: readonly Issue[]) {
  const detailIn = (language: 'zh' | 'en') =>
    issues.map((issue) => `${issue.path.map(String).join('.')} ${textIn(wordsOf(issue), language)}`.trim()).join('; ');
  // The first field, for forms that show the refusal where it belongs.
  return { detail_zh: detailIn('zh'), detail_en: detailIn('en'), field: String(issues[0]?.path[0] ?? '') };
}
