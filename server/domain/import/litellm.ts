/** A LiteLLM configuration: its model list becomes channels and prices; what does not act here is named. */
import type { Language } from '../../contract/enum.ts';
import { Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { localizer } from '../../contract/plural.ts';
import { resolvePrices } from '../../contract/pricing/tables.ts';
import { needsNoKey, typeOfPrefix } from '../../providers/import-names.ts';
import type { ChannelsService } from '../channels/service.ts';
import type { OptionsService } from '../options/service.ts';
import { createReporter, type ImportReport, type Reporter } from './report.ts';
import type { Loss, Words } from './schema.ts';

type Params = Readonly<Record<string, unknown>>;

interface ModelRow {
  readonly model_name?: string;
  readonly litellm_params?: Params;
  readonly model_info?: Params;
}

interface Settings {
  readonly model_group_alias?: Readonly<Record<string, string | { readonly model?: string }>>;
}

interface Document {
  readonly model_list?: unknown;
  readonly router_settings?: Settings & Params;
  readonly litellm_settings?: Params;
  readonly general_settings?: Params;
  readonly environment_variables?: Readonly<Record<string, string>>;
}

/** What becomes one channel. */
interface Group {
  readonly type: number;
  readonly prefix: string;
  readonly key: string;
  readonly base: string;
  readonly other: string;
  readonly organization: string;
  readonly weight: number;
  readonly priority: number;
  /** Name that clients write -> the upstream's. */
  readonly models: Map<string, string>;
}

interface Price {
  readonly ratio: number;
  readonly completion?: number;
  readonly cacheRead?: number;
}

/** Dollars per token that a ratio of 1 stands for. */
const dollarsPerToken = 2e-6;

const params = {
  acts: new Set(
    'model api_key api_base base_url organization api_version weight order aws_access_key_id aws_secret_access_key aws_region_name vertex_location vertex_credentials vertex_project input_cost_per_token output_cost_per_token cache_read_input_token_cost'.split(
      ' ',
    ),
  ),
  named: {
    rpm: { zh: '此处不按渠道限制每分钟请求数', en: 'requests per minute are not limited by channel here' },
    tpm: { zh: '此处不按渠道限制每分钟 token 数', en: 'tokens per minute are not limited by channel here' },
    max_parallel_requests: { zh: '此处不按渠道限制并发', en: 'parallel requests are not limited by channel here' },
  } as Readonly<Record<string, Words>>,
  other: {
    zh: '不起作用；请求参数可写在渠道的参数覆盖中',
    en: 'has no effect; request parameters can be written as overrides of the channel',
  },
};

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

const decimals = (value: number): number => Number(value.toFixed(6));
const textIn = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

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
  if (!Array.isArray(document.model_list)) throw new AppError('import_failed', { detail: 'model_list' });
  const reporter = createReporter(localizer(deps.language));
  const env = { ...document.environment_variables, ...deps.env };
  /** `os.environ/NAME` is how that product writes references. */
  const read = (value: unknown): string => {
    const text = textIn(value);
    return text.startsWith('os.environ/') ? (env[text.slice('os.environ/'.length)] ?? '') : text;
  };
  const groups = new Map<string, Group>();
  const prices = new Map<string, Price>();
  const losses = new Map<string, Loss>();
  const fail = (what: string, { zh, en }: Words): void => {
    const rows = (losses.get(what)?.rows ?? 0) + 1;
    losses.set(what, { what, rows, quota: 0, zh, en });
  };

  for (const {
    model_name: name = '',
    litellm_params: row = {},
    model_info: info = {},
  } of document.model_list as ModelRow[]) {
    const place = placeOf(row, read);
    const rejected = refusal(name, place);
    if (rejected !== null) {
      reporter.skipped('models', name || place.model, rejected);
      continue;
    }
    const { prefix, upstream, type, key, base, other } = place;
    const weight = Math.max(0, Math.round(Number(row.weight ?? 0)) || 0);
    const priority = -Math.round(Number(row.order ?? 0)) || 0;
    const organization = read(row.organization);
    const id = JSON.stringify([type, key, base, other, organization, weight, priority]);
    const group = groups.get(id) ?? {
      ...{ type: type ?? 0, prefix, key, base, other, organization, weight, priority },
      models: new Map<string, string>(),
    };
    const former = group.models.get(name);
    if (former !== undefined && former !== upstream)
      reporter.skipped('models', `${name} (${former})`, {
        zh: `同一密钥下 ${name} 只能对应一个上游模型，采用 ${upstream}`,
        en: `one key serves one model under the name ${name}: ${upstream}`,
      });
    group.models.set(name, upstream);
    groups.set(id, group);
    reporter.taken('models');
    for (const [member, value] of Object.entries(row))
      if (!params.acts.has(member) && value !== null && value !== '')
        fail(`litellm_params.${member}`, params.named[member] ?? params.other);
    const price = priceOf({ ...row, ...info });
    if (price !== null) prices.set(name, price);
  }
  for (const [alias, model] of aliasesOf(document)) {
    const serving = [...groups.values()].filter((group) => group.models.has(model));
    if (serving.length === 0) {
      reporter.skipped('aliases', alias, { zh: `没有模型 ${model}`, en: `there is no model ${model}` });
      continue;
    }
    for (const group of serving) group.models.set(alias, group.models.get(model) ?? model);
    const price = prices.get(model);
    if (price !== undefined) prices.set(alias, price);
    reporter.taken('aliases');
  }
  dropSections(document, fail);
  reporter.losses([...losses.values()]);
  await makeChannels(deps.channels, [...groups.values()], reporter);
  copyPrices(groups.values(), prices, deps.options, reporter);
  await writePrices(prices, deps.options, reporter);
  return reporter.report({ source: 0, imported: 0 });
}

