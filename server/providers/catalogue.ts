/** One row per provider that speaks OpenAI's chat dialect, and the views of all rows. */
import { allCodecs } from '../protocols/registry.ts';
import { otherProviders } from './catalogue-list.ts';
import { modelListOf, withoutRetired } from './model-lists.ts';
import type { Auth, Color, Provider } from './provider.ts';

const bearer: Auth = { kind: 'bearer' };

/** Below the version prefix. */
const suffixes = {
  chat: '/chat/completions',
  responses: '/responses',
  completions: '/completions',
  embeddings: '/embeddings',
  moderations: '/moderations',
  images: '/images/generations',
  image_edits: '/images/edits',
  image_variations: '/images/variations',
  speech: '/audio/speech',
  transcriptions: '/audio/transcriptions',
  translations: '/audio/translations',
  rerank: '/rerank',
  realtime: '/realtime',
} as const;

interface Variation {
  /** What it serves, as words of `suffixes`. */
  readonly operations?: string;
  /** Before the suffixes. */
  readonly prefix?: string;
  /** Operations that live elsewhere. */
  readonly paths?: Readonly<Record<string, string>>;
  /** Where models are listed; null = nowhere. */
  readonly list?: null;
  readonly color?: Color;
  readonly keyParts?: readonly string[];
  readonly keySeparator?: string;
  readonly other?: Provider['other'];
  readonly address?: Provider['address'];
}

/** The chat of every dialect, where its clients ask for it. */
const chatPaths: Readonly<Record<string, string>> = Object.fromEntries(
  allCodecs.flatMap(({ definition: { chatOperation, routes } }) => {
    const route = routes.find(({ operation, session }) => operation === 'chat' && session !== true);
    return route === undefined ? [] : [[chatOperation, route.path]];
  }),
);

const everything = Object.keys(suffixes).join(' ');

const compatible = (
  type: number,
  slug: string,
  zh: string,
  en: string,
  baseUrl: string,
  variation: Variation = {},
): Provider => {
  const { operations = 'chat', prefix = '/v1', paths = {}, color = 'blue' } = variation;
  const own = operations.split(' ').map((name) => [name, prefix + suffixes[name as keyof typeof suffixes]] as const);
  const parts = variation.keyParts ?? [];
  return {
    type,
    slug,
    label: { zh, en },
    color,
    protocol: 'openai-chat',
    baseUrl,
    address: variation.address ?? 'base',
    auth: bearer,
    paths: { ...Object.fromEntries(own), ...paths },
    operations: [...new Set([...own.map(([name]) => name), ...Object.keys(paths)])],
    modelsPath: variation.list === null ? null : `${prefix}/models`,
    keyShape: { parts, separator: variation.keySeparator ?? '' },
    keyHint: parts.length === 0 ? 'sk-…' : parts.join(variation.keySeparator ?? ''),
    other: variation.other ?? null,
    // Most threads never ask for them.
    get models() {
      return modelListOf(slug).models;
    },
    get formerModels() {
      return modelListOf(slug).formerModels;
    },
    get retired() {
      return modelListOf(slug).retired;
    },
  };
};

