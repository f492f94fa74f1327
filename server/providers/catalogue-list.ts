/** Providers of the wire contract that need more than a row: facts only. What `operations` leaves out is not served; what a row cannot say stands in its adapter. */
import type { Auth, Color, Provider } from './provider.ts';

const bearer: Auth = { kind: 'bearer' };
/** The key is not sent but used for signing or fetching a token. */
const signed: Auth = { kind: 'signed' };
const header = (name: string): Auth => ({ kind: 'header', name });

interface ProviderInfo {
  readonly protocol: Provider['protocol'];
  readonly baseUrl: string;
  readonly auth: Auth;
  readonly color: Color;
  readonly paths: Readonly<Record<string, string>>;
  readonly models: string;
  readonly key?: { readonly parts: string; readonly separator: string };
  /** Operations that need nothing but this row. */
  readonly operations?: string;
  readonly list?: string;
  readonly other?: { readonly zh: string; readonly en: string; readonly fallback: string; readonly byOption?: true };
}

const other = (type: number, slug: string, zh: string, en: string, details: ProviderInfo): Provider => {
  const parts = details.key?.parts.split(' ') ?? [];
  const separator = details.key?.separator ?? '';
  return {
    type,
    slug,
    label: { zh, en },
    color: details.color,
    protocol: details.protocol,
    baseUrl: details.baseUrl,
    address: 'base',
    auth: details.auth,
    paths: details.paths,
    operations: details.operations?.split(' ') ?? [],
    modelsPath: details.list ?? null,
    keyShape: { parts, separator },
    keyHint: parts.join(separator),
    other:
      details.other === undefined
        ? null
        : {
            label: { zh: details.other.zh, en: details.other.en },
            fallback: details.other.fallback,
            byOption: details.other.byOption ?? false,
          },
    models: details.models === '' ? [] : details.models.split(' '),
  };
};

