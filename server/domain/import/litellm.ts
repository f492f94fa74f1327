/** A LiteLLM configuration: its model list becomes channels and prices; what does not act here is named. */
import type { Language } from '../../contract/enum.ts';
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { localizer } from '../../contract/plural.ts';
import { listedName, type PriceOptionKey, type PriceTables, resolvePrices } from '../../contract/pricing/tables.ts';
import { type Params, type Place, placeOf, RowValues } from '../../providers/litellm-place.ts';
import type { ChannelsService } from '../channels/service.ts';
import type { OptionsService } from '../options/service.ts';
import {
  completed,
  dearestPrice,
  isPriceMember,
  isSamePrice,
  listedPrice,
  type Price,
  priceEntries,
  statedPrice,
} from './litellm-price.ts';
import { createReporter, type ImportReport, type Reporter } from './report.ts';
import type { Loss, Words } from './schema.ts';

interface Settings {
  readonly model_group_alias?: unknown;
}

interface Document {
  readonly model_list?: unknown;
  readonly credential_list?: unknown;
  readonly router_settings?: Settings & Params;
  readonly litellm_settings?: Params;
  readonly general_settings?: Params;
  readonly environment_variables?: Params;
}

/** What becomes one channel. */
interface Group extends Omit<Place, 'upstream'> {
  /** What its rows have in common. */
  readonly id: string;
  readonly organization: string;
  readonly weight: number;
  readonly priority: number;
  /** Name that clients write -> the upstream's. */
  readonly models: Map<string, string>;
}

/** Members that act here; prices are told by `isPriceMember`. */
const acts: Readonly<Record<'litellm_params' | 'model_info', ReadonlySet<string>>> = {
  litellm_params: new Set(
    'model custom_llm_provider use_litellm_proxy api_key api_base base_url organization api_version weight order aws_access_key_id aws_secret_access_key aws_region_name aws_bedrock_runtime_endpoint vertex_location vertex_credentials vertex_project base_model litellm_credential_name'.split(
      ' ',
    ),
  ),
  model_info: new Set(['base_model', 'litellm_provider']),
};
/** What becomes of the others. */
const named: Readonly<Record<string, Words>> = {
  rpm: { zh: '此处不按渠道限制每分钟请求数', en: 'requests per minute are not limited by channel here' },
  tpm: { zh: '此处不按渠道限制每分钟 token 数', en: 'tokens per minute are not limited by channel here' },
  max_parallel_requests: { zh: '此处不按渠道限制并发', en: 'parallel requests are not limited by channel here' },
  access_groups: {
    zh: '此处由分组和令牌决定谁可以使用模型：导入后默认分组的所有人都可以使用',
    en: 'who may use a model follows from groups and tokens here: everybody of the group default may',
  },
  team_id: {
    zh: '此处没有团队：导入后默认分组的所有人都可以使用',
    en: 'there are no teams here: everybody of the group default may use the model',
  },
  blocked: {
    zh: '源站已停用的模型在此处是启用的，请自行停用',
    en: 'a model that was blocked is served here: disable it',
  },
};
const otherMember: Readonly<Record<'litellm_params' | 'model_info', Words>> = {
  litellm_params: {
    zh: '不起作用；请求参数可写在渠道的参数覆盖中',
    en: 'has no effect; request parameters can be written as overrides of the channel',
  },
  model_info: { zh: '不起作用', en: 'has no effect' },
};
const otherPrice: Words = {
  zh: '此处没有这种价格，请自行核对（gateway ratios set）',
  en: 'there is no such price here: check what the model costs (gateway ratios set)',
};
const wordsOf = (part: 'litellm_params' | 'model_info', member: string): Words =>
  Object.hasOwn(named, member) ? (named[member] as Words) : /cost|pric/.test(member) ? otherPrice : otherMember[part];

const sections: Readonly<Record<string, Words>> = {
  'router_settings.fallbacks': {
    zh: '此处不会改用其他模型',
    en: 'nothing here falls back to another model',
  },
  'litellm_settings.fallbacks': {
    zh: '此处不会改用其他模型',
    en: 'nothing here falls back to another model',
  },
  'general_settings.master_key': { zh: '请另建管理员和令牌', en: 'make an administrator and tokens here' },
  'general_settings.database_url': {
    zh: '其中的密钥、团队和用量不迁入',
    en: 'keys, teams and usage in that database stay behind',
  },
};
const section: Words = { zh: '不起作用', en: 'has no effect' };

