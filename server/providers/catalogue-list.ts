/** Providers of the wire contract that need more than a row: facts only. What `operations` leaves out is not served; what a row cannot say stands in its adapter. */
import { modelListOf } from './model-lists.ts';
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

export const otherProviders: readonly Provider[] = [
  other(2, 'midjourney', 'Midjourney Proxy', 'Midjourney Proxy', {
    protocol: null,
    baseUrl: 'https://oa.api2d.net',
    auth: header('mj-api-secret'),
    color: 'light-blue',
    paths: { drawing: '/mj' },
    operations: 'drawing',
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
  }),
  other(5, 'midjourney-plus', 'Midjourney Proxy Plus', 'Midjourney Proxy Plus', {
    protocol: null,
    baseUrl: 'https://api.openai-sb.com',
    auth: header('mj-api-secret'),
    color: 'blue',
    paths: { drawing: '/mj' },
    operations: 'drawing',
  }),
  other(11, 'palm', 'Google PaLM2', 'Google PaLM2', {
    protocol: null,
    baseUrl: 'https://generativelanguage.googleapis.com',
    auth: header('x-goog-api-key'),
    color: 'orange',
    paths: { chat: '/v1beta2/models/chat-bison-001:generateMessage' },
    operations: 'chat',
  }),
  other(14, 'anthropic', 'Anthropic Claude', 'Anthropic Claude', {
    protocol: 'anthropic-messages',
    baseUrl: 'https://api.anthropic.com',
    auth: header('x-api-key'),
    color: 'indigo',
    paths: { messages: '/v1/messages', count_tokens: '/v1/messages/count_tokens' },
    operations: 'messages count_tokens',
    list: '/v1/models',
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
  }),
  other(16, 'zhipu', '智谱 ChatGLM', 'Zhipu ChatGLM', {
    protocol: 'openai-chat',
    baseUrl: 'https://open.bigmodel.cn',
    auth: signed,
    color: 'violet',
    paths: { chat: '/api/paas/v4/chat/completions', embeddings: '/api/paas/v4/embeddings' },
    operations: 'chat embeddings',
    key: { parts: 'id secret', separator: '.' },
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
  }),
  other(21, 'aiproxy-library', '知识库：AI Proxy', 'AI Proxy Library', {
    protocol: null,
    baseUrl: 'https://api.aiproxy.io',
    auth: bearer,
    color: 'purple',
    paths: { chat: '/api/library/ask' },
    operations: 'chat',
    other: { zh: '知识库 ID', en: 'Knowledge base id', fallback: '' },
  }),
  other(23, 'tencent', '腾讯混元', 'Tencent Hunyuan', {
    protocol: null,
    baseUrl: 'https://hunyuan.tencentcloudapi.com',
    auth: signed,
    color: 'teal',
    paths: { chat: '/' },
    operations: 'chat',
    key: { parts: 'AppId SecretId SecretKey', separator: '|' },
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
  }),
  other(33, 'aws', 'AWS Claude', 'AWS Claude', {
    protocol: null,
    baseUrl: '',
    auth: signed,
    color: 'indigo',
    paths: { chat: '/model/{model}/invoke', count_tokens: '/model/{model}/count-tokens' },
    operations: 'chat count_tokens',
    key: { parts: 'Ak Sk Region', separator: '|' },
  }),
  other(34, 'cohere', 'Cohere', 'Cohere', {
    protocol: 'openai-chat',
    baseUrl: 'https://api.cohere.ai',
    auth: bearer,
    color: 'purple',
    paths: { chat: '/v2/chat', embeddings: '/v2/embed', rerank: '/v2/rerank' },
    operations: 'chat embeddings rerank',
    list: '/v1/models',
  }),
  other(36, 'suno', 'Suno API', 'Suno API', {
    protocol: null,
    baseUrl: '',
    auth: bearer,
    color: 'purple',
    paths: { music: '/suno' },
    operations: 'music',
  }),
  other(37, 'dify', 'Dify', 'Dify', {
    protocol: null,
    baseUrl: 'https://api.dify.ai',
    auth: bearer,
    color: 'teal',
    paths: { chat: '/v1/chat-messages' },
    operations: 'chat',
  }),
  other(38, 'jina', 'Jina', 'Jina', {
    protocol: null,
    baseUrl: 'https://api.jina.ai',
    auth: bearer,
    color: 'blue',
    paths: { embeddings: '/v1/embeddings', rerank: '/v1/rerank' },
    operations: 'embeddings rerank',
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
  }),
  other(44, 'moka', '嵌入模型：MokaAI M3E', 'MokaAI M3E', {
    protocol: null,
    baseUrl: 'https://api.moka.ai',
    auth: bearer,
    color: 'blue',
    paths: { embeddings: '/v1/embeddings' },
    operations: 'embeddings',
  }),
  other(110, 'coze', '扣子 Coze', 'Coze', {
    protocol: null,
    baseUrl: 'https://api.coze.cn',
    auth: bearer,
    color: 'blue',
    paths: { chat: '/v3/chat' },
    operations: 'chat',
    other: { zh: '智能体 ID（留空则取模型名）', en: 'Bot id (empty = the model name)', fallback: '' },
  }),
];
