/** Every provider that can be played, by the name it is asked for. */
import type { Double } from './double.ts';
import { anthropic } from './doubles/anthropic.ts';
import { bedrock } from './doubles/bedrock.ts';
import { ali, deepseek, minimax, moonshot, zhipu } from './doubles/china.ts';
import { cerebras, groq, mistral } from './doubles/closed.ts';
import { gemini } from './doubles/gemini.ts';
import { fireworks, siliconflow, volcengine, zhipuSigned } from './doubles/hosts.ts';
import { lmStudio, vllm } from './doubles/local.ts';
import { openrouter, perplexity, together, xai } from './doubles/open.ts';
import { azure, openai } from './doubles/openai.ts';
import { cohere, ollama } from './doubles/own-wires.ts';

/** All but Vertex, whose account is made when it is started. */
export const doubles: readonly Double[] = [
  openai,
  azure,
  anthropic,
  gemini,
  mistral,
  groq,
  cerebras,
  bedrock,
  openrouter,
  together,
  perplexity,
  xai,
  deepseek,
  moonshot,
  zhipu,
  cohere,
  ollama,
  ali,
  minimax,
  fireworks,
  siliconflow,
  volcengine,
  zhipuSigned,
  vllm,
  lmStudio,
];

export const doubleNames: readonly string[] = [...doubles.map(({ name }) => name), 'vertex'];