/** @throws AppError import_failed when it is no such file. */
export async function importLitellm(
  deps: {
    readonly channels: ChannelsService;
    readonly options: OptionsService;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly language: Language;
  },
  parsed: unknown,
): Promise<ImportReport> {
  const document = (parsed ?? {}) as Document;
  if (!Array.isArray(document.model_list))
    throw new AppError('import_failed', {
      detail_zh: '文件中没有 model_list（模型列表）；存放在 LiteLLM 数据库中的模型（store_model_in_db）不会读取',
      detail_en: 'the file has no model_list; models in the database of LiteLLM (store_model_in_db) are not read',
    });
  const reporter = createReporter(localizer(deps.language));
  // LiteLLM puts these over the variables of its process.
  const env = { ...deps.env, ...readIn(document.environment_variables ?? {}, deps.env) };
  const groups: Group[] = [];
  /** Name -> what each of its rows says. */
  const prices = new Map<string, RowPrice[]>();
  const losses = new Map<string, Loss>();
  const fail = (what: string, { zh, en }: Words): void => {
    const rows = (losses.get(what)?.rows ?? 0) + 1;
    losses.set(what, { what, rows, quota: 0, zh, en });
  };

  const credentials = credentialsOf(document);
  for (const { model_name, litellm_params: own, model_info, ...others } of document.model_list.map(modelRow)) {
    const credential = credentials.get(String(own.litellm_credential_name ?? ''));
    const litellm_params = { ...credential, ...own };
    const rejected = refusal(model_name, litellm_params, credential !== undefined);
    const place = rejected === null ? placeOf(litellm_params, model_info, env) : { rejected };
    if ('rejected' in place) {
      reporter.skipped('models', model_name || String(litellm_params.model), place.rejected);
      continue;
    }
    addTo(groups, model_name, place, litellm_params, new RowValues(litellm_params, env));
    reporter.taken('models');
    for (const member of Object.keys(others)) fail(`model_list.${member}`, section);
    for (const [part, row] of [
      ['litellm_params', litellm_params],
      ['model_info', model_info],
    ] as const)
      for (const [member, value] of Object.entries(row))
        if (!acts[part].has(member) && !isPriceMember(member) && !saysNothing(value))
          fail(`${part}.${member}`, wordsOf(part, member));
    const base = [litellm_params.base_model, model_info.base_model].find((name) => typeof name === 'string');
    prices.set(model_name, [
      ...(prices.get(model_name) ?? []),
      {
        stated: statedPrice(litellm_params, model_info),
        base: base as string | undefined,
        upstream: place.upstream,
        name: model_name,
      },
    ]);
  }
  for (const [alias, model] of aliasesOf(document)) {
    const serving = groups.filter((group) => group.models.has(model));
    if (serving.length === 0) {
      reporter.skipped(
        'aliases',
        alias,
        model === ''
          ? { zh: '须指向一个模型的名称', en: 'it is no name of one model' }
          : { zh: `没有模型 ${model}`, en: `there is no model ${model}` },
      );
      continue;
    }
    for (const group of serving) group.models.set(alias, group.models.get(model) ?? model);
    prices.set(alias, [...(prices.get(alias) ?? []), ...(prices.get(model) ?? [])]);
    reporter.taken('aliases');
  }
  dropSections(document, fail);
  reporter.losses([...losses.values()]);
  const served: ReadonlySet<string> = new Set(await deps.channels.enabledModels());
  await makeChannels(deps.channels, groups, reporter);
  await writePrices(pricesOf(prices, served, deps.options.priceTables(), reporter), deps.options, reporter);
  return reporter.report({ source: 0, imported: 0 });
}

const recordOf = (value: unknown): Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

const modelRow = (row: unknown) => {
  const { model_name: name, litellm_params, model_info, ...others } = recordOf(row);
  return {
    ...others,
    model_name: typeof name === 'string' || typeof name === 'number' ? String(name) : '',
    litellm_params: recordOf(litellm_params),
    model_info: recordOf(model_info),
  };
};

const readIn = (variables: Params, env: Readonly<Record<string, string | undefined>>): Record<string, string> => {
  const values = new RowValues(variables, env);
  return Object.fromEntries(
    Object.keys(variables).flatMap((name) => {
      const text = values.read(name);
      return text === '' ? [] : [[name, text]];
    }),
  );
};

const saysNothing = (value: unknown): boolean =>
  value === null || value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

