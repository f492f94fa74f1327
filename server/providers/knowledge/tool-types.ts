/** Types of tools that providers take at a Responses endpoint of their own. OpenAI's clients send more: what is not taken becomes a function or goes. */
import { bareName } from '../../contract/model-limits.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { WithSource } from './row.ts';

export interface ToolTypeRow extends WithSource {
  /** Slug of the catalogue. */
  readonly provider: string;
  readonly dialect: ProtocolId;
  /** Upstream names; absent = all. */
  readonly models?: RegExp;
  /** Whole types. */
  readonly types: RegExp;
}

const dialect = 'openai-responses';

const toolTypeRows: readonly ToolTypeRow[] = [
  {
    provider: 'xai',
    dialect,
    types:
      /^(?:function|web_search|x_search|image_generation|collections_search|file_search|code_execution|code_interpreter|mcp|shell)$/,
    source: 'https://github.com/maximhq/bifrost/issues/5428',
  },
  {
    provider: 'openrouter',
    dialect,
    types: /^(?:function|web_search(?:_\w+)?|openrouter:.+)$/,
    source: 'https://github.com/awsl-project/maxx/issues/537',
  },
  {
    provider: 'groq',
    dialect,
    types: /^(?:function|browser_search|code_interpreter|mcp)$/,
    source: 'https://console.groq.com/docs/responses-api',
  },
  {
    provider: 'lm-studio',
    dialect,
    types: /^(?:function|mcp)$/,
    source: 'https://github.com/openai/codex/issues/10635',
  },
  // Some of its versions take bundles and give their calls back under one name, others refuse them.
  { provider: 'vllm', dialect, types: /^function$/, source: 'https://github.com/vllm-project/vllm/issues/42475' },
  {
    provider: 'vllm',
    dialect,
    models: /^gpt-oss/,
    types: /^(?:function|web_search_preview|code_interpreter|container|mcp)$/,
    source: 'https://github.com/vllm-project/vllm/issues/49493',
  },
];

/** @returns types that are taken, by the last row about the model; null = all that its dialect has. */
export function toolTypesAt(provider: string, spoken: ProtocolId, model: string): RegExp | null {
  const name = bareName(model);
  const row = toolTypeRows.findLast(
    (one) => one.provider === provider && one.dialect === spoken && (one.models === undefined || one.models.test(name)),
  );
  return row?.types ?? null;
}
