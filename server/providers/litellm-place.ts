/** Where a row of LiteLLM's model list sends its requests, and with what key: its provider, address and key as LiteLLM resolves them. */

import { knowsModel, providerBySlug } from './catalogue.ts';
import { keyStarts } from './key-starts.ts';
import { type LitellmProvider, litellmHost, litellmMakerOf, litellmProvider } from './litellm.ts';
import { endpointFor, type Provider } from './provider.ts';

interface Words {
  readonly zh: string;
  readonly en: string;
}

export type Params = Readonly<Record<string, unknown>>;

/** What a channel is made with. */
export interface Place {
  /** As LiteLLM calls the provider. */
  readonly prefix: string;
  readonly upstream: string;
  readonly type: number;
  readonly key: string;
  /** '' = the provider's own. */
  readonly base: string;
  readonly other: string;
}

/** Why a row makes no channel. */
export interface Rejected {
  readonly rejected: Words;
}

/** Values of a row, `os.environ/NAME` read. */
export class RowValues {
  constructor(
    private readonly row: Params,
    private readonly env: Readonly<Record<string, string | undefined>>,
  ) {}

  /** '' where the row does not say it, or the variable it names is not set. */
  read(...members: readonly string[]): string {
    for (const member of members) {
      const text = textIn(this.row[member]);
      if (text !== '') return isReference(text) ? this.variable(text.slice(reference.length)) : text;
    }
    return '';
  }

  /** The variable that a member names and that is not set; null = none. */
  missing(...members: readonly string[]): string | null {
    const texts = members.map((member) => textIn(this.row[member]));
    const named = texts.find((text) => text !== '') ?? '';
    if (!isReference(named)) return null;
    const name = named.slice(reference.length);
    return this.variable(name) === '' ? name : null;
  }

  variable(...names: readonly string[]): string {
    for (const name of names) {
      const text = this.env[name]?.trim() ?? '';
      if (text !== '') return text;
    }
    return '';
  }
}

const reference = 'os.environ/';
const isReference = (text: string): boolean => text.startsWith(reference);
const textIn = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';

const reject = (zh: string, en: string): Rejected => ({ rejected: { zh, en } });
const unset = (what: Words, name: string): Rejected =>
  reject(`${what.zh}未知：请设置 ${name}`, `its ${what.en} is not known: set ${name}`);

/** A row's provider and the model there. */
interface Named {
  readonly prefix: string;
  readonly model: string;
  readonly provider: LitellmProvider;
}

/**
 * Nothing is guessed: a key goes to no provider that the row does not name.
 * @param info `model_info` of the row.
 */
export function placeOf(
  row: Params,
  info: Params,
  env: Readonly<Record<string, string | undefined>>,
): Place | Rejected {
  const values = new RowValues(row, env);
  const named = providerOf(values, textIn(info.litellm_provider));
  if ('rejected' in named) return named;
  if (textIn(row.mock_response) !== '')
    return reject('它只回复固定文本（mock_response）', 'it answers with a fixed text (mock_response)');
  const address = addressOf(named, values);
  if ('rejected' in address) return address;
  const key = keyOf(named, values, address);
  if (typeof key !== 'string') return key;
  const channel = channelAt(named, values, address);
  return 'rejected' in channel ? channel : { prefix: named.prefix, key, ...channel };
}

