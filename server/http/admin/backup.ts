/** Backups by the clock. */
import type { HandlersOf } from './handlers-of.ts';

export const backupHandlers: HandlersOf<'backup.status' | 'backup.run'> = {
  'backup.status': async ({ services }) => services.backups.status(),
  'backup.run': ({ services }) => services.backups.run(),
};
