/**
 * Providers as LiteLLM names them: which of ours each is, where LiteLLM sends its requests, and which variables hold its key
 * and address. Source: https://github.com/BerriAI/litellm/blob/main/litellm/litellm_core_utils/get_llm_provider_logic.py,
 * `litellm/main.py` and `litellm/llms/`, read in release 1.110.2.
 */
import { knowsModel, providerBySlug } from './catalogue.ts';

export interface LitellmProvider {
  /** A slug of the catalogue. `custom`: nothing here knows the host, and it speaks OpenAI's dialect. */
  readonly slug: string;
  /** Variables of the key, in the order in which they are looked up. */
  readonly keys: readonly string[];
  /** Variables of the address, likewise. */
  readonly bases: readonly string[];
  /** LiteLLM's own address where it is another than the one of our row, or ours has none. */
  readonly base?: string;
  /** Servers of one's own, which ask for no key. */
  readonly keyless?: true;
  /** How the address of a chat follows from a base; absent = the base, then /chat/completions. */
  readonly joins?:
    | 'anthropic'
    | 'azure'
    | 'azure_ai'
    | 'bedrock'
    | 'cohere'
    | 'gemini'
    | 'host'
    | 'ollama'
    | 'version'
    | 'vertex';
}

type More = Pick<LitellmProvider, 'base' | 'keyless' | 'joins'>;

const words = (text: string): readonly string[] => (text === '' ? [] : text.split(' '));
const row = (slug: string, keys: string, bases: string, more: More = {}): LitellmProvider => ({
  slug,
  keys: words(keys),
  bases: words(bases),
  ...more,
});

const openai = row('openai', 'OPENAI_API_KEY', 'OPENAI_BASE_URL OPENAI_API_BASE', {
  base: 'https://api.openai.com/v1',
});
const azure = row('azure', 'AZURE_OPENAI_API_KEY AZURE_API_KEY', 'AZURE_API_BASE', { joins: 'azure' });
const cohere = row('cohere', 'COHERE_API_KEY CO_API_KEY', 'COHERE_API_BASE', { joins: 'cohere' });
const ollama = row('ollama', 'OLLAMA_API_KEY', 'OLLAMA_API_BASE', { joins: 'ollama', keyless: true });
const vertex = row('vertex', 'VERTEXAI_CREDENTIALS VERTEX_CREDENTIALS', 'VERTEXAI_API_BASE VERTEX_API_BASE', {
  joins: 'vertex',
});

