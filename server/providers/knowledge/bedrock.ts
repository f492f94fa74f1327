/** How Bedrock calls Anthropic's models, where it offers them, and which of their features it takes. */
import type { BetaRow, GateRow } from './beta-headers.ts';
import type { WithSource } from './row.ts';

const models = 'https://platform.claude.com/docs/en/build-with-claude/claude-on-amazon-bedrock';
const profiles = 'https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html';

/** The ids that LiteLLM's map has, with their profiles in front. */
const published = 'https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json';

/** Profiles that span regions, by the prefix of their id. */
export type Span = 'global' | 'us' | 'us-gov' | 'eu' | 'jp' | 'au' | 'apac';

export interface BedrockModelRow extends WithSource {
  /** As Anthropic calls it, each of its names. */
  readonly names: readonly string[];
  readonly id: string;
  /** Profiles that hold it; none = it is called by its id alone. */
  readonly spans: readonly Span[];
}

const row = (names: string, id: string, spans: string, more: Partial<WithSource> = {}): BedrockModelRow => ({
  names: names.split(' '),
  id: `anthropic.${id}`,
  spans: spans === '' ? [] : (spans.split(' ') as Span[]),
  source: models,
  ...more,
});

export const bedrockModels: readonly BedrockModelRow[] = [
  row('claude-instant-1.2', 'claude-instant-v1', '', { source: profiles }),
  row('claude-2.0', 'claude-v2', '', { source: profiles }),
  row('claude-2.1', 'claude-v2:1', '', { source: profiles }),
  row('claude-3-sonnet-20240229', 'claude-3-sonnet-20240229-v1:0', ''),
  row('claude-3-opus-20240229', 'claude-3-opus-20240229-v1:0', ''),
  row('claude-3-haiku-20240307', 'claude-3-haiku-20240307-v1:0', ''),
  row('claude-3-5-sonnet-20240620', 'claude-3-5-sonnet-20240620-v1:0', ''),
  row('claude-3-5-sonnet-20241022', 'claude-3-5-sonnet-20241022-v2:0', ''),
  row('claude-3-5-haiku-20241022', 'claude-3-5-haiku-20241022-v1:0', 'us'),
  row('claude-3-7-sonnet-20250219', 'claude-3-7-sonnet-20250219-v1:0', 'us us-gov eu apac'),
  row('claude-opus-4-0 claude-opus-4-20250514', 'claude-opus-4-20250514-v1:0', 'us'),
  row('claude-sonnet-4-0 claude-sonnet-4-20250514', 'claude-sonnet-4-20250514-v1:0', 'us eu apac global'),
  row('claude-opus-4-1 claude-opus-4-1-20250805', 'claude-opus-4-1-20250805-v1:0', 'us'),
  row('claude-sonnet-4-5 claude-sonnet-4-5-20250929', 'claude-sonnet-4-5-20250929-v1:0', 'us us-gov eu jp au global'),
  row('claude-haiku-4-5 claude-haiku-4-5-20251001', 'claude-haiku-4-5-20251001-v1:0', 'us eu jp au global'),
  row('claude-opus-4-5 claude-opus-4-5-20251101', 'claude-opus-4-5-20251101-v1:0', 'us eu global'),
  row('claude-opus-4-6', 'claude-opus-4-6-v1', 'us eu jp au global'),
  row('claude-sonnet-4-6', 'claude-sonnet-4-6', 'us eu jp au global'),
  row('claude-opus-4-7', 'claude-opus-4-7', 'us eu jp au global', {
    source: 'https://github.com/anthropics/claude-code/issues/49370',
  }),
  row('claude-opus-4-8', 'claude-opus-4-8', 'us eu jp au global', {
    source: 'https://aws-samples.github.io/sample-eksreview/configuration/models/',
  }),
  ...['claude-opus-5', 'claude-opus-5-5', 'claude-sonnet-5', 'claude-sonnet-5-5', 'claude-haiku-5-5'].map((name) =>
    row(name, name, 'us us-gov eu jp au apac global', { source: published }),
  ),
  row('claude-fable-5', 'claude-fable-5', 'us eu au apac global', { source: published }),
  row('claude-fable-5-1', 'claude-fable-5-1', 'us us-gov eu global', { source: published }),
];

/** Where a region's requests may be served, the nearest first. */
export const regionSpans: readonly (readonly [region: RegExp, spans: readonly Span[]])[] = [
  [/^us-gov-/, ['us-gov']],
  [/^us-/, ['us', 'global']],
  [/^eu-/, ['eu', 'global']],
  [/^ap-northeast-[13]$/, ['jp', 'apac', 'global']],
  [/^ap-southeast-[24]$/, ['au', 'apac', 'global']],
  [/^ap-/, ['apac', 'global']],
  [/^/, ['global']],
];

const aws =
  'https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html';