function providerOf(values: RowValues, known: string): Named | Rejected {
  const model = values.read('model');
  if (model === '') {
    const name = values.missing('model');
    return name === null ? reject('没有写明模型', 'it names no model') : unset({ zh: '模型', en: 'model' }, name);
  }
  const proxied = values.read('use_litellm_proxy') === 'true';
  const stated = proxied ? 'litellm_proxy' : values.read('custom_llm_provider');
  const at = model.indexOf('/');
  const prefix = at < 0 ? '' : model.slice(0, at);
  const found = (name: string, upstream: string): Named | Rejected => {
    const provider = litellmProvider(name);
    if (provider === undefined) return reject(`不支持 ${name}`, `${name} is not served`);
    return { prefix: name, model: upstream, provider };
  };
  if (stated !== '') return found(stated, prefix === stated ? model.slice(at + 1) : model);
  if (litellmProvider(prefix) !== undefined) return found(prefix, model.slice(at + 1));
  if (known !== '') return found(known, model);
  const host = litellmHost(hostOf(values.read(...addressMembers)));
  if (host !== null) return found(host, model);
  const maker = prefix === '' ? litellmMakerOf(model) : null;
  if (maker === 'vertex_ai') return geminiOf(model, values, found);
  if (maker !== null) return found(maker, model);
  if (prefix !== '') return found(prefix, model.slice(at + 1));
  return reject(
    '没有写明供应商：请写成 供应商/模型，或写 custom_llm_provider',
    'it names no provider: write provider/model, or custom_llm_provider',
  );
}

/** LiteLLM takes it to Vertex AI, with an account; with a key of the Gemini API it can only be meant for that. */
function geminiOf(model: string, values: RowValues, found: (name: string, model: string) => Named | Rejected) {
  const key = values.read('api_key');
  return found(keyStarts.gemini?.some((start) => key.startsWith(start)) === true ? 'gemini' : 'vertex_ai', model);
}

/** Where a chat goes. */
interface Address {
  /** '' = the provider's own. */
  readonly base: string;
  /** The row or a variable of the provider names it; false = LiteLLM's default. */
  readonly by: 'row' | 'variable' | 'default';
}

const addressMembers = ['api_base', 'base_url'] as const;

function addressOf({ provider, prefix }: Named, values: RowValues): Address | Rejected {
  const own = values.read(...addressMembers);
  const missing = values.missing(...addressMembers);
  // Without it the key would go to another host than the row names.
  if (missing !== null) return unset({ zh: '地址', en: 'address' }, missing);
  if (own !== '') return { base: trimmed(own), by: 'row' };
  const variable = values.variable(...provider.bases);
  if (variable !== '') return { base: trimmed(variable), by: 'variable' };
  const base = provider.base ?? '';
  const needed = base === '' && (providerBySlug(provider.slug)?.baseUrl ?? '') === '';
  if (!needed || provider.joins === 'bedrock' || provider.joins === 'vertex') return { base, by: 'default' };
  const names = provider.bases.join(' / ');
  return names === ''
    ? reject(`${prefix} 的地址未知：请写 api_base`, `its address is not known: write api_base`)
    : unset({ zh: '地址', en: 'address' }, `api_base / ${names}`);
}

const trimmed = (url: string): string => url.replace(/\/+$/, '');
const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : '');

/** The key of the row; else that of the environment, which goes nowhere but to the provider it belongs to. */
function keyOf({ provider, prefix, model }: Named, values: RowValues, address: Address): string | Rejected {
  if (provider.joins === 'bedrock') return bedrockKey(values, model);
  const ours = providerBySlug(provider.slug);
  const members = provider.joins === 'vertex' ? ['vertex_credentials', 'api_key'] : ['api_key'];
  const own = values.read(...members);
  if (/^\$\{?\w+\}?$/.test(own))
    return reject(
      `密钥 ${own} 是引用：LiteLLM 的写法是 os.environ/名称`,
      `its key ${own} is a reference: LiteLLM writes os.environ/NAME`,
    );
  const missing = values.missing(...members);
  const variable = own === '' && missing === null ? values.variable(...provider.keys) : '';
  const origin = provider.base ?? ours?.baseUrl ?? '';
  const home = hostOf(origin);
  if (variable !== '' && address.by === 'row' && home !== '' && !isAsSafe(address.base, origin))
    return reject(
      `没有写明密钥；环境变量中的密钥属于 ${prefix}，不会发往 ${placeNamed(address.base)}：请写 api_key`,
      `it names no key, and the one in the environment is ${prefix}'s, not for ${placeNamed(address.base)}: write api_key`,
    );
  const key = own || variable;
  if (key === '') {
    if (provider.keyless === true && missing === null) return 'none';
    return unset({ zh: '密钥', en: 'key' }, missing ?? (provider.keys.join(' / ') || 'api_key'));
  }
  if (provider.joins === 'vertex' && !key.startsWith('{'))
    return reject(
      '须为服务账户的 JSON 内容，文件路径不能用',
      "it needs a service account's JSON itself, not the path of a file",
    );
  const atHome = address.by === 'default' || hostOf(address.base) === home;
  const other = atHome ? ownerOf(key) : null;
  return other === null || other.slug === provider.slug
    ? key
    : reject(
        `密钥的开头属于 ${other.label.zh}，不会发往 ${prefix}`,
        `its key begins like those of ${other.label.en}, and is not sent to ${prefix}`,
      );
}

