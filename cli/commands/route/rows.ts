import type { CommandRow } from '../../command.ts';

export const routeRows: readonly CommandRow[] = [
  {
    name: 'route explain',
    argument: '<model>',
    zh: '请求会发往哪些渠道，为什么',
    en: 'which channels a request would go to, and why',
    flags: [
      { flag: '--group <name>', zh: '分组（默认 default）', en: 'group (default: default)' },
      { flag: '--token <name>', zh: '按此令牌的分组', en: "the group of this token's requests" },
    ],
    examples: ['route explain gpt-4o', 'route explain gpt-4o --token laptop --json'],
    load: async () => (await import('./route.ts')).explain,
  },
  {
    name: 'route preview',
    argument: '[model]',
    zh: '请求会以什么样子发往上游（不发送）',
    en: 'a request as it would go upstream, without sending it',
    flags: [
      {
        flag: '--channel <id>',
        zh: '发往此渠道（默认：最先选中的）',
        en: 'to this channel (default: the first choice)',
      },
      { flag: '--group <name>', zh: '分组（默认 default）', en: 'group (default: default)' },
      { flag: '--token <name>', zh: '按此令牌的分组', en: "the group of this token's requests" },
      { flag: '--path <text>', zh: '接口路径', en: 'path of the request (default: /v1/chat/completions)' },
      { flag: '--body <json>', zh: '请求体（默认：一句对话）', en: 'its body (default: a short chat)' },
      { flag: '--body-stdin', zh: '从标准输入读取请求体', en: 'read the body from standard input' },
      {
        flag: '--header <text...>',
        zh: '客户端请求头，如 "x-name: value"',
        en: 'a header of the client, as "x-name: value"',
      },
      { flag: '--stream', zh: '流式', en: 'as a stream' },
    ],
    examples: ['route preview gpt-4o --channel 3', 'route preview --path /v1/messages --body-stdin < request.json'],
    load: async () => (await import('./route.ts')).preview,
  },
];
