/** Models as people compare them: who makes them, what they take, what they cost here and at their channels, how much they are used. */
import type { Database } from '../../../db/open.ts';
import { createChannelsRepository } from '../../../db/repositories/channels.ts';
import { createTrafficRepository } from '../../../db/repositories/traffic.ts';
import { edgesOfNamed } from '../../contract/counted.ts';
import { ChannelStatus } from '../../contract/enum.ts';
import { bareName, modelLimits, modelModalities } from '../../contract/model-limits.ts';
import { defaultPriceTables } from '../../contract/pricing/defaults.ts';
import { PurchaseShares } from '../../contract/pricing/purchase.ts';
import { type PriceTables, pricedName, resolvePrices } from '../../contract/pricing/tables.ts';
import { objectIn } from '../../contract/stored-object.ts';
import { servingPrefix } from '../../providers/import-names.ts';
import { lastDayOf, makerOf } from '../../providers/makers.ts';
import type { OptionsService } from '../options/service.ts';
import { barsOf, type PeriodBar, periodOf } from '../traffic/period.ts';

/** Dollars, without a group's ratio: per million tokens, or per call. */
export interface Dollars {
  readonly input: number | null;
  readonly output: number | null;
  /** null = as other input. */
  readonly cached: number | null;
  readonly per_call: number | null;
}

export interface ModelDetails extends Dollars {
  readonly model: string;
  readonly maker: { readonly zh: string; readonly en: string } | null;
  /** Tokens of prompt and answer; null = unknown. */
  readonly context: number | null;
  /** Tokens of the longest answer; null = unknown. */
  readonly longest: number | null;
  /** text, image, audio, video, file; [] = unknown. */
  readonly takes: readonly string[];
  /** Day on which its maker takes it away; absent = none is known. */
  readonly retired?: string;
}

export interface Suggestion extends Pick<Dollars, 'input' | 'output' | 'per_call'> {
  /** The model whose price this is; '' = of several of this size. */
  readonly like: string;
}

export interface ModelRow extends ModelDetails {
  readonly groups: readonly string[];
  /** Enabled ones. */
  readonly channels: readonly ModelChannel[];
  /** At the channels that are tried first, the dearest of them. */
  readonly cost_input: number | null;
  readonly cost_output: number | null;
  /** The requests of the last seven days. */
  readonly requests: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  /** Quota. */
  readonly charge: number;
  /** The bars of the last 24 hours. */
  readonly bars: readonly PeriodBar[];
  /** The suggestion of a model that is refused because it has no price. */
  readonly suggestion: Suggestion | null;
}

export interface ModelChannel extends Pick<Dollars, 'input' | 'output' | 'per_call'> {
  readonly id: number;
  readonly name: string;
  readonly priority: number;
}

/** Dollars of a ratio of 1. */
const unit = 2;
const digits = 12;
const exact = (value: number): number => Number(value.toPrecision(digits));
const none = { input: null, output: null, cached: null, per_call: null } as const;

/** @param prefixes what the provider that serves is called in front of the name. */
export function dollarsOf(tables: PriceTables, model: string, prefixes: readonly string[] = []): Dollars {
  const prices = resolvePrices(tables, model, { group: '', userGroup: '', prefixes });
  if (prices === null) return none;
  if (prices.modelPrice !== null) return { ...none, per_call: prices.modelPrice };
  const input = prices.modelRatio * unit;
  return {
    input: exact(input),
    output: exact(input * prices.completionRatio),
    cached: prices.cacheRatio === 1 ? null : exact(input * prices.cacheRatio),
    per_call: null,
  };
}

const isPriced = ({ input, per_call: call }: Pick<Dollars, 'input' | 'per_call'>): boolean =>
  input !== null || call !== null;

export function detailsOf(tables: PriceTables, model: string, prefixes: readonly string[] = []): ModelDetails {
  const { context, output, known } = modelLimits(model);
  const retired = lastDayOf(model);
  return {
    model,
    maker: makerOf(model),
    context: known && Number.isFinite(context) ? context : null,
    longest: known ? output : null,
    takes: modelModalities(model),
    ...(retired === null ? {} : { retired }),
    ...dollarsOf(tables, model, prefixes),
  };
}

/** `8b`, `70b`: how large an open model says it is. */
const sizeOf = (model: string): string | undefined =>
  /(?:^|[-_:])(\d+(?:\.\d+)?b)(?:$|[-_:])/.exec(bareName(model))?.[1];
