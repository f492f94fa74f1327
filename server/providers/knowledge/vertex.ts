/** How Vertex calls Anthropic's models, and which of their features it takes. */
import type { BetaRow, GateRow } from './beta-headers.ts';
import type { WithSource } from './row.ts';

/** Names that do not follow the rule that a date stands behind an `@`. */
export const vertexModels: readonly (WithSource & { readonly name: string; readonly id: string })[] = [
  {
    name: 'claude-3-5-sonnet-20241022',
    id: 'claude-3-5-sonnet-v2@20241022',
    source: 'https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai',
  },
];

const table = 'https://github.com/BerriAI/litellm/blob/main/litellm/anthropic_beta_headers_config.json';
const every = /^claude/;

/** Others are refused as "Unexpected value(s)" of the header. */
export const vertexBetas: readonly BetaRow[] = [
  ...[
    'tool-search-tool-2025-10-19',
    'compact-2026-01-12',
    'compact-2026-09-04',
    'computer-use-2025-01-24',
    'computer-use-2025-11-24',
    'context-1m-2025-08-07',
    'context-management-2025-06-27',
    'interleaved-thinking-2025-05-14',
    'per-turn-control-2026-07-01',
    'thinking-binding-controls-2026-08-01',
    'thinking-display-updates-2026-08-18',
    'web-search-2025-03-05',
  ].map((beta) => ({ beta, models: every, source: table })),
  { beta: 'advanced-tool-use-2025-11-20', models: every, called: 'tool-search-tool-2025-10-19', source: table },
];

export const vertexGates: readonly GateRow[] = [
  { member: 'context_management', beta: 'context-management-2025-06-27', source: table },
  {
    member: 'output_config.effort',
    models: /claude-(?:(?:opus|sonnet)-4-[6-9]|(?:opus|sonnet|haiku)-[5-9]|fable)/,
    source: table,
  },
  { member: 'tools.*.defer_loading', beta: 'tool-search-tool-2025-10-19', source: table },
  { member: 'tools.*.eager_input_streaming', source: table },
  { member: 'thinking.display', value: /^updates$/, beta: 'thinking-display-updates-2026-08-18', source: table },
  { member: 'messages.*.output_config', source: table },
  { member: 'system.*.cache_control.scope', source: table },
  { member: 'tools.*.cache_control.scope', source: table },
  { member: 'messages.*.content.*.cache_control.scope', source: table },
];
