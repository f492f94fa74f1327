/** Providers that serve every model by themselves: a request's words about which of several hosts shall serve it (`provider.order`) mean nothing there and raise no price. */
import type { Provider } from '../provider.ts';

/** Makers and clouds, at their own addresses. Behind an address of the operator's there may be a router of hosts. */
const makers: ReadonlySet<string> = new Set([
  ...['openai', 'anthropic', 'gemini', 'azure', 'aws', 'vertex', 'cohere', 'mistral', 'xai', 'groq', 'cerebras'],
  ...['deepseek', 'moonshot', 'zhipu-v4', 'minimax', 'ali', 'volcengine', 'tencent'],
]);

/** Programs that load models themselves, wherever they run. */
const runtimes: ReadonlySet<string> = new Set(['ollama', 'vllm', 'lm-studio', 'xinference']);

/** @param baseUrl that the operator gave the channel; '' = the provider's own. */
export const servesByItself = ({ slug }: Provider, baseUrl: string): boolean =>
  runtimes.has(slug) || (baseUrl === '' && makers.has(slug));

/** Makers that run the searches of their own dialects, and no more of them than the request says. */
const searchers: ReadonlySet<string> = new Set(['openai', 'anthropic']);

/** @param baseUrl that the operator gave the channel; '' = the provider's own. */
export const limitsSearches = ({ slug }: Provider, baseUrl: string): boolean => baseUrl === '' && searchers.has(slug);

/**
 * Whether what an upstream reports of its usage is evidence. It settles what a response costs in any case; as evidence it lets the
 * next request hold less than it may cost.
 * @param baseUrl that the operator gave the channel; '' = the provider's own. @param chosen by the operator; else the provider's own address over TLS is trusted.
 */
export function trustsUsage(provider: Provider, baseUrl: string, chosen: unknown): boolean {
  if (typeof chosen === 'boolean') return chosen;
  const own = provider.baseUrl.replace(/\/+$/, '');
  return own.startsWith('https://') && (baseUrl === '' || baseUrl.replace(/\/+$/, '') === own);
}