/** What rows name by `litellm_credential_name`; what a row says itself wins. Source: https://docs.litellm.ai/docs/proxy/ui_credentials */
function credentialsOf({ credential_list: list }: Document): ReadonlyMap<string, Params> {
  const named = (Array.isArray(list) ? list : []).map(recordOf);
  return new Map(named.map((one) => [String(one.credential_name), recordOf(one.credential_values)]));
}

/** Why a row makes no channel, whatever it is served by; null = it may. @param known the credential that it names is in the file. */
function refusal(name: string, row: Params, known: boolean): Words | null {
  const { litellm_credential_name: credential } = row;
  if (!known && typeof credential === 'string' && credential !== '')
    return {
      zh: `文件中没有凭证 ${credential}（credential_list）`,
      en: `its credential ${credential} is not in the file (credential_list)`,
    };
  if (name === '') return { zh: '没有名称', en: 'it has no name' };
  if (name.includes('*') || String(row.model).includes('*'))
    return {
      zh: '通配符：请逐个列出模型（gateway channel add --fetch 可以取得列表）',
      en: 'a wildcard: list the models one by one (`gateway channel add --fetch` gets the list)',
    };
  return null;
}

/** Rows of one key and place share a channel; where they serve one name by two models, each has its own. */
function addTo(groups: Group[], name: string, place: Place, row: Params, values: RowValues): void {
  const { upstream, ...at } = place;
  const weight = Math.max(0, Math.round(Number(row.weight ?? 0)) || 0);
  const priority = -Math.round(Number(row.order ?? 0)) || 0;
  const organization =
    values.read('organization') || (place.prefix === 'openai' ? values.variable('OPENAI_ORGANIZATION') : '');
  const made = { ...at, organization, weight, priority };
  const id = JSON.stringify(made);
  const fits = (group: Group): boolean => group.id === id && (group.models.get(name) ?? upstream) === upstream;
  let group = groups.find(fits);
  if (group === undefined) {
    group = { ...made, id, models: new Map() };
    groups.push(group);
  }
  group.models.set(name, upstream);
}

/** Alias -> model, '' where it names none: LiteLLM takes a name, or an object that has one. */
const aliasesOf = ({ router_settings: router }: Document): [string, string][] =>
  Object.entries(recordOf(router?.model_group_alias)).map(([alias, target]) => {
    const model = typeof target === 'string' ? target : recordOf(target).model;
    return [alias, typeof model === 'string' ? model : ''];
  });

function dropSections(document: Document, fail: (what: string, words: Words) => void): void {
  for (const name of ['router_settings', 'litellm_settings', 'general_settings'] as const)
    for (const [member, value] of Object.entries(document[name] ?? {}))
      if (member !== 'model_group_alias' && value !== null && value !== '' && value !== false)
        fail(`${name}.${member}`, sections[`${name}.${member}`] ?? section);
  const known = new Set([
    'model_list',
    'router_settings',
    'litellm_settings',
    'general_settings',
    'environment_variables',
    'credential_list',
  ]);
  for (const name of Object.keys(document)) if (!known.has(name)) fail(name, section);
}

async function makeChannels(channels: ChannelsService, groups: readonly Group[], reporter: Reporter): Promise<void> {
  for (const [index, { models, prefix, base, organization, id: _, ...group }] of groups.entries()) {
    const mapping = Object.fromEntries([...models].filter(([name, upstream]) => name !== upstream));
    await channels.create({
      ...group,
      name: groups.length === 1 ? prefix : `${prefix}-${index + 1}`,
      openai_organization: organization,
      base_url: base,
      models: [...models.keys()].join(','),
      model_mapping: Object.keys(mapping).length === 0 ? '' : JSON.stringify(mapping),
    });
    reporter.taken('channels');
  }
}

/** What a model is called in price lists: `us.anthropic.claude-3-haiku-20240307-v1:0` is a Claude. */
const plainName = (upstream: string): string =>
  (upstream.split('/').at(-1) ?? '').replace(/^(?:[a-z]+\.)*(?=claude-)/, '').replace(/-v\d+(?::\d+)?$/, '');

/** What a row says of a name's price. */
interface RowPrice {
  /** null = nothing. */
  readonly stated: Price | null;
  /** The model whose price it has, of a deployment that is called otherwise. */
  readonly base: string | undefined;
  readonly upstream: string;
  /** What the row is called; an alias has the rows of another name. */
  readonly name: string;
}

