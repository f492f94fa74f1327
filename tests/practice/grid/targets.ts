/** The upstreams of the grid: which double, which of its models, and what its own clients may ask of it. */
import type { ChannelFields } from '../../../server/domain/channels/service.ts';
import type { ProtocolId } from '../../../server/protocols/canonical.ts';

export interface GridTarget {
  readonly double: string;
  readonly model: string;
  /** Dialects that its own clients speak to it, with the words for effort that they may use there. */
  readonly own: Partial<Record<ProtocolId, readonly string[]>>;
  readonly fields?: ChannelFields;
  /** Tells apart what stands at several channels. */
  readonly as?: string;
  /** Things its model cannot do: its own clients do not ask for them. */
  readonly lacks?: readonly ('tools' | 'images' | 'schema')[];
}

const chat = (double: string, model: string, efforts = '', lacks: GridTarget['lacks'] = []): GridTarget => ({
  double,
  model,
  own: {
    'openai-chat': words(efforts),
    ...(['groq', 'xai', 'openrouter', 'vllm', 'lm-studio'].includes(double)
      ? { 'openai-responses': words(efforts) }
      : {}),
  },
  lacks,
});
const words = (text: string): readonly string[] => text.split(' ').filter((word) => word !== '');

export const gridTargets: readonly GridTarget[] = [
  { double: 'openai', model: 'gpt-4o', own: { 'openai-chat': [], 'openai-responses': [] } },
  {
    double: 'openai',
    model: 'gpt-5',
    own: {
      'openai-chat': words('minimal low medium high'),
      'openai-responses': words('minimal low medium high'),
    },
  },
  {
    double: 'openai',
    model: 'gpt-5.2',
    own: {
      'openai-chat': words('none low medium high xhigh'),
      'openai-responses': words('none low medium high xhigh'),
    },
  },
  {
    double: 'openai',
    model: 'o3',
    own: { 'openai-chat': words('low medium high'), 'openai-responses': words('low medium high') },
  },
  {
    double: 'azure',
    model: 'gpt-4.1',
    own: { 'openai-chat': [], 'openai-responses': [] },
    fields: { other: '2025-04-01-preview' },
  },
  { double: 'anthropic', model: 'claude-haiku-4-5-20251001', own: { 'anthropic-messages': ['budget'] } },
  { double: 'anthropic', model: 'claude-3-5-sonnet-20241022', own: { 'anthropic-messages': [] }, lacks: ['schema'] },
  { double: 'anthropic', model: 'claude-opus-4-6', own: { 'anthropic-messages': words('low medium high max budget') } },
  { double: 'anthropic', model: 'claude-opus-4-8', own: { 'anthropic-messages': words('low medium high xhigh max') } },
  { double: 'gemini', model: 'gemini-2.5-pro', own: { 'gemini-generate': ['budget'] } },
  { double: 'gemini', model: 'gemini-2.5-flash', own: { 'gemini-generate': ['budget'] } },
  { double: 'gemini', model: 'gemini-3-pro-preview', own: { 'gemini-generate': words('low high') } },
  { double: 'gemini', model: 'gemini-3-flash-preview', own: { 'gemini-generate': words('minimal low medium high') } },
  chat('mistral', 'mistral-large-latest'),
  chat('mistral', 'mistral-small-latest', 'none high'),
  chat('groq', 'qwen/qwen3-32b', 'none', ['schema']),
  chat('groq', 'openai/gpt-oss-120b', 'low medium high'),
  chat('groq', 'llama-3.3-70b-versatile', '', ['schema']),
  chat('cerebras', 'gpt-oss-120b', 'low medium high'),
  chat('cerebras', 'zai-glm-4.7'),
  { double: 'bedrock', model: 'claude-sonnet-4-5-20250929', own: { 'anthropic-messages': ['budget'] } },
  { double: 'bedrock', model: 'claude-opus-4-7', own: { 'anthropic-messages': words('low medium high xhigh max') } },
  { double: 'bedrock', model: 'claude-haiku-4-5-20251001', own: { 'anthropic-messages': ['budget'] } },
  { double: 'bedrock', model: 'amazon.nova-pro-v1:0', own: {} },
  {
    double: 'vertex',
    model: 'claude-sonnet-4-5@20250929',
    own: { 'anthropic-messages': ['budget'] },
    lacks: ['schema'],
  },
  { double: 'vertex', model: 'gemini-3-flash-preview', own: { 'gemini-generate': words('minimal low medium high') } },
  chat('openrouter', 'anthropic/claude-opus-4.7', 'none minimal low medium high xhigh'),
  chat('together', 'openai/gpt-oss-20b', 'low medium high'),
  chat('perplexity', 'sonar', '', ['tools']),
  chat('perplexity', 'sonar-reasoning-pro', 'minimal low medium high', ['tools']),
  chat('xai', 'grok-4-0709'),
  chat('xai', 'grok-4.3', 'none low medium high'),
  chat('xai', 'grok-3-mini-beta', 'low high'),
  chat('deepseek', 'deepseek-chat', '', ['images', 'schema']),
  chat('deepseek', 'deepseek-reasoner', '', ['images', 'schema']),
  chat('deepseek', 'deepseek-v4-pro', 'low high max', ['images', 'schema']),
  chat('moonshot', 'kimi-k2-0905-preview'),
  chat('moonshot', 'kimi-k2.5'),
  chat('zhipu', 'glm-4.6', '', ['schema']),
  { double: 'cohere', model: 'command-a-03-2025', own: {}, lacks: ['images'] },
  { double: 'cohere', model: 'command-a-reasoning-08-2025', own: {}, lacks: ['images'] },
  { double: 'ollama', model: 'qwen3', own: {} },
  chat('ali', 'qwen-plus'),
  chat('ali', 'qwen3-235b-a22b'),
  chat('minimax', 'MiniMax-M2.5'),
  chat('fireworks', 'accounts/fireworks/models/kimi-k2p6', 'none'),
  chat('fireworks', 'accounts/fireworks/models/deepseek-v4-pro', 'none high max'),
  chat('siliconflow', 'Qwen/Qwen3-32B'),
  chat('volcengine', 'doubao-seed-1-6-251015', 'minimal low medium high'),
  chat('zhipu-signed', 'glm-4.6', '', ['schema']),
  chat('vllm', 'Qwen/Qwen3.6-27B'),
  chat('lm-studio', 'qwen/qwen3.6-35b-a3b'),
];

export const aliasOf = ({ double, model, as }: GridTarget): string =>
  `${double}--${model.replace(/[/:@]/g, '_')}${as === undefined ? '' : `--${as}`}`;
