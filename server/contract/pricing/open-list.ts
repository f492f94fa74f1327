/** The part of an open price list (LiteLLM's map, models.dev, OpenRouter, genai-prices) that says what models cost. */

type Row = Readonly<Record<string, unknown>>;
const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Members that hold prices, in any of the lists. */
export const priceMember =
  /cost|pric|context_over|^(?:prompt|completion|input|output|base|request|image|input_cache_read|input_cache_write|cache_read|cache_write)$|_mtok$|_kcount$/;

/** Members of a row that say what it costs. */
const priceMembers = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).filter(
      ([key]) => priceMember.test(key) || /^(?:litellm_provider|mode|provider_specific_entry)$/.test(key),
    ),
  );

/**
 * The part of an open list that may be proposed, which is small enough to be sent.
 * @param parsed the JSON of a file or an answer. @returns null = it is no open list.
 */
export function relevantPart(parsed: unknown, isKnown: (model: string) => boolean): string | null {
  const list = isRow(parsed) && Array.isArray(parsed.data) ? parsed.data : parsed;
  const keeps = (name: string): boolean =>
    isKnown(name) || isKnown(name.slice(name.indexOf('/') + 1)) || /\p{Cc}/u.test(name);
  if (Array.isArray(list)) {
    const rows = list.filter(isRow);
    if (rows.some(({ id, models }) => typeof id === 'string' && Array.isArray(models)))
      return JSON.stringify(
        rows.map(({ id, models }) => ({
          id,
          models: (Array.isArray(models) ? models.filter(isRow) : [])
            .filter((model) => keeps(String(model.id)))
            .map(({ id: model, prices, price_variants: variants }) => ({
              id: model,
              prices,
              price_variants: variants,
            })),
        })),
      );
    if (!rows.some(({ id, pricing }) => typeof id === 'string' && isRow(pricing))) return null;
    return JSON.stringify(rows.filter(({ id }) => keeps(String(id))).map(({ id, pricing }) => ({ id, pricing })));
  }
  if (!isRow(list) || Array.isArray(list.lists)) return null;
  const entries = Object.entries(list).flatMap(([name, row]) => (isRow(row) ? [[name, row] as const] : []));
  if (entries.some(([, row]) => typeof row.litellm_provider === 'string'))
    return JSON.stringify(
      Object.fromEntries(entries.filter(([name]) => keeps(name)).map(([name, row]) => [name, priceMembers(row)])),
    );
  if (!entries.some(([, { models }]) => isRow(models))) return null;
  const ofProvider = (models: unknown): Row =>
    Object.fromEntries(
      Object.entries(isRow(models) ? models : {}).flatMap(([name, row]) =>
        keeps(name) && isRow(row) ? [[name, { cost: row.cost }]] : [],
      ),
    );
  return JSON.stringify(
    Object.fromEntries(entries.map(([name, { models }]) => [name, { models: ofProvider(models) }])),
  );
}
