/** Bedrock and Vertex as their documents and the reports of refusals have them. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import type { Adapter, BodyInput, Place, Whole } from '../../server/providers/adapter.ts';
import { bedrock, bedrockModel } from '../../server/providers/adapters/bedrock.ts';
import { vertex } from '../../server/providers/adapters/vertex.ts';
import { providers } from '../../server/providers/catalogue.ts';
import { bedrockBetas, bedrockGates, bedrockModels } from '../../server/providers/knowledge/bedrock.ts';
import { vertexBetas, vertexGates } from '../../server/providers/knowledge/vertex.ts';

test.each([
  ['claude-opus-4-5', 'us-east-1', 'us.anthropic.claude-opus-4-5-20251101-v1:0'],
  ['claude-opus-4-5-20251101', 'ap-northeast-1', 'global.anthropic.claude-opus-4-5-20251101-v1:0'],
  ['claude-opus-4-6', 'eu-west-1', 'eu.anthropic.claude-opus-4-6-v1'],
  ['claude-sonnet-4-6', 'ap-northeast-1', 'jp.anthropic.claude-sonnet-4-6'],
  ['claude-sonnet-4-6', 'ap-northeast-3', 'jp.anthropic.claude-sonnet-4-6'],
  ['claude-opus-4-7', 'eu-central-1', 'eu.anthropic.claude-opus-4-7'],
  ['claude-opus-4-8', 'ap-southeast-2', 'au.anthropic.claude-opus-4-8'],
  ['claude-sonnet-5', 'us-west-2', 'us.anthropic.claude-sonnet-5'],
  ['claude-fable-5', 'eu-west-1', 'eu.anthropic.claude-fable-5'],
  ['claude-opus-5-5', 'us-east-1', 'us.anthropic.claude-opus-5-5'],
  ['claude-haiku-5-5', 'us-gov-west-1', 'us-gov.anthropic.claude-haiku-5-5'],
  ['claude-fable-5-1', 'ap-northeast-1', 'global.anthropic.claude-fable-5-1'],
  ['claude-haiku-4-5', 'ap-southeast-2', 'au.anthropic.claude-haiku-4-5-20251001-v1:0'],
  ['claude-haiku-4-5-20251001', 'sa-east-1', 'global.anthropic.claude-haiku-4-5-20251001-v1:0'],
  ['claude-sonnet-4-5', 'us-gov-west-1', 'us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0'],
  ['claude-sonnet-4-20250514', 'ap-southeast-1', 'apac.anthropic.claude-sonnet-4-20250514-v1:0'],
  ['claude-sonnet-4-20250514', 'ap-northeast-1', 'apac.anthropic.claude-sonnet-4-20250514-v1:0'],
  ['claude-opus-4-1', 'us-east-1', 'us.anthropic.claude-opus-4-1-20250805-v1:0'],
  ['claude-opus-4-0', 'us-east-1', 'us.anthropic.claude-opus-4-20250514-v1:0'],
  ['claude-2.1', 'us-east-1', 'anthropic.claude-v2:1'],
  ['claude-2.0', 'us-east-1', 'anthropic.claude-v2'],
  ['claude-instant-1.2', 'us-east-1', 'anthropic.claude-instant-v1'],
  ['claude-3-haiku-20240307', 'eu-west-1', 'anthropic.claude-3-haiku-20240307-v1:0'],
  ['claude-opus-9', 'us-east-1', 'us.anthropic.claude-opus-9'],
  ['claude-opus-9-20300101', 'me-central-1', 'global.anthropic.claude-opus-9-20300101-v1:0'],
  ['amazon.nova-pro-v1:0', 'us-east-1', 'amazon.nova-pro-v1:0'],
  ['eu.anthropic.claude-opus-4-6-v1', 'us-east-1', 'eu.anthropic.claude-opus-4-6-v1'],
])('%s in %s is %s', (model, region, id) => expect(bedrockModel(model, region)).toBe(id));

test('every model of the list has a row', () => {
  const named = new Set(bedrockModels.flatMap(({ names }) => names));
  const listed = providers.find(({ slug }) => slug === 'aws')?.models ?? [];
  expect(listed.filter((model) => !named.has(model))).toEqual([]);
});

test('every row about the clouds has a source outside of this project', () => {
  const rows = [...bedrockModels, ...bedrockBetas, ...bedrockGates, ...vertexBetas, ...vertexGates];
  expect(rows.filter(({ source }) => !/^https:\/\//.test(source))).toEqual([]);
});

/** What Claude Code says today. */
const header =
  'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,per-turn-control-2026-07-01,mid-conversation-tool-changes-2026-07-01,thinking-token-count-2026-05-13,advanced-tool-use-2025-11-20,effort-2025-11-24,thinking-display-updates-2026-08-18';
