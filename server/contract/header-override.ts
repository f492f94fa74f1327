/** Headers that a channel sends besides the gateway's own: new-api's `header_override`, as it stands in a channel's setting. */
import { invalid, patternOf, problemOf, type RuleProblem } from './channel-rules.ts';

const maxOwnHeaders = 64;
const maxValueLength = 4096;

/** One header. */
export type OwnHeader =
  | { readonly name: string; readonly value: string; readonly hasKey: boolean }
  /** It has what the client's header of that name has, where there is one. */
  | { readonly name: string; readonly client: string };

export interface HeaderOverride {
  readonly own: readonly OwnHeader[];
  /** Names of the client's headers that pass besides; null = none. */
  readonly passes: readonly RegExp[] | null;
}

/** What is replaced by the key of the channel in use. */
export const keyMark = '{api_key}';

/** The connection's own, and what says how a body is written. */
const ofConnection =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|proxy-.*|content-length|content-type|content-encoding|accept-encoding|sec-websocket-.*)$/;
/** Credentials of the client: they are for this site alone. */
const ofClient =
  /^(?:authorization|cookie|api-key|x-api-key|x-goog-api-key|mj-api-secret|x-forwarded-.*|forwarded|x-real-ip|cf-connecting-ip|.*(?:token|secret|password).*)$/;
/** What hosts charge by, or whom: https://cloud.google.com/vertex-ai/generative-ai/docs, https://docs.aws.amazon.com/bedrock */
const priced = /(?:service-tier|request-type|performanceconfig|user-project|organization|openai-project)/;

const isName = (name: string): boolean => /^[!#$%&'+.^_`|~\w-]{1,128}$/.test(name);

/** Whether a header of a client may go to an upstream because a channel says so. @param name in small letters. */
export const mayPass = (name: string): boolean =>
  !ofConnection.test(name) && !ofClient.test(name) && !priced.test(name);

/** @param value member `header_override` of a channel's setting. @returns what acts, or the first thing that is wrong. */
export function readHeaderOverride(value: unknown): HeaderOverride | RuleProblem {
  return problemOf(() => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      invalid('header_override', '请求头对象', 'an object of headers');
    const entries = Object.entries(value);
    if (entries.length > maxOwnHeaders)
      invalid(
        'header_override',
        `请求头对象，不超过 ${maxOwnHeaders} 个`,
        `an object of headers, at most ${maxOwnHeaders}`,
      );
    const own: OwnHeader[] = [];
    const passes: RegExp[] = [];
    for (const [key, one] of entries) {
      const at = `header_override.${key}`;
      const name = key.trim().toLowerCase();
      const pattern = /^(?:re|regex):/.exec(name);
      if (name === '*') passes.push(/(?:)/);
      else if (pattern !== null) passes.push(patternOf(name.slice(pattern[0].length).trim(), at));
      else {
        const header = headerOf(name, one, at);
        if (header !== null) own.push(header);
      }
    }
    return { own, passes: passes.length === 0 ? null : passes };
  });
}

/** @returns null = it has no value, which means nothing. */
function headerOf(name: string, given: unknown, at: string): OwnHeader | null {
  if (!isName(name) || ofConnection.test(name))
    invalid(
      at,
      '可以设置的请求头名（连接和请求体格式的请求头不能设置）',
      'a header that may be set (none of the connection or of the form of the body)',
    );
  const value = String(given).trim();
  const isText = typeof given === 'string' || typeof given === 'number';
  if (!isText || value.length > maxValueLength || !/^[\x20-\x7e]*$/.test(value))
    invalid(
      at,
      `可打印的 ASCII 文字，不超过 ${maxValueLength} 个字符`,
      `printable ASCII of up to ${maxValueLength} characters`,
    );
  if (value === '') return null;
  const client = /^\{client_header:([^}]*)\}$/.exec(value)?.[1]?.trim().toLowerCase();
  if (client === undefined && value.startsWith('{client_header:'))
    invalid(at, '仅由 {client_header:名称} 组成的值', 'a value of {client_header:NAME} alone');
  if (client === undefined) return { name, value, hasKey: value.includes(keyMark) };
  if (!isName(client) || !mayPass(client))
    invalid(
      at,
      '客户端可以转发的请求头（凭据和影响价格的请求头除外）',
      "a client's header that may pass (no credential, none that sets a price)",
    );
  return { name, client };
}

const empty: HeaderOverride = { own: [], passes: null };

/** @returns what acts of a channel's setting: nothing where it was stored before it was checked, and cannot be read. */
export function headerOverrideOf(setting: Readonly<Record<string, unknown>>): HeaderOverride | null {
  const { header_override: stored } = setting;
  if (stored === undefined || stored === null || stored === '') return null;
  const read = readHeaderOverride(stored);
  const override = 'own' in read ? read : empty;
  return override.own.length === 0 && override.passes === null ? null : override;
}

/** @param setting JSON of a channel's setting, checked. @returns what is wrong with its headers. */
export function headersProblem(setting: string): RuleProblem | null {
  const { header_override: value } = JSON.parse(setting) as Readonly<Record<string, unknown>>;
  if (value === undefined || value === null || value === '') return null;
  const read = readHeaderOverride(value);
  return 'own' in read ? null : read;
}
