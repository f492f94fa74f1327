/** What the models of other makers take, and what single hosts make of them. */
import type { ModelRow } from '../row.ts';

const mistralEfforts = 'https://github.com/anomalyco/models.dev/pull/1986';
const kimiFixed = 'https://java.agentscope.io/v2/en/integration/model/kimi';
const kimiThinking = 'https://docs.rs/synaps-engine/0.11.0/src/agent_engine/runtime/openai/catalog/kimi.rs.html';
const grokReasoning =
  'https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/grok/capabilities/reasoning';
const groqReasoning = 'https://console.groq.com/docs/reasoning';
/** Limits of each host's models. */
const listed = 'https://models.dev/api.json';
/** As LiteLLM's map has it, model by model. */
const published = 'https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json';
const fixed = ['temperature', 'topP', 'candidates', 'presencePenalty', 'frequencyPenalty'] as const;

const mistral: readonly ModelRow[] = [
  {
    models: /^(?:mistral|ministral|magistral|codestral|devstral|pixtral|open-mi[sx]tral|labs-)/,
    provider: 'mistral',
    thinking: 'effort',
    efforts: [],
    source: 'https://github.com/NousResearch/hermes-agent/issues/11243',
  },
  {
    models: /^(?:mistral-small-(?:latest|2603)|mistral-medium-(?:2604|3[.-]5))/,
    provider: 'mistral',
    efforts: ['none', 'high'],
    source: mistralEfforts,
  },
  {
    models: /^(?:mistral-(?:large-4|medium(?:-3|-latest)?$|small$|code-agent|vibe-cli)|devstral-.*latest)/,
    provider: 'mistral',
    efforts: ['none', 'high'],
    source: published,
  },
  { models: /^mistral-large-2411/, provider: 'mistral', outputCap: 16_384, source: listed },
  {
    models: /^magistral/,
    provider: 'mistral',
    thinkingRequired: true,
    thinkingByDefault: true,
    source: mistralEfforts,
  },
];

const groq: readonly ModelRow[] = [
  {
    models: /^/,
    provider: 'groq',
    thinking: 'effort',
    efforts: [],
    unsupported: ['candidates'],
    source: groqReasoning,
  },
  {
    models: /^/,
    provider: 'groq',
    unsupported: ['formatWithTools'],
    source: 'https://console.groq.com/docs/structured-outputs',
  },
  {
    models: /^(?!gpt-oss|llama-4|kimi-k2)/,
    provider: 'groq',
    unsupported: ['schemaFormat'],
    source: 'https://console.groq.com/docs/structured-outputs#supported-models',
  },
  {
    models: /^qwen/,
    provider: 'groq',
    efforts: ['none', 'default'],
    thinkingByDefault: true,
    outputCap: 40_960,
    source: groqReasoning,
  },
  {
    models: /^gpt-oss/,
    provider: 'groq',
    efforts: ['low', 'medium', 'high'],
    outputCap: 65_536,
    source: groqReasoning,
  },
  {
    models: /^(?:llama-4|compound)/,
    provider: 'groq',
    outputCap: 8192,
    source: 'https://console.groq.com/docs/models',
  },
];

const cerebras: readonly ModelRow[] = [
  {
    models: /^/,
    provider: 'cerebras',
    thinking: 'effort',
    efforts: [],
    unsupported: ['presencePenalty', 'frequencyPenalty', 'parallelToolCalls', 'candidates'],
    source: 'https://hexdocs.pm/req_llm/cerebras.html',
  },
  {
    models: /^/,
    provider: 'cerebras',
    unsupported: ['formatWithTools'],
    source: 'https://inference-docs.cerebras.ai/capabilities/structured-outputs',
  },
  {
    models: /^(?:gpt-oss|zai-glm)/,
    provider: 'cerebras',
    outputCap: 40_960,
    source: 'https://models.dev/?search=cerebras',
  },
  {
    models: /^gpt-oss/,
    provider: 'cerebras',
    efforts: ['low', 'medium', 'high'],
    source: 'https://inference-docs.cerebras.ai/capabilities/reasoning',
  },
];