interface Place {
  readonly model: string;
  readonly prefix: string;
  readonly upstream: string;
  readonly type: number | null;
  readonly key: string;
  readonly base: string;
  readonly other: string;
}

/** Where a row's requests go. */
function placeOf(row: Params, read: (value: unknown) => string): Place {
  const model = textIn(row.model);
  const [prefix = '', ...rest] = model.includes('/') ? model.split('/') : ['openai', model];
  const base = read(row.api_base ?? row.base_url);
  const aws = [row.aws_access_key_id, row.aws_secret_access_key, row.aws_region_name].map(read);
  const own = read(row.api_key) || (prefix.startsWith('vertex_') ? read(row.vertex_credentials) : '');
  const signed = prefix === 'bedrock' && aws.every((part) => part !== '') ? aws.join('|') : '';
  return {
    model,
    prefix,
    // `bedrock/converse/…` names the way, not the model.
    upstream: (prefix === 'bedrock' ? rest.filter((part) => part !== 'converse' && part !== 'invoke') : rest).join('/'),
    type: typeOfPrefix(prefix),
    key: own || signed || (needsNoKey(prefix) ? 'none' : ''),
    base,
    other: read(row.api_version) || read(row.vertex_location),
  };
}

/** Why a row makes no channel; null = it does. */
function refusal(name: string, { prefix, type, key, upstream }: Place): Words | null {
  if (name === '') return { zh: '没有名称', en: 'it has no name' };
  if (type === null) return { zh: `不支持 ${prefix}`, en: `${prefix} is not served` };
  if (name.includes('*') || upstream.includes('*'))
    return {
      zh: '通配符：请逐个列出模型（gateway channel add --fetch 可以取得列表）',
      en: 'a wildcard: list the models one by one (`gateway channel add --fetch` gets the list)',
    };
  if (key === '' && prefix === 'bedrock')
    return {
      zh: '缺少 AWS 密钥或区域：此处不读取实例角色',
      en: 'its AWS keys or region are not known: roles of machines are not read here',
    };
  if (key === '')
    return { zh: '密钥未知：请设置它引用的变量', en: 'its key is not known: set the variable it refers to' };
  if (prefix.startsWith('vertex_') && !key.startsWith('{'))
    return {
      zh: '须为服务账户的 JSON 内容，文件路径不能用',
      en: "it needs a service account's JSON itself, not the path of a file",
    };
  return null;
}

