/** The habits of Anthropic's messages. */

import type { RateUse } from '../../contract/snapshot.ts';
import type { ProtocolDefinition } from '../definition.ts';
import { anthropicDiagnostics } from '../shared/cache-diagnosis.ts';
import { thoughtBudgets } from '../shared/effort.ts';
import { idOf, present, record, text } from '../shared/json.ts';
import { valuesOf } from '../shared/member-name.ts';
import { modelsSinceText, namedBehind, sizeOf } from '../shared/model-card.ts';
import { budgets, descriptionOf, gateway } from './gateway.ts';
import { suffix } from './suffix.ts';

/** Source: docs.claude.com, context windows: context-1m-2025-08-07. */
const longContext = /context-(\d{1,3})m/i;

export const definition: ProtocolDefinition = {
  label: 'Anthropic Messages',
  systemPlace: { member: 'system', form: 'text' },
  routes: [
    { path: '/v1/messages', operation: 'chat' },
    { path: '/v1/messages/count_tokens', operation: 'count_tokens' },
  ],
  claims: (path) => path.startsWith('/v1/messages') || gateway.paths.has(path),
  chatOperation: 'messages',
  // `?beta=true` and the like.
  wantedContext(headers, { anthropic_beta: named, betas }) {
    const found = longContext.exec(`${headers.get('anthropic-beta') ?? ''} ${JSON.stringify([named, betas])}`);
    return found === null ? 0 : Number(found[1]) * 1_000_000;
  },
  namesShares: true,
  passesQuery: true,
  headerPrefix: 'anthropic',
  headers: { 'anthropic-version': '2023-06-01' },
  limit: {
    names: ['max_tokens'],
    thoughts: thoughtBudgets,
  },
  // Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
  searchLimit: { member: 'max_uses', inTool: true, type: /^web_search_\d{8}$/ },
  instructions: { turns: 'messages', apart: 'system' },
  // Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching
  cache: {
    turns: 'messages',
    blocks: 'content',
    mark: 'cache_control',
    unhashed: ['diagnostics', 'max_tokens', 'metadata', 'stop_sequences', 'stream', 'temperature', 'top_k', 'top_p'],
    elsewhere: ['container'],
    diagnostics: anthropicDiagnostics,
  },
  matches: {
    turns: 'messages',
    members: [
      'temperature',
      'top_p',
      'top_k',
      'max_tokens',
      'thinking',
      'output_config.effort',
      'tool_choice',
      'stop_sequences',
    ],
  },
  thoughts(body) {
    const thinking = record(body.thinking);
    if (thinking?.type !== 'enabled' && thinking?.type !== 'adaptive') return 'nothing';
    return thinking.display === 'omitted' ? 'seals' : 'words';
  },
  rateHeaders,
  countOperation: 'count_tokens',
  countAnswer: (tokens) => ({ input_tokens: tokens }),
  budgets,
  gateway,
  models: {
    describes: true,
    named: (path) => namedBehind(path, '/v1/models'),
    isRequested: (_path, headers) => headers.has('anthropic-version'),
    card: (id, { inputLimit, outputCap }, offer) => ({
      type: 'model',
      id,
      display_name: id,
      ...(offer === undefined ? {} : { description: descriptionOf(offer) }),
      created_at: modelsSinceText,
      ...present({ max_input_tokens: inputLimit, max_tokens: outputCap }),
    }),
    list(cards, query) {
      const after = query.get('after_id');
      const before = query.get('before_id');
      const at = (id: string | null): number => cards.findIndex((card) => card.id === id);
      const limit = sizeOf(query.get('limit'), 20);
      const end = before !== null && at(before) >= 0 ? at(before) : cards.length;
      const start = after !== null ? at(after) + 1 : before !== null ? Math.max(0, end - limit) : 0;
      const data = cards.slice(start, Math.min(end, start + limit));
      const more = before !== null && after === null ? start > 0 : start + limit < end;
      return { data, has_more: more, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
    },
  },
  kept: {
    requested: (body) => valuesOf(body, 'container').flatMap(idOf),
    made: (_body, answer) => idOf(record(answer)?.container),
  },
  withoutLine({ system }, line) {
    if (typeof system === 'string') {
      const [first = '', ...rest] = system.split('\n');
      return line.test(first) ? new Map([['system', JSON.stringify(rest.join('\n'))]]) : null;
    }
    const words = Array.isArray(system) ? text(record(system[0])?.text) : null;
    if (!Array.isArray(system) || words === null || !line.test(words.trimEnd())) return null;
    const rest = system.slice(1);
    return new Map([['system', rest.length === 0 ? undefined : JSON.stringify(rest)]]);
  },
  suffix,
  operator: {
    headers: (settings, model) => settings.claudeHeaders(model),
    maxTokens: (settings, model, requested) => settings.claudeMaxTokens(model, requested),
  },
};

/** Source: https://platform.claude.com/docs/en/api/rate-limits#response-headers */
function rateHeaders(uses: readonly RateUse[], nowMs: number | null): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { kind, limit, remaining, resetMs } of uses) {
    const name = `anthropic-ratelimit-${kind}`;
    headers[`${name}-limit`] = String(limit);
    headers[`${name}-remaining`] = String(remaining);
    if (nowMs !== null)
      headers[`${name}-reset`] = `${new Date(Math.ceil((nowMs + resetMs) / 1000) * 1000).toISOString().slice(0, 19)}Z`;
  }
  return headers;
}
