/** Price maps over time: what changed, going back, proposals of others, and what a change would have meant. */
import { isDeepStrictEqual } from 'node:util';
import type { Database } from '../../../db/open.ts';
import { createPriceVersionsRepository, type PriceVersionRow } from '../../../db/repositories/price-versions.ts';
import { pauseFor } from '../../../db/slices.ts';
import { AppError } from '../../contract/errors.ts';
import { isOptionKey, type OptionKey } from '../../contract/options.ts';
import { bucketOptions } from '../../contract/pricing/bucket.ts';
import { type PriceChange, pricesDiffer } from '../../contract/pricing/diff.ts';
import { termRatio, tiersOf } from '../../contract/pricing/modifiers.ts';
import {
  compilePriceTables,
  type PriceOptionKey,
  type PriceTables,
  priceOptionKeys,
  resolvePrices,
} from '../../contract/pricing/tables.ts';
import { servingPrefix } from '../../providers/import-names.ts';
import type { LogsService } from '../logs/service.ts';
import type { OptionsService } from '../options/service.ts';
import { dollarsOf } from './models.ts';
import { createSimulation } from './simulate.ts';
import { type HeldPrice, type PriceList, readPriceList } from './sources.ts';

/** Dollars, without a group's ratio: per call, or per million tokens; null = no price. */
export type ModelPrice =
  | { readonly per_call: number }
  | {
      readonly input: number;
      readonly output?: number | undefined;
      /** null = as other input; absent = as it is. */
      readonly cached?: number | null | undefined;
    }
  | null;
export type ModelPrices = Readonly<Record<string, ModelPrice>>;

const modelMaps = ['ModelPrice', 'ModelRatio', 'CompletionRatio', 'CacheRatio'] as const;
/** Dollars of a ratio of 1. */
const unit = 2;

/** A price that moves so many times is a mistake more often than news. */
const maxMove = 3;

/** Prices that a list would move threefold, take away or count in another unit. */
function movesOf(tables: PriceTables, { entries, gone }: PriceList, options: OptionsService): HeldPrice[] {
  const merged = compilePriceTables((key) => {
    const text = options.text(key);
    const own = entries[key];
    return own === undefined ? text : JSON.stringify({ ...(JSON.parse(text || '{}') as object), ...own });
  }, options.now());
  const names = new Set(ownMaps.flatMap((key) => Object.keys(entries[key] ?? {})));
  const held: HeldPrice[] = [];
  for (const name of names) {
    const [before, after] = [dollarsOf(tables, name), dollarsOf(merged, name)];
    const isByCall =
      entries.ModelPrice?.[name] !== undefined || (entries.ModelRatio?.[name] === undefined && after.per_call !== null);
    if (before.input === null && before.per_call === null) continue;
    if ((before.per_call !== null) !== isByCall) held.push({ name, reason: 'unit' });
    else if (
      [
        [before.input, after.input],
        [before.output, after.output],
        [before.cached ?? before.input, after.cached ?? after.input],
        [before.per_call, after.per_call],
      ].some(([was, will]) => movesFar(was ?? 0, will ?? 0))
    )
      held.push({ name, reason: 'threefold' });
  }
  const far = new Set(held.map(({ name }) => name));
  for (const [key, map] of Object.entries(entries))
    for (const [name, value] of Object.entries(map ?? {})) {
      if (
        far.has(name) ||
        !figuresMoved(tables, merged, { key, name, value }).some(([was, will]) => movesFar(was, will))
      )
        continue;
      far.add(name);
      held.push({ name, reason: 'threefold' });
    }
  for (const name of gone)
    if (tables.modelRatio.has(name) || tables.modelPrice.has(name)) held.push({ name, reason: 'gone' });
  return held;
}

/** Options of which `dollarsOf` tells. */
const ownMaps = ['ModelRatio', 'ModelPrice', 'CompletionRatio', 'CacheRatio'] as const;

interface ListedEntry {
  readonly key: string;
  readonly name: string;
  readonly value: unknown;
}