/** The same host, and encrypted where that is. */
const isAsSafe = (url: string, origin: string): boolean =>
  hostOf(url) === hostOf(origin) && (!origin.startsWith('https:') || /^https:/i.test(url));

const placeNamed = (url: string): string =>
  /^http:/i.test(url) && URL.canParse(url) ? new URL(url).origin : hostOf(url);

/** Whose keys begin so. */
function ownerOf(key: string): Provider | null {
  const slug = Object.entries(keyStarts).find(([, starts]) => starts.some((start) => key.startsWith(start)))?.[0];
  return slug === undefined ? null : (providerBySlug(slug) ?? null);
}

const region = /^[a-z]{2}(?:-[a-z]+)+-\d$/;

const isOfAws = (url: string): boolean => /^https:/i.test(url) && /\.amazonaws\.com(?:\.cn)?$/.test(hostOf(url));

/** `bedrock/eu-west-1/model` names the region, `bedrock/converse/model` the way. */
const bedrockParts = (model: string) => {
  const parts = model.split('/');
  return {
    region: parts.find((part) => region.test(part)) ?? '',
    model: parts.filter((part) => part !== 'converse' && part !== 'invoke' && !region.test(part)).join('/'),
  };
};

function bedrockKey(values: RowValues, model: string): string | Rejected {
  const place =
    bedrockParts(model).region ||
    values.read('aws_region_name') ||
    values.variable('AWS_REGION_NAME', 'AWS_REGION', 'AWS_DEFAULT_REGION');
  if (place !== '' && !region.test(place)) return reject(`AWS 区域无效：${place}`, `${place} is no region of AWS`);
  const own = values.read('api_key');
  const token = own || values.variable('AWS_BEARER_TOKEN_BEDROCK');
  const endpoint = values.read('aws_bedrock_runtime_endpoint');
  // A token is sent as it is; keys only sign.
  if (own === '' && token !== '' && endpoint !== '' && !isOfAws(endpoint))
    return reject(
      `没有写明密钥；环境变量中的密钥属于 AWS，不会发往 ${hostOf(endpoint)}：请写 api_key`,
      `it names no key, and the one in the environment is for AWS, not for ${hostOf(endpoint)}: write api_key`,
    );
  const access = values.read('aws_access_key_id') || values.variable('AWS_ACCESS_KEY_ID');
  const secret = values.read('aws_secret_access_key') || values.variable('AWS_SECRET_ACCESS_KEY');
  const missing =
    values.missing('api_key') ?? values.missing('aws_access_key_id') ?? values.missing('aws_secret_access_key');
  const session = values.read('aws_session_token', 'aws_role_name', 'aws_profile_name', 'aws_web_identity_token');
  if (missing !== null) return unset({ zh: '密钥', en: 'key' }, missing);
  if (place !== '' && token !== '') return `${token}|${place}`;
  if (session !== '' || place === '' || access === '' || secret === '')
    return reject(
      '缺少 AWS 密钥或区域：此处不读取实例角色',
      'its AWS keys or region are not known: roles of machines are not read here',
    );
  return `${access}|${secret}|${place}`;
}

type Channel = Pick<Place, 'upstream' | 'type' | 'base' | 'other'> | Rejected;

