/** Everything that is said of single providers' wires, whatever the model. */

import { messageOrderRows } from './message-order.ts';
import type { Demand, ProviderRow } from './row.ts';
import { unsupportedFieldRows } from './unsupported-fields.ts';

const absent: Demand = { kind: 'absent' };
type RowSpec = readonly [member: string, demand: Demand, source: string, more?: Partial<ProviderRow>];

const of = (provider: string, dialect: ProviderRow['dialect'], rows: readonly RowSpec[]): ProviderRow[] =>
  rows.map(([member, demand, source, more]) => ({ provider, dialect, member, demand, source, ...more }));

/** The role `developer` is unknown here. */
const noDevelopers: Demand = {
  kind: 'oneOf',
  words: ['system', 'user', 'assistant', 'tool', 'function'],
  instead: { developer: 'system' },
};
const absentAll = (members: string, source: string, more: Partial<ProviderRow> = {}): RowSpec[] =>
  members.split(' ').map((member): RowSpec => [member, absent, source, more]);

const mistralChat = 'https://docs.mistral.ai/api/endpoint/chat';
const unprocessable = { status: 422 } as const;
/** Nine letters or digits. */
const mistralId: Demand = { kind: 'shaped', pattern: /^[a-zA-Z0-9]{9}$/, length: 9 };
const mistralIds = 'https://github.com/anomalyco/opencode/issues/1680';

const mistral = of('mistral', 'openai-chat', [
  ['stream_options', absent, 'https://github.com/dnakov/anon-kode/issues/53', unprocessable],
  [
    'max_completion_tokens',
    { kind: 'renamed', to: 'max_tokens' },
    'https://github.com/editor-code-assistant/eca/issues/231',
    unprocessable,
  ],
  ['store', absent, 'https://github.com/Gitlawb/openclaude/issues/739', unprocessable],
  ['seed', { kind: 'renamed', to: 'random_seed' }, mistralChat, unprocessable],
  ['user', absent, mistralChat, unprocessable],
  ['logit_bias', absent, mistralChat, unprocessable],
  ['logprobs', absent, mistralChat, unprocessable],
  ['top_logprobs', absent, mistralChat, unprocessable],
  ['service_tier', absent, mistralChat, unprocessable],
  ['verbosity', absent, mistralChat, unprocessable],
  ['safety_identifier', absent, mistralChat, unprocessable],
  ['temperature', { kind: 'atMost', value: 1.5 }, mistralChat, unprocessable],
  ['messages[].reasoning_content', absent, mistralChat, unprocessable],
  ['messages[].reasoning_details', absent, mistralChat, unprocessable],
  ['messages[].refusal', absent, mistralChat, unprocessable],
  ['messages[].tool_calls[].name', absent, 'https://github.com/zeroclaw-labs/zeroclaw/issues/2693', unprocessable],
  [
    'messages[].tool_calls[].extra_content',
    absent,
    'https://github.com/zeroclaw-labs/zeroclaw/issues/2693',
    unprocessable,
  ],
  ['messages[].tool_calls[].id', mistralId, mistralIds],
  ['messages[].tool_call_id', mistralId, mistralIds],
  ...absentAll('modalities audio web_search_options messages[].name', mistralChat, unprocessable),
  ['messages[].role', noDevelopers, mistralChat, unprocessable],
  [
    'messages',
    { kind: 'parted', after: 'tool', before: 'user', by: { role: 'assistant', content: 'Done.' } },
    'https://github.com/BerriAI/litellm/issues/17761',
  ],
  // "Expected last role User or Tool (or Assistant with prefix True)".
  [
    'messages',
    { kind: 'continued', member: 'prefix' },
    'https://github.com/0xPlaygrounds/rig/pull/1130',
    { translatedOnly: true },
  ],
]);

const groqFields = 'https://console.groq.com/docs/openai';
const groqThoughts = 'https://github.com/janhq/jan/issues/8136';

const groq = of('groq', 'openai-chat', [
  ['messages[].reasoning_content', absent, groqThoughts],
  ['messages[].reasoning_details', absent, groqThoughts, { assumed: true }],
  ['messages[].refusal', absent, groqThoughts, { assumed: true }],
  ['messages[].tool_calls[].extra_content', absent, groqThoughts, { assumed: true }],
  ['messages[].name', absent, groqFields],
  ['logprobs', absent, groqFields],
  ['top_logprobs', absent, groqFields],
  ['logit_bias', absent, groqFields],
  ['n', { kind: 'atMost', value: 1 }, groqFields],
  ['store', absent, 'https://github.com/fanenr/chatbot/issues/21'],
  ['reasoning', absent, 'https://github.com/musistudio/llms/pull/64'],
  ...absentAll(
    'verbosity prompt_cache_key safety_identifier prediction modalities audio web_search_options',
    'https://console.groq.com/docs/api-reference#chat-create',
    { assumed: true },
  ),
]);