const deepseek: readonly ModelRow[] = [
  {
    models: /^deepseek-(?:v4|flash|pro)/,
    thinking: 'effort',
    thinkingByDefault: true,
    efforts: ['low', 'high', 'max'],
    unsupportedWithThinking: ['temperature', 'topP', 'presencePenalty', 'frequencyPenalty'],
    source: 'https://api-docs.deepseek.com/guides/thinking_mode',
  },
  {
    models: /^deepseek-(?:v4|flash|pro)/,
    provider: 'deepseek',
    thinkingSwitch: 'thinking',
    outputCap: 393_216,
    source: 'https://api-docs.deepseek.com/guides/thinking_mode',
  },
  {
    models: /^deepseek-(?:v4|flash|pro|reasoner)/,
    provider: 'deepseek',
    unsupportedWithThinking: ['forcedToolChoice'],
    source: 'https://api-docs.deepseek.com/guides/thinking_mode',
  },
  {
    models: /^deepseek-chat/,
    provider: 'deepseek',
    outputCap: 8192,
    source: 'https://api-docs.deepseek.com/quick_start/pricing',
  },
  {
    models: /^deepseek/,
    provider: 'deepseek',
    inputs: [],
    source: 'https://api-docs.deepseek.com/api/create-chat-completion',
  },
  { models: /^deepseek-.*vision/, provider: 'deepseek', inputs: ['image'], source: published },
  {
    models: /^deepseek-(?:reasoner|r1)/,
    thinking: 'effort',
    thinkingRequired: true,
    thinkingByDefault: true,
    efforts: [],
    unsupported: ['temperature', 'topP', 'presencePenalty', 'frequencyPenalty'],
    source: 'https://api-docs.deepseek.com/zh-cn/guides/reasoning_model',
  },
  {
    // The runtime switches it, and samples by itself.
    models: /^deepseek-r1/,
    provider: 'ollama',
    thinkingRequired: false,
    efforts: null,
    supported: ['temperature', 'topP', 'presencePenalty', 'frequencyPenalty'],
    source: 'https://docs.ollama.com/capabilities/thinking',
  },
  {
    models: /^deepseek/,
    provider: 'deepseek',
    unsupported: ['schemaFormat'],
    source: 'https://api-docs.deepseek.com/api/create-chat-completion',
  },
];

/** Names of its plans for coding: https://github.com/can1357/oh-my-pi/pull/3853, https://github.com/artokun/comfyui-mcp/issues/2535 */
const moonshot: readonly ModelRow[] = [
  { models: /^(?:kimi-k[2-9]|k3(?:-\d+k)?$|kimi-for-coding)/, thinking: 'effort', efforts: [], source: kimiThinking },
  {
    models: /^(?:kimi-k(?:2[.p][5-9]|[3-9])|k3(?:-\d+k)?$|kimi-for-coding)/,
    unsupported: fixed,
    thinkingByDefault: true,
    source: kimiFixed,
  },
  {
    models: /^kimi-k2(?:\.[5-9]|-thinking)/,
    unsupportedWithThinking: ['forcedToolChoice'],
    source: 'https://github.com/UKGovernmentBEIS/inspect_ai/pull/5152',
  },
  { models: /^kimi-k2\.[56]/, provider: 'moonshot', thinkingSwitch: 'thinking', source: kimiThinking },
  {
    models: /^kimi-(?:k2(?:\.[7-9]|p[7-9]|-thinking)|for-coding)/,
    thinkingRequired: true,
    thinkingByDefault: true,
    source: kimiThinking,
  },
  {
    models: /^(?:kimi-k[3-9]|k3(?:-\d+k)?$)/,
    thinkingRequired: true,
    efforts: ['low', 'high', 'max'],
    source: kimiThinking,
  },
];

const xai: readonly ModelRow[] = [
  // The limit "only applies to visible output tokens"; how long a thought gets is said nowhere.
  {
    models: /^grok-(?!.*non-reasoning)/,
    provider: 'xai',
    apartThought: { most: 32_768 },
    source: 'https://docs.x.ai/developers/rest-api-reference/inference/chat',
    assumed: true,
  },
  {
    models: /^grok-(?:3-mini|4|build|code)/,
    thinking: 'effort',
    thinkingRequired: true,
    thinkingByDefault: true,
    efforts: [],
    unsupported: ['presencePenalty', 'frequencyPenalty', 'stop'],
    source: 'https://docs.x.ai/docs/guides/reasoning',
  },
  {
    models: /^grok-[3-9]/,
    unsupported: ['presencePenalty', 'frequencyPenalty'],
    source: 'https://github.com/open-webui/open-webui/issues/21266',
  },
  { models: /^grok-4(?:-\d{4}|-latest)?$/, provider: 'xai', outputCap: 64_000, source: listed, assumed: true },
  { models: /^grok-4(?:-fast|\.)/, provider: 'xai', outputCap: 30_000, source: listed },
  { models: /^grok-4\.20-multi/, provider: 'xai', unsupported: ['tools'], source: published },
  {
    models: /^grok-4\.20-multi/,
    efforts: ['low', 'medium', 'high', 'xhigh'],
    source: 'https://docs.x.ai/developers/model-capabilities/text/reasoning',
  },
  {
    models: /^grok-3-mini/,
    efforts: ['low', 'high'],
    effortSuffix: true,
    source: 'https://docs.x.ai/docs/guides/reasoning',
  },
  { models: /^grok-(?:2|3(?!-mini)|beta|vision|.*non-reasoning)/, thinking: 'none', source: grokReasoning },
  {
    models: /^grok-4\.3/,
    thinkingRequired: false,
    efforts: ['none', 'low', 'medium', 'high'],
    source: 'https://newreleases.io/project/github/vercel/ai/release/@ai-sdk%2Fxai@4.0.0-canary.61',
  },
  {
    models: /^grok-4\.5/,
    efforts: ['low', 'medium', 'high'],
    source: 'https://github.com/anomalyco/opencode/issues/39448',
  },
  {
    models: /^grok-4\.[6-9](?!\d)/,
    efforts: ['low', 'medium', 'high', 'xhigh'],
    source: 'https://github.com/mnfst/modelparams.dev/pull/330',
  },
];

