/** iFlytek Spark: keys `APPID|APISecret|APIKey` talk over a socket with a signed address; a password of the HTTP service is sent as it is, in OpenAI's form. */
import { isAddressPart } from '../../contract/address-part.ts';
import { AppError } from '../../contract/errors.ts';
import { lookUp } from '../../protocols/shared/json.ts';
import type { Outgoing, PlainCall, Quirk, Shaped, SignFacts } from '../quirk.ts';
import { signUrl, type UrlSecret } from '../signing/signed-url.ts';
import { sparkWire } from './spark-wire.ts';

const httpBase = 'https://spark-api-open.xf-yun.com';
const socketBase = 'wss://spark-api.xf-yun.com';

interface Edition {
  /** How requests name it. */
  readonly domain: string;
  /** Of the socket. */
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

/** Plain `SparkDesk` means the version that the channel names; a name nobody knows is a domain at that version's address. */
export function sparkEdition(model: string, channelVersion: string): Edition {
  const fallback = channelVersion.trim() || 'v2.1';
  const version = model === 'SparkDesk' ? fallback : (lookUp(names, model) ?? model.replace(/^SparkDesk-/, ''));
  const known = lookUp(editions, version) ?? byDomain.get(version);
  if (known !== undefined) return known;
  return model === 'SparkDesk'
    ? edition(`general${version}`, `/${version}/chat`)
    : edition(model, (editions[fallback] ?? edition('', `/${fallback}/chat`)).path);
}

const talks = (key: string): boolean => key.includes('|');

/** @throws AppError upstream_key. */
function secretOf(key: string): UrlSecret {
  const [appId, apiSecret, apiKey, ...more] = key.split('|');
  if (!appId || !apiSecret || !apiKey || more.length > 0) throw new AppError('upstream_key');
  return { apiSecret, apiKey };
}

function shape(call: PlainCall): Shaped | null {
  if (call.operation !== 'chat') return null;
  if (call.other.trim() !== '' && !isAddressPart(call.other.trim())) return null;
  const { domain, path } = sparkEdition(call.model, call.other);
  if (!talks(call.key)) {
    const version = domain === 'x1' ? 'v2' : 'v1';
    return { url: `${call.baseUrl}/${version}/chat/completions`, body: { ...call.body, model: domain } };
  }
  const base = call.baseUrl === httpBase ? socketBase : call.baseUrl.replace(/^http/, 'ws');
  const { header, parameter, payload } = call.body as Record<string, Record<string, Record<string, unknown>>>;
  return {
    url: base + path,
    body: {
      header: { app_id: call.key.split('|', 1)[0], ...header },
      parameter: { chat: { domain, ...parameter?.chat } },
      payload,
    },
  };
}

const sign = (request: Outgoing, { key, nowMs }: SignFacts): Outgoing =>
  talks(key)
    ? { ...request, url: signUrl(request.url, secretOf(key), nowMs) }
    : { ...request, headers: { ...request.headers, authorization: `Bearer ${key}` } };

export const xunfei: Quirk = {
  wireFor: (_model, key) => (talks(key) ? sparkWire : null),
  shape,
  sign,
};
