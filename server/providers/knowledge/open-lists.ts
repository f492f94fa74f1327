/** Reads open price lists: LiteLLM's map, models.dev, OpenRouter, genai-prices, and our own data. Dollars become ratios. */
import { priceMember } from '../../contract/pricing/open-list.ts';
import type { PriceOptionKey } from '../../contract/pricing/tables.ts';
import { type ModelFacts, unpackKnowledge } from './facts.ts';
import { type Facts, factsOfGenai, factsOfLitellm, isRow, packageProviders, type Row } from './package-rows.ts';
import { dateOf, makers, ratiosOf, stepsOf, termOf, tierFactors, withoutFollowing } from './price-view.ts';

/** Why a row of a list is not proposed. */
export type RefusedReason = 'negative' | 'not_a_number' | 'too_large' | 'control' | 'gone';

export interface OpenList {
  /** By the name that is sold: makers' bare names, others as the list has them. null = the list has the model without a price. */
  readonly models: ReadonlyMap<string, Facts | null>;
  readonly refused: readonly { readonly name: string; readonly reason: RefusedReason }[];
}

/** Dollars per token above which a figure is a mistake of the unit: ten thousand for a million. */
const mostPerToken = 0.01;
const million = 1e6;
/** Dollars for one picture, page or second. */
const maxEach = 10_000;

/** Names of what a token costs, or a million of them. */
const byToken =
  /token|^(?:prompt|completion|input|output|input_cache_read|input_cache_write|cache_read|cache_write|base|price)$|_mtok$/;

/** @param most of a token's price, in the list's unit. @returns null = it may be proposed. */
function faultOf(name: string, row: Row, most: number): RefusedReason | null {
  if (/\p{Cc}/u.test(name)) return 'control';
  let found: RefusedReason | null = null;
  const look = (value: unknown, key: string): void => {
    if (isRow(value)) for (const [inner, one] of Object.entries(value)) look(one, inner);
    else if (Array.isArray(value)) for (const one of value) look(one, key);
    else if (priceMember.test(key) && value !== null && value !== undefined && typeof value !== 'boolean') {
      const figure = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
      if (typeof figure !== 'number' || !Number.isFinite(figure)) found ??= 'not_a_number';
      else if (figure < 0) found = 'negative';
      else if (figure > (byToken.test(key) ? most : maxEach)) found ??= 'too_large';
    }
  };
  for (const [key, value] of Object.entries(row)) if (priceMember.test(key) || key === 'prices') look(value, key);
  return found;
}

class Reader {
  readonly models = new Map<string, Facts | null>();
  readonly refused: { readonly name: string; readonly reason: RefusedReason }[] = [];

  /** The first that has a name keeps it. */
  add(name: string, row: Row, most: number, facts: () => Facts): void {
    if (this.models.has(name)) return;
    const fault = faultOf(name, row, most);
    if (fault !== null) {
      this.refused.push({ name, reason: fault });
      return;
    }
    const read = facts();
    const { price: own, each } = read;
    this.models.set(name, own?.input === undefined && each === undefined ? null : read);
  }
}

const inOrder = (provider: string): number => {
  const at = (makers as readonly string[]).indexOf(provider);
  return at < 0 ? makers.length : at;
};
/** Our providers, makers first. */
const ordered = Object.entries(packageProviders).sort(([a], [b]) => inOrder(a) - inOrder(b));

function fromLitellm(list: Row): Reader {
  const reader = new Reader();
  for (const [, { litellm, only = /^/ }] of ordered)
    for (const [name, row] of Object.entries(list)) {
      const prefix = isRow(row) ? litellm[String(row.litellm_provider)] : undefined;
      if (prefix === undefined || !isRow(row)) continue;
      const bare = name.startsWith(prefix) ? name.slice(prefix.length) : name;
      if (only.test(bare)) reader.add(bare, row, mostPerToken, () => factsOfLitellm(row));
    }
  return reader;
}

/** Names of providers at models.dev and OpenRouter -> ours. */
const aliases: Readonly<Record<string, string>> = {
  google: 'gemini',
  'x-ai': 'xai',
  moonshotai: 'moonshot',
  'z-ai': 'zhipu-v4',
  zai: 'zhipu-v4',
  alibaba: 'ali',
  qwen: 'ali',
  mistralai: 'mistral',
};
const makerNamed = (name: string): string | null => {
  const own = aliases[name] ?? name;
  return (makers as readonly string[]).includes(own) ? own : null;
};

/** Dollars per million tokens, numbers or strings, under our names. */
const priceOf = (row: Row, names: Readonly<Record<string, string>>, times: number): Record<string, number> =>
  Object.fromEntries(
    Object.entries(names).flatMap(([from, to]) => {
      const value = Number(row[from] ?? 0) * times;
      return value > 0 ? [[to, Number(value.toPrecision(10))]] : [];
    }),
  );