const typeOf = (slug: string): number => providerBySlug(slug)?.type ?? 0;

/** The channel whose requests go where LiteLLM's go. */
function channelAt(named: Named, values: RowValues, address: Address): Channel {
  const { provider, model } = named;
  const { base, by } = address;
  const at = (upstream: string, other = '', root = base): Channel => ({
    upstream,
    type: typeOf(provider.slug),
    base: hostOf(root) === hostOf(providerBySlug(provider.slug)?.baseUrl ?? '') ? '' : root,
    other,
  });
  switch (provider.joins) {
    case 'bedrock':
      return at(bedrockParts(model).model, '', values.read('aws_bedrock_runtime_endpoint'));
    case 'vertex':
      return by === 'default'
        ? at(model, values.read('vertex_location') || values.variable('VERTEXAI_LOCATION', 'VERTEX_LOCATION'))
        : strange(base);
    case 'anthropic':
      return at(model, '', base.replace(/\/v1\/messages$/, ''));
    case 'ollama':
      return at(model, '', base.replace(/\/api\/(?:chat|generate)$/, ''));
    case 'gemini': {
      if (by === 'default') return at(model);
      const version = /\/(v1(?:beta|alpha)?)$/.exec(base)?.[1];
      return version === undefined ? strange(base) : at(model, version, base.slice(0, -version.length - 1));
    }
    case 'cohere':
      if (by === 'default' || /^api\.cohere\.(?:ai|com)$/.test(hostOf(base))) return at(model, '', '');
      return base.endsWith('/v2/chat') ? at(model, '', base.slice(0, -'/v2/chat'.length)) : strange(base);
    case 'azure':
      return azureAt(named, values, base);
    case 'azure_ai':
      return foundryAt(named, values, base);
    case 'version':
      return openaiAt(named, base === '' || base.endsWith('/v1') ? base : `${base}/v1`);
    case 'host':
      return ownHosts.test(hostOf(base)) && ownPaths.has(pathOf(base))
        ? at(model, '', new URL(base).origin)
        : openaiAt(named, base);
    default:
      return provider.slug === 'cloudflare' ? cloudflareAt(named, values, base) : openaiAt(named, base);
  }
}

/** Of Zhipu and Alibaba: LiteLLM puts its own path behind each of them. */
const ownPaths: ReadonlySet<string> = new Set([
  '',
  '/api/paas/v4',
  '/compatible-mode/v1',
  '/api/v1',
  '/apps/anthropic',
]);
const ownHosts = /(?:^|\.)(?:aliyuncs\.com|bigmodel\.cn)$/;
const pathOf = (url: string): string => (URL.canParse(url) ? trimmed(new URL(url).pathname) : '');

const strange = (base: string): Rejected =>
  reject(`此处不能使用地址 ${base}`, `nothing here sends its requests to an address like ${base}`);

