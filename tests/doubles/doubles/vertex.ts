/** Google's Vertex AI: tokens bought with a service account, three families behind one address. */
import { createHmac, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { valueAt } from '../../../server/practice/row-rules.ts';
import { parseJson, record } from '../../../server/protocols/shared/json.ts';
import type { Caller, Door, Double } from '../double.ts';
import { invalid, type Refusal, type Rule } from '../rule.ts';
import { claudeRules } from '../rules/claude.ts';
import { generateRules } from '../rules/generate.ts';
import { messagesBasics, messagesLimits, messagesShape, signedThoughts, thinkingRules } from '../rules/messages.ts';
import { when } from '../rules/when.ts';
import { chatWire } from '../wires/chat.ts';
import { generateWire } from '../wires/generate.ts';
import { messagesWire } from '../wires/messages.ts';
import { thinksWhen } from './chat.ts';
import { googleBody } from './gemini.ts';

const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const scope = 'https://www.googleapis.com/auth/cloud-platform';
const lifetime = 3600;

export interface ServiceAccount {
  /** As Google hands it out. */
  readonly json: string;
  readonly publicKey: string;
}

/** @param tokenUrl where it buys its tokens. */
export function makeServiceAccount(tokenUrl: string): ServiceAccount {
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const json = {
    type: 'service_account',
    project_id: 'practice-project',
    private_key_id: 'practice-key',
    private_key: pair.privateKey,
    client_email: 'practice@practice-project.iam.gserviceaccount.com',
    token_uri: tokenUrl,
  };
  return { json: JSON.stringify(json, null, 2), publicKey: pair.publicKey };
}

const sealOf = (until: number): string =>
  createHmac('sha256', 'practice token').update(String(until)).digest('base64url');

/** https://developers.google.com/identity/protocols/oauth2/service-account#httprest */
function tokenFor({ body, nowMs }: Caller, account: ServiceAccount): Response {
  const form = new URLSearchParams(body);
  const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
  const claimSet = record(parseJson(Buffer.from(claims, 'base64url').toString('utf8')));
  const now = Math.floor(nowMs / 1000);
  const genuine = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    createPublicKey(account.publicKey),
    Buffer.from(signature, 'base64url'),
  );
  const details = record(parseJson(account.json));
  const right =
    form.get('grant_type') === grant &&
    genuine &&
    claimSet?.iss === details?.client_email &&
    claimSet?.aud === details?.token_uri &&
    String(claimSet?.scope).includes(scope) &&
    Number(claimSet?.exp) > now &&
    Number(claimSet?.exp) - Number(claimSet?.iat) <= lifetime;
  if (!right)
    return Response.json({ error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }, { status: 400 });
  const until = now + lifetime;
  return Response.json({ access_token: `ya29.${until}.${sealOf(until)}`, expires_in: lifetime, token_type: 'Bearer' });
}

function admit({ headers, nowMs }: Caller): Refusal | null {
  const [, until = '', seal] = /^Bearer ya29\.(\d+)\.(.+)$/.exec(headers.get('authorization') ?? '') ?? [];
  if (Number(until) * 1000 > nowMs && seal === sealOf(Number(until))) return null;
  return {
    status: 401,
    message:
      'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
  };
}

const place = '/v1/projects/{project}/locations/{region}';
const claudeNames =
  /^claude-(?:3-haiku@20240307|3-sonnet@20240229|3-opus@20240229|3-5-sonnet@20240620|3-5-sonnet-v2@20241022|3-5-haiku@20241022|3-7-sonnet@20250219|(?:sonnet|opus)-4@20250514|opus-4-1@20250805|sonnet-4-5@20250929|haiku-4-5@20251001|opus-4-5@20251101|(?:opus-4-[6-9]|sonnet-4-6|sonnet-[5-9]|opus-[5-9](?:-\d)?|haiku-[5-9]|fable-[5-9])(?:@default)?)$/;

const missing = (model: string): Refusal => ({
  status: 404,
  message: `Publisher Model \`publishers/*/models/${model}\` was not found or your project does not have access to it.`,
});

