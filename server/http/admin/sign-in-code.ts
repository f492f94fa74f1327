/** A program that wants to sign in: its user looks at it and decides, in the console alone. */
import { AppError } from '../../contract/errors.ts';
import type { Call } from '../call.ts';
import type { HandlersOf } from './handlers-of.ts';

/** An access token is no person, and a page of another origin has no session. @throws AppError route_unknown, login_required */
function checkPerson({ actor, services }: Pick<Call, 'actor' | 'services'>): void {
  if (!services.signIns.isOn()) throw new AppError('route_unknown', { method: 'POST', path: '/api/device' });
  if (actor.via !== 'session') throw new AppError('login_required');
}

export const signInCodeHandlers: HandlersOf<'sign_in.look' | 'sign_in.decide'> = {
  'sign_in.look': async (call) => {
    checkPerson(call);
    return call.services.signIns.look(call.actor.userId, call.meta.ip, call.input.code);
  },
  'sign_in.decide': async (call) => {
    checkPerson(call);
    const { userId: id, username } = call.actor;
    await call.services.signIns.decide({ id, username }, call.meta.ip, call.input.code, call.input.approve);
  },
};
