/** Backups by the clock. */
import { storedIn } from '../../contract/stored-texts.ts';
import type { HandlersOf } from './handlers-of.ts';

export const backupHandlers: HandlersOf<'backup.status' | 'backup.run' | 'backup.list'> = {
  'backup.status': async ({ services, meta: { language } }) => {
    const found = await services.backups.status();
    return { ...found, error: storedIn(found.error, language), missing: storedIn(found.missing, language) };
  },
  'backup.list': async ({ services }) => services.backups.files(),
  'backup.run': ({ services }) => services.backups.run(),
};
