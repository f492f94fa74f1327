/** Terms a request is served under (service tier, speed, region) and what they multiply the model's price by. */

import { ratio, ratioRows } from './bucket.ts';
import { ratioOf } from './decimal.ts';
import type { ContextTier, Prices, Surcharge } from './price.ts';

/** Member of the request or the answer -> value, in lower case: `service_tier` -> `priority`. */
export type PriceModifiers = Readonly<Record<string, string>>;

/** The factors of the models a pattern matches. */
export interface TermRule {
  /** A model, or with `*` at the end all that begin so. */
  readonly pattern: string;
  /** That of the input, where it is not one factor. */
  readonly ratios: ReadonlyMap<string, number>;
  /** Where it is not one factor: those that hold above so many tokens, the longest prompts first. */
  readonly steps?: ReadonlyMap<string, readonly ContextTier[]>;
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

/**
 * The most particular pattern first: a whole name, then the longest beginning. Of equal patterns the single factors hold,
 * which are an operator's where the shipped table has several.
 * @param factors model or pattern -> term -> steps of factors.
 */
export function compileTermRules(
  table: Readonly<Record<string, unknown>>,
  factors: Readonly<Record<string, unknown>> = {},
): readonly TermRule[] {
  const single = Object.entries(table).map(([pattern, ratios]): TermRule => ({ pattern, ratios: ratiosIn(ratios) }));
  const several = Object.entries(factors).map(([pattern, terms]): TermRule => {
    const steps = new Map(
      Object.entries(isRecord(terms) ? terms : {}).flatMap(([name, list]) => {
        const own = tiersOf(list);
        return own.length === 0 ? [] : [[name, own] as const];
      }),
    );
    const base = [...steps].map(([name, own]) => [name, own.at(-1)?.input ?? 1] as const);
    return { pattern, ratios: new Map(base), steps };
  });
  return [...single, ...several].sort((one, other) => weight(other) - weight(one));
}

/** Longer than any name. */
const wholeName = 10_000;
const weight = ({ pattern }: TermRule): number =>
  pattern.endsWith('*') ? pattern.length - 1 : wholeName + pattern.length;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const ratiosIn = (map: unknown): ReadonlyMap<string, number> =>
  new Map(
    Object.entries(isRecord(map) ? map : {}).flatMap(([name, value]) => {
      const own = ratioOf(value);
      return own === null ? [] : [[name, own] as const];
    }),
  );

/** Factors that are missing follow the input's. The longest prompts come first. */
export function tiersOf(list: unknown): readonly ContextTier[] {
  if (!Array.isArray(list)) return [];
  return list
    .flatMap((item): ContextTier[] => {
      if (!isRecord(item)) return [];
      const above = ratioOf(item.above);
      const input = ratioOf(item.input);
      if (above === null || input === null || input === 0) return [];
      const factor = (name: string): number => ratioOf(item[name]) ?? input;
      return [
        {
          above,
          input,
          output: factor('output'),
          cacheRead: factor('cache_read'),
          cacheWrite: factor('cache_write'),
        },
      ];
    })
    .sort((a, b) => b.above - a.above);
}

export const matchesPattern = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;

/** `-2026-04-23` or `-20260423`, as makers date a model. */
const date = /[-@](?:20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])|20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))$/;
/** The name without its date; the name itself where it has none. */
export const undated = (name: string): string => name.replace(date, '');

/** The rule of the most particular pattern that has the term; a whole name without its date counts after the whole name. */
function ruleFor(
  rules: readonly TermRule[],
  models: readonly string[],
  member: string,
  value: string,
): { readonly rule: TermRule; readonly term: string } | null {
  const named = `${member}:${value}`;
  const other = `${member}:*`;
  for (const rule of rules) {
    const term = rule.ratios.has(named) ? named : rule.ratios.has(other) ? other : null;
    if (term === null) continue;
    const { pattern } = rule;
    if (models.some((model) => matchesPattern(pattern, model) || pattern === undated(model))) return { rule, term };
  }
  return null;
}

