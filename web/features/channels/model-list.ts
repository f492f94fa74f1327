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

export interface ModelFamily {
  /** '' = of those that no family has. */
  readonly name: string;
  readonly models: readonly string[];
}

/** Fewer are read at once without parts. */
const groupedFrom = 12;
/** Less than so many are no family. */
const smallestFamily = 2;

/** What a name begins with, without whose it is and which version: `gpt`, `claude`, `text-embedding`. */
function familyOf(model: string): string {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  return /^(?:text-[a-z]+|dall-e|[a-z]+)/.exec(name)?.[0] ?? '';
}

/** Models by family, each where its first model stands; what is alone comes last. One without a name where they are few. */
export function familiesOf(models: readonly string[]): readonly ModelFamily[] {
  if (models.length < groupedFrom) return models.length === 0 ? [] : [{ name: '', models }];
  const found = [...Map.groupBy(models, familyOf)].map(([name, own]) => ({ name, models: own }));
  const families = found.filter((family) => family.name !== '' && family.models.length >= smallestFamily);
  const alone = found.filter((family) => !families.includes(family)).flatMap((family) => family.models);
  return alone.length === 0 ? families : [...families, { name: '', models: alone }];
}