/**
 * A name costs what its rows' models cost, as LiteLLM charges it, also one that is a model with another price here; what
 * has none at all is named.
 * @param served names that channels serve here already: they do not become cheaper.
 */
function pricesOf(
  rows: ReadonlyMap<string, readonly RowPrice[]>,
  served: ReadonlySet<string>,
  tables: PriceTables,
  reporter: Reporter,
): ReadonlyMap<string, Price> {
  const group = { group: 'default', userGroup: 'default' };
  const listed = (name: string): Price | null => {
    const found = resolvePrices(tables, name, group);
    return found === null ? null : listedPrice(found);
  };
  const made = new Map<string, Price>();
  for (const [name, all] of rows) {
    const own = listed(name);
    const lists = all.map(({ base, upstream, name: row }) => {
      if (base !== undefined) return { of: base, price: listed(plainName(base)) };
      const found = listed(plainName(upstream));
      if (found !== null) return { of: upstream, price: found };
      return listed(row) === null ? { of: upstream, price: own } : { of: row, price: listed(row) };
    });
    const found = all.map(({ stated }, at) => {
      const list = lists[at]?.price ?? null;
      return stated === null ? list : completed(stated, list);
    });
    const known = found.filter((price) => price !== null);
    let price = dearestPrice(known);
    const entries = price === null ? null : priceEntries(price);
    // A row whose model has no price is not free because another one is.
    if (price === null || entries === null || (known.length < found.length && entries.ModelRatio === 0)) {
      reporter.note(...unpriced(name, known.length === 0, own !== null));
      continue;
    }
    if (own !== null && all.every((row) => row.stated === null)) {
      const most = served.has(name) ? dearestPrice([price, own]) : price;
      if (most === null || isSamePrice(most, own)) {
        if (!isSamePrice(price, own)) reporter.note(...alreadyServed(name));
        continue;
      }
      price = most;
    }
    made.set(name, price);
    const [{ stated } = { stated: null }] = all;
    const of = lists[0]?.of ?? name;
    if (known.some((one) => !isSamePrice(one, price)))
      reporter.note(
        `models ${name}: 各行价格不同，此处一个名称只有一个价格，采用最高的`,
        `models ${name}: its rows cost differently; a name has one price here, and gets the dearest`,
      );
    else if (stated === null)
      reporter.note(`models ${name}: 采用 ${of} 的价格`, `models ${name}: has the price of ${of}`);
    else if (stated.perCall === null && stated.dollars.input === undefined)
      reporter.note(
        `models ${name}: 没有写明输入价格，采用 ${of} 的`,
        `models ${name}: says no price of its input, and gets that of ${of}`,
      );
  }
  return made;
}

const alreadyServed = (name: string): [zh: string, en: string] => [
  `models ${name}: 此处已有渠道提供，仍为此处的价格`,
  `models ${name}: other channels serve it here, and it costs what it costs here`,
];

const unpriced = (name: string, isUnknown: boolean, isListed: boolean): [zh: string, en: string] => {
  const [zh, en] = isUnknown
    ? ['没有价格', 'it has no price']
    : [
        '价格无法写成倍率（输入免费或未知而输出收费、按次与按量混用，或免费的一行之外还有没有价格的行）',
        'its price cannot be written as ratios (free or unknown input with paid output, calls and tokens mixed, or a free row beside one without a price)',
      ];
  return isListed
    ? [`models ${name}: ${zh}，仍为此处的价格`, `models ${name}: ${en}, and it costs what it costs here`]
    : [
        `models ${name}: ${zh}，设置之前请求会被拒绝（gateway ratios set）`,
        `models ${name}: ${en}, and is refused until it has one (gateway ratios set)`,
      ];
};

async function writePrices(
  prices: ReadonlyMap<string, Price>,
  options: OptionsService,
  reporter: Reporter,
): Promise<void> {
  const changes = new Map<PriceOptionKey, Map<string, unknown>>();
  for (const [name, price] of prices)
    for (const [option, value] of Object.entries(priceEntries(price) ?? {})) {
      const key = option as PriceOptionKey;
      changes.set(key, (changes.get(key) ?? new Map()).set(listedName(name), value));
    }
  for (const [option, values] of changes) {
    const present = JSON.parse(options.text(option) || '{}') as object;
    // JSON leaves out what has no value: those entries go.
    const text = JSON.stringify({ ...present, ...Object.fromEntries(values) });
    if (text === JSON.stringify(present)) continue;
    await options.set(option, text, Role.root, 'import');
    reporter.taken('options');
  }
}