/** @param models names of one and the same model: the client's and the upstream's. @returns null when the term has no price there. */
export function termRatio(
  rules: readonly TermRule[],
  models: readonly string[],
  member: string,
  value: string,
): number | null {
  const found = ruleFor(rules, models, member, value);
  return found === null ? null : (found.rule.ratios.get(found.term) ?? null);
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
    const found = ruleFor(rules, models, member, value);
    const name = `${member}:${value}`;
    if (found === null) {
      unpriced.push(name);
      continue;
    }
    const factor = found.rule.ratios.get(found.term) ?? 1;
    const steps = found.rule.steps?.get(found.term);
    if (steps !== undefined) {
      const isDearer = steps.some((step) => Math.max(step.input, step.output, step.cacheRead, step.cacheWrite) > 1);
      if (isDearer || discounts) surcharges.push({ name, ratio: factor, steps });
    } else if (factor > 1 || (factor < 1 && discounts)) surcharges.push({ name, ratio: factor });
  }
  return { surcharges, unpriced };
}

/** A factor of a log row with the steps that the rules have for it; without them where they have another factor now. */
export function withSteps(rules: readonly TermRule[], model: string, { name, ratio: factor }: Surcharge): Surcharge {
  const [member = '', ...value] = name.split(':');
  const found = ruleFor(rules, [model], member, value.join(':'));
  const steps = found?.rule.steps?.get(found.term);
  return steps === undefined || found?.rule.ratios.get(found.term) !== factor
    ? { name, ratio: factor }
    : { name, ratio: factor, steps };
}

/** All factors together, six decimals. */
export const surchargeOf = ({ surcharges }: Pick<Prices, 'surcharges'>): number =>
  surcharges === undefined
    ? 1
    : (ratioOf(Number(surcharges.reduce((product, { ratio }) => product * ratio, 1).toPrecision(12))) ?? 1);

/** The same prices under these terms and no others. */
export const withModifiers = (prices: Prices, surcharges: readonly Surcharge[]): Prices =>
  prices.ordinary === undefined && prices.surcharges === undefined && surcharges.length === 0
    ? prices
    : modifiedBy(prices, surcharges);

function modifiedBy(prices: Prices, surcharges: readonly Surcharge[]): Prices {
  if (prices.ordinary !== undefined)
    return withModifiers(
      { ...prices.ordinary, ...(prices.others === undefined ? {} : { others: prices.others }) },
      surcharges,
    );
  if (surcharges.length === 0 && prices.surcharges === undefined) return prices;
  const several = surcharges.filter(({ steps }) => steps !== undefined);
  const made = under(prices, surcharges);
  if (several.length === 0) return made;
  const bent = several.reduce<Prices>((own, surcharge) => bentBy(own, surcharge, 0), made);
  const tiers = made.tiers.map(({ above, prices: longer }) => ({
    above,
    prices: several.reduce((own, surcharge) => bentBy(own, surcharge, above), longer),
  }));
  return { ...bent, tiers, ordinary: prices };
}

function under(prices: Prices, surcharges: readonly Surcharge[]): Prices {
  const { surcharges: _former, ...plain } = prices;
  const own = surcharges.length === 0 ? plain : { ...plain, surcharges };
  return { ...own, tiers: prices.tiers.map((tier) => ({ ...tier, prices: under(tier.prices, surcharges) })) };
}

/** Ratios follow the input's price; a step of its own moves that too, so that one surcharge stands for all steps. */
function bentBy(prices: Prices, { ratio: base, steps = [] }: Surcharge, above: number): Prices {
  const step = steps.find((one) => one.above <= above);
  if (step === undefined || base === 0) return prices;
  return {
    ...prices,
    modelRatio: ratio((prices.modelRatio * step.input) / base),
    ...Object.fromEntries(
      ratioRows.flatMap(({ name, tier: factor }) =>
        factor === undefined ? [] : [[name, ratio((prices[name] * step[factor]) / step.input)]],
      ),
    ),
  };
}
