/** Thread entry: reads of the database file that take long, one after the other, on a connection that cannot write. */
import { openDatabase, type SqliteDatabase } from '../../../db/open.ts';

export type ToReader =
  | { readonly kind: 'open'; readonly file: string; readonly nativeBinding: string | undefined }
  | { readonly kind: 'read'; readonly id: number; readonly sql: string; readonly parameters: readonly unknown[] };

export type FromReader =
  | { readonly kind: 'rows'; readonly id: number; readonly rows: unknown[] }
  /** @property code SQLite's, '' = it is another error. */
  | { readonly kind: 'failed'; readonly id: number; readonly message: string; readonly code: string };

declare const self: {
  onmessage: ((event: MessageEvent<ToReader>) => void) | null;
  postMessage(message: FromReader): void;
};

let database: SqliteDatabase | null = null;

self.onmessage = ({ data }) => {
  if (data.kind === 'open') {
    database = openDatabase(data.file, { nativeBinding: data.nativeBinding, readonly: true });
    return;
  }
  const { id, sql, parameters } = data;
  try {
    const rows = database?.raw.prepare(sql).all(...parameters) ?? [];
    self.postMessage({ kind: 'rows', id, rows });
  } catch (error) {
    // reason: whoever asked gets the driver's error, as if the statement had run in his thread.
    const { message, code = '' } = error as { readonly message: string; readonly code?: string };
    self.postMessage({ kind: 'failed', id, message, code: String(code) });
  }
};
