/** How fast models write, and whose thoughts are shown in full: what a thought is charged by where the upstream never reports it. */
import type { ModelRow } from '../row.ts';

/** Medians of Artificial Analysis, 2026-04-07: of a maker's models together, and of single ones. */
const speeds = 'https://benchlm.ai/llm-speed';
const reasoningContent = 'https://api-docs.deepseek.com/guides/thinking_mode';

export const thoughtRows: readonly ModelRow[] = [
  { models: /^(?:o\d|gpt-[5-9])/, tokensPerSecond: 121, source: speeds },
  { models: /^o[34]-mini/, tokensPerSecond: 160, source: speeds },
  { models: /^gemini-(?:2\.5|[3-9]|.*latest)/, tokensPerSecond: 136, source: speeds },
  { models: /^gemini-2\.5-flash/, tokensPerSecond: 221, source: speeds },
  { models: /^claude-/, tokensPerSecond: 52, source: speeds },
  { models: /^grok-[3-9]/, tokensPerSecond: 157, source: speeds },
  { models: /^deepseek/, thoughtsVisible: true, source: reasoningContent },
  {
    models: /^(?:gpt-oss|q(?:wen|wq|vq)|kimi|glm|minimax|magistral)/,
    thoughtsVisible: true,
    source: 'https://docs.vllm.ai/en/latest/features/reasoning_outputs.html',
  },
];