const groqResponses = of(
  'groq',
  'openai-responses',
  absentAll(
    'previous_response_id truncation include safety_identifier prompt_cache_key',
    'https://console.groq.com/docs/responses-api#unsupported-features',
  ),
);

const cerebrasThoughts = 'https://github.com/QwenLM/qwen-code/issues/11045';
const cerebrasFields = 'https://hexdocs.pm/req_llm/cerebras.html';

const cerebrasReference = 'https://inference-docs.cerebras.ai/api-reference/chat-completions';

const cerebras = of('cerebras', 'openai-chat', [
  // What it calls a thought in answers it takes in the history too.
  ['messages[].reasoning_content', { kind: 'renamed', to: 'reasoning' }, cerebrasThoughts],
  ['messages[].reasoning_details', absent, cerebrasThoughts, { assumed: true }],
  ['messages[].refusal', absent, cerebrasThoughts, { assumed: true }],
  ['messages[].tool_calls[].extra_content', absent, cerebrasThoughts, { assumed: true }],
  ['frequency_penalty', absent, cerebrasFields],
  ['presence_penalty', absent, cerebrasFields],
  ['logit_bias', absent, cerebrasFields],
  ['service_tier', absent, cerebrasFields],
  ['temperature', { kind: 'atMost', value: 1.5 }, cerebrasReference],
  ...absentAll('metadata store verbosity safety_identifier modalities audio web_search_options', cerebrasReference, {
    assumed: true,
  }),
]);

/** JSON is given only to those who speak of it; a form that was dropped leaves no other trace. */
const speaksOfJson: Demand = {
  kind: 'mentions',
  word: /json/i,
  by: { role: 'system', content: 'Answer in JSON.' },
};
const inJson = { onlyWith: 'response_format', onlyWithType: 'json_object', translatedOnly: true } as const;

/** Calls require the thought that led to them; where it is lost this says that there was none. */
const noThought: Demand = { kind: 'present', value: ' ' };

const moonshot = of('moonshot', 'openai-chat', [
  ['messages[].role', noDevelopers, 'https://platform.moonshot.ai/docs/api/chat'],
  [
    'messages[].reasoning_content',
    noThought,
    'https://github.com/n8n-io/n8n/issues/29142',
    { onlyWith: 'tool_calls', models: /^(?:kimi-k(?:2\.[5-9]|2-thinking|[3-9])|k3(?:-\d+k)?$|kimi-for-coding)/ },
  ],
  [
    'thinking.type',
    { kind: 'oneOf', words: ['enabled'], instead: { disabled: 'enabled' } },
    'https://github.com/ltmoerdani/opencode-copilot-chat/pull/45',
    { models: /^kimi-(?:k2\.[7-9]|for-coding)/ },
  ],
  ['temperature', { kind: 'atMost', value: 1 }, 'https://platform.kimi.ai/docs/api/chat'],
]);

const glm = 'https://docs.bigmodel.cn/api-reference/模型-api/对话补全';

/** Neither 0 nor 1, which clients name who want the usual. */
const shareBetween = (member: string, source: string): readonly RowSpec[] =>
  (
    [
      { kind: 'atLeast', value: 0.01 },
      { kind: 'atMost', value: 0.99 },
    ] as const
  ).map((demand): RowSpec => [member, demand, source, { translatedOnly: true }]);

const zhipu = ['zhipu', 'zhipu-v4'].flatMap((provider) =>
  of(provider, 'openai-chat', [
    ['max_completion_tokens', { kind: 'renamed', to: 'max_tokens' }, glm],
    ['user', { kind: 'renamed', to: 'user_id' }, glm],
    ['temperature', { kind: 'atMost', value: 1 }, glm],
    ...shareBetween('top_p', 'https://github.com/songquanpeng/one-api/issues/1045'),
    ['tool_choice', { kind: 'oneOf', words: ['auto'], instead: { required: 'auto' } }, glm],
    ['messages[].role', noDevelopers, glm],
    ['stop', { kind: 'atMost', value: 1 }, glm],
    ['logprobs', absent, glm, { assumed: true }],
    ['logit_bias', absent, glm, { assumed: true }],
  ]),
);

