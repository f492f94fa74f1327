/** The habits of the Responses API. */

import { shareOf } from '../../contract/key-budgets.ts';
import type { BudgetKind, BudgetUse } from '../../contract/snapshot.ts';
import type { ProtocolDefinition } from '../definition.ts';
import { openAiDiagnostics } from '../shared/cache-diagnosis.ts';
import { record, text } from '../shared/json.ts';
import { effortSuffix } from '../shared/suffix.ts';
import { codexCard, codexList, isCodexList } from './codex-catalogue.ts';
import { compaction } from './compaction.ts';
import { references } from './references.ts';
import { madeIn, storedIn, thoughtsIn } from './stored.ts';

export const definition: ProtocolDefinition = {
  label: 'OpenAI Responses',
  systemPlace: { member: 'instructions', form: 'text' },
  routes: [
    { path: '/v1/responses', operation: 'chat' },
    { path: '/v1/responses/compact', operation: 'chat', stream: false, compacts: true },
    { path: '/v1/responses/input_tokens', operation: 'count_tokens' },
  ],
  claims: (path) => path.startsWith('/v1/responses'),
  chatOperation: 'responses',
  limit: {
    names: ['max_output_tokens'],
    thoughts: [
      ['thinking', 'budget_tokens'],
      ['reasoning', 'max_tokens'],
    ],
  },
  // Source: https://platform.openai.com/docs/api-reference/responses/create
  searchLimit: {
    member: 'max_tool_calls',
    inTool: false,
    type: /^(?:web_search(?:_preview)?(?:_\d{4}_\d\d_\d\d)?|file_search)$/,
  },
  instructions: { turns: 'input', apart: 'instructions' },
  // Source: https://platform.openai.com/docs/guides/prompt-caching
  cache: {
    turns: 'input',
    unhashed: [
      ...[
        'include',
        'max_output_tokens',
        'max_tool_calls',
        'metadata',
        'store',
        'stream',
        'stream_options',
        'temperature',
        'top_p',
        'user',
      ],
      ...['safety_identifier', 'client_metadata'],
    ],
    elsewhere: ['previous_response_id', 'conversation', 'prompt'],
    diagnostics: openAiDiagnostics,
  },
  matches: {
    turns: 'input',
    members: ['temperature', 'top_p', 'max_output_tokens', 'reasoning.effort', 'parallel_tool_calls', 'tool_choice'],
  },
  thoughts(body) {
    const reasoning = record(body.reasoning);
    return (text(reasoning?.summary) ?? text(reasoning?.generate_summary)) === null ? 'seals' : 'words';
  },
  countOperation: 'count_inputs',
  countAnswer: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  kept: {
    requested: storedIn,
    referenced: thoughtsIn,
    made: madeIn,
  },
  // The lists of others have no client of this dialect.
  models: {
    named: (path) => (/^\/v1\/models\/?$/.test(path) ? '' : null),
    isRequested: (_path, _headers, query) => isCodexList(query),
    isKept: true,
    card: (id, target, _offer, hasSockets) => codexCard(id, target, hasSockets),
    list: codexList,
  },
  budgets: { kinds: 'periods', headers: budgetHeaders },
  references,
  compaction,
  suffix: effortSuffix((body, effort) => [['reasoning', { ...(body.reasoning as object | undefined), effort }]]),
};

const windowMinutes: Readonly<Partial<Record<BudgetKind, number>>> = {
  '5h': 300,
  day: 1440,
  week: 10_080,
  month: 43_200,
};

/** Codex shows them under `/status`, and warns when little is left: https://github.com/openai/codex/blob/main/codex-rs/codex-api/src/rate_limits.rs */
function budgetHeaders(all: readonly BudgetUse[]): Record<string, string> {
  const headers: Record<string, string> = {};
  // It shows two: the tightest, and of these the shorter first.
  const ending = all.filter(({ resets }) => resets !== null);
  const tightest =
    ending.length <= 2 ? ending : ending.toSorted((one, other) => shareOf(other) - shareOf(one)).slice(0, 2);
  const budgets = ending.length <= 2 ? ending : ending.filter((budget) => tightest.includes(budget));
  for (const [at, budget] of budgets.entries()) {
    const name = `x-codex-${at === 0 ? 'primary' : 'secondary'}`;
    headers[`${name}-used-percent`] = String(Math.round(shareOf(budget) * 10_000) / 100);
    headers[`${name}-window-minutes`] = String(windowMinutes[budget.kind]);
    headers[`${name}-reset-at`] = String(budget.resets);
  }
  return headers;
}
