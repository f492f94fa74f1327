/** The OpenAPI 3.1 document of the HTTP API, made from the endpoint table and the calls of the relay. */

import * as z from 'zod/mini';
import type { Endpoint } from './endpoint.ts';
import { endpoints } from './endpoints/index.ts';
import type { Language, Text } from './enum.ts';
import { textIn } from './language.ts';

type Schema = Readonly<Record<string, unknown>> & {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
};

/** A call that an API key makes, or a program that signs in; what bodies and answers have besides is in the provider's own documents and in the standards. */
export interface DocumentedCall {
  readonly id: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly summary: Text;
  readonly body: 'json' | 'form' | 'urlencoded' | 'none';
  /** Nobody has to say who calls. */
  readonly isPublic?: true;
  /** Where it is an address for browsers: what stands in its query. */
  readonly query?: readonly string[];
  /** Absent = only the provider's own documents describe it. */
  readonly request?: DocumentedBody;
  /** null = bytes. */
  readonly response?: DocumentedBody | null;
}

export interface DocumentedBody {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly example: Readonly<Record<string, unknown>>;
}

export interface DocumentInfo {
  readonly version: string;
  readonly language: Language;
  /** Address of the site as the document was asked for. */
  readonly address: string;
  readonly calls: readonly DocumentedCall[];
}

/** Fields that are cleaned before they are checked are shown without a type. */
const schemaOf = (shape: z.ZodMiniType, io: 'input' | 'output'): Schema => {
  const { $schema: _version, ...schema } = z.toJSONSchema(shape, {
    io,
    unrepresentable: 'any',
    reused: 'inline',
  }) as Schema;
  return schema;
};

const inQuery = (row: Endpoint): boolean => row.method === 'GET' || row.method === 'DELETE';
const namesIn = (path: string, pattern: RegExp): string[] => [...path.matchAll(pattern)].map((match) => match[1] ?? '');

const failure = { $ref: '#/components/responses/failure' };

function answerOf(row: Endpoint) {
  const data = schemaOf(row.output, 'output');
  switch (row.envelope ?? 'data') {
    case 'text':
      return { 200: { description: 'The answer as text', content: { 'text/plain': { schema: { type: 'string' } } } } };
    case 'file':
      return { 200: { description: 'A file', content: { 'application/octet-stream': { schema: {} } } } };
    case 'redirect':
      return {
        200: { description: 'The page that the redirect leads to, where it is followed' },
        303: { description: 'Where the browser goes next' },
      };
    case 'raw':
      return { 200: { description: 'The answer', content: { 'application/json': { schema: data } } } };
    default:
      return {
        200: {
          description: '`success: false` reports a failure, with `message` and `code`',
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: {
                  success: { type: 'boolean' },
                  message: { type: 'string' },
                  code: { type: 'string' },
                  data,
                },
                required: ['success', 'message'],
              },
            },
          },
        },
      };
  }
}

function operation(row: Endpoint, language: Language) {
  const input = schemaOf(row.input, 'input');
  const inPath = namesIn(row.path, /:(\w+)/g);
  const fields = Object.entries(input.properties ?? {});
  const rest = fields.filter(([name]) => !inPath.includes(name));
  const required = input.required ?? [];
  const parameter = (name: string, place: 'path' | 'query', schema: unknown) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema,
  });
  return {
    operationId: row.id,
    tags: [row.id.split('.')[0] ?? ''],
    summary: textIn(row.summary, language),
    'x-access': row.access,
    security:
      row.access === 'public'
        ? []
        : [
            { session: [], user: [] },
            { access_token: [], user: [] },
          ],
    parameters: [
      ...inPath.map((name) => parameter(name, 'path', input.properties?.[name] ?? {})),
      ...(inQuery(row) ? rest.map(([name, schema]) => parameter(name, 'query', schema)) : []),
    ],
    ...(inQuery(row) || rest.length === 0
      ? {}
      : {
          requestBody: {
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  properties: Object.fromEntries(rest),
                  required: required.filter((name) => !inPath.includes(name)),
                },
              },
            },
          },
        }),
    responses: { ...answerOf(row), '4XX': failure },
  };
}

const bodyTypes = {
  json: 'application/json',
  form: 'multipart/form-data',
  urlencoded: 'application/x-www-form-urlencoded',
} as const;

function callOperation(call: DocumentedCall, language: Language) {
  const plain = { schema: { type: 'object' } };
  const { request = plain, response = plain } = call;
  return {
    operationId: call.id,
    tags: [call.id.split('.')[0] ?? ''],
    summary: textIn(call.summary, language),
    'x-access': call.isPublic === true ? 'public' : 'key',
    security: call.isPublic === true ? [] : [{ api_key: [] }],
    parameters: [
      ...namesIn(call.path, /\{(\w+)\}/g).map((name) => ({
        ...{ name, in: 'path', required: true },
        schema: { type: 'string' },
      })),
      ...(call.query ?? []).map((name) => ({ name, in: 'query', required: true, schema: { type: 'string' } })),
    ],
    ...(call.body === 'none' ? {} : { requestBody: { content: { [bodyTypes[call.body]]: request } } }),
    responses: {
      200: {
        description: 'The answer in the form of the call, whole or as a stream of events',
        content:
          response === null
            ? { 'application/octet-stream': { schema: {} } }
            : { 'application/json': response, 'text/event-stream': { schema: { type: 'string' } } },
      },
      '4XX': { description: 'A refusal in the form of the call', content: { 'application/json': plain } },
    },
  };
}

