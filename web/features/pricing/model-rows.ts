/** Models with their prices in one group, for everybody; with cost, channels and use, for administrators. Pure. */
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import type { Url } from '../../lib/url.ts';
import { type FactorRange, factorsIn, mostFactor, type PriceList } from './price-rows.ts';

export type AdminModel = OutputOf<EndpointOf<'ratio.models'>>[number];

export interface ModelView {
  readonly id: number;
  readonly model: string;
  readonly maker: { readonly zh: string; readonly en: string } | null;
  /** Tokens; null = unknown. */
  readonly context: number | null;
  readonly longest: number | null;
  readonly takes: readonly string[];
  /** Day on which its maker takes it away. */
  readonly retired?: string | undefined;
  readonly groups: readonly string[];
  /** The group may use it. */
  readonly available: boolean;
  /** Dollars per million tokens, or per call, in this group; null = none. */
  readonly input: number | null;
  readonly output: number | null;
  readonly cached: number | null;
  readonly perCall: number | null;
  /** Share of these prices that a request costs at the cheapest channel; absent = all channels cost the same. */
  readonly least?: number;
  /** What channels multiply these prices by, which an administrator sets without them; absent = nothing. */
  readonly factors?: FactorRange;
  /** null = the reader is no administrator. */
  readonly admin: AdminModel | null;
}

const digits = 12;
const times = (value: number | null, ratio: number): number | null =>
  value === null ? null : Number((value * ratio).toPrecision(digits));
/** Dollars of a ratio of 1. */
const unit = 2;

const byName = (one: { readonly model: string }, other: { readonly model: string }): number =>
  one.model.localeCompare(other.model);

/** Of the public list. */
export function viewsOf(list: PriceList, group: string): ModelView[] {
  const groupRatio = list.group_ratio[group] ?? 1;
  return list.data
    .map((item, index): ModelView => {
      const { model_name: model, maker, context, longest, takes, retired, enable_groups: groups } = item;
      const perCall = item.quota_type === 1;
      const { least, most } = factorsIn(item, group);
      const ratio = groupRatio * mostFactor(item, group);
      const input = perCall ? null : item.model_ratio * unit;
      return {
        ...{ id: index + 1, model, maker, context, longest, takes, retired, groups, admin: null },
        available: groups.includes(group),
        ...(least === most ? {} : { least: least / most }),
        input: times(input, ratio),
        output: times(input === null ? null : input * item.completion_ratio, ratio),
        cached: times(input === null || item.cache_ratio === 1 ? null : input * item.cache_ratio, ratio),
        perCall: times(perCall ? item.model_price : null, ratio),
      };
    })
    .sort(byName);
}

/** Of what administrators see: those that have a price. @param list undefined = not known yet. */
export function adminViewsOf(
  models: readonly AdminModel[],
  group: string,
  ratio: number,
  list?: Pick<PriceList, 'data'>,
): ModelView[] {
  const items = new Map(list?.data.map((item) => [item.model_name, item]));
  return models.flatMap((admin, index): ModelView[] => {
    if (!isPriced(admin)) return [];
    const { model, maker, context, longest, takes, retired, groups, input, output, cached, per_call: perCall } = admin;
    const factors = factorsIn(items.get(model), group);
    return [
      {
        ...{ id: index + 1, model, maker, context, longest, takes, retired, groups, admin },
        available: groups.includes(group),
        ...(factors.least === 1 && factors.most === 1 ? {} : { factors }),
        input: times(input, ratio),
        output: times(output, ratio),
        cached: times(cached, ratio),
        perCall: times(perCall, ratio),
      },
    ];
  });
}

export const isPriced = ({ input, per_call: call }: Pick<AdminModel, 'input' | 'per_call'>): boolean =>
  input !== null || call !== null;

/** Words of a prompt for a word of an answer, where nothing was asked yet. */
const defaultMix = { input: 3, output: 1 };

/** What is left of the price after the cost, as a share of it, for the mix of tokens of the last week. @returns null = unknown. */
export function marginOf({ input, output, admin }: ModelView): number | null {
  if (admin === null || input === null || output === null) return null;
  const { cost_input: costIn, cost_output: costOut, tokens_in: tokensIn, tokens_out: tokensOut } = admin;
  if (costIn === null || costOut === null) return null;
  const mix = tokensIn + tokensOut === 0 ? defaultMix : { input: tokensIn, output: tokensOut };
  const price = input * mix.input + output * mix.output;
  return price === 0 ? null : 1 - (costIn * mix.input + costOut * mix.output) / price;
}

/** Letters in their order, as the ratios' list has it. */
export function matches(name: string, search: string): boolean {
  let at = 0;
  for (const letter of search.trim().toLowerCase()) {
    at = name.toLowerCase().indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

export const outputLimits = ['1', '5', '15', '50'] as const;
export const contextSizes = ['32000', '128000', '200000', '1000000'] as const;
export const modalities = ['text', 'image', 'audio', 'video', 'file'] as const;

/** What the address asks for. */
export function filtered(views: readonly ModelView[], url: Pick<Url, 'get'>): ModelView[] {
  const [search, takes, maker] = [url.get('q'), url.get('takes'), url.get('maker')];
  const [most, least] = [Number(url.get('out')), Number(url.get('context'))];
  return views.filter(
    (one) =>
      (matches(one.model, search) || (one.maker !== null && matches(one.maker.en, search))) &&
      (takes === '' || one.takes.includes(takes)) &&
      (maker === '' || one.maker?.en === maker) &&
      (most === 0 || (one.output !== null && one.output <= most)) &&
      (least === 0 || (one.context ?? 0) >= least),
  );
}