const devCosts = {
  input: 'input',
  output: 'output',
  cache_read: 'cache_read',
  cache_write: 'write_5m',
  input_audio: 'audio_in',
  output_audio: 'audio_out',
};
const routerCosts = {
  prompt: 'input',
  completion: 'output',
  input_cache_read: 'cache_read',
  input_cache_write: 'write_5m',
  audio: 'audio_in',
};

function fromModelsDev(list: Row): Reader {
  const reader = new Reader();
  const providers = Object.entries(list).sort(
    ([a], [b]) => inOrder(makerNamed(a) ?? '') - inOrder(makerNamed(b) ?? ''),
  );
  for (const [, provider] of providers) {
    const models = isRow(provider) && isRow(provider.models) ? provider.models : {};
    for (const [name, row] of Object.entries(models)) {
      if (!isRow(row)) continue;
      const cost = isRow(row.cost) ? row.cost : {};
      reader.add(name, cost, mostPerToken * million, () => {
        const own = priceOf(cost, devCosts, 1);
        const over = isRow(cost.context_over_200k) ? priceOf(cost.context_over_200k, devCosts, 1) : {};
        return {
          kind: 'chat',
          price: own,
          ...(Object.keys(over).length === 0 ? {} : { steps: [{ above: 200_000, ...over }] }),
        };
      });
    }
  }
  return reader;
}

function fromOpenRouter(rows: readonly Row[]): Reader {
  const reader = new Reader();
  for (const row of rows) {
    const { id, pricing } = row;
    if (typeof id !== 'string' || !isRow(pricing)) continue;
    const facts = (): Facts => ({ kind: 'chat', price: priceOf(pricing, routerCosts, million) });
    reader.add(id, pricing, mostPerToken, facts);
    const [maker = '', bare] = id.split('/');
    if (bare !== undefined && makerNamed(maker) !== null) reader.add(bare, pricing, mostPerToken, facts);
  }
  return reader;
}

function fromGenai(rows: readonly Row[], today: string): Reader {
  const reader = new Reader();
  for (const [, { genai = [], only = /^/ }] of ordered)
    for (const provider of rows.filter(({ id }) => genai.includes(String(id))))
      for (const model of Array.isArray(provider.models) ? provider.models.filter(isRow) : [])
        if (only.test(String(model.id)))
          reader.add(String(model.id), { prices: model.prices }, mostPerToken * million, () =>
            factsOfGenai(model, today),
          );
  return reader;
}

function fromOwn(text: string): Reader {
  const reader = new Reader();
  const { models } = unpackKnowledge(text);
  for (const [provider] of ordered)
    for (const [name, facts] of Object.entries(models[provider] ?? {}))
      reader.add(name, { cost: facts.price }, mostPerToken * million, () => facts);
  return reader;
}

/**
 * @param parsed the JSON of `text`.
 * @param today `2026-11-28`, UTC: what begins later is a price with a date.
 * @returns null when it is no open list.
 */
export function readOpenList(parsed: unknown, text: string, today: string): OpenList | null {
  const list = isRow(parsed) && Array.isArray(parsed.data) ? parsed.data : parsed;
  if (Array.isArray(list)) {
    const rows = list.filter(isRow);
    if (rows.some(({ id, models }) => typeof id === 'string' && Array.isArray(models))) return fromGenai(rows, today);
    if (rows.some(({ id, pricing }) => typeof id === 'string' && isRow(pricing))) return fromOpenRouter(rows);
    return null;
  }
  if (!isRow(list)) return null;
  if (Array.isArray(list.lists) && isRow(list.models) && Array.isArray(list.sources)) return fromOwn(text);
  const values = Object.values(list).filter(isRow);
  if (values.some((row) => typeof row.litellm_provider === 'string')) return fromLitellm(list);
  return values.some((row) => isRow(row.models)) ? fromModelsDev(list) : null;
}

/** What the options say of a model whose facts are these; names of options that it says nothing of are absent. */
export function entriesOf(facts: Facts): Partial<Record<PriceOptionKey, unknown>> {
  const own = facts as ModelFacts;
  const { price, each } = own;
  if (price?.input === undefined) {
    const drawn = own.kind.startsWith('image') ? each?.picture : undefined;
    return drawn === undefined ? {} : { ModelPrice: drawn };
  }
  const ratios = ratiosOf(own, price);
  const steps = stepsOf(own, own.steps ?? [], price);
  const factors = Object.entries(own.tiers ?? {}).flatMap(([tier, value]) =>
    typeof value === 'number' ? [] : [[termOf(tier), tierFactors(own, value)] as const],
  );
  const dates = (own.dates ?? []).map((dated) => dateOf(own, dated, ratios));
  return {
    ...withoutFollowing(ratios),
    ...(steps.length === 0 ? {} : { ContextTiers: steps }),
    ...(factors.length === 0 ? {} : { TierFactors: Object.fromEntries(factors) }),
    ...(dates.length === 0 ? {} : { PriceDates: dates }),
  };
}
