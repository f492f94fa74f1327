/** The three price maps as one list of models, and back. Pure. */
import { completionRatioFor } from '../../../../server/contract/pricing/completion-rules.ts';

/** Per request when `price` is set (dollars), else per token. */
export interface ModelRow {
  readonly name: string;
  readonly price: number | null;
  readonly ratio: number | null;
  /** As configured; null = the family's own. */
  readonly completion: number | null;
}

export const editedMaps = ['ModelPrice', 'ModelRatio', 'CompletionRatio'] as const;
export type EditedMap = (typeof editedMaps)[number];
export type MapTexts = Readonly<Record<EditedMap, string>>;

const parse = (text: string): Record<string, number> => {
  try {
    return JSON.parse(text) as Record<string, number>;
  } catch {
    return {};
  }
};

export function rowsOf(texts: MapTexts): ModelRow[] {
  const prices = parse(texts.ModelPrice);
  const ratios = parse(texts.ModelRatio);
  const completions = parse(texts.CompletionRatio);
  return [...new Set([...Object.keys(prices), ...Object.keys(ratios)])]
    .sort((one, other) => one.localeCompare(other))
    .map((name) => ({
      name,
      price: prices[name] ?? null,
      ratio: ratios[name] ?? null,
      completion: completions[name] ?? null,
    }));
}

/** Writes one model into the maps; a mode's fields clear those of the other mode. `before` = its name until now. */
export function withModel(texts: MapTexts, row: ModelRow, before: string | null = null): MapTexts {
  const [prices, ratios, completions] = [
    parse(texts.ModelPrice),
    parse(texts.ModelRatio),
    parse(texts.CompletionRatio),
  ];
  for (const name of new Set([row.name, before ?? row.name])) {
    delete prices[name];
    delete ratios[name];
    delete completions[name];
  }
  if (row.price !== null) prices[row.name] = row.price;
  else {
    if (row.ratio !== null) ratios[row.name] = row.ratio;
    if (row.completion !== null) completions[row.name] = row.completion;
  }
  return textsOf(prices, ratios, completions);
}

export function withoutModel(texts: MapTexts, name: string): MapTexts {
  const [prices, ratios, completions] = [
    parse(texts.ModelPrice),
    parse(texts.ModelRatio),
    parse(texts.CompletionRatio),
  ];
  delete prices[name];
  delete ratios[name];
  delete completions[name];
  return textsOf(prices, ratios, completions);
}

const textsOf = (prices: object, ratios: object, completions: object): MapTexts => ({
  ModelPrice: JSON.stringify(prices, null, 2),
  ModelRatio: JSON.stringify(ratios, null, 2),
  CompletionRatio: JSON.stringify(completions, null, 2),
});

/** As many as a price has that a field accepts. */
const typedDigits = 14;

/** Dollars per million input tokens. A ratio of 1 is $2. Twice and half of a number are exact. */
export const inputPrice = (ratio: number): number => ratio * 2;
export const ratioOf = (price: number): number => price / 2;
/** Not rounded: what was typed as the output price would be charged, and come back, as another. @param input not 0. */
export const completionFor = (input: number, output: number): number => output / input;
/** What is charged in the end: where nothing is set, the family's own relation. */
export const completionOf = (row: ModelRow): number => completionRatioFor(row.name, row.completion ?? undefined);
export const outputPrice = (row: ModelRow): number =>
  Number((inputPrice(row.ratio ?? 0) * completionOf(row)).toPrecision(typedDigits));
/** Nothing is set, and the model's family has a relation of its own. */
export const followsFamily = (row: ModelRow): boolean => row.completion === null && completionOf(row) !== 1;
