/** Which models each provider has, as scripts/generate-model-lists.ts writes it. */
import lists from './model-lists.json' with { type: 'json' };
import type { Provider } from './provider.ts';

interface Row {
  /** Day of the list: that of the packages, or the one on which a person read it. */
  readonly as_of: string;
  readonly models: string;
  readonly former: string;
  /** Last day -> names. */
  readonly retired: Readonly<Partial<Record<string, string>>>;
}

type ModelList = Pick<Provider, 'models' | 'formerModels' | 'retired'>;

const rows: Readonly<Partial<Record<string, Row>>> = lists;
const namesIn = (text: string): readonly string[] => (text === '' ? [] : text.split(' '));

const read = new Map<string, ModelList>();

/** @param slug of a provider; without a list it has none. */
export function modelListOf(slug: string): ModelList {
  const known = read.get(slug);
  if (known !== undefined) return known;
  const made = listIn(rows[slug]);
  read.set(slug, made);
  return made;
}

function listIn(row: Row | undefined): ModelList {
  if (row === undefined) return { models: [], formerModels: [], retired: new Map() };
  const days = Object.entries(row.retired).flatMap(([day, names = '']) =>
    namesIn(names).map((name) => [name, day] as const),
  );
  return { models: namesIn(row.models), formerModels: namesIn(row.former), retired: new Map(days) };
}

/** @param day from which on models whose last day it is, or was, are former ones. */
export function withoutRetired(
  { models, formerModels, retired }: ModelList,
  day: string,
): Pick<ModelList, 'models' | 'formerModels'> {
  const isOver = (name: string): boolean => {
    const last = retired.get(name);
    return last !== undefined && last <= day;
  };
  return {
    models: models.filter((name) => !isOver(name)),
    formerModels: [...formerModels, ...models.filter(isOver)],
  };
}
