/** Runs one endpoint for any transport: rights, demo mode, input, handler. */
import type * as z from 'zod/mini';
import type { Access, Endpoint } from '../contract/endpoint.ts';
import { type EndpointId, endpointById } from '../contract/endpoints/index.ts';
import { Role } from '../contract/enums.ts';
import { AppError } from '../contract/errors.ts';
import { areaOf, scopesAllow } from '../contract/scopes.ts';
import type { Services } from '../services.ts';
import { handlers } from './admin/handlers.ts';
import type { Actor, Call, CallMeta, Reply } from './call.ts';

const leastRole: Readonly<Record<Exclude<Access, 'local'>, number>> = {
  public: Role.guest,
  user: Role.user,
  admin: Role.admin,
  root: Role.root,
};

export const mutates = (row: Endpoint): boolean => row.mutates ?? row.method !== 'GET';

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
    mutates(row) &&
    row.demo !== true &&
    !(row.demo === 'root' && actor.role >= Role.root) &&
    actor.via !== 'local' &&
    services.options.get('DemoSiteEnabled') &&
    (await services.setup.isDone())
  ) {
    throw new AppError('demo_readonly');
  }
  const parsed = (row.input as z.ZodMiniType).safeParse(raw);
  if (!parsed.success) throw new AppError('params_invalid', { detail: describe(parsed.error.issues) });
  // A token that may manage people would otherwise give its own user a password, and with it everything.
  if (actor.scopes !== undefined && areaOf(row) === 'users' && mutates(row) && idOf(parsed.data) === actor.userId)
    throw new AppError('scope_too_small', { call: id });
  if (row.botCheck === true && actor.via !== 'local') await services.botCheck(tokenOf(raw), invocation.meta.ip);
  const handler = handlers[id as EndpointId] as (call: Call<unknown>) => Promise<unknown>;
  const result = await handler({ ...invocation, input: parsed.data });
  if (isPrivileged(row)) {
    await services.audit.record({
      action: id,
      actorId: actor.userId,
      actor: actor.username,
      ip: invocation.meta.ip,
      input: parsed.data,
    });
  }
  return result;
}

const tokenOf = (raw: unknown): string => {
  const { turnstile } = (raw ?? {}) as { readonly turnstile?: unknown };
  return typeof turnstile === 'string' ? turnstile : '';
};

const idOf = (input: unknown): unknown => ((input ?? {}) as { readonly id?: unknown }).id;

/** A change that takes more than a user's own rights, and the first of all. */
const isPrivileged = (row: Endpoint): boolean =>
  mutates(row) && (row.id === 'setup.run' || (row.access !== 'public' && row.access !== 'user'));

function allow(row: Endpoint, actor: Actor): void {
  if (actor.via === 'local') return;
  if (row.access === 'local') throw new AppError('role_too_low');
  if (row.access !== 'public' && actor.via === 'anonymous') throw new AppError('login_required');
  if (actor.role < leastRole[row.access]) throw new AppError('role_too_low');
  // What anybody may read needs no scope.
  if (
    actor.scopes !== undefined &&
    (row.access !== 'public' || mutates(row)) &&
    !scopesAllow(actor.scopes, row, mutates(row))
  )
    throw new AppError('scope_too_small', { call: row.id });
}

const describe = (issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): string =>
  issues.map((issue) => `${issue.path.map(String).join('.')}: ${issue.message}`).join('; ');
