/** The comma list of models of a channel. Pure. */

export const namesIn = (list: string): string[] =>
  list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

/** @returns the longer list, and whether some names were in it already. */
export function withModels(list: string, added: string): { readonly models: string; readonly hadSome: boolean } {
  const before = namesIn(list);
  const names = namesIn(added);
  return {
    models: [...new Set([...before, ...names])].join(','),
    hadSome: names.some((name) => before.includes(name)),
  };
}