export const otherProviders: readonly Provider[] = [
  other(2, 'midjourney', 'Midjourney Proxy', 'Midjourney Proxy', {
    protocol: null,
    baseUrl: 'https://oa.api2d.net',
    auth: header('mj-api-secret'),
    color: 'light-blue',
    paths: { drawing: '/mj' },
    operations: 'drawing',
    models: 'mj_imagine mj_variation mj_reroll mj_blend mj_upscale mj_describe mj_upload',
  }),
  other(3, 'azure', 'Azure OpenAI', 'Azure OpenAI', {
    protocol: 'openai-chat',
    baseUrl: '',
    auth: header('api-key'),
    color: 'teal',
    paths: {
      chat: '/openai/deployments/{model}/chat/completions',
      responses: '/openai/v1/responses',
      completions: '/openai/deployments/{model}/completions',
      embeddings: '/openai/deployments/{model}/embeddings',
      images: '/openai/deployments/{model}/images/generations',
      image_edits: '/openai/deployments/{model}/images/edits',
      speech: '/openai/deployments/{model}/audio/speech',
      transcriptions: '/openai/deployments/{model}/audio/transcriptions',
      translations: '/openai/deployments/{model}/audio/translations',
    },
    operations: 'chat responses completions embeddings images image_edits speech transcriptions translations',
    other: { zh: '默认 API 版本', en: 'Default API version', fallback: '2024-12-01-preview' },
    models:
      'gpt-3.5-turbo-0125 gpt-3.5-turbo-0301 gpt-3.5-turbo-0613 gpt-3.5-turbo-1106 gpt-3.5-turbo-instruct gpt-4-32k gpt-4-turbo-vision gpt-4-turbo gpt-4.1-mini gpt-4.1-nano gpt-4.1 gpt-4 gpt-4o-mini gpt-4o gpt-5-chat gpt-5-codex gpt-5-mini gpt-5-nano gpt-5-pro gpt-5.1-chat gpt-5.1-codex-max gpt-5.1-codex-mini gpt-5.1-codex gpt-5.1 gpt-5.2-chat gpt-5.2-codex gpt-5.2 gpt-5.3-chat gpt-5.3-codex gpt-5.4-mini gpt-5.4-nano gpt-5.4-pro gpt-5.4 gpt-5.5 gpt-5 gpt-image-1.5 gpt-image-1 gpt-image-2 o1-mini o1 o3-mini o3 o4-mini text-embedding-3-large text-embedding-3-small text-embedding-ada-002',
  }),
  other(5, 'midjourney-plus', 'Midjourney Proxy Plus', 'Midjourney Proxy Plus', {
    protocol: null,
    baseUrl: 'https://api.openai-sb.com',
    auth: header('mj-api-secret'),
    color: 'blue',
    paths: { drawing: '/mj' },
    operations: 'drawing',
    models:
      'swap_face mj_imagine mj_variation mj_reroll mj_blend mj_upscale mj_describe mj_zoom mj_shorten mj_modal mj_inpaint mj_custom_zoom mj_high_variation mj_low_variation mj_pan mj_upload',
  }),
  other(11, 'palm', 'Google PaLM2', 'Google PaLM2', {
    protocol: null,
    baseUrl: 'https://generativelanguage.googleapis.com',
    auth: header('x-goog-api-key'),
    color: 'orange',
    paths: { chat: '/v1beta2/models/chat-bison-001:generateMessage' },
    operations: 'chat',
    models: 'PaLM-2',
  }),
  other(14, 'anthropic', 'Anthropic Claude', 'Anthropic Claude', {
    protocol: 'anthropic-messages',
    baseUrl: 'https://api.anthropic.com',
    auth: header('x-api-key'),
    color: 'indigo',
    paths: { messages: '/v1/messages', count_tokens: '/v1/messages/count_tokens' },
    operations: 'messages count_tokens',
    list: '/v1/models',
    models:
      'claude-3-5-sonnet-20240620 claude-3-5-sonnet-20241022 claude-3-7-sonnet-20250219 claude-3-haiku-20240307 claude-3-opus-20240229 claude-3-sonnet-20240229 claude-fable-5 claude-haiku-4-5-20251001 claude-haiku-4-5 claude-opus-4-0 claude-opus-4-1-20250805 claude-opus-4-1 claude-opus-4-20250514 claude-opus-4-5-20251101 claude-opus-4-5 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-sonnet-4-0 claude-sonnet-4-20250514 claude-sonnet-4-5-20250929 claude-sonnet-4-5 claude-sonnet-4-6 claude-sonnet-5 claude-instant-1.2 claude-2 claude-2.0 claude-2.1 claude-3-5-haiku-20241022 claude-3-7-sonnet-20250219-thinking',
  }),
  other(15, 'baidu', '百度文心千帆', 'Baidu Qianfan', {
    protocol: null,
    baseUrl: 'https://aip.baidubce.com',
    auth: signed,
    color: 'blue',
    paths: {
      chat: '/rpc/2.0/ai_custom/v1/wenxinworkshop/chat/{model}',
      embeddings: '/rpc/2.0/ai_custom/v1/wenxinworkshop/embeddings/{model}',
    },
    operations: 'chat embeddings',
    key: { parts: 'APIKey SecretKey', separator: '|' },
    models:
      'ERNIE-4.0-8K ERNIE-3.5-8K ERNIE-3.5-8K-0205 ERNIE-3.5-8K-1222 ERNIE-Bot-8K ERNIE-3.5-4K-0205 ERNIE-Speed-8K ERNIE-Speed-128K ERNIE-Lite-8K-0922 ERNIE-Lite-8K-0308 ERNIE-Tiny-8K BLOOMZ-7B Embedding-V1 bge-large-zh bge-large-en tao-8k',
  }),
  other(16, 'zhipu', '智谱 ChatGLM', 'Zhipu ChatGLM', {
    protocol: 'openai-chat',
    baseUrl: 'https://open.bigmodel.cn',
    auth: signed,
    color: 'violet',
    paths: { chat: '/api/paas/v4/chat/completions', embeddings: '/api/paas/v4/embeddings' },
    operations: 'chat embeddings',
    key: { parts: 'id secret', separator: '.' },
    models: 'chatglm_turbo chatglm_pro chatglm_std chatglm_lite',
  }),
  other(18, 'xunfei', '讯飞星火认知', 'iFlytek Spark', {
    protocol: 'openai-chat',
    baseUrl: 'https://spark-api-open.xf-yun.com',
    auth: signed,
    color: 'blue',
    paths: { chat: '/v1/chat/completions' },
    operations: 'chat',
    key: { parts: 'APPID APISecret APIKey', separator: '|' },
    other: { zh: '接口版本', en: 'API version', fallback: 'v2.1' },
    models: 'SparkDesk SparkDesk-v1.1 SparkDesk-v2.1 SparkDesk-v3.1 SparkDesk-v3.5 SparkDesk-v4.0',
  }),
  other(21, 'aiproxy-library', '知识库：AI Proxy', 'AI Proxy Library', {
    protocol: null,
    baseUrl: 'https://api.aiproxy.io',
    auth: bearer,
    color: 'purple',
    paths: { chat: '/api/library/ask' },
    operations: 'chat',
    other: { zh: '知识库 ID', en: 'Knowledge base id', fallback: '' },
    models: '',
  }),
  other(23, 'tencent', '腾讯混元', 'Tencent Hunyuan', {
    protocol: null,
    baseUrl: 'https://hunyuan.tencentcloudapi.com',
    auth: signed,
    color: 'teal',
    paths: { chat: '/' },
    operations: 'chat',
    key: { parts: 'AppId SecretId SecretKey', separator: '|' },
    models: 'hunyuan-lite hunyuan-standard hunyuan-standard-256K hunyuan-pro',
  }),
  other(24, 'gemini', 'Google Gemini', 'Google Gemini', {
    protocol: 'gemini-generate',
    baseUrl: 'https://generativelanguage.googleapis.com',
    auth: header('x-goog-api-key'),
    color: 'orange',
    paths: {
      generate: '/{other}/models/{model}:generateContent',
      stream: '/{other}/models/{model}:streamGenerateContent?alt=sse',
      embed_contents: '/{other}/models/{model}:batchEmbedContents',
      images: '/{other}/models/{model}:predict',
      count_contents: '/{other}/models/{model}:countTokens',
    },
    operations: 'generate stream embed_contents images count_contents',
    list: '/v1beta/models',
    other: { zh: 'API 版本', en: 'API version', fallback: 'v1beta', byOption: true },
    models:
      'gemini-2.0-flash-lite gemini-2.0-flash gemini-2.5-flash-image gemini-2.5-flash-lite gemini-2.5-flash-preview-tts gemini-2.5-flash gemini-2.5-pro-preview-tts gemini-2.5-pro gemini-3-flash-preview gemini-3-pro-image-preview gemini-3-pro-preview gemini-3.1-flash-image-preview gemini-3.1-flash-lite-preview gemini-3.1-flash-lite gemini-3.1-pro-preview-customtools gemini-3.1-pro-preview gemini-3.5-flash gemini-embedding-001 gemini-flash-latest gemini-flash-lite-latest gemma-4-26b-a4b-it gemma-4-31b-it gemini-1.5-pro gemini-1.5-flash gemini-1.5-flash-8b gemini-1.5-pro-latest gemini-1.5-flash-latest gemini-2.0-flash-lite-preview gemini-exp-1206 gemini-2.0-flash-exp gemini-2.0-pro-exp gemini-2.0-flash-thinking-exp gemini-2.5-pro-exp-03-25 gemini-2.5-pro-preview-03-25 imagen-3.0-generate-002 gemini-embedding-exp-03-07 text-embedding-004 embedding-001',
  }),
  other(33, 'aws', 'AWS Claude', 'AWS Claude', {
    protocol: null,
    baseUrl: '',
    auth: signed,
    color: 'indigo',
    paths: { chat: '/model/{model}/invoke', count_tokens: '/model/{model}/count-tokens' },
    operations: 'chat count_tokens',
    key: { parts: 'Ak Sk Region', separator: '|' },
    models:
      'claude-3-5-sonnet-20240620 claude-3-5-sonnet-20241022 claude-3-7-sonnet-20250219 claude-3-haiku-20240307 claude-3-opus-20240229 claude-3-sonnet-20240229 claude-fable-5 claude-haiku-4-5-20251001 claude-haiku-4-5 claude-opus-4-0 claude-opus-4-1-20250805 claude-opus-4-1 claude-opus-4-20250514 claude-opus-4-5-20251101 claude-opus-4-5 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-sonnet-4-0 claude-sonnet-4-20250514 claude-sonnet-4-5-20250929 claude-sonnet-4-5 claude-sonnet-4-6 claude-sonnet-5 claude-instant-1.2 claude-2.0 claude-2.1 claude-3-5-haiku-20241022',
  }),
  other(34, 'cohere', 'Cohere', 'Cohere', {
    protocol: 'openai-chat',
    baseUrl: 'https://api.cohere.ai',
    auth: bearer,
    color: 'purple',
    paths: { chat: '/v2/chat', embeddings: '/v2/embed', rerank: '/v2/rerank' },
    operations: 'chat embeddings rerank',
    list: '/v1/models',
    models:
      'c4ai-aya-expanse-32b c4ai-aya-expanse-8b c4ai-aya-vision-32b c4ai-aya-vision-8b command-a-03-2025 command-a-plus-05-2026 command-a-reasoning-08-2025 command-a-translate-08-2025 command-a-vision-07-2025 command-r-08-2024 command-r-plus-08-2024 command-r7b-12-2024 command-r7b-arabic-02-2025 north-mini-code-1-0 command-r command-r-plus c4ai-aya-23-35b c4ai-aya-23-8b command-light command-light-nightly command command-nightly rerank-english-v3.0 rerank-multilingual-v3.0 rerank-english-v2.0 rerank-multilingual-v2.0',
  }),
  other(36, 'suno', 'Suno API', 'Suno API', {
    protocol: null,
    baseUrl: '',
    auth: bearer,
    color: 'purple',
    paths: { music: '/suno' },
    operations: 'music',
    models: 'suno_music suno_lyrics',
  }),
  other(37, 'dify', 'Dify', 'Dify', {
    protocol: null,
    baseUrl: 'https://api.dify.ai',
    auth: bearer,
    color: 'teal',
    paths: { chat: '/v1/chat-messages' },
    operations: 'chat',
    models: '',
  }),
  other(38, 'jina', 'Jina', 'Jina', {
    protocol: null,
    baseUrl: 'https://api.jina.ai',
    auth: bearer,
    color: 'blue',
    paths: { embeddings: '/v1/embeddings', rerank: '/v1/rerank' },
    operations: 'embeddings rerank',
    models: 'jina-clip-v1 jina-reranker-v2-base-multilingual',
  }),
  other(39, 'cloudflare', 'Cloudflare', 'Cloudflare', {
    protocol: 'openai-chat',
    baseUrl: 'https://api.cloudflare.com',
    auth: bearer,
    color: 'grey',
    paths: {
      chat: '/client/v4/accounts/{other}/ai/v1/chat/completions',
      embeddings: '/client/v4/accounts/{other}/ai/v1/embeddings',
    },
    operations: 'chat embeddings',
    other: { zh: '账户 ID', en: 'Account id', fallback: '' },
    models:
      '@cf/qwen/qwen2.5-coder-32b-instruct @cf/qwen/qwen3-30b-a3b-fp8 @cf/qwen/qwq-32b @cf/aisingapore/gemma-sea-lion-v4-27b-it @cf/google/gemma-4-26b-a4b-it @cf/mistralai/mistral-small-3.1-24b-instruct @cf/meta/llama-3.1-8b-instruct-fp8 @cf/meta/llama-3.2-11b-vision-instruct @cf/meta/llama-3.2-1b-instruct @cf/meta/llama-3.2-3b-instruct @cf/meta/llama-3.3-70b-instruct-fp8-fast @cf/meta/llama-4-scout-17b-16e-instruct @cf/meta/llama-guard-3-8b @cf/moonshotai/kimi-k2.6 @cf/moonshotai/kimi-k2.7-code @cf/deepseek-ai/deepseek-r1-distill-qwen-32b @cf/nvidia/nemotron-3-120b-a12b @cf/openai/gpt-oss-120b @cf/openai/gpt-oss-20b @cf/zai-org/glm-4.7-flash @cf/zai-org/glm-5.2 @cf/ibm-granite/granite-4.0-h-micro @cf/meta/llama-3.1-8b-instruct @cf/meta/llama-2-7b-chat-fp16 @cf/meta/llama-2-7b-chat-int8 @cf/mistral/mistral-7b-instruct-v0.1 @hf/thebloke/deepseek-coder-6.7b-base-awq @hf/thebloke/deepseek-coder-6.7b-instruct-awq @cf/deepseek-ai/deepseek-math-7b-base @cf/deepseek-ai/deepseek-math-7b-instruct @cf/thebloke/discolm-german-7b-v1-awq @cf/tiiuae/falcon-7b-instruct @cf/google/gemma-2b-it-lora @hf/google/gemma-7b-it @cf/google/gemma-7b-it-lora @hf/nousresearch/hermes-2-pro-mistral-7b @hf/thebloke/llama-2-13b-chat-awq @cf/meta-llama/llama-2-7b-chat-hf-lora @cf/meta/llama-3-8b-instruct @hf/thebloke/llamaguard-7b-awq @hf/thebloke/mistral-7b-instruct-v0.1-awq @hf/mistralai/mistral-7b-instruct-v0.2 @cf/mistral/mistral-7b-instruct-v0.2-lora @hf/thebloke/neural-chat-7b-v3-1-awq @cf/openchat/openchat-3.5-0106 @hf/thebloke/openhermes-2.5-mistral-7b-awq @cf/microsoft/phi-2 @cf/qwen/qwen1.5-0.5b-chat @cf/qwen/qwen1.5-1.8b-chat @cf/qwen/qwen1.5-14b-chat-awq @cf/qwen/qwen1.5-7b-chat-awq @cf/defog/sqlcoder-7b-2 @hf/nexusflow/starling-lm-7b-beta @cf/tinyllama/tinyllama-1.1b-chat-v1.0 @hf/thebloke/zephyr-7b-beta-awq',
  }),
  other(41, 'vertex', 'Vertex AI', 'Vertex AI', {
    protocol: null,
    baseUrl: '',
    auth: signed,
    color: 'blue',
    paths: {
      chat: '/v1/projects',
      images: '/v1/projects',
      embeddings: '/v1/projects',
      count_tokens: '/v1/projects',
      count_contents: '/v1/projects',
    },
    operations: 'chat images embeddings count_tokens count_contents',
    other: {
      zh: '区域（文本，或模型到区域的 JSON）',
      en: 'Region, or JSON of model to region',
      fallback: 'us-central1',
    },
    models:
      'claude-3-5-haiku@20241022 claude-haiku-4-5@20251001 claude-opus-4-1@20250805 claude-opus-4-5@20251101 claude-opus-4-6@default claude-opus-4-7@default claude-opus-4-8@default claude-opus-4@20250514 claude-sonnet-4-5@20250929 claude-sonnet-4-6@default claude-sonnet-4@20250514 claude-sonnet-5@default gemini-2.5-flash-lite gemini-2.5-flash-tts gemini-2.5-flash gemini-2.5-pro-tts gemini-2.5-pro gemini-3-flash-preview gemini-3.1-flash-lite-preview gemini-3.1-flash-lite gemini-3.1-pro-preview-customtools gemini-3.1-pro-preview gemini-3.5-flash gemini-embedding-001 gemini-flash-latest gemini-flash-lite-latest qwen/qwen3-235b-a22b-instruct-2507-maas meta/llama-3.3-70b-instruct-maas meta/llama-4-maverick-17b-128e-instruct-maas moonshotai/kimi-k2-thinking-maas deepseek-ai/deepseek-v3.1-maas deepseek-ai/deepseek-v3.2-maas openai/gpt-oss-120b-maas openai/gpt-oss-20b-maas zai-org/glm-4.7-maas zai-org/glm-5-maas meta/llama3-405b-instruct-maas claude-instant-1.2 claude-2 claude-2.0 claude-2.1 claude-3-sonnet-20240229 claude-3-opus-20240229 claude-3-haiku-20240307 claude-3-5-haiku-20241022 claude-3-5-sonnet-20240620 claude-3-5-sonnet-20241022 claude-3-7-sonnet-20250219 claude-3-7-sonnet-20250219-thinking gemini-1.5-pro gemini-1.5-flash gemini-1.5-flash-8b gemini-2.0-flash gemini-1.5-pro-latest gemini-1.5-flash-latest gemini-2.0-flash-lite-preview gemini-exp-1206 gemini-2.0-flash-exp gemini-2.0-pro-exp gemini-2.0-flash-thinking-exp gemini-2.5-pro-exp-03-25 gemini-2.5-pro-preview-03-25 imagen-3.0-generate-002 gemini-embedding-exp-03-07 text-embedding-004 embedding-001',
  }),
  other(44, 'moka', '嵌入模型：MokaAI M3E', 'MokaAI M3E', {
    protocol: null,
    baseUrl: 'https://api.moka.ai',
    auth: bearer,
    color: 'blue',
    paths: { embeddings: '/v1/embeddings' },
    operations: 'embeddings',
    models: 'm3e-large m3e-base m3e-small',
  }),
  other(110, 'coze', '扣子 Coze', 'Coze', {
    protocol: null,
    baseUrl: 'https://api.coze.cn',
    auth: bearer,
    color: 'blue',
    paths: { chat: '/v3/chat' },
    operations: 'chat',
    other: { zh: '智能体 ID（留空则取模型名）', en: 'Bot id (empty = the model name)', fallback: '' },
    models: '',
  }),
];
