/** A thread for one backup: copying and looking through a large database would hold up the API. */

import type { BackupHeader } from '../../../db/backup-file.ts';
import { AppError, isErrorCode } from '../../contract/errors.ts';
import type { BackupOrder } from '../../domain/backup/verified.ts';
import type { BackupReport } from '../../domain/backup/worker.ts';
import { startThread } from '../../embedded/workers.ts';
import { watchThread } from '../watch-thread.ts';

/** @throws AppError as `verifiedBackup` does; thread_died. */
export async function backupInThread(order: BackupOrder): Promise<BackupHeader> {
  const thread = startThread('backup');
  const { promise, resolve, reject } = Promise.withResolvers<BackupHeader>();
  const stopWatching = watchThread(thread, (reason) =>
    reject(new AppError('thread_died', { thread: 'backup', reason })),
  );
  thread.onmessage = ({ data }: MessageEvent<BackupReport>) => {
    if (data.kind === 'done') return resolve(data.header);
    reject(new AppError(isErrorCode(data.code) ? data.code : 'internal', data.params, data.message));
  };
  thread.postMessage(order);
  try {
    return await promise;
  } finally {
    stopWatching();
    thread.terminate();
  }
}
