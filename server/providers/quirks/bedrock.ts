/** AWS Bedrock: Claude by InvokeModel in Anthropic's own form, everything else by Converse. Keys are `Ak|Sk|Region`, or `ApiKey|Region`. */
import { AppError } from '../../contract/errors.ts';
import { present } from '../../protocols/shared/json.ts';
import type { Outgoing, PlainCall, Quirk, Shaped, SignFacts } from '../quirk.ts';
import { awsFraming } from '../signing/aws-event-stream.ts';
import { signV4 } from '../signing/sigv4.ts';
import { converse } from './converse.ts';

const isClaude = (model: string): boolean => model.includes('claude');

/** Ids of the wire contract's names; other names are taken as they are (ids, profiles, ARNs). */
const ids: Readonly<Record<string, string>> = {
  'claude-3-haiku-20240307': 'anthropic.claude-3-haiku-20240307-v1:0',
  'claude-3-sonnet-20240229': 'anthropic.claude-3-sonnet-20240229-v1:0',
  'claude-3-opus-20240229': 'anthropic.claude-3-opus-20240229-v1:0',
  'claude-3-5-sonnet-20240620': 'anthropic.claude-3-5-sonnet-20240620-v1:0',
  'claude-3-5-sonnet-20241022': 'anthropic.claude-3-5-sonnet-20241022-v2:0',
  'claude-3-5-haiku-20241022': 'anthropic.claude-3-5-haiku-20241022-v1:0',
  'claude-3-7-sonnet-20250219': 'anthropic.claude-3-7-sonnet-20250219-v1:0',
  'claude-sonnet-4-20250514': 'anthropic.claude-sonnet-4-20250514-v1:0',
  'claude-opus-4-20250514': 'anthropic.claude-opus-4-20250514-v1:0',
  'claude-sonnet-4-5-20250929': 'anthropic.claude-sonnet-4-5-20250929-v1:0',
  'claude-haiku-4-5-20251001': 'anthropic.claude-haiku-4-5-20251001-v1:0',
};
/** Newer models are offered through profiles that span regions only. */
const profiled = /claude-(?:3-7|(?:opus|sonnet|haiku)-\d)/;
const spans: readonly (readonly [string, string])[] = [
  ['us-', 'us.'],
  ['eu-', 'eu.'],
  ['ap-', 'apac.'],
];

export function bedrockModel(model: string, region: string): string {
  const id = ids[model] ?? (/^claude-/.test(model) ? `anthropic.${model}-v1:0` : model);
  const span = spans.find(([start]) => region.startsWith(start))?.[1];
  return profiled.test(model) && id.startsWith('anthropic.') && span !== undefined ? span + id : id;
}

/** Betas that Bedrock knows; an unknown one makes it refuse the request. */
const betas =
  /^(?:computer-use|token-efficient-tools|interleaved-thinking|output-128k|context-1m|dev-full-thinking|fine-grained-tool)/;

function regionOf(key: string): string {
  const region = key.split('|').at(-1) ?? '';
  if (!/^[a-z]{2}(-[a-z]+)+-\d$/.test(region)) throw new AppError('upstream_key');
  return region;
}

function shape(call: PlainCall): Shaped | null {
  if (call.operation !== 'chat') return null;
  const region = regionOf(call.key);
  const base = call.baseUrl === '' ? `https://bedrock-runtime.${region}.amazonaws.com` : call.baseUrl;
  const model = encodeURIComponent(bedrockModel(call.model, region));
  if (!isClaude(call.model)) {
    return { url: `${base}/model/${model}/${call.stream ? 'converse-stream' : 'converse'}`, body: call.body };
  }
  const { model: _, stream: __, ...body } = call.body;
  const known = call.betas.split(',').flatMap((name) => (betas.test(name.trim()) ? [name.trim()] : []));
  return {
    url: `${base}/model/${model}/${call.stream ? 'invoke-with-response-stream' : 'invoke'}`,
    body: present({
      anthropic_version: 'bedrock-2023-05-31',
      anthropic_beta: known.length === 0 ? undefined : known,
      ...body,
    }),
  };
}

async function sign(request: Outgoing, { key, nowMs }: SignFacts): Promise<Outgoing> {
  const parts = key.split('|');
  if (parts.length === 2) {
    return { ...request, headers: { ...request.headers, authorization: `Bearer ${parts[0]}` } };
  }
  const [accessKey = '', secretKey = '', region = ''] = parts;
  const { 'accept-encoding': encoding, ...headers } = request.headers;
  const signed = await signV4({
    method: 'POST',
    url: request.url,
    headers,
    body: request.body,
    accessKey,
    secretKey,
    region,
    service: 'bedrock',
    nowMs,
  });
  return { ...request, headers: { ...signed, ...(encoding === undefined ? {} : { 'accept-encoding': encoding }) } };
}

/** Exceptions in the stream, as Anthropic's own error event tells them. */
const exceptionTypes: Readonly<Record<string, string>> = {
  throttlingException: 'rate_limit_error',
  validationException: 'invalid_request_error',
  serviceUnavailableException: 'overloaded_error',
};

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

export const bedrock: Quirk = {
  dialectFor: () => 'anthropic-messages',
  wireFor: (model) => (isClaude(model) ? null : converse),
  shape,
  sign,
  framing: (contentType) =>
    contentType.includes('vnd.amazon.eventstream')
      ? awsFraming(({ headers, payload }) => {
          const exception = headers.get(':exception-type');
          if (exception !== undefined) {
            const { message = exception } = JSON.parse(text(payload)) as { message?: string };
            const type = exceptionTypes[exception] ?? 'api_error';
            return { event: 'error', data: JSON.stringify({ type: 'error', error: { type, message } }) };
          }
          const body = JSON.parse(text(payload)) as { bytes?: string };
          const event = headers.get(':event-type') ?? '';
          if (event !== 'chunk') return { event, data: JSON.stringify({ type: event, ...body }) };
          const inner = Buffer.from(body.bytes ?? '', 'base64').toString('utf8');
          const type = /"type"\s*:\s*"([a-z_]+)"/.exec(inner)?.[1] ?? 'message';
          return { event: type, data: inner };
        })
      : null,
};