const sonar = 'https://docs.perplexity.ai/api-reference/chat-completions-post';

const perplexity = of('perplexity', 'openai-chat', [
  ['max_completion_tokens', { kind: 'renamed', to: 'max_tokens' }, sonar],
  ['messages[].role', noDevelopers, sonar],
  ['seed', absent, sonar, { assumed: true }],
  ['logit_bias', absent, sonar, { assumed: true }],
  ['user', absent, sonar, { assumed: true }],
  ['messages[].reasoning_content', absent, sonar, { assumed: true }],
  ['messages', { kind: 'alternating' }, 'https://github.com/perplexityai/api-discussion/issues/265'],
]);

const deepseekChat = 'https://api-docs.deepseek.com/api/create-chat-completion';

const deepseek = of('deepseek', 'openai-chat', [
  ['max_completion_tokens', { kind: 'renamed', to: 'max_tokens' }, deepseekChat],
  ['messages[].role', noDevelopers, deepseekChat],
  ['messages', speaksOfJson, 'https://api-docs.deepseek.com/guides/json_mode', inJson],
  [
    'messages[].reasoning_content',
    noThought,
    'https://github.com/deepseek-ai/DeepSeek-V3/issues/1053',
    { onlyWith: 'tool_calls', models: /^deepseek-(?:reasoner|v[4-9])/ },
  ],
  [
    'logprobs',
    absent,
    'https://api-docs.deepseek.com/zh-cn/guides/reasoning_model',
    { models: /^deepseek-(?:reasoner|r1)/ },
  ],
  [
    'top_logprobs',
    absent,
    'https://api-docs.deepseek.com/zh-cn/guides/reasoning_model',
    { models: /^deepseek-(?:reasoner|r1)/ },
  ],
]);

const openaiChat = 'https://platform.openai.com/docs/api-reference/chat/create';
const openaiReasoning = 'https://platform.openai.com/docs/guides/reasoning#limitations';
/** Reasoning models: no log probabilities are returned. */
const thinking = { models: /^(?:o\d|gpt-5(?!.*chat))/, translatedOnly: true } as const;
/** What another upstream said in this conversation. The same address is often given to other makers' models, which want their thoughts back. */
const theirs = { models: /^(?:gpt-\d|chatgpt|o\d)/, assumed: true } as const;

const withTools = {
  models: /^gpt-(?:5\.[4-9]|[6-9])(?!.*chat)/,
  onlyWith: 'tools',
  translatedOnly: true,
} as const;
/** Any other effort becomes the one with which tools are taken. */
const unthinking: Demand = {
  kind: 'oneOf',
  words: ['none'],
  instead: { minimal: 'none', low: 'none', medium: 'none', high: 'none', xhigh: 'none', max: 'none' },
};

const openai = ['openai', 'azure'].flatMap((provider) =>
  of(provider, 'openai-chat', [
    ['logprobs', absent, openaiReasoning, thinking],
    ['top_logprobs', absent, openaiReasoning, thinking],
    ['logit_bias', absent, openaiReasoning, thinking],
    // Only where a channel keeps to chat: else these go to the endpoint that takes both.
    ['reasoning_effort', unthinking, 'https://github.com/openai/openai-openapi/issues/541', withTools],
    [
      'reasoning_effort',
      { kind: 'present', value: 'none' },
      'https://github.com/GoogleChromeLabs/webmcp-tools/issues/417',
      { ...withTools, models: /^gpt-(?:5\.[5-9]|[6-9])(?!.*chat)/ },
    ],
    [
      'reasoning_effort',
      { kind: 'oneOf', words: ['none', 'low', 'medium', 'high', 'xhigh'], instead: { max: 'xhigh' } },
      'https://github.com/BerriAI/litellm-docs/pull/1173',
      { models: /^gpt-[6-9]/ },
    ],
    ['messages[].reasoning_content', absent, openaiChat, theirs],
    ['messages[].reasoning_details', absent, openaiChat, theirs],
    ['messages[].tool_calls[].extra_content', absent, openaiChat, theirs],
  ]),
);

