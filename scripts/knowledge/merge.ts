/** Of what several packages say of a model: two that agree, else one, else the dearer; what a person read on the maker's page goes before all of them. */
import type { Decision, ModelFacts, PriceSet, PriceStep, TierPrice } from '../../server/providers/knowledge/facts.ts';
import type { Facts } from '../../server/providers/knowledge/package-rows.ts';

export interface Override {
  readonly provider: string;
  readonly models: readonly string[];
  /** What was read, where, on which day, and why no package was enough. */
  readonly page: string;
  readonly address: string;
  readonly read: string;
  readonly reason: string;
  readonly set: Partial<Facts>;
}

/** A figure that two sources have different. */
export interface Disagreement {
  readonly provider: string;
  readonly model: string;
  readonly figure: string;
  readonly first: number;
  readonly second: number;
}

const near = (one: number, other: number): boolean => Math.abs(one - other) <= 1e-6 * Math.max(one, other);

/** Bounds that differ by one say whether the bound itself is in the step: the dearer reading holds. */
const sameBound = (one: number, other: number): boolean => Math.abs(one - other) <= 1;

export class Merge {
  readonly disagreements: Disagreement[] = [];

  constructor(
    private readonly provider: string,
    private readonly model: string,
  ) {}

  /** @param first of two sources, either may be absent. */
  facts(first: Facts | undefined, second: Facts | undefined): ModelFacts {
    const own = first ?? second;
    if (own === undefined) throw new Error(`no source has ${this.model}`);
    if (first === undefined || second === undefined) return { ...own, by: 'single' };
    const early = this.hasFuture(first, second);
    const price = early ? second.price : this.prices(first.price, second.price, '');
    const steps = early ? second.steps : this.steps(first.steps, second.steps);
    const window = Math.max(first.longest_input ?? 0, second.window ?? 0);
    const isAgreed = first.price?.input !== undefined && second.price?.input !== undefined;
    const by: Decision = this.disagreements.length > 0 ? 'dearer' : isAgreed ? 'agreed' : 'single';
    const tiers = { ...second.tiers, ...first.tiers };
    const each = { ...second.each, ...first.each };
    return {
      ...first,
      ...(price === undefined ? {} : { price }),
      ...(steps === undefined ? {} : { steps }),
      ...(Object.keys(tiers).length === 0 ? {} : { tiers: this.tiers(tiers, first, second) }),
      ...(second.dates === undefined ? {} : { dates: second.dates }),
      ...(first.off_peak === undefined && second.off_peak !== undefined ? { off_peak: second.off_peak } : {}),
      ...(Object.keys(each).length === 0 ? {} : { each }),
      ...(window === 0 ? {} : { window }),
      by,
    };
  }

  /** One source already lists the price of a day to come. */
  private hasFuture(first: Facts, second: Facts): boolean {
    return (second.dates ?? []).some(
      ({ price }) =>
        price?.input !== undefined &&
        first.price?.input !== undefined &&
        near(price.input, first.price.input) &&
        second.price?.input !== undefined &&
        !near(second.price.input, first.price.input),
    );
  }

  private prices<Set extends PriceSet>(first: Set | undefined, second: Set | undefined, of: string): Set | undefined {
    if (first === undefined || second === undefined) return first ?? second;
    const merged: Record<string, number> = {};
    const [one, other] = [first, second] as unknown as readonly Record<string, number>[];
    for (const key of new Set([...Object.keys(first), ...Object.keys(second)])) {
      const [a, b] = [one?.[key], other?.[key]];
      merged[key] = Math.max(a ?? 0, b ?? 0);
      if (key !== 'above' && a !== undefined && b !== undefined && !near(a, b))
        this.disagreements.push({
          provider: this.provider,
          model: this.model,
          figure: `${of}${key}`,
          first: a,
          second: b,
        });
    }
    return merged as unknown as Set;
  }

  private steps(
    first: readonly PriceStep[] | undefined,
    second: readonly PriceStep[] | undefined,
  ): readonly PriceStep[] | undefined {
    if (first === undefined || second === undefined) return first ?? second;
    const merged = first.map((step) => {
      const same = second.find(({ above }) => sameBound(above, step.above));
      if (same === undefined) return step;
      const price = this.prices(step, same, `above ${step.above}: `) ?? step;
      return { ...price, above: Math.min(step.above, same.above) };
    });
    const others = second.filter(({ above }) => !first.some((step) => sameBound(above, step.above)));
    return [...merged, ...others].sort((a, b) => a.above - b.above);
  }

  private tiers(
    tiers: Readonly<Record<string, TierPrice>>,
    first: Facts,
    second: Facts,
  ): Readonly<Record<string, TierPrice>> {
    return Object.fromEntries(
      Object.entries(tiers).map(([name, price]) => {
        const [a, b] = [first.tiers?.[name], second.tiers?.[name]];
        if (typeof a !== 'number' || typeof b !== 'number' || near(a, b)) return [name, price];
        this.disagreements.push({
          provider: this.provider,
          model: this.model,
          figure: name,
          first: a,
          second: b,
        });
        return [name, Math.max(a, b)];
      }),
    );
  }
}