/** Figures that the site has beside those, as they are and as an entry of a list would make them. */
function figuresMoved(
  tables: PriceTables,
  merged: PriceTables,
  { key, name, value }: ListedEntry,
): (readonly [number, number])[] {
  const bucket = bucketOptions.find((one) => one.key === key);
  if (bucket !== undefined) {
    const [was, will] = [tables, merged].map((one) => {
      const ratio = one[bucket.table].get(name);
      return ratio === undefined ? undefined : ratio * (one.modelRatio.get(name) ?? 1);
    });
    // What has none of its own costs what other input costs.
    if (was === undefined) return will === 0 ? [[1, 0]] : [];
    return will === undefined ? [] : [[was, will]];
  }
  switch (key) {
    case 'ToolPrices': {
      const [was, will] = [tables.toolPrices.get(name), merged.toolPrices.get(name)];
      return was === undefined || will === undefined ? [] : [[was, will]];
    }
    case 'ContextTiers':
      return tiersOf(value).flatMap(({ above }) => {
        const [was, will] = [figuresAbove(tables, name, above), figuresAbove(merged, name, above)];
        return was.flatMap((one, at) => [[one, will[at] ?? one] as const]);
      });
    case 'TierRatio':
    case 'TierFactors':
      return Object.keys(recordOf(value)).flatMap((term) => {
        const at = term.indexOf(':');
        const [was, will] = [tables, merged].map(({ termRules }) =>
          termRatio(termRules, [name.replace(/\*$/, '')], term.slice(0, at), term.slice(at + 1)),
        );
        // A term without a factor is not sold below the ordinary price.
        return typeof will === 'number' ? [[was ?? Math.max(1, will), will] as const] : [];
      });
    case 'PriceDates':
      // On the day itself nobody looks at it again.
      return (Array.isArray(value) ? value : []).flatMap((row: unknown) =>
        Object.entries(recordOf(row)).flatMap(([option, figure]) => {
          const map = option === 'ModelRatio' || option === 'ModelPrice' ? option : null;
          const table = map === null ? bucketOptions.find((one) => one.key === option)?.table : undefined;
          const was =
            map === 'ModelRatio'
              ? tables.modelRatio
              : map === 'ModelPrice'
                ? tables.modelPrice
                : table && tables[table];
          const before = was?.get(name);
          return before === undefined || typeof figure !== 'number' ? [] : [[before, figure] as const];
        }),
      );
    default:
      return [];
  }
}

