/** Replaced by the build with the path of the embedded thread that counts tokens, packed with Zstandard; from the sources it is an entry like the others. */
export const counterPath: string | null = null;
