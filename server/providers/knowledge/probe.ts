/** What may be asked of a model to see that a channel works: the operation it answers, and what it costs besides its tokens. */
import type { WithSource } from './row.ts';

export type ProbeKind =
  | 'chat'
  | 'responses'
  | 'completions'
  | 'embeddings'
  | 'rerank'
  | 'moderations'
  | 'speech'
  /** Speaks or listens in every chat. */
  | 'audio-chat'
  | 'images'
  /** Runs for minutes and is billed by what it looks at. */
  | 'research'
  /** Wants a file, a socket or a work of its own; or it is not offered any more. */
  | 'none';

export interface ProbeRow extends WithSource {
  /** Names as channels list them, lower case, without a maker's prefix. */
  readonly models: RegExp;
  /** Slug of the catalogue where it holds; absent = at every provider. */
  readonly provider?: string;
  readonly kind?: ProbeKind;
  /** It thinks unasked, so that a short limit leaves no room for words. */
  readonly thinking?: boolean;
  /** The name it wants for the longest answer. */
  readonly limitMember?: string;
  /** Asked only where there is nothing else: it may be gone, or wants to be asked in its own way. */
  readonly last?: true;
  /** Members that keep a question cheap, or that it cannot be asked without. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

const openAi = 'https://platform.openai.com/docs/models';
const openAiReasoning = 'https://platform.openai.com/docs/guides/reasoning';
const perplexity = 'https://docs.perplexity.ai/getting-started/models';

/** Later rows win, member by member. */
export const probeRows: readonly ProbeRow[] = [
  { models: /rerank/, kind: 'rerank', source: 'https://docs.cohere.com/docs/models' },
  {
    models: /embed|^bge-(?!rerank)|^bce-embed|^m3e|^tao-8k|^gte-|^clip|-clip-/,
    kind: 'embeddings',
    source: 'https://docs.siliconflow.cn/cn/api-reference/embeddings/create-embeddings',
  },
  {
    models:
      /dall-e|gpt-image|chatgpt-image|imagen|image|flux|stable-diffusion|sdxl|seedream|wanx|^wan\d.*t2i|z-image|instantid|^playground-v/,
    kind: 'images',
    source: 'https://platform.openai.com/docs/guides/image-generation',
  },
  { models: /(?:^|-)tts(?:-|$)/, kind: 'speech', source: 'https://platform.openai.com/docs/guides/text-to-speech' },
  {
    models: /whisper|transcribe|(?:^|-)asr(?:-|$)|sensevoice|-stt/,
    kind: 'none',
    source: 'https://platform.openai.com/docs/guides/speech-to-text',
  },
  {
    models: /realtime|-live(?:-|$)|native-audio/,
    kind: 'none',
    source: 'https://platform.openai.com/docs/guides/realtime',
  },
  {
    models: /sora|(?:^|-)veo|^wan\d.*[ti]2v|kling|hailuo|lyria/,
    kind: 'none',
    source: 'https://platform.openai.com/docs/guides/video-generation',
  },
  {
    models:
      /(?:^|-)ocr(?:-|$)|prompt-guard|llama-guard|safeguard|translate|intent-detect|(?:^|-)mt-(?:plus|turbo|flash)/,
    kind: 'none',
    source: 'https://console.groq.com/docs/content-moderation',
  },
  { models: /moderation/, kind: 'moderations', source: 'https://platform.openai.com/docs/guides/moderation' },
  { models: /audio-preview|^gpt-audio/, kind: 'audio-chat', source: 'https://platform.openai.com/docs/guides/audio' },
  {
    models: /^(?:davinci|babbage)-002$|-instruct-0914$|^gpt-3\.5-turbo-instruct/,
    kind: 'completions',
    source: 'https://platform.openai.com/docs/models/gpt-3.5-turbo-instruct',
  },
  {
    models:
      /^text-(?:curie|babbage|ada|davinci)-|^text-davinci-edit|^gpt-4-vision|^gpt-4-32k|^gpt-4\.5-preview|^o1-(?:preview|mini)|^gpt-3\.5-turbo-(?:0301|0613|16k)/,
    kind: 'none',
    source: 'https://platform.openai.com/docs/deprecations',
  },
  {
    models: /^(?:o\d|gpt-[5-9])(?!.*chat)/,
    thinking: true,
    limitMember: 'max_completion_tokens',
    source: openAiReasoning,
  },
  { models: /^gpt-[5-9].*chat/, limitMember: 'max_completion_tokens', source: openAiReasoning },
  {
    models: /^(?:o\d+|gpt-[5-9][\d.]*)-pro|^gpt-[5-9].*-codex|^codex-mini|^computer-use/,
    kind: 'responses',
    source: openAi,
  },
  {
    models: /deep-?research|multi-agent/,
    kind: 'research',
    source: 'https://platform.openai.com/docs/guides/deep-research',
  },
  { models: /^gemini-(?:2\.5|[3-9])/, thinking: true, source: 'https://ai.google.dev/gemini-api/docs/thinking' },
  {
    models:
      /thinking|reason|^(?:qwq|qvq)|-r1|^magistral|gpt-oss|^grok-[34]|^glm-[4-9]\.[5-9]|^glm-5|^kimi-k2\.|^minimax-m|^deepseek-v4/,
    thinking: true,
    source: 'https://api-docs.deepseek.com/guides/thinking_mode',
  },
  { models: /non-reasoning|-non-thinking/, thinking: false, source: 'https://docs.x.ai/docs/models' },
  { models: /^grok-build/, thinking: true, source: 'https://docs.x.ai/docs/models' },
  { models: /omni/, kind: 'audio-chat', source: 'https://help.aliyun.com/zh/model-studio/qwen-omni' },
  {
    models: /^claude-(?:[12]|3|instant)/,
    last: true,
    source: 'https://platform.claude.com/docs/en/about-claude/model-deprecations',
  },
  { models: /^gemini-(?:1|2\.0|pro)/, last: true, source: 'https://ai.google.dev/gemini-api/docs/deprecations' },
  { models: /^grok-(?:[23](?!\d)|beta|vision)/, last: true, source: 'https://docs.x.ai/docs/models' },
  { models: /^gpt-(?:3\.5|4(?![.o\d]))/, last: true, source: 'https://platform.openai.com/docs/deprecations' },
  { models: /^kimi-k2-0[79]/, last: true, source: 'https://platform.moonshot.ai/docs/pricing/chat' },
  { models: /^jina-clip/, last: true, extra: { input: [{ text: 'hi' }] }, source: 'https://jina.ai/embeddings/' },
  {
    models: /audio-preview|^gpt-audio/,
    extra: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'mp3' } },
    source: 'https://platform.openai.com/docs/guides/audio',
  },
  {
    models: /^sonar/,
    provider: 'perplexity',
    extra: { disable_search: true },
    source: 'https://docs.perplexity.ai/api-reference/chat-completions-post',
  },
  { models: /^(?!sonar)/, provider: 'perplexity', kind: 'none', source: perplexity },
  { models: /compound/, provider: 'groq', kind: 'research', source: 'https://console.groq.com/docs/compound' },
];