const aliasesOf = ({ router_settings: router }: Document): [string, string][] =>
  Object.entries(router?.model_group_alias ?? {}).map(([alias, target]) => [
    alias,
    typeof target === 'string' ? target : (target.model ?? ''),
  ]);

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
  ]);
  for (const name of Object.keys(document)) if (!known.has(name)) fail(name, section);
}

function priceOf(details: Params): Price | null {
  const input = Number(details.input_cost_per_token);
  const output = Number(details.output_cost_per_token);
  const cached = Number(details.cache_read_input_token_cost);
  if (!(input > 0)) return null;
  return {
    ratio: decimals(input / dollarsPerToken),
    ...(output > 0 ? { completion: decimals(output / input) } : {}),
    ...(cached > 0 ? { cacheRead: decimals(cached / input) } : {}),
  };
}

async function makeChannels(channels: ChannelsService, groups: readonly Group[], reporter: Reporter): Promise<void> {
  for (const [index, { models, prefix, base, organization, ...group }] of groups.entries()) {
    const mapping = Object.fromEntries([...models].filter(([name, upstream]) => name !== upstream));
    await channels.create({
      ...group,
      name: groups.length === 1 ? prefix : `${prefix}-${index + 1}`,
      openai_organization: organization,
      // Other gateways name the version; here it belongs to the path.
      base_url: base.replace(/\/v1\/?$/, ''),
      models: [...models.keys()].join(','),
      model_mapping: Object.keys(mapping).length === 0 ? '' : JSON.stringify(mapping),
    });
    reporter.taken('channels');
  }
}

/** What a model is called in price lists: `us.anthropic.claude-3-haiku-20240307-v1:0` is a Claude. */
const plainName = (upstream: string): string =>
  (upstream.split('/').at(-1) ?? '').replace(/^(?:[a-z]+\.)*(?=claude-)/, '').replace(/-v\d+(?::\d+)?$/, '');

/** A name without a price costs what the upstream's model costs; what has none at all is named. */
function copyPrices(
  groups: Iterable<Group>,
  prices: Map<string, Price>,
  options: OptionsService,
  reporter: Reporter,
): void {
  const tables = options.priceTables();
  const group = { group: 'default', userGroup: 'default' };
  for (const [name, upstream] of [...groups].flatMap(({ models }) => [...models])) {
    if (prices.has(name) || resolvePrices(tables, name, group) !== null) continue;
    const found = resolvePrices(tables, plainName(upstream), group);
    if (found === null || found.modelPrice !== null) {
      reporter.note(
        `models ${name}: 没有价格，设置之前请求会被拒绝（gateway ratios set）`,
        `models ${name}: it has no price, and is refused until it has one (gateway ratios set)`,
      );
      continue;
    }
    prices.set(name, {
      ratio: found.modelRatio,
      completion: found.completionRatio,
      cacheRead: found.cacheRatio,
    });
    reporter.note(`models ${name}: 采用 ${upstream} 的价格`, `models ${name}: has the price of ${upstream}`);
  }
}

async function writePrices(
  prices: ReadonlyMap<string, Price>,
  options: OptionsService,
  reporter: Reporter,
): Promise<void> {
  for (const [option, read] of [
    ['ModelRatio', ({ ratio }: Price) => ratio],
    ['CompletionRatio', ({ completion }: Price) => completion],
    ['CacheRatio', ({ cacheRead }: Price) => cacheRead],
  ] as const) {
    const values = Object.fromEntries(
      [...prices].flatMap(([name, price]) => (read(price) === undefined ? [] : [[name, read(price)]])),
    );
    if (Object.keys(values).length === 0) continue;
    const present = JSON.parse(options.text(option)) as object;
    await options.set(option, JSON.stringify({ ...present, ...values }), Role.root, 'import');
    reporter.taken('options');
  }
}
