/** The upstreams of real programs: a double, at the address that its provider has, with a model that people use there. */
import { bedrockAccount } from '../../../tests/doubles/doubles/bedrock.ts';

export interface StrictProvider {
  /** As the table calls it. */
  readonly name: string;
  readonly double: string;
  /** Address of its channel: the host decides what the gateway knows of it. */
  readonly address: string;
  /** As the upstream calls it. */
  readonly model: string;
  /** As clients call it; absent = the same. */
  readonly alias?: string;
  readonly key?: string;
}

const { accessKey, secretKey } = bedrockAccount;

export const strictProviders: readonly StrictProvider[] = [
  { name: 'gpt-4o', double: 'openai', address: 'http://api.openai.com', model: 'gpt-4o' },
  { name: 'gpt-5.6', double: 'openai', address: 'http://api.openai.com', model: 'gpt-5.6-sol' },
  { name: 'gpt-6', double: 'openai', address: 'http://api.openai.com', model: 'gpt-6-astra' },
  { name: 'anthropic', double: 'anthropic', address: 'http://api.anthropic.com', model: 'claude-opus-4-8' },
  // Programs ask other things of names that they do not know.
  {
    name: 'anthropic as',
    double: 'anthropic',
    address: 'http://api.anthropic.com',
    model: 'claude-sonnet-4-6',
    alias: 'house-large',
  },
  {
    name: 'bedrock',
    double: 'bedrock',
    address: 'http://bedrock-runtime.us-east-1.amazonaws.com',
    model: 'claude-opus-4-7',
    key: `${accessKey}|${secretKey}|us-east-1`,
  },
  {
    name: 'bedrock as',
    double: 'bedrock',
    address: 'http://bedrock-runtime.us-east-1.amazonaws.com',
    model: 'claude-haiku-4-5-20251001',
    alias: 'house-small',
    key: `${accessKey}|${secretKey}|us-east-1`,
  },
  {
    name: 'gemini',
    double: 'gemini',
    address: 'http://generativelanguage.googleapis.com',
    model: 'gemini-3.1-pro-preview',
  },
  { name: 'vllm', double: 'vllm', address: 'http://vllm.internal:8000', model: 'Qwen/Qwen3.6-27B' },
  { name: 'lm-studio', double: 'lm-studio', address: 'http://studio.internal:1234', model: 'qwen/qwen3.6-35b-a3b' },
  { name: 'ollama', double: 'ollama', address: 'http://ollama.internal:11434', model: 'qwen3.8:27b' },
  { name: 'minimax', double: 'minimax', address: 'http://api.minimaxi.com', model: 'MiniMax-M2.5' },
  {
    name: 'fireworks',
    double: 'fireworks',
    address: 'http://api.fireworks.ai/inference',
    model: 'accounts/fireworks/models/qwen3p8-397b-a17b',
  },
  { name: 'xai', double: 'xai', address: 'http://api.x.ai', model: 'grok-4.6' },
  { name: 'groq', double: 'groq', address: 'http://api.groq.com/openai', model: 'openai/gpt-oss-120b' },
  { name: 'openrouter', double: 'openrouter', address: 'http://openrouter.ai/api', model: 'qwen/qwen3.8-plus' },
  { name: 'deepseek', double: 'deepseek', address: 'http://api.deepseek.com', model: 'deepseek-v4-pro' },
];
