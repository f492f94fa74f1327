/** Who makes a model: the provider its name begins with, or the first that lists it. */
import { bareName, longestKnown } from '../contract/model-limits.ts';
import { allProviders } from './catalogue.ts';
import type { Provider } from './provider.ts';

let makers: Map<string, Provider> | null = null;

const shortestOwnName = 4;

function compiled(): Map<string, Provider> {
  const found = new Map<string, Provider>();
  for (const provider of allProviders)
    for (const model of provider.models) if (!found.has(model.toLowerCase())) found.set(model.toLowerCase(), provider);
  for (const provider of allProviders) if (provider.slug.length >= shortestOwnName) found.set(provider.slug, provider);
  return found;
}

/** @returns null = no provider lists it. */
export function makerOf(model: string): Provider['label'] | null {
  makers ??= compiled();
  const [first = ''] = bareName(model).split('-');
  return (makers.get(first) ?? longestKnown(makers, model))?.label ?? null;
}
