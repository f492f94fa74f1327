/** Thread entry: makes one backup and verifies it, so that no request waits for it. */

import type { BackupHeader } from '../../../db/backup-file.ts';
import { AppError, type ErrorParams } from '../../contract/errors.ts';
import { type BackupOrder, verifiedBackup } from './verified.ts';

export type BackupReport =
  | { readonly kind: 'done'; readonly header: BackupHeader }
  | { readonly kind: 'failed'; readonly code: string; readonly params: ErrorParams; readonly message: string };

declare const self: {
  onmessage: ((event: MessageEvent<BackupOrder>) => void) | null;
  postMessage(message: BackupReport): void;
};

self.onmessage = ({ data }) =>
  void verifiedBackup(data).then(
    (header) => self.postMessage({ kind: 'done', header }),
    (error: unknown) => {
      const known = error instanceof AppError ? error : new AppError('internal', {}, error);
      const message = error instanceof Error ? error.message : String(error);
      self.postMessage({ kind: 'failed', code: known.code, params: known.params, message });
    },
  );
