/** How single families of models are spoken to. */

import { modelRules } from '../model-rules.ts';
import { decimal, headerTable, integer, nameList, texts, toggle, tokenTable, versionTable } from '../option-kinds.ts';
import { requestRules } from '../request-rules.ts';
import { option } from './row.ts';

export const modelsOptions = {
  model_rules: option({
    kind: modelRules,
    fallback: '[]',
    tab: 'models',
    panel: 'global',
    label: { zh: '模型规则', en: 'Model rules' },
    help: {
      zh: '优先于内置的模型知识；每条规则用正则表达式指定模型。结果见 gateway model explain。',
      en: 'They win over what is built in; each names its models by a pattern. gateway model explain shows the result.',
    },
  }),
  request_rules: option({
    kind: requestRules,
    fallback: '{}',
    role: 100,
    tab: 'models',
    panel: 'global',
    label: { zh: '请求规则', en: 'Request rules' },
    help: {
      zh: 'JSON 对象，作用于所有渠道，先于渠道自己的规则：{"operations":[…],"header_override":{…},"models":{"gpt-*":{"operations":[…]}}}。预览见 gateway route preview。',
      en: '{"operations":[…],"header_override":{…},"models":{"gpt-*":{…}}}, before channels\' own rules; see gateway route preview.',
    },
  }),
  'gemini.safety_settings': option({
    kind: texts,
    fallback: '{"HARM_CATEGORY_CIVIC_INTEGRITY":"BLOCK_NONE","default":"OFF"}',
    tab: 'models',
    panel: 'gemini',
    label: { zh: 'Gemini 安全设置', en: 'Gemini safety settings' },
    help: {
      zh: '类别 → 阈值；请求未指定时使用。',
      en: 'Category → threshold, for requests that name none.',
    },
  }),
  'gemini.version_settings': option({
    kind: versionTable,
    fallback: '{"default":"v1beta","gemini-1.0-pro":"v1"}',
    tab: 'models',
    panel: 'gemini',
    label: { zh: 'Gemini 版本设置', en: 'Gemini API versions' },
    help: {
      zh: '模型 → API 版本；default 用于其它模型。',
      en: 'Model → version of the API; default is for all others.',
    },
  }),
  'gemini.supported_imagine_models': option({
    kind: nameList,
    fallback: '["gemini-2.0-flash-exp-image-generation","gemini-2.0-flash-exp"]',
    tab: 'models',
    panel: 'gemini',
    label: { zh: '支持画图的 Gemini 模型', en: 'Gemini models that draw' },
    help: {
      zh: '可以在对话中返回图片的模型。',
      en: 'Models that may return images in a chat.',
    },
  }),
  'gemini.thinking_adapter_enabled': option({
    kind: toggle,
    fallback: 'false',
    tab: 'models',
    panel: 'gemini',
    label: { zh: '启用 Gemini 思考后缀适配', en: 'Gemini thinking suffixes' },
    help: {
      zh: '模型名后缀 -thinking、-nothinking 与 -thinking-数字 决定思考预算。',
      en: "The suffixes -thinking, -nothinking and -thinking-NUMBER of a model's name decide how much it thinks.",
    },
  }),
  'gemini.thinking_adapter_budget_tokens_percentage': option({
    kind: decimal(0.1, 1),
    fallback: '0.6',
    tab: 'models',
    panel: 'gemini',
    label: { zh: 'Gemini 思考预算占比', en: 'Gemini thinking budget share' },
    help: {
      zh: '思考可使用最大输出长度的比例，0.1 至 1。',
      en: 'Share of the maximum output that may be reasoning, 0.1 to 1.',
    },
    dependsOn: 'gemini.thinking_adapter_enabled',
  }),
  'claude.model_headers_settings': option({
    kind: headerTable,
    fallback: '{}',
    tab: 'models',
    panel: 'claude',
    label: { zh: 'Claude 请求头覆盖', en: 'Claude header overrides' },
    help: { zh: '模型 → 额外的请求头。', en: 'Model → headers that are added.' },
  }),
  'claude.default_max_tokens': option({
    kind: tokenTable,
    fallback: '{"default":8192}',
    tab: 'models',
    panel: 'claude',
    label: { zh: 'Claude 缺省 MaxTokens', en: 'Claude default max tokens' },
    help: {
      zh: '模型 → 请求未写时的最大输出长度；default 用于其它模型。未修改时使用模型自身的上限。',
      en: "Model → output limit for requests without one; default for others. Unchanged: each model's own limit.",
    },
  }),
  'claude.thinking_adapter_enabled': option({
    kind: toggle,
    fallback: 'true',
    tab: 'models',
    panel: 'claude',
    label: { zh: '启用 Claude 思考后缀适配', en: 'Claude thinking suffixes' },
    help: { zh: '模型名后缀 -thinking 开启思考。', en: "The suffix -thinking of a model's name turns thinking on." },
  }),
  'claude.thinking_adapter_budget_tokens_percentage': option({
    kind: decimal(0.1, 1),
    fallback: '0.8',
    tab: 'models',
    panel: 'claude',
    label: { zh: 'Claude 思考预算占比', en: 'Claude thinking budget share' },
    help: {
      zh: '思考可使用最大输出长度的比例，0.1 至 1。',
      en: 'Share of the maximum output that may be reasoning, 0.1 to 1.',
    },
    dependsOn: 'claude.thinking_adapter_enabled',
  }),
  'global.pass_through_request_enabled': option({
    kind: toggle,
    fallback: 'false',
    tab: 'models',
    panel: 'global',
    label: { zh: '启用请求透传', en: 'Pass requests through unchanged' },
    help: {
      zh: '所有渠道的请求原样转发，除模型名外不作修改。',
      en: 'Forwards requests unchanged on every channel, except for the model name.',
    },
  }),
  'general_setting.route_trace_enabled': option({
    kind: toggle,
    fallback: 'false',
    tab: 'models',
    panel: 'global',
    label: {
      zh: '响应头显示路由过程（x-gateway-trace）',
      en: 'Show the routing decision in a response header (x-gateway-trace)',
    },
    help: { zh: '客户端可看到尝试了哪些渠道，只显示编号。', en: 'Clients see which channels were tried, by number.' },
  }),
  'general_setting.cost_header_enabled': option({
    kind: toggle,
    fallback: 'false',
    tab: 'models',
    panel: 'global',
    label: {
      zh: '响应头显示本次费用（x-gateway-quota、x-gateway-cost-usd，仅非流式）',
      en: 'Show what the call cost in response headers (x-gateway-quota, x-gateway-cost-usd; not for streams)',
    },
    help: { zh: '客户端可直接读到每次请求的费用。', en: 'Clients can read the cost of a request from its response.' },
  }),
  'general_setting.ping_interval_enabled': option({
    kind: toggle,
    fallback: 'false',
    tab: 'models',
    panel: 'global',
    label: { zh: '启用 SSE 心跳', en: 'Send keep-alive pings' },
    help: {
      zh: '上游沉默时向客户端发送心跳，避免中间代理断开。',
      en: 'Keeps proxies from closing a stream while the upstream is silent.',
    },
  }),
  'general_setting.ping_interval_seconds': option({
    kind: integer(1),
    fallback: '60',
    tab: 'models',
    panel: 'global',
    label: { zh: 'Ping 间隔（秒）', en: 'Ping interval (seconds)' },
    help: { zh: '两次心跳之间的秒数。', en: 'Seconds between two pings.' },
    dependsOn: 'general_setting.ping_interval_enabled',
  }),
  'general_setting.keep_alive_seconds': option({
    kind: integer(0),
    fallback: '15',
    tab: 'models',
    panel: 'global',
    label: { zh: '流式保活间隔（秒）', en: 'Sign of life in streams after (seconds)' },
    help: {
      zh: '沉默这么久后按各协议自己的方式发送，0 为不发；启用 SSE 心跳时以其间隔为准。',
      en: 'After so much silence, in the form of each protocol; 0 sends none, and keep-alive pings go before it.',
    },
  }),
  'general_setting.blank_seconds': option({
    kind: integer(0),
    fallback: '0',
    tab: 'models',
    panel: 'global',
    label: { zh: '非流式保活间隔（秒）', en: 'Blanks before answers that are not streamed (seconds)' },
    help: {
      zh: '非流式对话等待这么久后，在 JSON 之前发送空格，避免代理超时；此后出现的错误以状态码 200 返回。0 为不发。',
      en: 'After so long, so that no proxy ends a waiting chat; an error after the first blank has status 200. 0 sends none.',
    },
  }),
  'general_setting.responses_sockets': option({
    kind: toggle,
    fallback: 'false',
    tab: 'models',
    panel: 'global',
    label: { zh: 'Responses 接口支持 WebSocket', en: 'Responses over WebSocket' },
    help: {
      zh: '客户端可在 /v1/responses 打开 WebSocket，每轮只发送新的输入；每轮与一次 HTTP 请求同样检查和计费。关闭时返回 426，客户端改用 HTTP。',
      en: 'Clients may open a socket at /v1/responses and send only the new input of a turn, which is checked and charged.',
    },
  }),
  'general_setting.short_wait_seconds': option({
    kind: integer(0, 3),
    fallback: '3',
    tab: 'models',
    panel: 'global',
    label: { zh: '等待密钥的最长时间（秒）', en: 'Longest wait for a busy key (seconds)' },
    help: {
      zh: '所有密钥都在限速等待、且很快可用时，请求先等待再发送；0 为不等。',
      en: 'A request waits before it is sent where every key is limited and one is free soon; 0 never waits.',
    },
  }),
  'general_setting.plain_weights': option({
    kind: toggle,
    fallback: 'false',
    tab: 'models',
    panel: 'global',
    label: { zh: '权重为 0 的渠道只作后备', en: 'Channels of weight 0 are for reserve alone' },
    help: {
      zh: '同一优先级内有可用的非零权重渠道时不分配请求；关闭时每个权重加 10。',
      en: 'Beside a usable channel of the same priority with a weight they get nothing; off, 10 is added to every weight.',
    },
  }),
  'general_setting.first_event_seconds': option({
    kind: integer(0),
    fallback: '30',
    tab: 'models',
    panel: 'global',
    label: { zh: '流式首个事件最长等待（秒）', en: 'Longest wait for the first event of a stream (seconds)' },
    help: {
      zh: '超过后改问另一个可用渠道，没有则继续等；会思考的模型不限，0 为不限。',
      en: 'Then another free channel is asked, if any; models that think are exempt, 0 sets no limit.',
    },
  }),
  'general_setting.first_answer_seconds': option({
    kind: integer(0),
    fallback: '60',
    tab: 'models',
    panel: 'global',
    label: {
      zh: '非流式首字节最长等待（秒）',
      en: 'Longest wait for the first byte of a non-streaming response (seconds)',
    },
    help: {
      zh: '超过后改问另一个可用渠道，没有则继续等；会思考的模型不限，0 为不限。',
      en: 'Then another free channel is asked, if any; models that think are exempt, 0 sets no limit.',
    },
  }),
  'general_setting.upstream_idle_seconds': option({
    kind: integer(5),
    fallback: '300',
    tab: 'models',
    panel: 'global',
    label: { zh: '上游最长静默（秒）', en: 'Longest silence of an upstream (seconds)' },
    help: {
      zh: '回答途中静默超过此时长即视为中断。',
      en: 'A response that falls silent for longer counts as interrupted.',
    },
  }),
} as const;
