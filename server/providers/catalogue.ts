/** One row per provider that speaks OpenAI's chat dialect, and the views of all rows. Model lists: defaults of the wire contract and models.dev (MIT), July 2026. */
import { allCodecs } from '../protocols/registry.ts';
import { otherProviders } from './catalogue-list.ts';
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
  models: string,
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
    models: models === '' ? [] : models.split(' '),
  };
};

const compatibleProviders: readonly Provider[] = [
  compatible(
    1,
    'openai',
    'OpenAI',
    'OpenAI',
    'https://api.openai.com',
    'chatgpt-image-latest gpt-3.5-turbo gpt-4-turbo gpt-4.1-mini gpt-4.1-nano gpt-4.1 gpt-4 gpt-4o-2024-05-13 gpt-4o-2024-08-06 gpt-4o-2024-11-20 gpt-4o-mini gpt-4o gpt-5-chat-latest gpt-5-codex gpt-5-mini gpt-5-nano gpt-5-pro gpt-5.1-chat-latest gpt-5.1-codex-max gpt-5.1-codex-mini gpt-5.1-codex gpt-5.1 gpt-5.2-chat-latest gpt-5.2-codex gpt-5.2-pro gpt-5.2 gpt-5.3-chat-latest gpt-5.3-codex-spark gpt-5.3-codex gpt-5.4-mini gpt-5.4-nano gpt-5.4-pro gpt-5.4 gpt-5.5-pro gpt-5.5 gpt-5 gpt-image-1-mini gpt-image-1.5 o1-pro o1 o3-deep-research o3-mini o3-pro o3 o4-mini-deep-research o4-mini text-embedding-3-large text-embedding-3-small text-embedding-ada-002 gpt-3.5-turbo-0613 gpt-3.5-turbo-1106 gpt-3.5-turbo-0125 gpt-3.5-turbo-16k gpt-3.5-turbo-16k-0613 gpt-3.5-turbo-instruct gpt-4-0613 gpt-4-1106-preview gpt-4-0125-preview gpt-4-32k gpt-4-32k-0613 gpt-4-turbo-preview gpt-4-turbo-2024-04-09 gpt-4-vision-preview chatgpt-4o-latest gpt-4o-mini-2024-07-18 gpt-4.5-preview gpt-4.5-preview-2025-02-27 o1-preview o1-preview-2024-09-12 o1-mini o1-mini-2024-09-12 o3-mini-2025-01-31 o3-mini-high o3-mini-2025-01-31-high o3-mini-low o3-mini-2025-01-31-low o3-mini-medium o3-mini-2025-01-31-medium o1-2024-12-17 gpt-4o-audio-preview gpt-4o-audio-preview-2024-10-01 gpt-4o-realtime-preview gpt-4o-realtime-preview-2024-10-01 gpt-4o-realtime-preview-2024-12-17 gpt-4o-mini-realtime-preview gpt-4o-mini-realtime-preview-2024-12-17 text-curie-001 text-babbage-001 text-ada-001 omni-moderation-latest text-moderation-latest text-moderation-stable text-davinci-edit-001 davinci-002 babbage-002 dall-e-3 whisper-1 tts-1 tts-1-1106 tts-1-hd tts-1-hd-1106',
    {
      operations: everything.replace(' rerank', ''),
      paths: { count_inputs: '/v1/responses/input_tokens' },
      color: 'green',
    },
  ),
  compatible(4, 'ollama', 'Ollama', 'Ollama', 'http://localhost:11434', 'llama3-7b', {
    operations: 'completions',
    // Its own wire: only there the size of the context can be set, and the default cuts long prompts silently.
    paths: { chat: '/api/chat', embeddings: '/api/embed' },
    color: 'grey',
  }),
  compatible(6, 'openaimax', 'OpenAI Max', 'OpenAI Max', 'https://api.openaimax.com', '', {
    operations: everything,
    color: 'violet',
  }),
  compatible(7, 'ohmygpt', 'OhMyGPT', 'OhMyGPT', 'https://api.ohmygpt.com', '', {
    operations: everything,
    color: 'purple',
  }),
  compatible(8, 'custom', '自定义渠道', 'Custom', '', '', { operations: everything, color: 'pink', address: 'full' }),
  compatible(9, 'caipacity', 'Caipacity', 'Caipacity', 'https://api.caipacity.com', '', {
    operations: everything,
    color: 'purple',
  }),
  compatible(10, 'aiproxy', 'AI Proxy', 'AI Proxy', 'https://api.aiproxy.io', '', {
    operations: everything,
    color: 'purple',
  }),
  compatible(12, 'api2gpt', 'API2GPT', 'API2GPT', 'https://api.api2gpt.com', '', { operations: everything }),
  compatible(13, 'aigc2d', 'AIGC2D', 'AIGC2D', 'https://api.aigc2d.com', '', {
    operations: everything,
    color: 'purple',
  }),
  compatible(
    17,
    'ali',
    '阿里通义千问',
    'Alibaba Bailian',
    'https://dashscope.aliyuncs.com',
    'MiniMax-M2.5 deepseek-r1-0528 deepseek-r1-distill-llama-70b deepseek-r1-distill-llama-8b deepseek-r1-distill-qwen-1-5b deepseek-r1-distill-qwen-14b deepseek-r1-distill-qwen-32b deepseek-r1-distill-qwen-7b deepseek-r1 deepseek-v3-1 deepseek-v3-2-exp deepseek-v3 deepseek-v4-flash deepseek-v4-pro glm-5.1 glm-5 kimi-k2-thinking kimi-k2.5 kimi-k2.6 moonshot-kimi-k2-instruct qvq-max qwen-deep-research qwen-doc-turbo qwen-flash qwen-long qwen-math-plus qwen-math-turbo qwen-max qwen-mt-plus qwen-mt-turbo qwen-omni-turbo-realtime qwen-omni-turbo qwen-plus-character qwen-plus qwen-turbo qwen-vl-max qwen-vl-ocr qwen-vl-plus qwen2-5-14b-instruct qwen2-5-32b-instruct qwen2-5-72b-instruct qwen2-5-7b-instruct qwen2-5-coder-32b-instruct qwen2-5-coder-7b-instruct qwen2-5-math-72b-instruct qwen2-5-math-7b-instruct qwen2-5-omni-7b qwen2-5-vl-72b-instruct qwen2-5-vl-7b-instruct qwen3-14b qwen3-235b-a22b qwen3-32b qwen3-8b qwen3-asr-flash qwen3-coder-30b-a3b-instruct qwen3-coder-480b-a35b-instruct qwen3-coder-flash qwen3-coder-plus qwen3-max qwen3-next-80b-a3b-instruct qwen3-next-80b-a3b-thinking qwen3-omni-flash-realtime qwen3-omni-flash qwen3-vl-235b-a22b qwen3-vl-30b-a3b qwen3-vl-plus qwen3.5-397b-a17b qwen3.5-flash qwen3.5-plus qwen3.6-flash qwen3.6-max-preview qwen3.6-plus qwen3.7-max qwen3.7-plus qwq-32b qwq-plus tongyi-intent-detect-v3 siliconflow/deepseek-r1-0528 siliconflow/deepseek-v3-0324 siliconflow/deepseek-v3.1-terminus siliconflow/deepseek-v3.2 kimi/kimi-k2.5 MiniMax/MiniMax-M2.7 qwen-max-longcontext text-embedding-v1',
    {
      operations: 'chat embeddings',
      prefix: '/compatible-mode/v1',
      paths: {
        rerank: '/api/v1/services/rerank/text-rerank/text-rerank',
        images: '/api/v1/services/aigc/text2image/image-synthesis',
      },
      color: 'orange',
      other: { label: { zh: '插件参数', en: 'Plugin parameter' }, fallback: '', byOption: false },
    },
  ),
  compatible(19, '360', '360 智脑', '360 Zhinao', 'https://api.360.cn', '', { operations: 'chat embeddings' }),
  compatible(20, 'openrouter', 'OpenRouter', 'OpenRouter', 'https://openrouter.ai/api', '', {
    operations: 'chat completions embeddings responses',
    color: 'violet',
  }),
  compatible(22, 'fastgpt', '知识库：FastGPT', 'FastGPT', 'https://fastgpt.run/api/openapi', '', {
    keyParts: ['APIKey', 'AppId'],
    keySeparator: '-',
    list: null,
  }),
  compatible(
    25,
    'moonshot',
    'Moonshot',
    'Moonshot',
    'https://api.moonshot.cn',
    'kimi-k2-0711-preview kimi-k2-0905-preview kimi-k2-thinking-turbo kimi-k2-thinking kimi-k2-turbo-preview kimi-k2.5 kimi-k2.6 kimi-k2.7-code-highspeed kimi-k2.7-code',
    { color: 'green' },
  ),
  compatible(
    26,
    'zhipu-v4',
    '智谱 GLM-4V',
    'Zhipu GLM v4',
    'https://open.bigmodel.cn',
    'glm-4.5-air glm-4.5-flash glm-4.5 glm-4.5v glm-4.6 glm-4.6v glm-4.7-flash glm-4.7-flashx glm-4.7 glm-5.1 glm-5.2 glm-5 glm-5v-turbo glm-4 glm-4v glm-3-turbo glm-4-alltools glm-4-plus glm-4-0520 glm-4-air glm-4-airx glm-4-long glm-4-flash glm-4v-plus',
    { operations: 'chat embeddings images', prefix: '/api/paas/v4', list: null, color: 'purple' },
  ),
  compatible(
    27,
    'perplexity',
    'Perplexity',
    'Perplexity',
    'https://api.perplexity.ai',
    'sonar-deep-research sonar-pro sonar-reasoning-pro sonar llama-3-sonar-small-32k-chat llama-3-sonar-small-32k-online llama-3-sonar-large-32k-chat llama-3-sonar-large-32k-online llama-3-8b-instruct llama-3-70b-instruct mixtral-8x7b-instruct',
    { prefix: '', list: null },
  ),
  compatible(31, 'lingyiwanwu', '零一万物', '01.AI', 'https://api.lingyiwanwu.com', '', { color: 'green' }),
  compatible(
    35,
    'minimax',
    'MiniMax',
    'MiniMax',
    // Where keys of the older api.minimax.chat belong now: https://platform.minimaxi.com/docs/api-reference/text-openai-api
    'https://api.minimaxi.com',
    'MiniMax-M2.1 MiniMax-M2.5-highspeed MiniMax-M2.5 MiniMax-M2.7-highspeed MiniMax-M2.7 MiniMax-M2 MiniMax-M3',
    { operations: 'chat', paths: { chat: '/v1/text/chatcompletion_v2' }, list: null, color: 'green' },
  ),
  compatible(
    40,
    'siliconflow',
    'SiliconCloud',
    'SiliconFlow',
    'https://api.siliconflow.cn',
    'inclusionAI/Ling-flash-2.0 baidu/ERNIE-4.5-300B-A47B Pro/MiniMaxAI/MiniMax-M2.5 Pro/moonshotai/Kimi-K2.5 Pro/moonshotai/Kimi-K2.6 Pro/deepseek-ai/DeepSeek-R1 Pro/deepseek-ai/DeepSeek-V3.1-Terminus Pro/deepseek-ai/DeepSeek-V3.2 Pro/deepseek-ai/DeepSeek-V3 Pro/zai-org/GLM-5.1 Pro/zai-org/GLM-5 PaddlePaddle/PaddleOCR-VL-1.5 Qwen/Qwen2.5-72B-Instruct Qwen/Qwen2.5-7B-Instruct Qwen/Qwen3-14B Qwen/Qwen3-235B-A22B-Thinking-2507 Qwen/Qwen3-30B-A3B-Instruct-2507 Qwen/Qwen3-32B Qwen/Qwen3-8B Qwen/Qwen3-Coder-30B-A3B-Instruct Qwen/Qwen3-Coder-480B-A35B-Instruct Qwen/Qwen3-VL-235B-A22B-Instruct Qwen/Qwen3-VL-235B-A22B-Thinking Qwen/Qwen3-VL-30B-A3B-Instruct Qwen/Qwen3-VL-30B-A3B-Thinking Qwen/Qwen3-VL-32B-Instruct Qwen/Qwen3-VL-32B-Thinking Qwen/Qwen3-VL-8B-Instruct Qwen/Qwen3.5-122B-A10B Qwen/Qwen3.5-27B Qwen/Qwen3.5-35B-A3B Qwen/Qwen3.5-397B-A17B Qwen/Qwen3.5-4B Qwen/Qwen3.5-9B Qwen/Qwen3.6-35B-A3B tencent/Hunyuan-A13B-Instruct ByteDance-Seed/Seed-OSS-36B-Instruct deepseek-ai/DeepSeek-OCR deepseek-ai/DeepSeek-R1 deepseek-ai/DeepSeek-V3.1-Terminus deepseek-ai/DeepSeek-V3.2 deepseek-ai/DeepSeek-V3 deepseek-ai/DeepSeek-V4-Flash deepseek-ai/DeepSeek-V4-Pro stepfun-ai/Step-3.5-Flash zai-org/GLM-4.5-Air zai-org/GLM-5.2 THUDM/glm-4-9b-chat InstantX/InstantID ByteDance/SDXL-Lightning deepseek-ai/deepseek-llm-67b-chat Qwen/Qwen1.5-14B-Chat Qwen/Qwen1.5-7B-Chat Qwen/Qwen1.5-110B-Chat Qwen/Qwen1.5-32B-Chat 01-ai/Yi-1.5-6B-Chat 01-ai/Yi-1.5-9B-Chat-16K 01-ai/Yi-1.5-34B-Chat-16K THUDM/chatglm3-6b deepseek-ai/DeepSeek-V2-Chat Qwen/Qwen2-72B-Instruct Qwen/Qwen2-7B-Instruct Qwen/Qwen2-57B-A14B-Instruct deepseek-ai/DeepSeek-Coder-V2-Instruct Qwen/Qwen2-1.5B-Instruct internlm/internlm2_5-7b-chat BAAI/bge-large-en-v1.5 BAAI/bge-large-zh-v1.5 Pro/Qwen/Qwen2-7B-Instruct Pro/Qwen/Qwen2-1.5B-Instruct Pro/Qwen/Qwen1.5-7B-Chat Pro/THUDM/glm-4-9b-chat Pro/THUDM/chatglm3-6b Pro/01-ai/Yi-1.5-9B-Chat-16K Pro/01-ai/Yi-1.5-6B-Chat Pro/google/gemma-2-9b-it Pro/internlm/internlm2_5-7b-chat Pro/meta-llama/Meta-Llama-3-8B-Instruct Pro/mistralai/Mistral-7B-Instruct-v0.2 black-forest-labs/FLUX.1-schnell FunAudioLLM/SenseVoiceSmall netease-youdao/bce-embedding-base_v1 BAAI/bge-m3 internlm/internlm2_5-20b-chat Qwen/Qwen2-Math-72B-Instruct netease-youdao/bce-reranker-base_v1 BAAI/bge-reranker-v2-m3',
    { operations: 'chat completions embeddings images rerank', color: 'purple' },
  ),
  compatible(
    42,
    'mistral',
    'Mistral AI',
    'Mistral AI',
    'https://api.mistral.ai',
    'codestral-latest magistral-medium-latest magistral-small ministral-3b-latest ministral-8b-latest mistral-embed mistral-large-2411 mistral-large-2512 mistral-large-latest mistral-medium-2505 mistral-medium-2508 mistral-medium-2604 mistral-medium-latest mistral-nemo mistral-small-2506 mistral-small-2603 mistral-small-latest open-mistral-7b open-mixtral-8x22b open-mixtral-8x7b pixtral-12b pixtral-large-latest',
    { operations: 'chat embeddings moderations', color: 'orange' },
  ),
  compatible(
    43,
    'deepseek',
    'DeepSeek',
    'DeepSeek',
    'https://api.deepseek.com',
    'deepseek-chat deepseek-reasoner deepseek-v4-flash deepseek-v4-pro',
    { paths: { completions: '/beta/completions' } },
  ),
  compatible(
    45,
    'volcengine',
    '字节火山方舟、豆包、DeepSeek 通用',
    'VolcEngine / Doubao',
    'https://ark.cn-beijing.volces.com',
    'Doubao-pro-128k Doubao-pro-32k Doubao-pro-4k Doubao-lite-128k Doubao-lite-32k Doubao-lite-4k Doubao-embedding',
    { operations: 'chat embeddings images', prefix: '/api/v3', list: null },
  ),
  compatible(
    46,
    'baidu-v2',
    '百度文心千帆 V2',
    'Baidu Qianfan v2',
    'https://qianfan.baidubce.com',
    'ernie-4.0-8k-latest ernie-4.0-8k-preview ernie-4.0-8k ernie-4.0-turbo-8k-latest ernie-4.0-turbo-8k-preview ernie-4.0-turbo-8k ernie-4.0-turbo-128k ernie-3.5-8k-preview ernie-3.5-8k ernie-3.5-128k ernie-speed-8k ernie-speed-128k ernie-speed-pro-128k ernie-lite-8k ernie-lite-pro-128k ernie-tiny-8k ernie-char-8k ernie-char-fiction-8k ernie-novel-8k deepseek-v3 deepseek-r1 deepseek-r1-distill-qwen-32b deepseek-r1-distill-qwen-14b',
    { operations: 'chat embeddings', prefix: '/v2' },
  ),
  compatible(47, 'xinference', 'Xinference', 'Xinference', '', 'bge-reranker-v2-m3 jina-reranker-v2', {
    operations: 'chat completions embeddings images rerank',
  }),
  compatible(
    48,
    'xai',
    'xAI',
    'xAI',
    'https://api.x.ai',
    'grok-4.20-0309-non-reasoning grok-4.20-0309-reasoning grok-4.20-multi-agent-0309 grok-4.3 grok-build-0.1 grok-3-beta grok-3-mini-beta grok-3-fast-beta grok-3-mini-fast-beta grok-3-mini-beta-high grok-3-mini-beta-low grok-3-mini-beta-medium grok-3-mini-fast-beta-high grok-3-mini-fast-beta-low grok-3-mini-fast-beta-medium grok-2-image grok-2 grok-2-vision grok-beta grok-vision-beta',
    { operations: 'chat completions responses images', color: 'grey' },
  ),
  compatible(
    101,
    'groq',
    'Groq',
    'Groq',
    'https://api.groq.com/openai',
    'llama-3.1-8b-instant llama-3.3-70b-versatile whisper-large-v3-turbo whisper-large-v3 qwen/qwen3-32b meta-llama/llama-4-scout-17b-16e-instruct meta-llama/llama-prompt-guard-2-22m meta-llama/llama-prompt-guard-2-86m groq/compound-mini groq/compound openai/gpt-oss-120b openai/gpt-oss-20b openai/gpt-oss-safeguard-20b',
    { operations: 'chat responses speech transcriptions translations', color: 'orange' },
  ),
  compatible(
    102,
    'together',
    'Together AI',
    'Together AI',
    'https://api.together.xyz',
    'pearl-ai/gemma-4-31b-it meta-llama/Llama-3.3-70B-Instruct-Turbo meta-llama/Meta-Llama-3-8B-Instruct-Lite Qwen/Qwen2.5-7B-Instruct-Turbo Qwen/Qwen3-235B-A22B-Instruct-2507-tput Qwen/Qwen3.5-397B-A17B Qwen/Qwen3.5-9B Qwen/Qwen3.6-Plus Qwen/Qwen3.7-Max google/gemma-3n-E4B-it google/gemma-4-31B-it essentialai/Rnj-1-Instruct MiniMaxAI/MiniMax-M2.7 MiniMaxAI/MiniMax-M3 deepcogito/cogito-v2-1-671b moonshotai/Kimi-K2.6 moonshotai/Kimi-K2.7-Code deepseek-ai/DeepSeek-V4-Pro LiquidAI/LFM2-24B-A2B nvidia/nemotron-3-ultra-550b-a55b openai/gpt-oss-120b openai/gpt-oss-20b zai-org/GLM-5.1 zai-org/GLM-5.2 zai-org/GLM-5',
    { operations: 'chat completions embeddings images rerank' },
  ),
  compatible(
    103,
    'fireworks',
    'Fireworks AI',
    'Fireworks AI',
    'https://api.fireworks.ai/inference',
    'accounts/fireworks/routers/glm-5p1-fast accounts/fireworks/routers/glm-5p2-fast accounts/fireworks/routers/kimi-k2p6-fast accounts/fireworks/routers/kimi-k2p6-turbo accounts/fireworks/routers/kimi-k2p7-code-fast accounts/fireworks/models/deepseek-v4-flash accounts/fireworks/models/deepseek-v4-pro accounts/fireworks/models/glm-5p1 accounts/fireworks/models/glm-5p2 accounts/fireworks/models/gpt-oss-120b accounts/fireworks/models/gpt-oss-20b accounts/fireworks/models/kimi-k2p6 accounts/fireworks/models/kimi-k2p7-code accounts/fireworks/models/minimax-m2p7 accounts/fireworks/models/minimax-m3 accounts/fireworks/models/qwen3p7-plus',
    { operations: 'chat completions embeddings', color: 'violet' },
  ),
  compatible(104, 'cerebras', 'Cerebras', 'Cerebras', 'https://api.cerebras.ai', 'gpt-oss-120b zai-glm-4.7', {
    operations: 'chat completions',
    color: 'orange',
  }),
  compatible(
    105,
    'nvidia',
    'NVIDIA NIM',
    'NVIDIA NIM',
    'https://integrate.api.nvidia.com',
    'qwen/qwen2.5-coder-32b-instruct qwen/qwen3-coder-480b-a35b-instruct qwen/qwen3-next-80b-a3b-instruct qwen/qwen3.5-122b-a10b qwen/qwen3.5-397b-a17b sarvamai/sarvam-m upstage/solar-10_7b-instruct microsoft/phi-4-mini-instruct microsoft/phi-4-multimodal-instruct google/gemma-2-2b-it google/gemma-3n-e2b-it google/gemma-3n-e4b-it google/gemma-4-31b-it google/google-paligemma minimaxai/minimax-m2.7 minimaxai/minimax-m3 baai/bge-m3 mistralai/magistral-small-2506 mistralai/mistral-7b-instruct-v03 mistralai/mistral-large-3-675b-instruct-2512 mistralai/mistral-medium-3-instruct mistralai/mistral-nemotron mistralai/mistral-small-4-119b-2603 mistralai/mixtral-8x22b-instruct mistralai/mixtral-8x7b-instruct abacusai/dracarys-llama-3_1-70b-instruct meta/esm2-650m meta/esmfold meta/llama-3.1-70b-instruct meta/llama-3.1-8b-instruct meta/llama-3.2-11b-vision-instruct meta/llama-3.2-1b-instruct meta/llama-3.2-3b-instruct meta/llama-3.2-90b-vision-instruct meta/llama-3.3-70b-instruct meta/llama-4-maverick-17b-128e-instruct meta/llama-guard-4-12b z-ai/glm-5.1 moonshotai/kimi-k2-instruct-0905 moonshotai/kimi-k2.6 deepseek-ai/deepseek-v4-flash deepseek-ai/deepseek-v4-pro bytedance/seed-oss-36b-instruct nvidia/active-speaker-detection nvidia/bevformer nvidia/gliner-pii nvidia/llama-3_1-nemotron-safety-guard-8b-v3 nvidia/llama-3_2-nemoretriever-300m-embed-v1 nvidia/llama-nemotron-embed-vl-1b-v2 nvidia/llama-nemotron-rerank-vl-1b-v2 nvidia/nemotron-3-content-safety nvidia/nemotron-3-nano-30b-a3b nvidia/nemotron-3-nano-omni-30b-a3b-reasoning nvidia/nemotron-3-super-120b-a12b nvidia/nemotron-3-ultra-550b-a55b nvidia/nemotron-content-safety-reasoning-4b nvidia/nemotron-mini-4b-instruct nvidia/nemotron-voicechat nvidia/nv-embed-v1 nvidia/nv-embedcode-7b-v1 nvidia/nvidia-nemotron-nano-9b-v2 nvidia/rerank-qa-mistral-4b nvidia/riva-translate-4b-instruct-v1_1 nvidia/sparsedrive nvidia/streampetr nvidia/studiovoice nvidia/synthetic-video-detector nvidia/usdcode nvidia/usdvalidate openai/gpt-oss-120b openai/gpt-oss-20b openai/whisper-large-v3 stepfun-ai/step-3.5-flash stepfun-ai/step-3.7-flash',
    { operations: 'chat completions embeddings', color: 'green' },
  ),
  compatible(
    107,
    'huggingface',
    'Hugging Face',
    'Hugging Face',
    'https://router.huggingface.co',
    'meta-llama/Llama-3.3-70B-Instruct Qwen/Qwen3-235B-A22B-Thinking-2507 Qwen/Qwen3-235B-A22B Qwen/Qwen3-32B Qwen/Qwen3-Coder-30B-A3B-Instruct Qwen/Qwen3-Coder-480B-A35B-Instruct Qwen/Qwen3-Coder-Next Qwen/Qwen3-Embedding-4B Qwen/Qwen3-Embedding-8B Qwen/Qwen3-Next-80B-A3B-Instruct Qwen/Qwen3-Next-80B-A3B-Thinking Qwen/Qwen3.5-122B-A10B Qwen/Qwen3.5-27B Qwen/Qwen3.5-35B-A3B Qwen/Qwen3.5-397B-A17B Qwen/Qwen3.5-9B Qwen/Qwen3.6-27B Qwen/Qwen3.6-35B-A3B google/gemma-4-26B-A4B-it google/gemma-4-31B-it XiaomiMiMo/MiMo-V2-Flash XiaomiMiMo/MiMo-V2.5-Pro MiniMaxAI/MiniMax-M2.1 MiniMaxAI/MiniMax-M2.5 MiniMaxAI/MiniMax-M2.7 MiniMaxAI/MiniMax-M2 MiniMaxAI/MiniMax-M3 moonshotai/Kimi-K2-Instruct-0905 moonshotai/Kimi-K2-Instruct moonshotai/Kimi-K2-Thinking moonshotai/Kimi-K2.5 moonshotai/Kimi-K2.6 moonshotai/Kimi-K2.7-Code deepseek-ai/DeepSeek-R1-0528 deepseek-ai/DeepSeek-R1 deepseek-ai/DeepSeek-V3.2 deepseek-ai/DeepSeek-V4-Flash deepseek-ai/DeepSeek-V4-Pro openai/gpt-oss-120b stepfun-ai/Step-3.5-Flash stepfun-ai/Step-3.7-Flash zai-org/GLM-4.5-Air zai-org/GLM-4.5 zai-org/GLM-4.5V zai-org/GLM-4.6 zai-org/GLM-4.7-Flash zai-org/GLM-4.7 zai-org/GLM-5.1 zai-org/GLM-5.2 zai-org/GLM-5',
    { color: 'yellow' },
  ),
  compatible(
    106,
    'github-models',
    'GitHub Models',
    'GitHub Models',
    'https://models.github.ai',
    'xai/grok-3-mini xai/grok-3 microsoft/mai-ds-r1 microsoft/phi-3-medium-128k-instruct microsoft/phi-3-medium-4k-instruct microsoft/phi-3-mini-128k-instruct microsoft/phi-3-mini-4k-instruct microsoft/phi-3-small-128k-instruct microsoft/phi-3-small-8k-instruct microsoft/phi-3.5-mini-instruct microsoft/phi-3.5-moe-instruct microsoft/phi-3.5-vision-instruct microsoft/phi-4-mini-instruct microsoft/phi-4-mini-reasoning microsoft/phi-4-multimodal-instruct microsoft/phi-4-reasoning microsoft/phi-4 core42/jais-30b-chat meta/llama-3.2-11b-vision-instruct meta/llama-3.2-90b-vision-instruct meta/llama-3.3-70b-instruct meta/llama-4-maverick-17b-128e-instruct-fp8 meta/llama-4-scout-17b-16e-instruct meta/meta-llama-3-70b-instruct meta/meta-llama-3-8b-instruct meta/meta-llama-3.1-405b-instruct meta/meta-llama-3.1-70b-instruct meta/meta-llama-3.1-8b-instruct mistral-ai/codestral-2501 mistral-ai/ministral-3b mistral-ai/mistral-large-2411 mistral-ai/mistral-medium-2505 mistral-ai/mistral-nemo mistral-ai/mistral-small-2503 ai21-labs/ai21-jamba-1.5-large ai21-labs/ai21-jamba-1.5-mini deepseek/deepseek-r1-0528 deepseek/deepseek-r1 deepseek/deepseek-v3-0324 openai/gpt-4.1-mini openai/gpt-4.1-nano openai/gpt-4.1 openai/gpt-4o-mini openai/gpt-4o openai/o1-mini openai/o1-preview openai/o1 openai/o3-mini openai/o3 openai/o4-mini cohere/cohere-command-a cohere/cohere-command-r-08-2024 cohere/cohere-command-r-plus-08-2024 cohere/cohere-command-r-plus cohere/cohere-command-r',
    { operations: 'chat embeddings', prefix: '/inference', list: null, color: 'grey' },
  ),
  compatible(108, 'lm-studio', 'LM Studio', 'LM Studio', 'http://127.0.0.1:1234', '', {
    operations: 'chat completions embeddings responses',
    color: 'purple',
  }),
  compatible(109, 'vllm', 'vLLM', 'vLLM', '', '', {
    operations: 'chat completions embeddings responses rerank',
    color: 'yellow',
  }),
  compatible(
    199,
    'practice',
    '模拟上游',
    'Practice upstream',
    'http://127.0.0.1:4010',
    'practice-small practice-large',
    {
      operations: everything,
      paths: {
        ...chatPaths,
        generate: '/v1beta/models/{model}:generateContent',
        stream: '/v1beta/models/{model}:streamGenerateContent?alt=sse',
      },
      color: 'teal',
    },
  ),
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

const byType = new Map(allProviders.map((provider) => [provider.type, provider]));
const bySlug = new Map(allProviders.map((provider) => [provider.slug, provider]));

/** Also rows this build cannot serve yet: their `operations` are empty. */
export const providerByType = (type: number): Provider | undefined => byType.get(type);
export const providerBySlug = (slug: string): Provider | undefined => bySlug.get(slug);