/** Of a prompt longer than this. */
function figuresAbove(tables: PriceTables, name: string, above: number): number[] {
  const prices = resolvePrices(tables, name, { group: '', userGroup: '' });
  if (prices === null) return [];
  const { modelRatio, completionRatio, cacheRatio } =
    prices.tiers.find((tier) => tier.above <= above)?.prices ?? prices;
  return [modelRatio, modelRatio * completionRatio, modelRatio * cacheRatio];
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

const movesFar = (was: number, will: number): boolean =>
  was !== will && (was === 0 || will === 0 || was / will >= maxMove || will / was >= maxMove);

export type PricingService = ReturnType<typeof createPricing>;

/** Changes that the history names by themselves. */
const maxNamed = 3;

/** Versions between two turns of others: each is a whole price list that is read, and compiled where it changed the model. */
const versionsAtOnce = 5;
/** Among so many changes of price tables those of one model are looked for. */
const maxSearched = 100;

/** What a price map has of one name, as JSON; undefined = nothing. */
function entryIn(text: string, name: string): string | undefined {
  // Most maps do not mention it, and are not worth parsing.
  // Most have no such name; one that was written with escapes is found by reading.
  if (!text.includes(JSON.stringify(name)) && !text.includes('\\u')) return undefined;
  const value = recordOf(JSON.parse(text))[name];
  return value === undefined ? undefined : JSON.stringify(value);
}

/** Texts of a version; null = the default was in force. */
type Texts = Readonly<Record<string, string | null>>;

export function createPricing(deps: {
  readonly database: Database;
  readonly options: OptionsService;
  readonly logs: LogsService;
}) {
  const { options } = deps;
  const repository = createPriceVersionsRepository(deps.database);

  const textsOf = (row: PriceVersionRow): Texts => JSON.parse(row.options) as Texts;
  const textOf = (key: OptionKey, text: string | null | undefined): string =>
    text === null || text === undefined ? options.fallback(key) : text;

  const find = async (id: number): Promise<PriceVersionRow[]> => {
    const rows = await repository.since(id);
    if (rows[0]?.id !== id) throw new AppError('not_found', { what: `price version ${id}` });
    return rows;
  };

  /** What each of the wanted changes did. @param versions up to the newest, the oldest first. */
  const changesIn = (versions: readonly PriceVersionRow[], wanted: ReadonlySet<number>): Map<number, PriceChange[]> => {
    const after = new Map<OptionKey, string>();
    const found = new Map<number, PriceChange[]>();
    for (const row of versions.toReversed()) {
      const own: PriceChange[] = [];
      for (const [key, text] of Object.entries(textsOf(row))) {
        if (!isOptionKey(key)) continue;
        const before = textOf(key, text);
        if (wanted.has(row.id)) own.push(...pricesDiffer(key, before, after.get(key) ?? options.text(key)));
        after.set(key, before);
      }
      if (wanted.has(row.id)) found.set(row.id, own);
    }
    return found;
  };

  /** The maps with these prices in them; those that stay as they are, are not among them. */
  const textsWith = (models: ModelPrices): Record<string, string> => {
    const maps = new Map(
      modelMaps.map((key) => [key, new Map(Object.entries(JSON.parse(options.text(key)) as Record<string, number>))]),
    );
    const put = (key: (typeof modelMaps)[number], name: string, value: number | undefined) =>
      value === undefined ? maps.get(key)?.delete(name) : maps.get(key)?.set(name, value);
    for (const [name, price] of Object.entries(models)) {
      for (const key of ['ModelPrice', 'ModelRatio', 'CompletionRatio'] as const) put(key, name, undefined);
      if (price === null) continue;
      if ('per_call' in price) {
        put('ModelPrice', name, price.per_call);
        continue;
      }
      const { input, output = input, cached } = price;
      put('ModelRatio', name, input / unit);
      put('CompletionRatio', name, input === 0 ? 1 : output / input);
      if (cached === null) put('CacheRatio', name, undefined);
      else if (cached !== undefined && input > 0) put('CacheRatio', name, cached / input);
    }
    return Object.fromEntries(
      [...maps]
        .map(([key, map]) => [key, JSON.stringify(Object.fromEntries(map))] as const)
        .filter(([key, text]) => pricesDiffer(key, options.text(key), text).length > 0),
    );
  };

  return {
    /** Prices of single models; the others stay. null as version = nothing was changed. @throws AppError option_*. */
    async setModels(
      models: ModelPrices,
      role: number,
      actor: string,
    ): Promise<{ version: number | null; changes: PriceChange[] }> {
      const texts = textsWith(models);
      const changes = Object.entries(texts).flatMap(([key, text]) =>
        isOptionKey(key) ? pricesDiffer(key, options.text(key), text) : [],
      );
      if (changes.length === 0) return { version: null, changes };
      return { version: await options.setMany(texts, role, actor, 'set'), changes };
    },
    /** Newest first. @param page 1-based. */
    async history(page: number, size: number) {
      const { rows, total } = await repository.page((page - 1) * size, size);
      const oldest = rows.at(-1)?.id;
      const versions = oldest === undefined ? [] : await repository.since(oldest);
      const found = changesIn(versions, new Set(rows.map(({ id }) => id)));
      const items = rows.map((row) => {
        const { id, at, actor, reason } = row;
        const changes = found.get(id) ?? [];
        const keys = Object.keys(textsOf(row));
        return {
          id,
          created_time: at,
          actor,
          reason,
          keys,
          count: changes.length,
          changes: changes.slice(0, maxNamed),
        };
      });
      return { items, page, page_size: size, total };
    },
    /** What one model cost before and after each change of its price, the newest first. */
    async modelHistory(model: string) {
      const { rows } = await repository.page(0, maxSearched);
      const dollars = (entries: ReadonlyMap<string, string | undefined>) =>
        dollarsOf(
          compilePriceTables((key) => {
            if (!entries.has(key)) return options.text(key);
            const entry = entries.get(key);
            return entry === undefined ? '{}' : `{${JSON.stringify(model)}:${entry}}`;
          }, options.now()),
          model,
        );
      let after: ReadonlyMap<string, string | undefined> = new Map(
        modelMaps.map((key) => [key, entryIn(options.text(key), model)]),
      );
      const found = [];
      for (const [index, { id, at, actor, reason, options: text }] of rows.entries()) {
        if (index % versionsAtOnce === versionsAtOnce - 1) await pauseFor(0);
        const texts = JSON.parse(text) as Texts;
        const before = new Map(after);
        for (const key of modelMaps) if (key in texts) before.set(key, entryIn(textOf(key, texts[key]), model));
        if (modelMaps.some((key) => before.get(key) !== after.get(key))) {
          const [was, became] = [dollars(before), dollars(after)];
          // A ratio that a price per call stands over changes nothing of what is paid.
          if (!isDeepStrictEqual(was, became))
            found.push({ id, created_time: at, actor, reason, before: was, after: became });
        }
        after = before;
      }
      return found;
    },
    /** What the change before which this version was kept did. @throws AppError not_found */
    async changes(id: number): Promise<PriceChange[]> {
      return changesIn(await find(id), new Set([id])).get(id) ?? [];
    },
    /** Which of these models, with the types of channels that serve them, have neither ratio nor price: requests for them are refused unless the user accepted unset prices. */
    unset(models: ReadonlyMap<string, ReadonlySet<number>>): string[] {
      const tables = options.priceTables();
      const plain = { group: '', userGroup: '' };
      return [...models].flatMap(([model, types]) =>
        resolvePrices(tables, model, { ...plain, prefixes: servingPrefix(model, types) }) === null ? [model] : [],
      );
    },
    /** Puts the maps of this version back as they were before that change; what is in force now becomes a version itself. @throws AppError not_found, option_*. */
    async rollback(id: number, role: number, actor: string): Promise<{ version: number; changes: PriceChange[] }> {
      const [version] = await find(id);
      const texts = version === undefined ? {} : textsOf(version);
      const changes = Object.entries(texts).flatMap(([key, text]) =>
        isOptionKey(key) ? pricesDiffer(key, options.text(key), textOf(key, text)) : [],
      );
      const kept = await options.setMany(texts, role, actor, `rollback ${id}`);
      return { version: kept, changes };
    },
    /**
     * What another price list would change. Nothing is stored.
     * @param served models of enabled channels: of an open list they and those that have a price are looked at.
     * @param careful a price that moves threefold, disappears or changes its unit is held back.
     * @throws AppError params_invalid, option_invalid.
     */
    propose(
      text: string,
      served: readonly string[],
      careful: boolean,
    ): { changes: PriceChange[]; values: Record<string, string>; held: HeldPrice[] } {
      const tables = options.priceTables();
      const names = new Set([...served, ...tables.modelRatio.keys(), ...tables.modelPrice.keys()]);
      const today = new Date(options.now()).toISOString().slice(0, 10);
      const list = readPriceList(text, { today, isKnown: (model) => names.has(model) });
      const values: Record<string, string> = {};
      const changes: PriceChange[] = [];
      const moves = careful ? movesOf(tables, list, options) : [];
      const held = [...list.held, ...moves];
      const left = new Set(held.map(({ name }) => name));
      for (const [key, all] of Object.entries(list.entries)) {
        if (!isOptionKey(key)) continue;
        const entries = Object.fromEntries(Object.entries(all).filter(([name]) => !left.has(name)));
        const now = options.text(key);
        const requested = JSON.stringify({ ...(JSON.parse(now) as object), ...entries });
        options.validate(key, requested);
        const differing = pricesDiffer(key, now, requested);
        if (differing.length === 0) continue;
        values[key] = requested;
        changes.push(...differing);
      }
      return { changes, values, held };
    },
    /** Stores the maps a person agreed to, all or none. @throws AppError option_*. */
    apply: (values: Texts, role: number, actor: string, reason: 'set' | 'sync' = 'sync'): Promise<number> =>
      options.setMany(values, role, actor, reason),
    /** @param since epoch seconds. @param values option -> text. @throws AppError option_unknown, option_invalid. */
    async simulate(since: number, values: Readonly<Record<string, string>>, models: ModelPrices = {}) {
      const changed = { ...textsWith(models), ...values };
      for (const [key, text] of Object.entries(changed)) {
        if (!(priceOptionKeys as readonly string[]).includes(key)) throw new AppError('option_unknown', { key });
        options.validate(key, text);
      }
      const simulation = createSimulation(
        new Set(Object.keys(changed)),
        (key: PriceOptionKey) => changed[key] ?? options.text(key),
        options.now(),
      );
      for await (const rows of deps.logs.charges({ from: since })) for (const row of rows) simulation.add(row);
      return simulation.result();
    },
  };
}