const zhipu: readonly ModelRow[] = ['zhipu', 'zhipu-v4'].flatMap((provider): ModelRow[] => [
  {
    models: /^glm-(?:4\.[5-9]|[5-9])/,
    provider,
    thinking: 'effort',
    thinkingByDefault: true,
    efforts: [],
    thinkingSwitch: 'thinking',
    unsupported: [
      'candidates',
      'seed',
      'presencePenalty',
      'frequencyPenalty',
      'parallelToolCalls',
      'forcedToolChoice',
      'schemaFormat',
    ],
    source: 'https://docs.bigmodel.cn/api-reference/模型-api/对话补全',
    assumed: true,
  },
  {
    models: /^(?:chatglm|glm-(?:3|4(?!\.[5-9])))/,
    provider,
    thinking: 'none',
    source: 'https://docs.bigmodel.cn/cn/guide/capabilities/thinking',
  },
]);

const perplexity: readonly ModelRow[] = [
  {
    models: /^sonar/,
    provider: 'perplexity',
    thinking: 'none',
    unsupported: ['tools', 'candidates', 'jsonFormat'],
    source: 'https://github.com/pipecat-ai/pipecat/pull/4862',
  },
  {
    models: /^sonar/,
    provider: 'perplexity',
    unsupported: ['prefill'],
    source: 'https://docs.perplexity.ai/api-reference/chat-completions-post',
  },
  {
    models: /^sonar-(?:deep-research|reasoning)/,
    provider: 'perplexity',
    thinking: 'effort',
    thinkingRequired: true,
    thinkingByDefault: true,
    efforts: ['minimal', 'low', 'medium', 'high'],
    source: 'https://docs.perplexity.ai/api-reference/chat-completions-post',
  },
];

const rest: readonly ModelRow[] = [
  { models: /^command-(?!a-(?:reasoning|plus))/, thinking: 'none', source: 'https://docs.cohere.com/docs/reasoning' },
  {
    models: /^(?:command-(?!a-(?:vision|plus))|c4ai-command)/,
    provider: 'cohere',
    inputs: [],
    source: 'https://docs.cohere.com/docs/image-inputs',
  },
  { models: /^llama-?[1-4]/, thinking: 'none', source: 'https://www.llama.com/docs/model-cards-and-prompt-formats/' },
  {
    models: /^minimax-m[2-9]/,
    thinking: 'effort',
    thinkingRequired: true,
    thinkingByDefault: true,
    efforts: [],
    unsupported: ['presencePenalty', 'frequencyPenalty', 'candidates'],
    source: 'https://platform.minimax.io/docs/api-reference/text-openai-api',
  },
];

const fireworksControls = 'https://github.com/anomalyco/models.dev/pull/2132';

const fireworks: readonly ModelRow[] = [
  {
    models: /^(?:glm|kimi)/,
    provider: 'fireworks',
    thinking: 'effort',
    thinkingRequired: false,
    thinkingByDefault: true,
    efforts: ['none'],
    supported: [...fixed],
    source: fireworksControls,
  },
  { models: /^kimi-k3/, provider: 'fireworks', efforts: ['low', 'high', 'max'], source: published },
  {
    models: /^(?:llama-v3p(?:1-8b|2-)|qwen2-72b|qwen2p5-coder|yi-large|deepseek-coder-v2|ultramarine)/,
    provider: 'fireworks',
    unsupported: ['tools'],
    source: published,
  },
  {
    models: /^deepseek-v4/,
    provider: 'fireworks',
    thinking: 'effort',
    thinkingByDefault: true,
    efforts: ['none', 'high', 'max'],
    source: fireworksControls,
  },
  {
    models: /^minimax-m2/,
    provider: 'fireworks',
    thinking: 'effort',
    thinkingRequired: true,
    efforts: ['low', 'medium', 'high'],
    source: fireworksControls,
  },
  {
    models: /^qwen3p/,
    provider: 'fireworks',
    thinking: 'effort',
    thinkingByDefault: true,
    efforts: ['none', 'low', 'medium', 'high'],
    source: fireworksControls,
  },
];

