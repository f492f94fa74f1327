/** The addresses where programs sign in, and what they read then, for the OpenAPI document. */
import type { DocumentedBody, DocumentedCall } from '../contract/openapi.ts';

type Call = Omit<DocumentedCall, 'body'> & Partial<Pick<DocumentedCall, 'body'>>;
const call = (described: Call): DocumentedCall => ({ body: 'none', ...described });

const texts = (names: readonly string[], required: readonly string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required,
});
const number = { type: 'integer' };

const metadata: DocumentedBody = {
  schema: texts(['issuer', 'authorization_endpoint', 'device_authorization_endpoint', 'token_endpoint'], ['issuer']),
  example: { issuer: 'https://gateway.example.com', token_endpoint: 'https://gateway.example.com/oauth/token' },
};
const begun: DocumentedBody = {
  schema: {
    type: 'object',
    properties: {
      ...texts(['device_code', 'user_code', 'verification_uri', 'verification_uri_complete'], []).properties,
      ...{ expires_in: number, interval: number },
    },
    required: ['device_code', 'user_code', 'verification_uri', 'expires_in'],
  },
  example: {
    device_code: '...',
    user_code: 'BCDF-GHJK',
    verification_uri: 'https://gateway.example.com/device',
    expires_in: 600,
    interval: 5,
  },
};
const issued: DocumentedBody = {
  schema: {
    type: 'object',
    properties: { ...texts(['access_token', 'token_type', 'refresh_token'], []).properties, expires_in: number },
    required: ['access_token', 'token_type', 'expires_in', 'refresh_token'],
  },
  example: { access_token: 'gas_...', token_type: 'Bearer', expires_in: 3600, refresh_token: '...' },
};

export const programCalls: readonly DocumentedCall[] = [
  call({
    id: 'program.metadata',
    method: 'GET',
    path: '/.well-known/oauth-authorization-server',
    summary: { zh: '登录地址（RFC 8414）', en: 'Where programs sign in (RFC 8414)' },
    isPublic: true,
    response: metadata,
  }),
  call({
    id: 'program.opencode',
    method: 'GET',
    path: '/.well-known/opencode',
    summary: { zh: 'opencode 登录所需的命令与配置', en: 'Command and configuration for the login of opencode' },
    isPublic: true,
  }),
  call({
    id: 'program.device_authorization',
    method: 'POST',
    path: '/oauth/device_authorization',
    summary: { zh: '开始登录，取得代码（RFC 8628）', en: 'Begin to sign in by a code (RFC 8628)' },
    isPublic: true,
    body: 'urlencoded',
    request: {
      schema: texts(['client_id', 'surface', 'host'], []),
      example: { client_id: 'gateway', host: 'laptop' },
    },
    response: begun,
  }),
  call({
    id: 'program.authorize',
    method: 'GET',
    path: '/oauth/authorize',
    summary: {
      zh: '从程序来到控制台批准（RFC 6749、7636）',
      en: 'The way of a browser to the approval (RFC 6749, 7636)',
    },
    isPublic: true,
    query: ['response_type', 'client_id', 'redirect_uri', 'code_challenge', 'code_challenge_method', 'state'],
  }),
  call({
    id: 'program.token',
    method: 'POST',
    path: '/oauth/token',
    summary: { zh: '换取令牌，或续期', en: 'Exchange a code or a refresh token for tokens' },
    isPublic: true,
    body: 'urlencoded',
    request: {
      schema: texts(
        ['grant_type', 'client_id', 'device_code', 'refresh_token', 'code', 'redirect_uri', 'code_verifier', 'kept'],
        ['grant_type'],
      ),
      example: { grant_type: 'refresh_token', refresh_token: '...' },
    },
    response: issued,
  }),
  call({
    id: 'program.revoke',
    method: 'POST',
    path: '/oauth/revoke',
    summary: { zh: '结束登录（RFC 7009）', en: 'End a sign-in (RFC 7009)' },
    isPublic: true,
    body: 'urlencoded',
    request: { schema: texts(['token', 'token_type_hint'], ['token']), example: { token: '...' } },
  }),
  call({
    id: 'program.settings',
    method: 'GET',
    path: '/managed/settings',
    summary: { zh: 'Claude Code 的受管设置', en: 'Managed settings of Claude Code' },
  }),
  call({
    id: 'program.usage',
    method: 'GET',
    path: '/api/oauth/usage',
    summary: { zh: '令牌预算的用量', en: "Use of the key's budgets" },
  }),
];
