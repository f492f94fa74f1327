/** Headers that a channel sends besides the gateway's own: new-api's `header_override`, as it stands in a channel's setting, and the modes that a header may have besides. */
import { invalid, maxRulesLength, patternOf, problemOf, type RuleProblem, type When, whenOf } from './channel-rules.ts';

const maxOwnHeaders = 64;
const maxValueLength = 4096;

/** How a header that has a value meets one of the same name: in its place, only where there is none, or behind it in a list. */
const valueModes = ['set', 'default', 'add'] as const;
type ValueMode = (typeof valueModes)[number];
const headerModes = [...valueModes, 'remove', 'copy', 'move'] as const;

/** On the body as it goes out; null = it always acts. */
interface Conditional {
  readonly when: When | null;
}

/** One rule for a header. */
export type OwnHeader = Conditional & OwnChange;
type OwnChange =
  | { readonly mode: ValueMode; readonly name: string; readonly value: string; readonly hasKey: boolean }
  | { readonly mode: 'remove'; readonly name: string }
  /** It has what the client's header of that name has, where there is one. */
  | { readonly mode: 'copy'; readonly name: string; readonly client: string };

export interface HeaderOverride {
  readonly own: readonly OwnHeader[];
  /** Names of the client's headers that pass besides; null = none. */
  readonly passes: readonly PassedNames[] | null;
  /** Whether any of it has conditions: nothing of the body is needed where none has. */
  readonly isConditional: boolean;
}

export type PassedNames = Conditional & { readonly pattern: RegExp };

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

/** What shows an upstream who calls it: every channel has its own. */
const credential = /^(?:authorization|cookie|api-key|x-api-key|x-goog-api-key|mj-api-secret)$/;

/** Whether a header may be set for channels whoever they are: none of the connection, and none that would show one the key of another. */
export function maySetForAll(name: string): boolean {
  const small = name.toLowerCase();
  return !ofConnection.test(small) && !credential.test(small);
}

export const isHeaderName = (name: string): boolean => /^[!#$%&'+.^_`|~\w-]{1,128}$/.test(name);

/** Whether a header of a client may go to an upstream because a channel says so. @param name in small letters. */
export const mayPass = (name: string): boolean =>
  !ofConnection.test(name) && !ofClient.test(name) && !priced.test(name);

/** @param value member `header_override` of a channel's setting. @returns what acts, or the first thing that is wrong. */
export function readHeaderOverride(value: unknown): HeaderOverride | RuleProblem {
  return problemOf(() => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      invalid('header_override', '请求头对象', 'an object of headers');
    const rules = Object.entries(value).flatMap(([key, one]) => rulesFor(key, one, `header_override.${key}`));
    if (rules.length > maxOwnHeaders)
      invalid(
        'header_override',
        `请求头对象，不超过 ${maxOwnHeaders} 条规则`,
        `an object of headers and their rules, at most ${maxOwnHeaders}`,
      );
    const own: OwnHeader[] = [];
    const passes: PassedNames[] = [];
    for (const { name, one, at } of rules) {
      const pattern = passedBy(name, at);
      if (pattern !== null) {
        passes.push({ pattern, when: isMembers(one) ? conditionsOf(one, [], at) : null });
        continue;
      }
      const header = isMembers(one) ? modeOf(name, one, at) : headerOf(name, one, at);
      if (header !== null) own.push(header);
      if (header?.mode === 'copy' && isMembers(one) && one.mode === 'move' && header.client !== name)
        own.push({ mode: 'remove', name: header.client, when: header.when });
    }
    const isConditional = [...own, ...passes].some(({ when }) => when !== null);
    return { own, passes: passes.length === 0 ? null : passes, isConditional };
  });
}

interface HeaderRule {
  readonly name: string;
  readonly one: unknown;
  readonly at: string;
}

/** @param given the rule for a header, or a list of them, which act in their order. */
function rulesFor(key: string, given: unknown, at: string): readonly HeaderRule[] {
  const name = key.trim().toLowerCase();
  if (!Array.isArray(given)) return [{ name, one: given, at }];
  if (given.length === 0 || !given.every(isMembers))
    invalid(at, '由规则对象组成的列表', 'a list of objects, each a rule');
  return given.map((one, index) => ({ name, one, at: `${at}[${index}]` }));
}

/** @returns the names that a pattern passes; null = it is the name of one header. */
function passedBy(name: string, at: string): RegExp | null {
  if (name === '*') return /(?:)/;
  const mark = /^(?:re|regex):/.exec(name)?.[0];
  return mark === undefined ? null : patternOf(name.slice(mark.length).trim(), at);
}