const dashscope = 'https://github.com/BerriAI/litellm/pull/40720';

/** "max_tokens does not limit the length of the chain-of-thought", which is as long as the model's longest unless told. */
const qwenChat = 'https://www.alibabacloud.com/help/en/model-studio/qwen-api-via-openai-chat-completions';

const ali: readonly ModelRow[] = [
  { models: /^/, provider: 'ali', apartThought: { most: 32_768, member: 'thinking_budget' }, source: qwenChat },
  {
    models: /^(?:qwen|kimi)/,
    provider: 'ali',
    apartThought: { most: 81_920, member: 'thinking_budget' },
    source: 'https://help.aliyun.com/zh/model-studio/qwen-plus',
  },
  {
    models: /^qwen(?:3-max|-)(?!.*-thinking)/,
    provider: 'ali',
    apartThought: { most: 81_920, member: 'thinking_budget', onRequest: true },
    source: qwenChat,
  },
  {
    models: /^qwen(?:3\.(?:6-(?:flash|max)|[7-9])|[4-9])/,
    provider: 'ali',
    apartThought: { most: 262_144, member: 'thinking_budget' },
    source: 'https://help.aliyun.com/zh/model-studio/qwen3-7-plus',
  },
  { models: /^q(?:wen|wq|vq)/, provider: 'ali', thinking: 'effort', efforts: [], source: dashscope, assumed: true },
  {
    models: /^qwen3(?:\.[5-9]|-(?!coder|max|.*instruct))/,
    provider: 'ali',
    thinkingByDefault: true,
    thinkingSwitch: 'enable_thinking',
    source: dashscope,
  },
];

const siliconflowThought = 'https://docs.siliconflow.cn/en/userguide/capabilities/reasoning';

const siliconflow: readonly ModelRow[] = [
  { models: /^/, provider: 'siliconflow', apartThought: { most: 32_768 }, source: siliconflowThought },
  {
    models: /^qwen3/,
    provider: 'siliconflow',
    apartThought: { most: 32_768, member: 'thinking_budget' },
    source: siliconflowThought,
  },
  {
    models: /^(?:qwen3-(?:8b|14b|32b)|hunyuan-a13b|glm-4\.[5-9]|glm-5|deepseek-v3\.[1-9]|deepseek-v4)/,
    provider: 'siliconflow',
    thinking: 'effort',
    thinkingByDefault: true,
    efforts: [],
    thinkingSwitch: 'enable_thinking',
    source: 'https://docs.siliconflow.cn/cn/api-reference/chat-completions/chat-completions',
    assumed: true,
  },
];

const together: readonly ModelRow[] = [
  {
    models: /^/,
    provider: 'together',
    efforts: ['low', 'medium', 'high'],
    source: 'https://docs.together.ai/docs/openai-api-compatibility',
  },
  { models: /^kimi-k3/, provider: 'together', efforts: ['low', 'high', 'max'], source: published },
];

const hosts: readonly ModelRow[] = [
  { models: /^r1-v1/, provider: 'aws', unsupported: ['tools'], source: published },
  { models: /^qwen3-vl-235b/, provider: 'aws', unsupported: ['schemaFormat'], source: published },
  { models: /^gpt-6-/, provider: 'aws', unsupported: ['temperature', 'topP'], source: published },
  { models: /^gemini-3\.8-flash-cyber/, provider: 'vertex', unsupported: ['tools'], source: published },
  // It sends every model what that model takes, and leaves out the rest.
  {
    models: /^/,
    provider: 'openrouter',
    efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
    thinkingRequired: false,
    supported: ['temperature', 'topP', 'topK', 'presencePenalty', 'frequencyPenalty', 'stop', 'parallelToolCalls'],
    source: 'https://openrouter.ai/docs/cookbook/evaluate-and-optimize/model-migrations/claude-4-7.md',
  },
  {
    models: /^doubao-(?:seed|1-[56]-thinking)/,
    provider: 'volcengine',
    thinking: 'effort',
    thinkingByDefault: true,
    efforts: ['minimal', 'low', 'medium', 'high'],
    thinkingSwitch: 'thinking',
    source: 'https://www.volcengine.com/docs/82379/1494384',
    assumed: true,
  },
  {
    models: /^(?:doubao-(?:pro|lite|vision|1-5-(?:pro|lite))|ernie-(?:3|4|speed|lite|tiny|char|novel))/,
    thinking: 'none',
    source: 'https://www.volcengine.com/docs/82379/1449737',
    assumed: true,
  },
];

export const otherModels: readonly ModelRow[] = [
  ...rest,
  ...mistral,
  ...groq,
  ...cerebras,
  ...deepseek,
  ...moonshot,
  ...xai,
  ...zhipu,
  ...perplexity,
  ...fireworks,
  ...ali,
  ...siliconflow,
  ...together,
  ...hosts,
];