/** Paths are written without the slash at their end that the server forgives. Calls that only the owner of the data directory may make are not part of it. */
export function openApi({ version, language, address, calls }: DocumentInfo) {
  const paths: Record<string, Record<string, unknown>> = {};
  const add = (path: string, method: string, described: unknown): void => {
    const plain = path.replace(/:(\w+)/g, '{$1}').replace(/(?<=.)\/$/, '');
    paths[plain] = { ...paths[plain], [method.toLowerCase()]: described };
  };
  for (const call of calls) paths[call.path] = { [call.method.toLowerCase()]: callOperation(call, language) };
  for (const row of endpoints as readonly Endpoint[])
    if (row.access !== 'local') add(row.path, row.method, operation(row, language));
  const tags = new Set(Object.values(paths).flatMap((methods) => Object.values(methods).flatMap(tagsOf)));
  return {
    openapi: '3.1.0',
    info: {
      title: 'gateway',
      version,
      summary: 'An AI gateway: relay, billing, console',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: address === '' ? '/' : address }],
    tags: [...tags].sort().map((name) => ({
      name,
      'x-displayName': titledTag(name, language),
      description: describedTag(name, language),
    })),
    components: {
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'session' },
        access_token: { type: 'http', scheme: 'bearer' },
        user: { type: 'apiKey', in: 'header', name: 'New-Api-User' },
        api_key: { type: 'http', scheme: 'bearer', description: 'sk-...' },
      },
      responses: {
        failure: {
          description: 'Refused: who calls is not known, may not do this, calls too often, or something is not valid',
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: {
                  success: { const: false },
                  message: { type: 'string' },
                  code: { type: 'string' },
                  params: { type: 'object' },
                },
                required: ['success', 'message'],
              },
            },
          },
        },
      },
    },
    paths,
  };
}

/** Of each group of calls; the documents that read `x-displayName` show it instead of the tag. */
export const tagTitles: Readonly<Record<string, Text>> = {
  access_token: { zh: '受限访问令牌', en: 'Limited access tokens' },
  account: { zh: '账户', en: 'Account' },
  affiliate: { zh: '邀请', en: 'Invitations' },
  alert: { zh: '告警', en: 'Alerts' },
  audit: { zh: '审计记录', en: 'Audit trail' },
  backup: { zh: '备份', en: 'Backups' },
  budget: { zh: '预算', en: 'Budgets' },
  channel: { zh: '渠道', en: 'Channels' },
  chat: { zh: '聊天', en: 'Chats' },
  drawing: { zh: '绘图', en: 'Drawings' },
  filter: { zh: '已存筛选', en: 'Saved filters' },
  group: { zh: '分组', en: 'Groups' },
  invoice: { zh: '发票', en: 'Invoices' },
  ledger: { zh: '账本', en: 'Ledger' },
  link: { zh: '文档链接', en: 'Links to documents' },
  log: { zh: '使用日志', en: 'Usage log' },
  model: { zh: '模型', en: 'Models' },
  node: { zh: '节点', en: 'Nodes' },
  oauth: { zh: '第三方登录', en: 'Identity providers' },
  option: { zh: '设置', en: 'Settings' },
  passkey: { zh: '通行密钥', en: 'Passkeys' },
  pricing: { zh: '模型与价格', en: 'Models and prices' },
  program: { zh: '程序登录', en: 'Sign-in of programs' },
  provision: { zh: '声明式配置', en: 'Declared configuration' },
  ratio: { zh: '价格', en: 'Prices' },
  redemption: { zh: '兑换码', en: 'Redemption codes' },
  relay: { zh: '模型调用', en: 'Calls of models' },
  route: { zh: '路由', en: 'Routing' },
  second_factor: { zh: '两步验证', en: 'Two-factor authentication' },
  session: { zh: '登录会话', en: 'Sessions' },
  setup: { zh: '初始化', en: 'Setup' },
  sign_in: { zh: '登录', en: 'Log in' },
  statement: { zh: '月度账单', en: 'Statements' },
  status: { zh: '状态', en: 'Status' },
  task: { zh: '任务', en: 'Tasks' },
  token: { zh: 'API 令牌', en: 'API keys' },
  traffic: { zh: '流量', en: 'Traffic' },
  update: { zh: '更新', en: 'Updates' },
  usage: { zh: '用量', en: 'Usage' },
  user: { zh: '用户', en: 'Users' },
  virtual_model: { zh: '虚拟模型', en: 'Virtual models' },
  wallet: { zh: '钱包与支付', en: 'Wallet and payments' },
};

function titledTag(name: string, language: Language): string {
  const text = tagTitles[name];
  return text === undefined ? name : textIn(text, language);
}

const tagWords: Readonly<Record<string, Text>> = {
  relay: {
    zh: '用 API 密钥调用模型；请求和响应同各提供商的官方文档',
    en: "Calls of models with an API key; requests and responses are those of the providers' own documents",
  },
  program: {
    zh: '程序登录（RFC 6749、7009、7636、8414、8628）及登录后读取的内容；仅在 agents.sign_in 打开时存在',
    en: 'Where programs sign in (RFC 6749, 7009, 7636, 8414, 8628) and what they read then; there while agents.sign_in is on',
  },
};

function describedTag(name: string, language: Language): string {
  const text = tagWords[name];
  return text === undefined ? name : textIn(text, language);
}

const tagsOf = (described: unknown): readonly string[] => (described as { readonly tags: readonly string[] }).tags;
