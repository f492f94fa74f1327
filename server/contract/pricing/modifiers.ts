/** Terms a request is served under (service tier, speed, region) and what they multiply the model's price by. */

import { ratioOf } from './decimal.ts';
import type { Prices, Surcharge } from './price.ts';

/** Member of the request or the answer -> value, in lower case: `service_tier` -> `priority`. */
export type PriceModifiers = Readonly<Record<string, string>>;

/** The factors of the models a pattern matches. */
export interface TermRule {
  /** A model, or with `*` at the end all that begin so. */
  readonly pattern: string;
  readonly ratios: ReadonlyMap<string, number>;
}

/** Members that have a price, and their values that cost what a request without them costs. */
export const pricedMembers: Readonly<Record<string, readonly string[]>> = {
  // `auto` is what holds without the member. Groq says on_demand, Gemini unspecified.
  service_tier: ['auto', 'default', 'standard', 'standard_only', 'on_demand', 'unspecified', 'provisioned_throughput'],
  speed: ['standard', 'default'],
  inference_geo: ['global', 'default', 'not_available'],
  // No member of a request: what a channel says of its own address.
  region: [],
};

export const isPlainTerm = (member: string, value: string): boolean => pricedMembers[member]?.includes(value) ?? false;

/** `member:value`, as TierRatio names it; `member:*` stands for every value. */
export const isTermName = (name: string): boolean => {
  const at = name.indexOf(':');
  return at > 0 && at < name.length - 1 && Object.hasOwn(pricedMembers, name.slice(0, at));
};

/** The most particular pattern first: a whole name, then the longest beginning. */
export function compileTermRules(table: Readonly<Record<string, unknown>>): readonly TermRule[] {
  const weight = ({ pattern }: TermRule) => (pattern.endsWith('*') ? pattern.length - 1 : 10_000);
  return Object.entries(table)
    .map(([pattern, ratios]) => ({
      pattern,
      ratios: new Map(
        Object.entries(typeof ratios === 'object' && ratios !== null ? ratios : {}).flatMap(([name, value]) => {
          const ratio = ratioOf(value);
          return ratio === null ? [] : [[name, ratio] as const];
        }),
      ),
    }))
    .sort((one, other) => weight(other) - weight(one));
}

export const matchesPattern = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;

/** @param models names of one and the same model: the client's and the upstream's. @returns null when the term has no price there. */
export function termRatio(
  rules: readonly TermRule[],
  models: readonly string[],
  member: string,
  value: string,
): number | null {
  for (const { pattern, ratios } of rules) {
    if (!models.some((model) => matchesPattern(pattern, model))) continue;
    const ratio = ratios.get(`${member}:${value}`) ?? ratios.get(`${member}:*`);
    if (ratio !== undefined) return ratio;
  }
  return null;
}

/**
 * @param discounts terms below the ordinary price count too. Elsewhere an echo of the client's own wish could halve a bill.
 * @returns the factors that hold, and the names of terms without a price.
 */
export function priceModifiers(
  rules: readonly TermRule[],
  models: readonly string[],
  modifiers: PriceModifiers,
  discounts: boolean,
): { readonly surcharges: readonly Surcharge[]; readonly unpriced: readonly string[] } {
  const surcharges: Surcharge[] = [];
  const unpriced: string[] = [];
  for (const [member, value] of Object.entries(modifiers)) {
    if (isPlainTerm(member, value)) continue;
    const ratio = termRatio(rules, models, member, value);
    const name = `${member}:${value}`;
    if (ratio === null) unpriced.push(name);
    else if (ratio > 1 || (ratio < 1 && discounts)) surcharges.push({ name, ratio });
  }
  return { surcharges, unpriced };
}

/** All factors together, six decimals. */
export const surchargeOf = ({ surcharges }: Pick<Prices, 'surcharges'>): number =>
  surcharges === undefined
    ? 1
    : (ratioOf(Number(surcharges.reduce((product, { ratio }) => product * ratio, 1).toPrecision(12))) ?? 1);

/** The same prices under these terms and no others. */
export function withModifiers(prices: Prices, surcharges: readonly Surcharge[]): Prices {
  if (surcharges.length === 0 && prices.surcharges === undefined) return prices;
  const { surcharges: _former, ...plain } = prices;
  const own = surcharges.length === 0 ? plain : { ...plain, surcharges };
  return { ...own, tiers: prices.tiers.map((tier) => ({ ...tier, prices: withModifiers(tier.prices, surcharges) })) };
}
