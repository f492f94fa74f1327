/** Replaced by the build with the console's files; from the sources they are read from web/dist. */
export interface EmbeddedFile {
  /** Path in the URL, e.g. /assets/index-abc.js */
  readonly path: string;
  /** Files on disk or inside the executable. null = unpack the other. */
  readonly plain: string | null;
  readonly brotli: string | null;
}

export const consoleFiles: readonly EmbeddedFile[] | null = null;
