/** A program that wants to sign in: its user looks at it and decides, in the console alone. */
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { checkedRequest, programName } from '../../domain/sign-ins/service.ts';
import type { Call } from '../call.ts';
import type { HandlersOf } from './handlers-of.ts';

/** An access token is no person, and a page of another origin has no session. @throws AppError route_unknown, login_required */
function checkPerson({ actor, services }: Pick<Call, 'actor' | 'services'>): void {
  if (!services.signIns.isOn()) throw new AppError('route_unknown', { method: 'POST', path: '/api/device' });
  if (actor.via !== 'session') throw new AppError('login_required');
}

export const signInCodeHandlers: HandlersOf<
  'sign_in.look' | 'sign_in.decide' | 'sign_in.authorize' | 'sign_in.list' | 'sign_in.end'
> = {
  'sign_in.look': async (call) => {
    checkPerson(call);
    return call.services.signIns.look(call.actor.userId, call.meta.ip, call.input.code);
  },
  'sign_in.decide': async (call) => {
    checkPerson(call);
    const { userId: id, username } = call.actor;
    await call.services.signIns.decide({ id, username }, call.meta.ip, call.input.code, call.input.approve);
  },
  'sign_in.authorize': async (call) => {
    checkPerson(call);
    const { userId: id, username } = call.actor;
    const { approve, ...request } = call.input;
    const { ip: address } = call.meta;
    const name = programName(checkedRequest(request));
    if (approve === undefined) return { name, address, redirect: '' };
    const redirect = await call.services.signIns.authorize({ id, username }, address, request, approve);
    return { name, address, redirect };
  },
  'sign_in.list': async ({ services, actor, input }) => {
    const { user_id: id = actor.userId } = input;
    if (id !== actor.userId) {
      if (actor.role < Role.admin) throw new AppError('user_rank_read');
      await services.userManagement.mayRead(actor, id);
    }
    return { open: services.signIns.isOn(), items: await services.signIns.list(id) };
  },
  'sign_in.end': async ({ services, actor, input, meta }) => {
    const owner = await services.signIns.ownerOf(input.id);
    // Of others' keys nobody learns whether they are there.
    if (owner === null || (owner !== actor.userId && actor.role < Role.admin))
      throw new AppError('not_found', { what: `token ${input.id}` });
    if (owner !== actor.userId) await services.userManagement.mayChange(actor, owner);
    await services.signIns.endOf(input.id, owner, { id: actor.userId, username: actor.username }, meta.ip);
  },
};
