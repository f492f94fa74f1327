/** iFlytek Spark over HTTP: OpenAI's form with names of its own. Keys are `APPID|APISecret|APIKey`. */
import type { Outgoing, Quirk, SignFacts } from '../quirk.ts';

const names: Readonly<Record<string, string>> = {
  'SparkDesk-v1.1': 'lite',
  'SparkDesk-v2.1': 'generalv2',
  'SparkDesk-v3.1': 'generalv3',
  'SparkDesk-v3.5': 'generalv3.5',
  'SparkDesk-v4.0': '4.0Ultra',
};

/** Plain `SparkDesk` means the version that the channel names. */
export const sparkModel = (model: string, version: string): string =>
  names[model === 'SparkDesk' ? `SparkDesk-${version || 'v2.1'}` : model] ?? model;

function sign(request: Outgoing, { key }: SignFacts): Outgoing {
  const [, secret = '', apiKey = ''] = key.split('|');
  // A password of the HTTP service is sent as it is.
  const bearer = key.includes('|') ? `${apiKey}:${secret}` : key;
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${bearer}` } };
}

export const xunfei: Quirk = {
  shape: (call) =>
    call.operation === 'chat'
      ? {
          url: `${call.baseUrl}/v1/chat/completions`,
          body: { ...call.body, model: sparkModel(call.model, call.other) },
        }
      : null,
  sign,
};
