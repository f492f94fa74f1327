/** How other gateways name the providers that we have. */
import { providerBySlug, providerByType } from './catalogue.ts';

/** One-api went its own way from type 26 on. */
const oneApiSlugs: Readonly<Record<number, string>> = {
  27: 'minimax',
  28: 'mistral',
  29: 'groq',
  30: 'ollama',
  31: 'lingyiwanwu',
  32: 'stepfun',
  33: 'aws',
  34: 'coze',
  35: 'cohere',
  36: 'deepseek',
  37: 'cloudflare',
  39: 'together',
  40: 'volcengine',
  42: 'vertex',
  44: 'siliconflow',
  45: 'xai',
  47: 'baidu-v2',
  49: 'ali',
  50: 'custom',
  51: 'gemini',
};

/** New-api has numbers of its own from 49 on, and its variants from 100 on; ours begin at 101. */
const newApiSlugs: Readonly<Record<number, string>> = { 49: 'coze' };

const prefixSlugs: Readonly<Record<string, string>> = {
  vertex_ai: 'vertex',
  bedrock: 'aws',
  together_ai: 'together',
  dashscope: 'ali',
  hosted_vllm: 'vllm',
  lm_studio: 'lm-studio',
  ollama_chat: 'ollama',
  azure_ai: 'azure',
};

const served = (type: number | undefined): number | null => {
  const provider = type === undefined ? undefined : providerByType(type);
  return provider === undefined || provider.operations.length === 0 ? null : provider.type;
};

/** @returns our type number, null when nothing here speaks to that provider. */
export function typeOfFamily(family: 'new-api' | 'one-api', type: number): number | null {
  const [own, slugs] = family === 'one-api' ? [25, oneApiSlugs] : [48, newApiSlugs];
  return served(type > own ? providerBySlug(slugs[type] ?? '')?.type : type);
}

/** @param prefix what stands before the first slash of a model's name. */
export const typeOfPrefix = (prefix: string): number | null =>
  served(providerBySlug(prefixSlugs[prefix] ?? prefix.replaceAll('_', '-'))?.type);

/** Other gateways take the dots out of the names of these deployments. */
export const namesLoseDots = (type: number): boolean => providerByType(type)?.slug === 'azure';

/** One-api keeps the account of these channels apart from the key. */
export const namesAccountInOther = (type: number): boolean => providerByType(type)?.slug === 'cloudflare';

const noPrefixes: readonly string[] = [];

/**
 * What stands before the first slash of a model's name, where it names the provider that serves it: such a name has the
 * price of the rest. Another provider's name in front (`openai/…` at OpenRouter) is a name of that host.
 * @param types of all channels that serve it.
 */
export function servingPrefix(model: string, types: Iterable<number>): readonly string[] {
  const at = model.indexOf('/');
  if (at <= 0) return noPrefixes;
  const prefix = model.slice(0, at);
  const own = typeOfPrefix(prefix);
  if (own === null) return noPrefixes;
  for (const type of types) if (type !== own) return noPrefixes;
  return [prefix];
}