const claude: readonly Rule[] = [
  messagesShape(
    'vertex/claude-form',
    'https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude',
    {
      more: 'anthropic_version anthropic_beta output_config context_management',
      model: false,
      roles: ['user', 'assistant'],
    },
  ),
  when(
    'vertex/claude-version',
    'https://github.com/clawvisor/clawvisor/pull/156',
    ({ body }) => body.anthropic_version !== 'vertex-2023-10-16',
    invalid('anthropic_version: Field required'),
  ),
  when(
    'vertex/claude-betas',
    'https://github.com/QuantumNous/new-api/issues/2975',
    ({ headers }) =>
      /(?:prompt-caching-scope|structured-outputs|prompt-caching-2024|claude-code|files-api|skills|mcp-|advisor|redact)/.test(
        headers.get('anthropic-beta') ?? '',
      ),
    ({ headers }) =>
      invalid(`Unexpected value(s) \`${headers.get('anthropic-beta')}\` for the \`anthropic-beta\` header.`),
  ),
  when(
    'vertex/claude-schema',
    'https://github.com/anthropics/claude-code/issues/37746',
    ({ body }) => valueAt(body, 'output_config.format') !== undefined,
    invalid('output_config: Extra inputs are not permitted'),
  ),
  when(
    'vertex/claude-context',
    'https://platform.claude.com/docs/en/build-with-claude/context-editing',
    ({ body, headers }) =>
      valueAt(body, 'context_management') !== undefined &&
      !(headers.get('anthropic-beta') ?? '').includes('context-management-'),
    invalid('context_management: Extra inputs are not permitted'),
  ),
  ...messagesBasics,
  signedThoughts,
  ...thinkingRules,
  ...claudeRules,
  ...messagesLimits,
];

const roles: Rule = when(
  'vertex/roles',
  'https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference',
  ({ body }) => JSON.stringify(body.contents).includes('"role"') === false,
  invalid('Please use a valid role: user, model.'),
);

const door = (path: string, wire: Door['wire'], rules: readonly Rule[], more: Partial<Door> = {}): Door => ({
  path: place + path,
  wire,
  rules,
  ...more,
});
const geminiUnknown = (model: string) => (/^gemini-/.test(model) ? null : missing(model));
const claudeUnknown = (model: string) => (claudeNames.test(model) ? null : missing(model));
const google = [roles, ...generateRules];

/** Calls have no ids here. */
const wire = {
  ...generateWire,
  whole: (plan: Parameters<typeof generateWire.whole>[0], context: Parameters<typeof generateWire.whole>[1]) =>
    withoutIds(generateWire.whole(plan, context)),
  frames: (plan: Parameters<typeof generateWire.frames>[0], context: Parameters<typeof generateWire.frames>[1]) =>
    generateWire
      .frames(plan, context)
      .map((frame) => String(frame).replace(/"functionCall":\{"id":"[^"]*",/g, '"functionCall":{')),
};

const withoutIds = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer).replace(/"functionCall":\{"id":"[^"]*",/g, '"functionCall":{'));

export const createVertex = (account: ServiceAccount): Double => ({
  name: 'vertex',
  slug: 'vertex',
  maker: 'anthropic',
  base: '',
  admit,
  other: async (caller) => (caller.url.pathname === '/token' ? tokenFor(caller, account) : null),
  doors: [
    door('/publishers/google/models/{model}:generateContent', wire, google, { stream: false, unknown: geminiUnknown }),
    door('/publishers/google/models/{model}:streamGenerateContent', wire, google, {
      stream: true,
      unknown: geminiUnknown,
    }),
    door('/publishers/anthropic/models/{model}:rawPredict', messagesWire, claude, {
      stream: false,
      unknown: claudeUnknown,
    }),
    door('/publishers/anthropic/models/{model}:streamRawPredict', messagesWire, claude, {
      stream: true,
      unknown: claudeUnknown,
    }),
    door(
      '/endpoints/openapi/chat/completions',
      chatWire({ thoughts: 'reasoning_content', thinks: thinksWhen(/thinking|gpt-oss/) }),
      [],
    ),
  ],
  complain: googleBody,
});
