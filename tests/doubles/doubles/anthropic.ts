/** Anthropic itself. */

import { valueAt } from '../../../server/practice/row-rules.ts';
import { record } from '../../../server/protocols/shared/json.ts';
import { type Caller, type Double, keyIn, knownModels } from '../double.ts';
import { invalid, type Refusal, type Rule } from '../rule.ts';
import { claudeRules } from '../rules/claude.ts';
import { messagesBasics, messagesLimits, messagesShape, signedThoughts, thinkingRules } from '../rules/messages.ts';
import { when } from '../rules/when.ts';
import { messagesWire } from '../wires/messages.ts';

/** https://platform.claude.com/docs/en/api/beta-headers, and those that its own programs send. */
const betas =
  /^(?:message-batches|prompt-caching|computer-use|pdfs|token-counting|token-efficient-tools|output-128k|files-api|mcp-client|dev-full-thinking|interleaved-thinking|code-execution|extended-cache-ttl|context-1m|context-management|model-context-window-exceeded|skills|fast-mode|structured-outputs|effort|advanced-tool-use|tool-search-tool|tool-examples|claude-code|oauth|fine-grained-tool-streaming|web-fetch|compact|redact-thinking|prompt-caching-scope|adaptive-thinking|advisor-tool|task-budgets|user-profiles|cache-diagnosis|thinking-binding-controls|afk-mode|summarize-connector-text|managed-agents|advanced-tool|mid-conversation-system|mid-conversation-tool-changes|inline-tools|per-turn-control|thinking-token-count)-\d{4}-?\d{2}-?\d{2}$/;

const betasOf = (headers: Headers): readonly string[] =>
  (headers.get('anthropic-beta') ?? '').split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));

const knownBetas: Rule = {
  id: 'anthropic/betas',
  source: 'https://github.com/anthropics/claude-code/issues/53855',
  reject({ headers }) {
    const unknown = betasOf(headers).filter((name) => !betas.test(name));
    return unknown.length === 0
      ? null
      : invalid(
          `Unexpected value(s) ${unknown.map((name) => `\`${name}\``).join(', ')} for the \`anthropic-beta\` header. Please consult our documentation at docs.anthropic.com or try again without the header.`,
        );
  },
};

const betaMembers: readonly (readonly [member: string, beta: string, source: string])[] = [
  [
    'context_management',
    'context-management-',
    'https://platform.claude.com/docs/en/build-with-claude/context-editing',
  ],
  ['mcp_servers', 'mcp-client-', 'https://platform.claude.com/docs/en/agents-and-tools/mcp-connector'],
  ['speed', 'fast-mode-', 'https://platform.claude.com/docs/en/build-with-claude/fast-mode'],
];

const wanted = betaMembers.map(([member, beta, source]) =>
  when(
    `anthropic/${member}`,
    source,
    ({ body, headers }) =>
      valueAt(body, member) !== undefined &&
      !betasOf(headers).some((name) => name.startsWith(beta) || name.startsWith('compact-')),
    invalid(`${member}: Extra inputs are not permitted`),
  ),
);

const forms: readonly Rule[] = [
  when(
    'anthropic/context-management-form',
    'https://platform.claude.com/docs/en/build-with-claude/context-editing',
    ({ body }) => valueAt(body, 'context_management') !== undefined && record(body.context_management) === null,
    invalid('context_management: Input should be a valid dictionary or object to extract fields from'),
  ),
  when(
    'anthropic/service-tier',
    'https://platform.claude.com/docs/en/api/service-tiers',
    ({ body }) =>
      valueAt(body, 'service_tier') !== undefined && !['auto', 'standard_only'].includes(String(body.service_tier)),
    invalid("service_tier: Input should be 'auto' or 'standard_only'"),
  ),
];

const version: Rule = when(
  'anthropic/version',
  'https://platform.claude.com/docs/en/api/versioning',
  ({ headers }) => !/^20\d\d-\d\d-\d\d$/.test(headers.get('anthropic-version') ?? ''),
  invalid('anthropic-version: header is required'),
);

const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
};

export const anthropicBody = ({ status, message }: Refusal): unknown => ({
  type: 'error',
  error: { type: types[status] ?? 'api_error', message },
  request_id: 'req_practice',
});

const admit = (caller: Caller): Refusal | null => {
  const refusal = keyIn('x-api-key')(caller);
  if (refusal === null) return null;
  // An empty account is a client's mistake here: https://github.com/anthropics/claude-code/issues/2151
  return refusal.status === 429
    ? invalid(
        'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
      )
    : { status: 401, message: 'invalid x-api-key' };
};

export const messagesRules: readonly Rule[] = [
  version,
  knownBetas,
  messagesShape('anthropic/form', 'https://platform.claude.com/docs/en/api/messages', {
    more: 'cache_control container context_management inference_geo mcp_servers output_config output_format service_tier speed',
    model: true,
    roles: ['user', 'assistant', 'system'],
  }),
  ...wanted,
  ...forms,
  ...messagesBasics,
  signedThoughts,
  ...thinkingRules,
  ...claudeRules,
  ...messagesLimits,
];

export const anthropic: Double = {
  name: 'anthropic',
  slug: 'anthropic',
  maker: 'anthropic',
  base: '',
  admit,
  doors: [
    {
      path: '/v1/messages',
      wire: messagesWire,
      rules: messagesRules,
      unknown: (model) => {
        const refusal = knownModels(/^claude-/)(model);
        return refusal === null ? null : { ...refusal, message: `model: ${model}` };
      },
    },
  ],
  complain: anthropicBody,
};
