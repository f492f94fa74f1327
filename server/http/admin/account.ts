/** Registration, e-mail addresses, lost passwords, and a user's own settings. */
import type { Requester } from '../../domain/accounts/service.ts';
import type { Call } from '../call.ts';
import { needFresh } from './attempt-limit.ts';
import type { HandlersOf } from './handlers-of.ts';

const requesterOf = ({ meta, actor }: Pick<Call, 'meta' | 'actor'>): Requester => ({
  ip: meta.ip,
  language: meta.language,
  deviceCookie: meta.deviceCookie,
  userId: actor.userId,
});

/** An address is a way into the account: letters to it reset the password. */
const bindEmail = async (
  call: Call<{ readonly email?: string | undefined; readonly code?: string | undefined }>,
): Promise<void> => {
  needFresh(call);
  const { email, code } = call.input;
  await call.services.accounts.bindEmail(call.actor.userId, email ?? '', code ?? '', requesterOf(call));
};

export const accountHandlers: HandlersOf<
  | 'account.register'
  | 'account.send_code'
  | 'account.ask_reset'
  | 'account.reset'
  | 'account.bind_email'
  | 'account.bind_email_post'
  | 'account.setting'
> = {
  'account.register': (call) => {
    const { username, password, password2, email, verification_code: code, aff_code: affCode } = call.input;
    return call.services.accounts.register(
      {
        username: username ?? '',
        password: password ?? '',
        password2: password2 ?? '',
        email: email ?? '',
        code: code ?? '',
        affCode: affCode ?? '',
      },
      requesterOf(call),
    );
  },
  'account.send_code': (call) => call.services.accounts.sendCode(call.input.email ?? '', requesterOf(call)),
  'account.ask_reset': (call) => call.services.accounts.askReset(call.input.email ?? '', requesterOf(call)),
  'account.reset': ({ services, input, meta }) =>
    services.accounts.reset(input.email ?? '', input.token ?? '', input.password ?? '', meta.ip),
  'account.bind_email': bindEmail,
  'account.bind_email_post': bindEmail,
  'account.setting': (call) => {
    const { verification_code: code = '', ...fields } = call.input;
    const { accounts, settings } = call.services;
    const prove = (email: string) => accounts.prove(call.actor.userId, email, code, requesterOf(call));
    return settings.change(call.actor.userId, fields, prove);
  },
};
