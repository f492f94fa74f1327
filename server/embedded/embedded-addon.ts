/** Replaced by the build with the packed SQLite addon; from the sources the driver finds its own. */
export interface EmbeddedAddon {
  /** Inside of the executable, packed with Zstandard. */
  readonly packed: string;
  /** SHA-256 of the unpacked bytes, hexadecimal. */
  readonly sha256: string;
  /** Unpacked, bytes. */
  readonly size: number;
}

export const embeddedAddon: EmbeddedAddon | null = null;