const own = {
  model: 'claude-opus-5-5',
  stream: true,
  max_tokens: 128000,
  system: [{ type: 'text', text: 'You help.', cache_control: { type: 'ephemeral', scope: 'global' } }],
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] }],
  tools: [
    { name: 'Read', description: 'reads', input_schema: { type: 'object' } },
    { name: 'Rare', description: 'rare', input_schema: { type: 'object' }, defer_loading: true },
    { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
  ],
  thinking: { type: 'adaptive', display: 'updates' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  output_config: { effort: 'xhigh' },
  metadata: { user_id: 'u' },
  diagnostics: {},
};
const file = resolve(
  import.meta.dirname,
  '../../../shared/client-captures/claude-code-2.1.329-messages-tool-result-turn2.json',
);
const bodies: [string, Record<string, unknown>][] = [
  ['written here', own],
  ...(existsSync(file)
    ? [
        ['recorded', (JSON.parse(readFileSync(file, 'utf8')) as { body: Record<string, unknown> }).body] as [
          string,
          Record<string, unknown>,
        ],
      ]
    : []),
];

interface Call {
  readonly place: Place;
  readonly body: Record<string, unknown>;
  readonly details: BodyInput;
}

const call = (slug: string, model: string, body: Record<string, unknown>, dropped: string[]): Call => {
  const provider = providers.find((one) => one.slug === slug);
  if (provider === undefined) throw new Error(`no ${slug}`);
  return {
    place: {
      provider,
      operation: 'chat',
      row: 'messages',
      dialect: 'anthropic-messages',
      model,
      mapped: false,
      stream: true,
      baseUrl: '',
      other: 'us-east5',
    },
    body,
    details: { key: 'k|us-east-1', betas: header, dropped },
  };
};
const shaped = (adapter: Adapter, { place, body, details }: Call): Whole | null | undefined =>
  adapter.body?.(place)?.whole?.(body, details);

/** Refuses as Bedrock is reported to, by rules written down from those reports and AWS's table, not from our rows. */
function refusals(model: string, body: Record<string, unknown>): string[] {
  const content = JSON.stringify(body);
  const betas = (body.anthropic_beta ?? []) as string[];
  const known: Record<string, readonly string[]> = {
    'claude-opus-4-7': ['interleaved-thinking-2025-05-14'],
    'claude-opus-4-5': ['interleaved-thinking-2025-05-14', 'effort-2025-11-24', 'tool-search-tool-2025-10-19'],
    'claude-sonnet-4-5': ['interleaved-thinking-2025-05-14', 'context-management-2025-06-27', 'context-1m-2025-08-07'],
    'claude-3-5-haiku-20241022': [],
  };
  const withoutBeta = (beta: string) => !betas.includes(beta);
  return [
    ...betas.filter((beta) => known[model]?.includes(beta) !== true).map((beta) => `invalid beta flag ${beta}`),
    ...['model', 'stream', 'diagnostics'].filter((name) => name in body),
    ...('context_management' in body && withoutBeta('context-management-2025-06-27') ? ['context_management'] : []),
    ...(content.includes('"defer_loading"') && withoutBeta('tool-search-tool-2025-10-19') ? ['defer_loading'] : []),
    ...(content.includes('tool_search_tool_') && withoutBeta('tool-search-tool-2025-10-19') ? ['tool_search'] : []),
    ...((body.output_config as { effort?: unknown } | undefined)?.effort !== undefined &&
    withoutBeta('effort-2025-11-24') &&
    model !== 'claude-opus-4-7'
      ? ['effort']
      : []),
    ...(content.includes('"scope":"global"') ? ['scope'] : []),
    ...(content.includes('"updates"') ? ['display'] : []),
  ];
}

const models = ['claude-opus-4-7', 'claude-opus-4-5', 'claude-sonnet-4-5', 'claude-3-5-haiku-20241022'];
test.each(bodies.flatMap(([name, body]) => models.map((model) => [name, model, body] as const)))(
  'a request of Claude Code, %s, to %s on Bedrock is not refused, and says what it lost',
  (_name, model, body) => {
    const dropped: string[] = [];
    const made = shaped(bedrock, call('aws', model, body, dropped));
    expect(refusals(model, { ...(made?.body ?? {}) })).toEqual([]);
    expect(made?.body.messages).toHaveLength((body.messages as unknown[]).length);
    expect(made?.body.tools).not.toHaveLength(0);
    expect(made?.headers).toBeUndefined();
    if (body === own)
      for (const member of ['defer_loading', 'context_management', 'effort'])
        if (!JSON.stringify(made?.body).includes(member)) expect(dropped.join('\n')).toContain(member);
  },
);

test('no tools are left where all of them run elsewhere', () => {
  const elsewhere = [{ type: 'web_search_20250305', name: 'web_search' }];
  const dropped: string[] = [];
  const requested = { ...own, tools: elsewhere, tool_choice: { type: 'auto' } };
  const body = shaped(bedrock, call('aws', 'claude-opus-4-5', requested, dropped))?.body ?? {};
  expect(Object.keys(body)).not.toContain('tools');
  expect(Object.keys(body)).not.toContain('tool_choice');
  expect(dropped.join()).toContain('/tools');
  const some = shaped(
    bedrock,
    call('aws', 'claude-opus-4-5', { ...requested, tools: [...elsewhere, ...own.tools.slice(0, 1)] }, []),
  );
  expect(some?.body).toMatchObject({ tools: own.tools.slice(0, 1), tool_choice: { type: 'auto' } });
});

test('members that Bedrock takes stay', () => {
  const dropped: string[] = [];
  const made = shaped(bedrock, call('aws', 'claude-opus-4-5', own, dropped));
  expect(made?.body).toMatchObject({
    anthropic_beta: ['interleaved-thinking-2025-05-14', 'effort-2025-11-24', 'tool-search-tool-2025-10-19'],
    output_config: { effort: 'xhigh' },
    tools: own.tools,
    thinking: { type: 'adaptive' },
  });
  expect(shaped(bedrock, call('aws', 'claude-sonnet-4-5', own, []))?.body.context_management).toEqual(
    own.context_management,
  );
});

test('Bedrock gets no scope, wherever a cache has one', () => {
  const cache_control = { type: 'ephemeral', scope: 'global' };
  const content = { type: 'text', text: 'hi', cache_control };
  const requested = {
    ...own,
    system: [content],
    messages: [{ role: 'user', content: [content] }],
    tools: [{ ...own.tools[0], cache_control }],
  };
  const body = shaped(bedrock, call('aws', 'claude-opus-4-5', requested, []))?.body ?? {};
  const cached = { cache_control: { type: 'ephemeral' } };
  expect(body).toMatchObject({ system: [cached], messages: [{ content: [cached] }], tools: [cached] });
  expect(JSON.stringify(body)).not.toContain('scope');
});

const account = JSON.stringify({ project_id: 'p', client_email: 'e', private_key: 'k' });
test.each([
  ['claude-3-5-sonnet-20241022', 'claude-3-5-sonnet-v2@20241022'],
  ['claude-3-5-sonnet-20240620', 'claude-3-5-sonnet@20240620'],
  ['claude-opus-4-6', 'claude-opus-4-6'],
])('Vertex calls %s %s', (model, id) => {
  const url = vertex.endpoint?.(call('vertex', model, own, []).place)?.url;
  expect(typeof url === 'function' ? url(account) : url).toContain(`/models/${id}:streamRawPredict`);
});

test('Vertex knows both features of computer use, and none that was made up', () => {
  const betas = 'computer-use-2025-01-24,computer-use-2025-11-24,computer-use-1999-01-01';
  const requested = call('vertex', 'claude-opus-4-5', own, []);
  const made = shaped(vertex, { ...requested, details: { ...requested.details, betas } });
  const sentBetas = made?.headers?.['anthropic-beta']?.split(',').filter((beta) => beta.startsWith('computer'));
  expect(sentBetas).toEqual(['computer-use-2025-01-24', 'computer-use-2025-11-24']);
});

test('Vertex gets only features that it knows', () => {
  const dropped: string[] = [];
  const made = shaped(vertex, call('vertex', 'claude-opus-4-5', own, dropped));
  expect(made?.headers?.['anthropic-beta']?.split(',').toSorted()).toEqual([
    'context-management-2025-06-27',
    'interleaved-thinking-2025-05-14',
    'per-turn-control-2026-07-01',
    'thinking-display-updates-2026-08-18',
    'tool-search-tool-2025-10-19',
  ]);
  expect(made?.body).not.toHaveProperty('output_config');
  expect(dropped).toContain('/output_config/effort: not known to the upstream for this model');
});
