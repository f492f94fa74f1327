/** Access tokens with scopes and saved filters of the caller; the operator's tokens are the first administrator's. */
import type { HandlersOf } from './handlers-of.ts';
import { creator } from './token.ts';

export const accessTokenHandlers: HandlersOf<
  'access_token.list' | 'access_token.create' | 'access_token.delete' | 'filter.list' | 'filter.save' | 'filter.delete'
> = {
  'access_token.list': async (call) => call.services.accessTokens.list(await creator(call)),
  'access_token.create': async (call) => {
    const { name, scopes, expired_time: expires } = call.input;
    return call.services.accessTokens.create(await creator(call), name ?? '', scopes ?? '', expires ?? -1);
  },
  'access_token.delete': async (call) => call.services.accessTokens.remove(call.input.id, await creator(call)),
  'filter.list': async (call) => call.services.savedFilters.list(await creator(call), call.input.place ?? ''),
  'filter.save': async (call) =>
    call.services.savedFilters.save(
      await creator(call),
      call.input.place,
      call.input.name ?? '',
      (call.input.query ?? '').replace(/^\?/, ''),
    ),
  'filter.delete': async (call) => call.services.savedFilters.remove(call.input.id, await creator(call)),
};