/** Suggested prices are rounded: more digits would only look exact. */
const roundDigits = 2;
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** What a model without a price might cost: as its maker asks, as the model it is a variant of, as others of its size. */
export function suggestionFor(model: string, now: number): Suggestion | null {
  // As the gateway ships them: what the providers themselves ask.
  const listTables = defaultPriceTables(now);
  const bare = bareName(model);
  for (let rest = bare; rest !== ''; rest = rest.slice(0, Math.max(rest.lastIndexOf('-'), rest.lastIndexOf(':'), 0))) {
    const listed = dollarsOf(listTables, rest);
    if (isPriced(listed))
      return {
        input: listed.input,
        output: listed.output,
        per_call: listed.per_call,
        like: pricedName(listTables, rest, []) ?? rest,
      };
  }
  if (bare.startsWith('practice')) return { input: 0, output: 0, per_call: null, like: '' };
  const size = sizeOf(bare);
  if (size === undefined) return null;
  const same = [...listTables.modelRatio.keys()]
    .filter((name) => sizeOf(name) === size)
    .map((name) => dollarsOf(listTables, name));
  if (same.length === 0) return null;
  const usual = (values: readonly number[]) => Number(median(values).toPrecision(roundDigits));
  return {
    input: usual(same.map(({ input }) => input ?? 0)),
    output: usual(same.map(({ output }) => output ?? 0)),
    per_call: null,
    like: '',
  };
}

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

export interface ModelsDeps {
  readonly database: Database;
  readonly options: OptionsService;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export function createModelTable({ database, options, now }: ModelsDeps) {
  const channels = createChannelsRepository(database);
  const traffic = createTrafficRepository(database);
  const tables = options.priceTables;

  /** Which enabled channels serve each model, those that are tried first in front, and at what cost. */
  const served = async () => {
    const found = new Map<string, { groups: Set<string>; types: Set<number>; channels: ModelChannel[] }>();
    const listTables = defaultPriceTables(now());
    const shares = new PurchaseShares(options.get('ChannelCostRatio'));
    for (const channel of await channels.all()) {
      if (channel.status !== ChannelStatus.enabled) continue;
      const { id, name, priority, type } = channel;
      const mapping = objectIn(channel.model_mapping);
      const ratio = Number(objectIn(channel.setting).cost_ratio ?? 1);
      const usual = Number.isFinite(ratio) && ratio >= 0 ? ratio : 1;
      for (const model of listOf(channel.models)) {
        const share = shares.of(id, model) ?? usual;
        const {
          input,
          output,
          per_call: call,
        } = dollarsOf(
          listTables,
          String(mapping[model] ?? model),
          servingPrefix(String(mapping[model] ?? model), [type]),
        );
        const times = (value: number | null) => (value === null ? null : exact(value * share));
        const row = found.get(model) ?? { groups: new Set(), types: new Set(), channels: [] };
        row.types.add(type);
        for (const group of listOf(channel.group_name)) row.groups.add(group);
        row.channels.push({ id, name, priority, input: times(input), output: times(output), per_call: times(call) });
        found.set(model, row);
      }
    }
    return found;
  };

  /** One sum and one set of bars a model. */
  const used = async () => {
    const seconds = Math.floor(now() / 1000);
    const { from, to } = edgesOfNamed('7d', seconds);
    const week = { span: 3600, kind: 'model', from, to } as const;
    const period = periodOf('24h', seconds);
    return {
      period,
      totals: new Map((await traffic.totals(week, ['part'])).map((sum) => [sum.part, sum])),
      parts: Map.groupBy(await traffic.parts('model', period), ({ part }) => part),
    };
  };

  return {
    /** The details of the models of these names, whether a channel serves them or not. */
    details: (models: readonly string[]): ModelDetails[] => {
      const current = tables();
      return models.map((model) => detailsOf(current, model));
    },
    /** Every model of an enabled channel, in alphabetical order. */
    async rows(): Promise<ModelRow[]> {
      const current = tables();
      const { period, totals, parts } = await used();
      const rows = [...(await served())].map(([model, { groups, types, channels: own }]): ModelRow => {
        const details = detailsOf(current, model, servingPrefix(model, types));
        own.sort((one, other) => other.priority - one.priority || one.id - other.id);
        const first = own.filter(({ priority }) => priority === own[0]?.priority);
        const dearest = (of: 'input' | 'output') =>
          first.some((channel) => channel[of] === null) ? null : Math.max(...first.map((channel) => channel[of] ?? 0));
        const sum = totals.get(model);
        return {
          ...details,
          groups: [...groups].sort(),
          channels: own,
          cost_input: dearest('input'),
          cost_output: dearest('output'),
          requests: sum?.requests ?? 0,
          tokens_in: sum?.tokens_in ?? 0,
          tokens_out: sum?.tokens_out ?? 0,
          charge: sum?.charge ?? 0,
          bars: barsOf(period, parts.get(model) ?? [], null),
          suggestion: isPriced(details) ? null : suggestionFor(model, now()),
        };
      });
      return rows.sort((one, other) => one.model.localeCompare(other.model));
    },
  };
}
