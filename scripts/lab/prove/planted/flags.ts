/** Flags of a script: `--name value`. */
export const flag = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
export const numberFlag = (name: string, otherwise: number): number => Number(flag(name) ?? otherwise);