const compatibleProviders: readonly Provider[] = [
  compatible(1, 'openai', 'OpenAI', 'OpenAI', 'https://api.openai.com', {
    operations: everything.replace(' rerank', ''),
    paths: { count_inputs: '/v1/responses/input_tokens' },
    color: 'green',
  }),
  compatible(4, 'ollama', 'Ollama', 'Ollama', 'http://localhost:11434', {
    operations: 'completions',
    // Its own wire: only there the size of the context can be set, and the default cuts long prompts silently.
    paths: { chat: '/api/chat', embeddings: '/api/embed' },
    color: 'grey',
  }),
  compatible(6, 'openaimax', 'OpenAI Max', 'OpenAI Max', 'https://api.openaimax.com', {
    operations: everything,
    color: 'violet',
  }),
  compatible(7, 'ohmygpt', 'OhMyGPT', 'OhMyGPT', 'https://api.ohmygpt.com', {
    operations: everything,
    color: 'purple',
  }),
  compatible(8, 'custom', '自定义渠道', 'Custom', '', { operations: everything, color: 'pink', address: 'full' }),
  compatible(9, 'caipacity', 'Caipacity', 'Caipacity', 'https://api.caipacity.com', {
    operations: everything,
    color: 'purple',
  }),
  compatible(10, 'aiproxy', 'AI Proxy', 'AI Proxy', 'https://api.aiproxy.io', {
    operations: everything,
    color: 'purple',
  }),
  compatible(12, 'api2gpt', 'API2GPT', 'API2GPT', 'https://api.api2gpt.com', { operations: everything }),
  compatible(13, 'aigc2d', 'AIGC2D', 'AIGC2D', 'https://api.aigc2d.com', {
    operations: everything,
    color: 'purple',
  }),
  compatible(17, 'ali', '阿里通义千问', 'Alibaba Bailian', 'https://dashscope.aliyuncs.com', {
    operations: 'chat embeddings',
    prefix: '/compatible-mode/v1',
    paths: {
      rerank: '/api/v1/services/rerank/text-rerank/text-rerank',
      images: '/api/v1/services/aigc/text2image/image-synthesis',
    },
    color: 'orange',
    other: { label: { zh: '插件参数', en: 'Plugin parameter' }, fallback: '', byOption: false },
  }),
  compatible(19, '360', '360 智脑', '360 Zhinao', 'https://api.360.cn', { operations: 'chat embeddings' }),
  compatible(20, 'openrouter', 'OpenRouter', 'OpenRouter', 'https://openrouter.ai/api', {
    operations: 'chat completions embeddings responses',
    color: 'violet',
  }),
  compatible(22, 'fastgpt', '知识库：FastGPT', 'FastGPT', 'https://fastgpt.run/api/openapi', {
    keyParts: ['APIKey', 'AppId'],
    keySeparator: '-',
    list: null,
  }),
  compatible(25, 'moonshot', 'Moonshot', 'Moonshot', 'https://api.moonshot.cn', { color: 'green' }),
  compatible(26, 'zhipu-v4', '智谱 GLM-4V', 'Zhipu GLM v4', 'https://open.bigmodel.cn', {
    operations: 'chat embeddings images',
    prefix: '/api/paas/v4',
    list: null,
    color: 'purple',
  }),
  compatible(27, 'perplexity', 'Perplexity', 'Perplexity', 'https://api.perplexity.ai', { prefix: '', list: null }),
  compatible(31, 'lingyiwanwu', '零一万物', '01.AI', 'https://api.lingyiwanwu.com', { color: 'green' }),
  compatible(
    35,
    'minimax',
    'MiniMax',
    'MiniMax',
    // Where keys of the older api.minimax.chat belong now: https://platform.minimaxi.com/docs/api-reference/text-openai-api
    'https://api.minimaxi.com',
    { operations: 'chat', paths: { chat: '/v1/text/chatcompletion_v2' }, list: null, color: 'green' },
  ),
  compatible(40, 'siliconflow', 'SiliconCloud', 'SiliconFlow', 'https://api.siliconflow.cn', {
    operations: 'chat completions embeddings images rerank',
    color: 'purple',
  }),
  compatible(42, 'mistral', 'Mistral AI', 'Mistral AI', 'https://api.mistral.ai', {
    operations: 'chat embeddings moderations',
    color: 'orange',
  }),
  compatible(43, 'deepseek', 'DeepSeek', 'DeepSeek', 'https://api.deepseek.com', {
    paths: { completions: '/beta/completions' },
  }),
  compatible(
    45,
    'volcengine',
    '字节火山方舟、豆包、DeepSeek 通用',
    'VolcEngine / Doubao',
    'https://ark.cn-beijing.volces.com',
    { operations: 'chat embeddings images', prefix: '/api/v3', list: null },
  ),
  compatible(46, 'baidu-v2', '百度文心千帆 V2', 'Baidu Qianfan v2', 'https://qianfan.baidubce.com', {
    operations: 'chat embeddings',
    prefix: '/v2',
  }),
  compatible(47, 'xinference', 'Xinference', 'Xinference', '', {
    operations: 'chat completions embeddings images rerank',
  }),
  compatible(48, 'xai', 'xAI', 'xAI', 'https://api.x.ai', {
    operations: 'chat completions responses images',
    color: 'grey',
  }),
  compatible(101, 'groq', 'Groq', 'Groq', 'https://api.groq.com/openai', {
    operations: 'chat responses speech transcriptions translations',
    color: 'orange',
  }),
  compatible(102, 'together', 'Together AI', 'Together AI', 'https://api.together.xyz', {
    operations: 'chat completions embeddings images rerank',
  }),
  compatible(103, 'fireworks', 'Fireworks AI', 'Fireworks AI', 'https://api.fireworks.ai/inference', {
    operations: 'chat completions embeddings',
    color: 'violet',
  }),
  compatible(104, 'cerebras', 'Cerebras', 'Cerebras', 'https://api.cerebras.ai', {
    operations: 'chat completions',
    color: 'orange',
  }),
  compatible(105, 'nvidia', 'NVIDIA NIM', 'NVIDIA NIM', 'https://integrate.api.nvidia.com', {
    operations: 'chat completions embeddings',
    color: 'green',
  }),
  compatible(107, 'huggingface', 'Hugging Face', 'Hugging Face', 'https://router.huggingface.co', { color: 'yellow' }),
  compatible(106, 'github-models', 'GitHub Models', 'GitHub Models', 'https://models.github.ai', {
    operations: 'chat embeddings',
    prefix: '/inference',
    list: null,
    color: 'grey',
  }),
  compatible(108, 'lm-studio', 'LM Studio', 'LM Studio', 'http://127.0.0.1:1234', {
    operations: 'chat completions embeddings responses',
    color: 'purple',
  }),
  compatible(109, 'vllm', 'vLLM', 'vLLM', '', {
    operations: 'chat completions embeddings responses rerank',
    color: 'yellow',
  }),
  compatible(199, 'practice', '模拟上游', 'Practice upstream', 'http://127.0.0.1:4010', {
    operations: everything,
    paths: {
      ...chatPaths,
      generate: '/v1beta/models/{model}:generateContent',
      stream: '/v1beta/models/{model}:streamGenerateContent?alt=sse',
    },
    color: 'teal',
  }),
];