/** A table of what each platform takes, kept by another gateway. */
const table = 'https://github.com/BerriAI/litellm/blob/main/litellm/anthropic_beta_headers_config.json';

/** Those that came after the reports of refusals by `opus-4-7`. */
const fifth = /claude-(?:(?:opus|sonnet|haiku)-[5-9]|fable)/;
const opus45 = /claude-opus-4-5/;

/** What is not here is refused as an "invalid beta flag". */
export const bedrockBetas: readonly BetaRow[] = [
  {
    beta: 'computer-use-2025-01-24',
    models: /claude-(?:3-7|(?:opus|sonnet)-4-(?:0|1|2)|(?:sonnet|haiku)-4-5)/,
    source: aws,
  },
  { beta: 'computer-use-2025-11-24', models: opus45, source: aws },
  { beta: 'token-efficient-tools-2025-02-19', models: /claude-(?:3-7|(?:opus|sonnet)-4-(?:0|1|2))/, source: aws },
  { beta: 'output-128k-2025-02-19', models: /claude-3-7/, source: aws },
  { beta: 'dev-full-thinking-2025-05-14', models: /claude-(?:opus|sonnet)-4-(?:0|1|2)/, source: aws },
  {
    beta: 'interleaved-thinking-2025-05-14',
    models: /claude-(?:(?:opus|sonnet|haiku)-[4-9]|fable)/,
    source: 'https://github.com/anthropics/claude-code/issues/49370',
  },
  { beta: 'context-1m-2025-08-07', models: /claude-sonnet-4/, source: aws },
  { beta: 'fine-grained-tool-streaming-2025-05-14', models: /claude-(?:opus|sonnet|haiku)-4-[0-5]/, source: table },
  { beta: 'context-management-2025-06-27', models: /claude-(?:sonnet|haiku)-4-5/, source: aws },
  { beta: 'context-management-2025-06-27', models: fifth, source: table, assumed: true },
  { beta: 'effort-2025-11-24', models: opus45, source: aws },
  { beta: 'tool-search-tool-2025-10-19', models: opus45, source: aws },
  { beta: 'advanced-tool-use-2025-11-20', models: opus45, called: 'tool-search-tool-2025-10-19', source: table },
  { beta: 'tool-examples-2025-10-29', models: opus45, source: aws },
  { beta: 'thinking-display-updates-2026-08-18', models: fifth, source: table, assumed: true },
  { beta: 'mid-conversation-output-config-2026-07-01', models: fifth, source: table, assumed: true },
  { beta: 'mid-conversation-tool-changes-2026-07-01', models: fifth, source: table, assumed: true },
];

const extraInputs = 'https://github.com/anthropics/claude-code-action/issues/1005';

/** Members that are refused as "Extra inputs" unless their feature is on. */
export const bedrockGates: readonly GateRow[] = [
  { member: 'context_management', beta: 'context-management-2025-06-27', source: aws },
  {
    member: 'output_config.effort',
    beta: 'effort-2025-11-24',
    models: /claude-(?:(?:opus|sonnet)-4-[6-9]|(?:opus|sonnet|haiku)-[5-9]|fable)/,
    source: extraInputs,
  },
  {
    member: 'output_config.format',
    models: /claude-(?:(?:opus|sonnet|haiku)-4-[5-9]|(?:opus|sonnet|haiku)-[5-9]|fable)/,
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html',
  },
  { member: 'tools.*.defer_loading', beta: 'tool-search-tool-2025-10-19', source: aws },
  { member: 'tools.*.input_examples', beta: 'tool-examples-2025-10-29', source: aws },
  { member: 'tools.*.eager_input_streaming', beta: 'fine-grained-tool-streaming-2025-05-14', source: table },
  { member: 'thinking.display', value: /^updates$/, beta: 'thinking-display-updates-2026-08-18', source: table },
  { member: 'messages.*.output_config', beta: 'mid-conversation-output-config-2026-07-01', source: table },
  { member: 'system.*.cache_control.scope', source: table },
  { member: 'tools.*.cache_control.scope', source: table },
  { member: 'messages.*.content.*.cache_control.scope', source: table },
];

/** Tools that run at Anthropic itself, and the feature that one of them is here. */
export const bedrockTools: readonly (WithSource & { readonly type: RegExp; readonly beta?: string })[] = [
  { type: /^tool_search_tool/, beta: 'tool-search-tool-2025-10-19', source: aws },
  { type: /^(?:web_search|web_fetch|code_execution|mcp_toolset|advisor)/, source: table },
];

/** Members of a request; all others are refused. */
export const bedrockMembers: WithSource & { readonly names: ReadonlySet<string> } = {
  names: new Set(
    'anthropic_version anthropic_beta max_tokens system messages temperature top_p top_k tools tool_choice stop_sequences thinking output_config context_management metadata cache_control'.split(
      ' ',
    ),
  ),
  source: aws,
};