/** What belongs to a thought goes with it: they think of nothing that could be summed up or sealed. */
const thoughtless = { models: /^(?:gpt-[34]|chatgpt|gpt-5-chat)/ } as const;
const openaiResponses = ['openai', 'azure'].flatMap((provider) =>
  of(provider, 'openai-responses', [
    ['reasoning', absent, 'https://github.com/pydantic/pydantic-ai/issues/3326', thoughtless],
    [
      'include',
      { kind: 'without', words: ['reasoning.encrypted_content'] },
      'https://github.com/pydantic/pydantic-ai/issues/2865',
      thoughtless,
    ],
    [
      'text.verbosity',
      { kind: 'oneOf', words: ['medium'] },
      'https://github.com/google-deepmind/concordia/issues/164',
      thoughtless,
    ],
    ['top_logprobs', absent, openaiReasoning, thinking],
    // Claude Code warms up with a limit of one.
    [
      'max_output_tokens',
      { kind: 'atLeast', value: 16 },
      'https://github.com/BerriAI/litellm/pull/31536',
      { translatedOnly: true },
    ],
  ]),
);

/** OpenAI alone reads what Codex says of itself. */
const codexMembers = ['xai', 'openrouter', 'groq', 'lm-studio', 'vllm'].flatMap((provider) =>
  of(provider, 'openai-responses', [
    ['client_metadata', absent, 'https://github.com/SEMOSS/Semoss/pull/2532', { assumed: true }],
    ['access_programs', absent, 'https://github.com/lidge-jun/opencodex/issues/4853', { assumed: true }],
    // Codex writes all members of a thought that it shows again, those that it never got as null.
    ['input[].content', { kind: 'notNull' }, 'https://github.com/Wei-Shaw/sub2api/issues/4237', { assumed: true }],
  ]),
);

const grok = 'https://docs.x.ai/docs/guides/reasoning';

const xai = of('xai', 'openai-chat', [
  ['logit_bias', absent, 'https://docs.x.ai/docs/api-reference#chat-completions'],
  ['presence_penalty', absent, grok, { models: /^grok-(?:3-mini|4|build|code)/ }],
  ['frequency_penalty', absent, grok, { models: /^grok-(?:3-mini|4|build|code)/ }],
  ['stop', absent, grok, { models: /^grok-(?:3-mini|4|build|code)/ }],
]);

/** Members that it does not know are refused. */
const fireworksStrict = 'https://github.com/web-infra-dev/midscene/issues/1322';

const fireworks = of('fireworks', 'openai-chat', [
  ...absentAll('store verbosity safety_identifier web_search_options', fireworksStrict, { assumed: true }),
  ['messages[].reasoning', absent, 'https://github.com/maximhq/bifrost/issues/2405'],
  ['messages[].reasoning_details', absent, 'https://github.com/BerriAI/litellm/pull/27881', { assumed: true }],
  ['messages[].refusal', absent, 'https://github.com/BerriAI/litellm/pull/27881', { assumed: true }],
  ['messages[].tool_calls[].extra_content', absent, 'https://github.com/NousResearch/hermes-agent/pull/18663'],
]);

const minimaxChat = 'https://platform.minimax.io/docs/api-reference/text-openai-api';

const minimax = of('minimax', 'openai-chat', [
  ['logit_bias', absent, minimaxChat, { assumed: true }],
  ['n', { kind: 'atMost', value: 1 }, minimaxChat],
  ['temperature', { kind: 'atLeast', value: 0.01 }, minimaxChat],
  ['messages[].role', noDevelopers, minimaxChat],
  ['temperature', { kind: 'atMost', value: 1 }, minimaxChat],
  [
    'tools[].function.parameters',
    { kind: 'present', value: { type: 'object', properties: {} } },
    'https://github.com/QwenLM/qwen-code/issues/11834',
  ],
  [
    'messages[].tool_calls[].function.arguments',
    { kind: 'present', value: '{}', notEmpty: true },
    'https://github.com/ResearAI/DeepScientist/issues/48',
  ],
]);

/** Hosts of DeepSeek's models want the thoughts back as it does. */
const deepseekElsewhere = ['openrouter', 'fireworks'].flatMap((provider) =>
  of(provider, 'openai-chat', [
    [
      'messages[].reasoning_content',
      noThought,
      'https://github.com/danny-avila/LibreChat/issues/13366',
      { onlyWith: 'tool_calls', models: /^deepseek-v[4-9]/ },
    ],
  ]),
);

/** A cache is marked by the newest models' requests alone; others refuse the marks. */
const cacheMarks = (provider: string, dialect: ProviderRow['dialect'], turns: string, models?: RegExp) =>
  of(
    provider,
    dialect,
    ['prompt_cache_options', `${turns}[].content[].prompt_cache_breakpoint`].map((member) => [
      member,
      absent,
      'https://github.com/anomalyco/opencode/issues/36315',
      models === undefined ? { assumed: true } : { models },
    ]),
  );