/** Every provider of the wire contract, in the order of its type number. */
export const allProviders: readonly Provider[] = [...compatibleProviders, ...otherProviders].sort(
  (a, b) => a.type - b.type,
);
/** Those this build can serve. */
export const providers: readonly Provider[] = allProviders.filter((provider) => provider.operations.length > 0);

/** What most people look for. */
const favoured =
  'openai anthropic gemini azure aws vertex openrouter deepseek ali moonshot zhipu-v4 volcengine siliconflow ollama vllm custom practice'.split(
    ' ',
  );
const place = ({ slug }: Provider): number => {
  const at = favoured.indexOf(slug);
  return at < 0 ? favoured.length : at;
};
/** The same in the order in which they are offered when a channel is added. */
export const offeredProviders: readonly Provider[] = providers.toSorted((a, b) => place(a) - place(b));

const retiresBy = ({ retired }: Provider, day: string): boolean => retired.values().some((last) => last <= day);
/** As of one day: the next one makes it anew. */
let offered = { day: '', providers: offeredProviders };

/** @param day `2026-11-28`: what retires by then is among the former models. */
export function offeredOn(day: string): readonly Provider[] {
  if (offered.day === day) return offered.providers;
  const providers = offeredProviders.map((provider) =>
    retiresBy(provider, day) ? { ...provider, ...withoutRetired(provider, day) } : provider,
  );
  offered = { day, providers };
  return providers;
}

const byType = new Map(allProviders.map((provider) => [provider.type, provider]));
const bySlug = new Map(allProviders.map((provider) => [provider.slug, provider]));

/** Also rows this build cannot serve yet: their `operations` are empty. */
export const providerByType = (type: number): Provider | undefined => byType.get(type);
export const providerBySlug = (slug: string): Provider | undefined => bySlug.get(slug);

/** Whether a provider has, or once had, a model of this name. */
export const knowsModel = (slug: string, model: string): boolean => {
  const provider = bySlug.get(slug);
  return provider !== undefined && (provider.models.includes(model) || provider.formerModels.includes(model));
};
