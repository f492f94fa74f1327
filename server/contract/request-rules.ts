/** Rules that change requests of all channels: for every model, or for those of a name. A channel's own rules act after them. */
import { isRuleProblem, maxRulesLength, type Operation, type RuleProblem, readOperations } from './channel-rules.ts';
import { bothOverrides, type HeaderOverride, maySetForAll, readHeaderOverride } from './header-override.ts';
import type { OptionKind } from './option-kinds.ts';
import { matchesPattern } from './pricing/modifiers.ts';

/** What acts on requests for one model, before the rules of the channel that serves it. */
export interface ModelRules {
  readonly operations: readonly Operation[];
  readonly headers: HeaderOverride | null;
}

type Members = Readonly<Record<string, unknown>>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(text: string): Members | null {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text);
    return isMembers(value) ? value : null;
  } catch {
    return null;
  }
}

const maxPatterns = 64;
const problem = (field: string, expected_zh: string, expected_en: string): RuleProblem => ({
  field,
  expected_zh,
  expected_en,
});

/** @param before path of the object, with a dot where it is not the whole. */
function readRules(value: Members, before: string, isWhole: boolean): ModelRules | RuleProblem {
  const known = isWhole ? ['operations', 'header_override', 'models'] : ['operations', 'header_override'];
  const other = Object.keys(value).find((name) => !known.includes(name));
  if (other !== undefined)
    return problem(before + other, `以下之一：${known.join('、')}`, `one of ${known.join(', ')}`);
  const operations = readOperations(value.operations ?? []);
  if (isRuleProblem(operations)) return { ...operations, field: before + operations.field };
  const headers = readHeaderOverride(value.header_override ?? {});
  if (isRuleProblem(headers)) return { ...headers, field: before + headers.field };
  // Headers decide at some hosts who listens: what a channel's own may show, only who has the key may change.
  const keyed = headers.own.find((header) => 'hasKey' in header && header.hasKey);
  if (keyed !== undefined)
    return problem(
      `${before}header_override.${keyed.name}`,
      '不含 {api_key} 的值（仅可用于渠道自己的请求头）',
      'a value without {api_key}, which stands in headers of a channel alone',
    );
  const shown = headers.own.find(({ mode, name }) => mode !== 'remove' && !maySetForAll(name));
  if (shown !== undefined)
    return problem(
      `${before}header_override.${shown.name}`,
      '凭据以外的请求头：各渠道的密钥各自发送',
      'a header that is no credential: each channel sends its own key',
    );
  return { operations, headers: headers.own.length === 0 && headers.passes === null ? null : headers };
}

/** More particular ones come later: a whole name is the most particular. */
const weightOf = (pattern: string): number => (pattern.endsWith('*') ? pattern.length : Number.POSITIVE_INFINITY);

export class RequestRules {
  /** By numbers of the patterns that match: one object for all models that meet the same rules. */
  private readonly known = new Map<string, ModelRules>();

  private constructor(
    private readonly all: ModelRules,
    private readonly patterns: readonly { readonly pattern: string; readonly rules: ModelRules }[],
  ) {}

  /** @param value the option's JSON. @returns null where there is no rule; or the first thing that is wrong. */
  static read(value: Members): RequestRules | RuleProblem | null {
    const all = readRules(value, '', true);
    if (isRuleProblem(all)) return all;
    const models = value.models ?? {};
    if (!isMembers(models) || Object.keys(models).length > maxPatterns)
      return problem(
        'models',
        `模型或前缀* → 规则，不超过 ${maxPatterns} 个`,
        `a model or prefix* → its rules, at most ${maxPatterns}`,
      );
    const patterns: { readonly pattern: string; readonly rules: ModelRules }[] = [];
    for (const [pattern, own] of Object.entries(models)) {
      const at = `models.${pattern}`;
      if (pattern === '' || pattern.slice(0, -1).includes('*'))
        return problem(at, '模型名，或以 * 结尾的前缀', 'the name of a model, or its beginning and *');
      if (!isMembers(own)) return problem(at, '含 operations 或 header_override 的对象', 'an object of rules');
      const rules = readRules(own, `${at}.`, false);
      if (isRuleProblem(rules)) return rules;
      patterns.push({ pattern, rules });
    }
    const isEmpty = [all, ...patterns.map(({ rules }) => rules)].every(
      ({ operations, headers }) => operations.length === 0 && headers === null,
    );
    if (isEmpty) return null;
    return new RequestRules(
      all,
      patterns.toSorted((one, other) => weightOf(one.pattern) - weightOf(other.pattern)),
    );
  }

  /** @param model as the client calls it. @returns the same object for the same rules. */
  of(model: string): ModelRules {
    const matching = this.patterns.filter(({ pattern }) => matchesPattern(pattern, model));
    if (matching.length === 0) return this.all;
    const name = matching.map(({ pattern }) => pattern).join('\n');
    const known = this.known.get(name);
    if (known !== undefined) return known;
    const parts = [this.all, ...matching.map(({ rules }) => rules)];
    const made: ModelRules = {
      operations: parts.flatMap(({ operations }) => operations),
      headers: parts.map(({ headers }) => headers).reduce(bothOverrides),
    };
    this.known.set(name, made);
    return made;
  }
}

/** JSON object of rules for all channels. */
export const requestRules: OptionKind<RequestRules | null> = {
  name: 'json',
  clean: (value) => (value.trim() === '' ? '{}' : value),
  check(value) {
    const members = parsed(value);
    if (members === null) return { zh: '不是合法的 JSON 字符串', en: 'not valid JSON' };
    if (value.length > maxRulesLength)
      return { zh: `不得超过 ${maxRulesLength} 个字符`, en: `must not have more than ${maxRulesLength} characters` };
    const read = RequestRules.read(members);
    if (read === null || read instanceof RequestRules) return null;
    const { field, expected_zh, expected_en } = read;
    return { zh: `${field} 必须是${expected_zh}`, en: `${field} must be ${expected_en}` };
  },
  parse(value) {
    const read = RequestRules.read(parsed(value) ?? {});
    return read instanceof RequestRules ? read : null;
  },
};
