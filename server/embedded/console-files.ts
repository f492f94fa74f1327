/** Replaced by the build with the console's files; from the sources they are read from web/dist. */
export interface EmbeddedFile {
  /** Path in the URL, e.g. /assets/index-abc.js */
  readonly path: string;
  /** Files on disk or inside the executable. null = unpack one of the others. */
  readonly plain: string | null;
  readonly brotli: string | null;
  /** Browsers take brotli over TLS only; on a plain address in the local network this one counts. */
  readonly gzip: string | null;
}

export const consoleFiles: readonly EmbeddedFile[] | null = null;