type Members = Readonly<Record<string, unknown>>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function checkName(name: string, at: string): void {
  if (!isHeaderName(name) || ofConnection.test(name))
    invalid(
      at,
      '可以设置的请求头名（连接和请求体格式的请求头不能设置）',
      'a header that may be set (none of the connection or of the form of the body)',
    );
}

/** `{"mode": "add", "value": "b"}`, `{"mode": "remove"}`, `{"mode": "copy", "from": "X-Name"}`, with conditions and their logic as rules on bodies have them; a move is a copy whose source goes. */
function modeOf(name: string, given: Members, at: string): OwnHeader | null {
  const mode = headerModes.find((one) => one === given.mode);
  if (mode === undefined)
    invalid(`${at}.mode`, `以下之一：${headerModes.join('、')}`, `one of ${headerModes.join(', ')}`);
  checkName(name, at);
  const known = mode === 'remove' ? [] : mode === 'copy' || mode === 'move' ? ['from'] : ['value'];
  const when = conditionsOf(given, ['mode', ...known], at);
  if (mode === 'remove') return { mode, name, when };
  if (mode === 'copy' || mode === 'move')
    return { mode: 'copy', name, client: clientHeader(given.from ?? name, `${at}.from`), when };
  const value = valueText(given.value, `${at}.value`);
  if (value === '' || value.startsWith(clientMark)) wrongValue(`${at}.value`);
  return { mode, name, value, hasKey: value.includes(keyMark), when };
}

/** @param known members besides the conditions. @returns null = there are none. */
function conditionsOf(given: Members, known: readonly string[], at: string): When | null {
  const other = Object.keys(given).find((member) => ![...known, 'conditions', 'logic'].includes(member));
  if (other !== undefined) invalid(`${at}.${other}`, '无此字段', 'nothing: there is no such member');
  const when = whenOf(given, at);
  return when.conditions.length === 0 ? null : when;
}

/** @returns a header of a client that may pass, in small letters. */
function clientHeader(given: unknown, at: string): string {
  const name = typeof given === 'string' ? given.trim().toLowerCase() : '';
  if (!isHeaderName(name) || !mayPass(name))
    invalid(
      at,
      '客户端可以转发的请求头（凭据和影响价格的请求头除外）',
      "a client's header that may pass (no credential, none that sets a price)",
    );
  return name;
}

const wrongValue = (at: string): never =>
  invalid(
    at,
    `可打印的 ASCII 文字，不超过 ${maxValueLength} 个字符`,
    `printable ASCII of up to ${maxValueLength} characters`,
  );

function valueText(given: unknown, at: string): string {
  const value = String(given).trim();
  const isText = typeof given === 'string' || typeof given === 'number';
  if (!isText || value.length > maxValueLength || !/^[\x20-\x7e]*$/.test(value)) wrongValue(at);
  return value;
}

const clientMark = '{client_header:';

/** @returns null = it has no value, which means nothing. */
function headerOf(name: string, given: unknown, at: string): OwnHeader | null {
  checkName(name, at);
  const value = valueText(given, at);
  if (value === '') return null;
  const client = /^\{client_header:([^}]*)\}$/.exec(value)?.[1];
  if (client === undefined && value.startsWith(clientMark))
    invalid(at, '仅由 {client_header:名称} 组成的值', 'a value of {client_header:NAME} alone');
  return client === undefined
    ? { mode: 'set', name, value, hasKey: value.includes(keyMark), when: null }
    : { mode: 'copy', name, client: clientHeader(client, at), when: null };
}

const empty: HeaderOverride = { own: [], passes: null, isConditional: false };

/** @param first acts first: what the other says of a header of the same name wins. @returns null where neither does anything. */
export function bothOverrides(first: HeaderOverride | null, then: HeaderOverride | null): HeaderOverride | null {
  if (first === null || then === null) return first ?? then;
  const passes = [...(first.passes ?? []), ...(then.passes ?? [])];
  return {
    own: [...first.own, ...then.own],
    passes: passes.length === 0 ? null : passes,
    isConditional: first.isConditional || then.isConditional,
  };
}

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
  if (setting.length > maxRulesLength)
    return problemOf(() =>
      invalid('setting', `不超过 ${maxRulesLength} 个字符的文字`, `text of at most ${maxRulesLength} characters`),
    );
  const read = readHeaderOverride(value);
  return 'own' in read ? null : read;
}