/** A base, then /chat/completions. Where our row would make another address of it, it is called as it stands. */
function openaiAt({ provider, model }: Named, base: string): Channel {
  const ours = providerBySlug(provider.slug);
  const upstream = provider.slug === 'fireworks' && !/[#/]/.test(model) ? `accounts/fireworks/models/${model}` : model;
  if (base === '' || ours === undefined) return { upstream, type: typeOf(provider.slug), base: '', other: '' };
  const root = base.replace(/\/chat\/completions$/, '');
  const whole = `${root}/chat/completions`;
  // A host of one's own has the version in its base; here it belongs to the path.
  const short = root.replace(/\/v1$/, '');
  if (provider.slug !== 'custom' && hostOf(short) !== '')
    for (const one of [short, root]) {
      const made = endpointFor(ours, 'chat', { baseUrl: one, model: upstream, other: '' });
      if (made === whole)
        return { upstream, type: ours.type, base: one === trimmed(ours.baseUrl) ? '' : one, other: '' };
    }
  // The provider's own host, by a path that says nothing of it.
  if (ours.baseUrl !== '' && hostOf(root) === hostOf(ours.baseUrl) && ['', '/v1', '/beta'].includes(pathOf(root)))
    return { upstream, type: ours.type, base: '', other: '' };
  return { upstream, type: typeOf('custom'), base: whole, other: '' };
}

/** `azure/o_series/name` says how LiteLLM talks to it, not what it is called. */
const azureWay = /^(?:o_series|gpt5_series|responses)\//;
const v1 = new Set(['preview', 'latest', 'v1']);

function azureAt(named: Named, values: RowValues, base: string): Channel {
  const model = named.model.replace(azureWay, '');
  // LiteLLM takes these to a serverless address: they are no deployments of OpenAI's models.
  if (knowsModel('cohere', model) || knowsModel('mistral', model))
    return openaiAt({ ...named, provider: { ...named.provider, slug: 'custom' }, model }, base);
  const deployment = /^(.*?)\/openai\/deployments\/([^/?]+)/.exec(base);
  const query = URL.canParse(base) ? new URL(base).searchParams.get('api-version') : null;
  const version = values.read('api_version') || query || values.variable('AZURE_API_VERSION');
  const root = deployment?.[1] ?? withoutQuery(base.replace(/\/openai(?:\/v1)?$/, ''));
  return {
    upstream: decodeURIComponent(deployment?.[2] ?? model),
    type: typeOf('azure'),
    base: root,
    other: v1.has(version) || /\/openai\/v1$/.test(base) ? 'v1' : version,
  };
}

/** https://learn.microsoft.com/azure/ai-foundry/model-inference/concepts/endpoints */
const foundryVersion = '2024-05-01-preview';

/**
 * Foundry: Claude in Anthropic's dialect, a resource's models below /models, and serverless deployments, each a host of its
 * own (`litellm/llms/azure_ai/chat/transformation.py`).
 */
function foundryAt(named: Named, values: RowValues, base: string): Channel {
  const model = named.model.replace(/^model[-_]router\/(?=.)/, '');
  if (/(?:^|\/)agents\//.test(model)) return strange(`agents/… (${hostOf(base)})`);
  const [path = '', query = ''] = base.split('?');
  const root = path.replace(/\/+$/, '');
  if (/claude/i.test(model))
    return {
      upstream: model,
      type: typeOf('anthropic'),
      base: `${root.replace(/\/v1\/messages$/, '').replace(/\/anthropic.*$/, '')}/anthropic`,
      other: '',
    };
  if (/\/openai\/deployments\//.test(root)) return azureAt({ ...named, model }, values, base);
  const version = values.read('api_version') || new URLSearchParams(query).get('api-version') || '';
  if (hostOf(root).endsWith('.services.ai.azure.com') && !/\/openai\/v1$/.test(root)) {
    const resource = root.replace(/\/models(?:\/chat\/completions)?$/, '');
    return { upstream: model, type: typeOf('azure'), base: `${resource}/models`, other: version || foundryVersion };
  }
  const serverless = openaiAt({ ...named, provider: { ...named.provider, slug: 'custom' }, model }, root);
  if ('rejected' in serverless || version === '') return serverless;
  return { ...serverless, base: `${serverless.base}?api-version=${encodeURIComponent(version)}` };
}

function cloudflareAt(named: Named, values: RowValues, base: string): Channel {
  const account = /\/accounts\/([^/]+)\/ai(?:\/|$)/.exec(base);
  const other = account?.[1] ?? (base === '' ? values.variable('CLOUDFLARE_ACCOUNT_ID') : '');
  if (other === '')
    return base === '' ? unset({ zh: '账户', en: 'account' }, 'CLOUDFLARE_ACCOUNT_ID') : openaiAt(named, base);
  const root = account === null ? '' : base.slice(0, base.indexOf('/client/v4'));
  const home = providerBySlug('cloudflare')?.baseUrl;
  return { upstream: named.model, type: typeOf('cloudflare'), base: root === home ? '' : root, other };
}

function withoutQuery(address: string): string {
  const at = address.indexOf('?');
  return at < 0 ? address : address.slice(0, at);
}
