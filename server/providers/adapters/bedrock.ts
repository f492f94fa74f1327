/** AWS Bedrock: Claude by InvokeModel in Anthropic's own form, everything else by Converse. Keys are `Ak|Sk|Region`, or `ApiKey|Region`. */
import { AppError } from '../../contract/errors.ts';
import { commonProtocol } from '../../protocols/registry.ts';
import { parseJson, record } from '../../protocols/shared/json.ts';
import type { Adapter, AuthInput, BodyForm, Endpoint, Outgoing, Place } from '../adapter.ts';
import { bedrockModels, regionSpans } from '../knowledge/bedrock.ts';
import { awsFraming } from '../signing/aws-event-stream.ts';
import { signV4 } from '../signing/sigv4.ts';
import { bedrockBody } from './bedrock-body.ts';
import { converse } from './converse.ts';

const isClaude = (model: string): boolean => model.includes('claude');

/** Other names than Anthropic's are taken as they are: ids, profiles, ARNs. */
export function bedrockModel(model: string, region: string): string {
  const row = bedrockModels.find(({ names }) => names.includes(model));
  const unknown = /^claude-/.test(model) ? `anthropic.${model}${/-\d{8}$/.test(model) ? '-v1:0' : ''}` : model;
  if (row === undefined && unknown === model) return model;
  const near = regionSpans.find(([pattern]) => pattern.test(region))?.[1] ?? [];
  const span = near.find((one) => row === undefined || row.spans.includes(one));
  return `${span === undefined ? '' : `${span}.`}${row?.id ?? unknown}`;
}

function regionOf(key: string): string {
  const region = key.split('|').at(-1) ?? '';
  if (!/^[a-z]{2}(-[a-z]+)+-\d$/.test(region)) throw new AppError('upstream_key');
  return region;
}

/** Tokens are counted by the model itself: profiles that span regions are refused. Source: https://docs.aws.amazon.com/bedrock/latest/userguide/count-tokens.html */
const withoutSpan = (id: string): string => id.replace(/^(?:us-gov|us|eu|apac|jp|au|global)\.(?=anthropic\.)/, '');

/** The request as it would be sent for an answer; the longest answer does not count. */
const counted = (body: unknown): Record<string, unknown> => ({
  input: { invokeModel: { body: Buffer.from(JSON.stringify(body)).toString('base64') } },
});

function verbOf({ operation, model, stream }: Place): string {
  if (operation === 'count_tokens') return 'count-tokens';
  if (isClaude(model)) return stream ? 'invoke-with-response-stream' : 'invoke';
  return stream ? 'converse-stream' : 'converse';
}

function endpoint(place: Place): Endpoint | null {
  const { operation, model, baseUrl } = place;
  const counts = operation === 'count_tokens';
  if (operation !== 'chat' && !(counts && isClaude(model))) return null;
  const verb = verbOf(place);
  const url = (key: string): string => {
    const region = regionOf(key);
    const base = baseUrl === '' ? `https://bedrock-runtime.${region}.amazonaws.com` : baseUrl;
    const id = bedrockModel(model, region);
    return `${base}/model/${encodeURIComponent(counts ? withoutSpan(id) : id)}/${verb}`;
  };
  // Its features are named in the body.
  return { url, ownHeaders: true };
}

function body({ operation, model }: Place): BodyForm | null {
  if (!isClaude(model)) return null;
  const counts = operation === 'count_tokens';
  return {
    whole(body, { betas: header, dropped }) {
      const requested = bedrockBody(counts ? { max_tokens: 1, ...body } : body, { model, header, dropped });
      return { body: counts ? counted(requested) : requested };
    },
  };
}

async function auth(request: Outgoing, { key, nowMs }: AuthInput): Promise<Outgoing> {
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

/** Exceptions in the stream, in the form of Anthropic's own error event. */
const exceptionTypes: Readonly<Record<string, string>> = {
  throttlingException: 'rate_limit_error',
  validationException: 'invalid_request_error',
  serviceUnavailableException: 'overloaded_error',
};

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

/** @throws AppError upstream_invalid. */
function jsonOf(payload: Uint8Array): { readonly message?: string; readonly bytes?: string } {
  const found = record(parseJson(text(payload)));
  if (found === null) throw new AppError('upstream_invalid');
  return found;
}

export const bedrock: Adapter = {
  // Of a wire of its own only that it is none of Anthropic's: what is filled in for those does not hold here.
  protocol: ({ model }) =>
    isClaude(model) ? { dialect: 'anthropic-messages' } : { dialect: commonProtocol, wire: converse },
  endpoint,
  body,
  auth,
  framing: (contentType) =>
    contentType.includes('vnd.amazon.eventstream')
      ? awsFraming(({ headers, payload }) => {
          const exception = headers.get(':exception-type');
          if (exception !== undefined) {
            const { message = exception } = jsonOf(payload);
            const type = exceptionTypes[exception] ?? 'api_error';
            return { event: 'error', data: JSON.stringify({ type: 'error', error: { type, message } }) };
          }
          const body = jsonOf(payload);
          const event = headers.get(':event-type') ?? '';
          if (event !== 'chunk') return { event, data: JSON.stringify({ type: event, ...body }) };
          const inner = Buffer.from(body.bytes ?? '', 'base64').toString('utf8');
          const type = /"type"\s*:\s*"([a-z_]+)"/.exec(inner)?.[1] ?? 'message';
          return { event: type, data: inner };
        })
      : null,
};
