/** Registration, e-mail addresses, lost passwords, and a user's own settings. */
import type { Asker } from '../../domain/accounts/service.ts';
import type { Call } from '../call.ts';
import type { HandlersOf } from './handlers-of.ts';

const askerOf = ({ meta }: Pick<Call, 'meta'>): Asker => ({
  ip: meta.ip,
  language: meta.language,
});

const bindEmail = ({
  services,
  input,
  actor,
  meta,
}: Call<{ readonly email?: string | undefined; readonly code?: string | undefined }>) =>
  services.accounts.bindEmail(actor.userId, input.email ?? '', input.code ?? '', meta.ip);

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
      askerOf(call),
    );
  },
  'account.send_code': (call) => call.services.accounts.sendCode(call.input.email ?? '', askerOf(call)),
  'account.ask_reset': (call) => call.services.accounts.askReset(call.input.email ?? '', askerOf(call)),
  'account.reset': ({ services, input, meta }) =>
    services.accounts.reset(input.email ?? '', input.token ?? '', input.password ?? '', meta.ip),
  'account.bind_email': bindEmail,
  'account.bind_email_post': bindEmail,
  'account.setting': ({ services, input, actor }) => services.settings.change(actor.userId, input),
};
