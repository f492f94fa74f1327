/** Who makes a model: the provider its name begins with, or the first that lists it. */
import { bareName, longestKnown } from '../contract/model-limits.ts';
import { allProviders } from './catalogue.ts';
import { makers as makerSlugs } from './knowledge/price-view.ts';
import type { Provider } from './provider.ts';

const rank = ({ slug }: Provider): number => {
  const at = (makerSlugs as readonly string[]).indexOf(slug);
  return at < 0 ? makerSlugs.length : at;
};
/** Who makes a model goes before who hosts it. */
const byMaker = allProviders.toSorted((a, b) => rank(a) - rank(b));

let makers: Map<string, Provider> | null = null;

const shortestOwnName = 4;

function compiled(): Map<string, Provider> {
  const found = new Map<string, Provider>();
  for (const provider of byMaker)
    for (const model of [...provider.models, ...provider.formerModels])
      if (!found.has(model.toLowerCase())) found.set(model.toLowerCase(), provider);
  for (const provider of allProviders) if (provider.slug.length >= shortestOwnName) found.set(provider.slug, provider);
  return found;
}

/** @returns null = no provider lists it. */
export function makerOf(model: string): Provider['label'] | null {
  makers ??= compiled();
  const [first = ''] = bareName(model).split('-');
  return (makers.get(first) ?? longestKnown(makers, model))?.label ?? null;
}

/** @returns the day on which its maker, or else its host, takes a model away: `2026-11-28`; null = none is known. */
export function lastDayOf(model: string): string | null {
  makers ??= compiled();
  return makers.get(model.toLowerCase())?.retired.get(model) ?? null;
}
