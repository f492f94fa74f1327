/** The console's playground: a request on the logged-in user's account, in one of their groups. */
import { UserStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { UserSnapshot } from '../../contract/snapshot.ts';
import type { RelayState } from '../state/state.ts';
import { editMembers, outline } from './json-text.ts';
import type { ParsedRequest, Principal } from './parsed-request.ts';

/** @returns the id of the user whose session the request carries. @throws AppError login_required and its kin. */
export type FindSession = (request: Request) => Promise<number>;

/** @throws AppError playground_access_token, cross_site, login_required, user_disabled. */
export async function identifyPlayer(
  state: RelayState,
  findSession: FindSession,
  request: Request,
): Promise<Principal> {
  if (request.headers.has('authorization')) throw new AppError('playground_access_token');
  const site = request.headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none') throw new AppError('cross_site');
  const user = playerOf(state, await findSession(request));
  return { user, token: null, keyHmac: '', group: user.group, pinnedChannel: null };
}

/** The same caller as the memory knows them now. @throws AppError login_required, user_disabled. */
export const renewPlayer = (state: RelayState, principal: Principal): Principal => ({
  ...principal,
  user: playerOf(state, principal.user.id),
});

function playerOf(state: RelayState, id: number): UserSnapshot {
  const user = state.user(id);
  if (user === undefined) throw new AppError('login_required');
  if (user.status !== UserStatus.enabled) throw new AppError('user_disabled');
  return user;
}

/** The family's player writes 0, or nothing a number can be read from, where its user sets no limit. */
export function withoutEmptyLimit(parsed: ParsedRequest): ParsedRequest {
  const { body, json } = parsed;
  if (json === null || (body.max_tokens !== 0 && body.max_tokens !== null)) return parsed;
  const text = editMembers(json.text, json.shape, new Map([['max_tokens', undefined]]));
  const shape = outline(text);
  if (!shape.ok) return parsed;
  const { max_tokens: _, ...rest } = body;
  return { ...parsed, body: rest, json: { text, shape, bytes: new TextEncoder().encode(text) } };
}

/** @throws AppError playground_group. */
export function inSelectedGroup(state: RelayState, principal: Principal, parsed: ParsedRequest): Principal {
  const { group } = parsed.body;
  if (typeof group !== 'string' || group === '' || group === principal.group) return principal;
  if (!state.settings.usableGroups.has(group)) throw new AppError('playground_group');
  return { ...principal, group };
}