const rows: Readonly<Record<string, LitellmProvider>> = {
  openai,
  'text-completion-openai': openai,
  custom_openai: row('custom', '', ''),
  openai_like: row('custom', 'OPENAI_LIKE_API_KEY', 'OPENAI_LIKE_API_BASE'),
  litellm_proxy: row('custom', 'LITELLM_PROXY_API_KEY', 'LITELLM_PROXY_API_BASE'),
  anthropic: row('anthropic', 'ANTHROPIC_API_KEY', 'ANTHROPIC_API_BASE ANTHROPIC_BASE_URL', { joins: 'anthropic' }),
  azure,
  azure_text: azure,
  azure_ai: row('azure', 'AZURE_AI_API_KEY', 'AZURE_AI_API_BASE', { joins: 'azure_ai' }),
  bedrock: row('aws', 'AWS_BEARER_TOKEN_BEDROCK', '', { joins: 'bedrock' }),
  bedrock_converse: row('aws', 'AWS_BEARER_TOKEN_BEDROCK', '', { joins: 'bedrock' }),
  vertex_ai: vertex,
  vertex_ai_beta: vertex,
  gemini: row('gemini', 'GOOGLE_API_KEY GEMINI_API_KEY', 'GEMINI_API_BASE', { joins: 'gemini' }),
  cohere,
  cohere_chat: cohere,
  ollama,
  ollama_chat: ollama,
  mistral: row('mistral', 'MISTRAL_API_KEY', 'MISTRAL_API_BASE', { joins: 'version' }),
  codestral: row('custom', 'CODESTRAL_API_KEY', 'CODESTRAL_API_BASE', { base: 'https://codestral.mistral.ai/v1' }),
  deepseek: row('deepseek', 'DEEPSEEK_API_KEY', 'DEEPSEEK_API_BASE'),
  groq: row('groq', 'GROQ_API_KEY', 'GROQ_API_BASE'),
  perplexity: row('perplexity', 'PERPLEXITYAI_API_KEY PERPLEXITY_API_KEY', 'PERPLEXITY_API_BASE'),
  xai: row('xai', 'XAI_API_KEY', 'XAI_API_BASE'),
  openrouter: row('openrouter', 'OPENROUTER_API_KEY OR_API_KEY', 'OPENROUTER_API_BASE'),
  together_ai: row(
    'together',
    'TOGETHER_API_KEY TOGETHER_AI_API_KEY TOGETHERAI_API_KEY TOGETHER_AI_TOKEN',
    'TOGETHER_AI_API_BASE',
  ),
  fireworks_ai: row(
    'fireworks',
    'FIREWORKS_API_KEY FIREWORKS_AI_API_KEY FIREWORKSAI_API_KEY FIREWORKS_AI_TOKEN',
    'FIREWORKS_API_BASE',
  ),
  cerebras: row('cerebras', 'CEREBRAS_API_KEY', 'CEREBRAS_API_BASE'),
  nvidia_nim: row('nvidia', 'NVIDIA_NIM_API_KEY', 'NVIDIA_NIM_API_BASE'),
  huggingface: row('huggingface', 'HF_TOKEN HUGGINGFACE_API_KEY', 'HF_API_BASE HUGGINGFACE_API_BASE'),
  github: row('github-models', 'GITHUB_API_KEY', 'GITHUB_API_BASE', { base: 'https://models.inference.ai.azure.com' }),
  moonshot: row('moonshot', 'MOONSHOT_API_KEY', 'MOONSHOT_API_BASE', { base: 'https://api.moonshot.ai/v1' }),
  dashscope: row('ali', 'DASHSCOPE_API_KEY', 'DASHSCOPE_API_BASE', { joins: 'host' }),
  zai: row('zhipu-v4', 'ZAI_API_KEY', 'ZAI_API_BASE', { base: 'https://api.z.ai/api/paas/v4' }),
  bigmodel: row('zhipu-v4', 'BIGMODEL_API_KEY', 'BIGMODEL_API_BASE', { joins: 'host' }),
  volcengine: row('volcengine', 'VOLCENGINE_API_KEY ARK_API_KEY', 'VOLCENGINE_API_BASE ARK_API_BASE'),
  minimax: row('minimax', 'MINIMAX_API_KEY', 'MINIMAX_API_BASE', {
    base: 'https://api.minimax.io/v1',
    joins: 'version',
  }),
  jina_ai: row('jina', 'JINA_API_KEY JINA_AI_API_KEY JINA_AI_TOKEN', 'JINA_AI_API_BASE'),
  cloudflare: row('cloudflare', 'CLOUDFLARE_API_KEY', 'CLOUDFLARE_API_BASE'),
  hosted_vllm: row('vllm', 'HOSTED_VLLM_API_KEY', 'HOSTED_VLLM_API_BASE', { keyless: true }),
  vllm: row('vllm', 'VLLM_API_KEY', 'VLLM_API_BASE', { keyless: true }),
  lm_studio: row('lm-studio', 'LM_STUDIO_API_KEY', 'LM_STUDIO_API_BASE', { keyless: true }),
  xinference: row('xinference', 'XINFERENCE_API_KEY', 'XINFERENCE_API_BASE', {
    base: 'http://127.0.0.1:9997/v1',
    keyless: true,
  }),
  llamafile: row('custom', 'LLAMAFILE_API_KEY', 'LLAMAFILE_API_BASE', {
    base: 'http://127.0.0.1:8080/v1',
    keyless: true,
  }),
  deepinfra: row('custom', 'DEEPINFRA_API_KEY', 'DEEPINFRA_API_BASE', { base: 'https://api.deepinfra.com/v1/openai' }),
  sambanova: row('custom', 'SAMBANOVA_API_KEY', 'SAMBANOVA_API_BASE', { base: 'https://api.sambanova.ai/v1' }),
  nebius: row('custom', 'NEBIUS_API_KEY', 'NEBIUS_API_BASE', { base: 'https://api.studio.nebius.ai/v1' }),
  novita: row('custom', 'NOVITA_API_KEY', 'NOVITA_API_BASE', { base: 'https://api.novita.ai/v3/openai' }),
  hyperbolic: row('custom', 'HYPERBOLIC_API_KEY', 'HYPERBOLIC_API_BASE', { base: 'https://api.hyperbolic.xyz/v1' }),
  friendliai: row('custom', 'FRIENDLIAI_API_KEY FRIENDLI_TOKEN', 'FRIENDLI_API_BASE', {
    base: 'https://api.friendli.ai/serverless/v1',
  }),
  meta_llama: row('custom', 'LLAMA_API_KEY', 'LLAMA_API_BASE', { base: 'https://api.llama.com/compat/v1' }),
  vercel_ai_gateway: row('custom', 'VERCEL_AI_GATEWAY_API_KEY', 'VERCEL_AI_GATEWAY_API_BASE', {
    base: 'https://ai-gateway.vercel.sh/v1',
  }),
};

/** @returns undefined when nothing here speaks to that provider, or LiteLLM has none of the name. */
export const litellmProvider = (name: string): LitellmProvider | undefined =>
  Object.hasOwn(rows, name) ? rows[name] : undefined;

/** @param host of an address. @returns the provider whose own host it is, null = nobody's. */
export const litellmHost = (host: string): string | null =>
  Object.entries(rows).find(([, { slug, base }]) => {
    const own = base ?? providerBySlug(slug)?.baseUrl ?? '';
    return host !== '' && own !== '' && new URL(own).host === host;
  })?.[0] ?? null;

/** Names that LiteLLM routes without looking them up: https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json (`fallback_generalizations`). */
const routed: readonly (readonly [name: RegExp, provider: string])[] = [
  [/^(?:[a-z-]+\.)?anthropic\.claude-/, 'bedrock'],
  [/^claude-/, 'anthropic'],
  [/^(?:ft:gpt-(?:3\.5-turbo|4)|gpt-image)/, 'openai'],
  [/^gemini-/, 'vertex_ai'],
];
/** Those whose models LiteLLM knows without a prefix. Other makers' models need one. */
const makers = ['openai', 'anthropic', 'cohere'] as const;

/** Who serves a model that is named without a provider. @returns null when its name does not say it. */
export const litellmMakerOf = (model: string): string | null =>
  routed.find(([name]) => name.test(model))?.[1] ?? makers.find((slug) => knowsModel(slug, model)) ?? null;
