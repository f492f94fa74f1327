/** iFlytek Spark: keys `APPID|APISecret|APIKey` talk over a socket with a signed address; a password of the HTTP service is sent as it is, in OpenAI's form. */
import { isAddressPart } from '../../contract/address-part.ts';
import { AppError } from '../../contract/errors.ts';
import { commonProtocol } from '../../protocols/registry.ts';
import { guardedLookup } from '../../protocols/shared/json.ts';
import type { Adapter, AuthInput, BodyForm, Endpoint, Outgoing, Place } from '../adapter.ts';
import { signUrl, type UrlSecret } from '../signing/signed-url.ts';
import { sparkWire } from './spark-wire.ts';

const httpBase = 'https://spark-api-open.xf-yun.com';
const socketBase = 'wss://spark-api.xf-yun.com';

interface Edition {
  /** How requests name it. */
  readonly domain: string;
  /** The path of the socket. */
  readonly path: string;
}

const edition = (domain: string, path: string): Edition => ({ domain, path });

/** By version and by what the models are called. Source: iFlytek's list of addresses. */
const editions: Readonly<Record<string, Edition>> = {
  'v1.1': edition('lite', '/v1.1/chat'),
  'v2.1': edition('generalv2', '/v2.1/chat'),
  'v3.1': edition('generalv3', '/v3.1/chat'),
  'v3.1-128K': edition('pro-128k', '/chat/pro-128k'),
  'v3.5': edition('generalv3.5', '/v3.5/chat'),
  'v3.5-32K': edition('max-32k', '/chat/max-32k'),
  'v4.0': edition('4.0Ultra', '/v4.0/chat'),
  x1: edition('x1', '/v1/x1'),
};
const names: Readonly<Record<string, string>> = {
  'Spark-Lite': 'v1.1',
  'Spark-Pro': 'v3.1',
  'Spark-Pro-128K': 'v3.1-128K',
  'Spark-Max': 'v3.5',
  'Spark-Max-32K': 'v3.5-32K',
  'Spark-4.0-Ultra': 'v4.0',
};
const byDomain = new Map(Object.values(editions).map((one) => [one.domain, one]));

/** Plain `SparkDesk` means the version that the channel names; an unknown name is a domain at that version's address. */
export function sparkEdition(model: string, channelVersion: string): Edition {
  const fallback = channelVersion.trim() || 'v2.1';
  const version = model === 'SparkDesk' ? fallback : (guardedLookup(names, model) ?? model.replace(/^SparkDesk-/, ''));
  const known = guardedLookup(editions, version) ?? byDomain.get(version);
  if (known !== undefined) return known;
  return model === 'SparkDesk'
    ? edition(`general${version}`, `/${version}/chat`)
    : edition(model, (editions[fallback] ?? edition('', `/${fallback}/chat`)).path);
}

const isAccountKey = (key: string): boolean => key.includes('|');

/** @throws AppError upstream_key. */
function secretOf(key: string): UrlSecret {
  const [appId, apiSecret, apiKey, ...more] = key.split('|');
  if (!appId || !apiSecret || !apiKey || more.length > 0) throw new AppError('upstream_key');
  return { apiSecret, apiKey };
}

function endpoint({ operation, model, baseUrl, other }: Place): Endpoint | null {
  if (operation !== 'chat') return null;
  if (other.trim() !== '' && !isAddressPart(other.trim())) return null;
  const { domain, path } = sparkEdition(model, other);
  const base = baseUrl === httpBase ? socketBase : baseUrl.replace(/^http/, 'ws');
  const url = `${baseUrl}/${domain === 'x1' ? 'v2' : 'v1'}/chat/completions`;
  return { url: (key) => (isAccountKey(key) ? base + path : url) };
}

function body({ model, other }: Place): BodyForm {
  const { domain } = sparkEdition(model, other);
  return {
    whole(body, { key }) {
      if (!isAccountKey(key)) return { body: { ...body, model: domain } };
      const { header, parameter, payload } = body as Record<string, Record<string, Record<string, unknown>>>;
      return {
        body: {
          header: { app_id: key.split('|', 1)[0], ...header },
          parameter: { chat: { domain, ...parameter?.chat } },
          payload,
        },
      };
    },
  };
}

const auth = (request: Outgoing, { key, nowMs }: AuthInput): Outgoing =>
  isAccountKey(key)
    ? { ...request, url: signUrl(request.url, secretOf(key), nowMs) }
    : { ...request, headers: { ...request.headers, authorization: `Bearer ${key}` } };

export const xunfei: Adapter = {
  protocol: ({ keyKind }) => (keyKind === 'parts' ? { wire: sparkWire } : { dialect: commonProtocol }),
  endpoint,
  body,
  auth,
};