const older = /^(?:gpt-(?:[34]|5(?!\.[6-9]))|chatgpt|o\d)/;
const markedCaches = [
  ...['openai', 'azure'].flatMap((provider) => [
    ...cacheMarks(provider, 'openai-chat', 'messages', older),
    ...cacheMarks(provider, 'openai-responses', 'input', older),
  ]),
  ...['zhipu', 'zhipu-v4', 'fireworks', 'mistral', 'groq', 'cerebras'].flatMap((provider) =>
    cacheMarks(provider, 'openai-chat', 'messages'),
  ),
];

const pictured: Demand = { kind: 'pictured', data: 'data' };
const wrongLabel = 'https://github.com/NousResearch/hermes-agent/issues/55432';
/** Both makers compare a picture with its label, wherever their models are hosted. */
const pictures = [
  ...['anthropic', 'aws', 'vertex'].flatMap((provider) =>
    of(provider, 'anthropic-messages', [
      ['messages[].content[].source.media_type', pictured, wrongLabel],
      ['messages[].content[].content[].source.media_type', pictured, wrongLabel],
    ]),
  ),
  ...['gemini', 'vertex'].flatMap((provider) =>
    of(provider, 'gemini-generate', [
      ['contents[].parts[].inlineData.mimeType', pictured, 'https://github.com/BerriAI/litellm/issues/24900'],
      ['contents[].parts[].inline_data.mime_type', pictured, 'https://github.com/BerriAI/litellm/issues/24900'],
    ]),
  ),
];

const aliChat = 'https://help.aliyun.com/zh/model-studio/qwen-api-via-openai-chat-completions';

const ali = of('ali', 'openai-chat', [
  ['messages[].role', noDevelopers, aliChat],
  ['messages', speaksOfJson, 'https://github.com/agno-agi/agno/pull/5317', inJson],
  ['tool_choice', { kind: 'oneOf', words: ['auto', 'none'], instead: { required: 'auto' } }, aliChat],
  ['temperature', { kind: 'atMost', value: 1.99 }, aliChat],
  ['top_p', { kind: 'atLeast', value: 0.01 }, aliChat],
]);

const cohereChat = 'https://docs.cohere.com/reference/chat';

const cohere = of('cohere', 'cohere-chat', [
  ['temperature', { kind: 'atMost', value: 1 }, cohereChat, { translatedOnly: true }],
  ...shareBetween('p', cohereChat),
  ['k', { kind: 'atMost', value: 500 }, cohereChat, { translatedOnly: true }],
  ['seed', { kind: 'atLeast', value: 0 }, cohereChat, { translatedOnly: true }],
  ['response_format', absent, cohereChat, { onlyWith: 'tools', translatedOnly: true }],
]);

const lmStudio = of('lm-studio', 'openai-chat', [
  [
    'tool_choice',
    { kind: 'word', instead: 'required' },
    'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670',
  ],
  [
    'response_format.type',
    { kind: 'oneOf', words: ['json_schema', 'text'], instead: { json_object: 'text' } },
    'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/189',
    { translatedOnly: true },
  ],
]);

const together = of('together', 'openai-chat', [
  ['messages[].role', noDevelopers, 'https://docs.together.ai/reference/chat-completions-1'],
]);

export const providerRows: readonly ProviderRow[] = [
  // Other rows about messages look at the order that these make.
  ...messageOrderRows,
  ...openai,
  ...openaiResponses,
  ...codexMembers,
  ...mistral,
  ...groq,
  ...groqResponses,
  ...cerebras,
  ...moonshot,
  ...zhipu,
  ...cohere,
  ...lmStudio,
  ...perplexity,
  ...deepseek,
  ...xai,
  ...fireworks,
  ...minimax,
  ...deepseekElsewhere,
  ...markedCaches,
  ...pictures,
  ...unsupportedFieldRows,
  ...ali,
  ...together,
];

/** Members inside of messages that some provider refuses, or refuses to be wrong. */
export const unsupportedMembers: readonly string[] = [
  ...new Set(
    providerRows.flatMap(({ member, demand }) =>
      member.includes('[]') && (demand.kind === 'absent' || demand.kind === 'pictured')
        ? member.slice(member.lastIndexOf('.') + 1)
        : [],
    ),
  ),
];
