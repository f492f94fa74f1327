/** What only the owner of the data directory may ask for. */
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { checkPassword } from '../../domain/users/rules.ts';
import type { HandlersOf } from './handlers-of.ts';

export const localHandlers: HandlersOf<
  'local.check' | 'local.vacuum' | 'local.backup' | 'local.password' | 'local.access_token'
> = {
  'local.check': async ({ services, meta }) => ({
    ...(await services.maintenance.check(meta.language)),
    undeclared_proxy: services.unknownProxy.address(),
  }),
  'local.vacuum': async ({ services }) => services.maintenance.vacuum(),
  'local.backup': ({ services, input }) => services.maintenance.backup(input.file),
  'local.password': async ({ services, input }) => {
    const user = await services.users.findByLogin(input.username);
    if (user === undefined) throw new AppError('user_unknown');
    checkPassword(input.password);
    await services.credentials.replace(user.id, input.password);
  },
  'local.access_token': async ({ services, input }) => {
    const root = await services.users.firstWithRole(Role.root);
    if (root === undefined) throw new AppError('setup_needed');
    const changed = await services.users.setAccessToken(root, input.token);
    return { result: changed ? 'updated' : 'unchanged', username: root.username };
  },
};
