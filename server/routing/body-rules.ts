/** Runs the rules for a channel on the body of a request as it is about to be sent, and says what they may make of any request. */
import {
  type Condition,
  isRuleProblem,
  isUnbounded,
  maxPatternText,
  type Operation,
  type Path,
  type PathStep,
  printedScalar,
  readOperations,
  type StringMode,
  type When,
} from '../contract/channel-rules.ts';
import { AppError } from '../contract/errors.ts';
import type { RequestRules } from '../contract/request-rules.ts';
import type { ChannelSnapshot } from '../contract/snapshot.ts';
import { ExactNumber, number, record } from '../protocols/shared/json.ts';
import { looseName } from '../protocols/shared/member-name.ts';
import type { HostedUse } from '../providers/knowledge/builtin-tools.ts';
import { featuresIn, noFeatures } from './features.ts';
import { type Multiplied, ordered } from './multipliers.ts';

type Members = Readonly<Record<string, unknown>>;

/** Rules that the operator has for all channels; absent or null = there are none. */
export interface RuleOptions {
  readonly requestRules?: RequestRules | null;
}

/** What conditions can ask for besides the body, by the family's names. */
export interface RuleContext {
  readonly model: string;
  readonly upstream_model: string;
  readonly original_model: string;
  readonly request_path: string;
}

/** A body may not become much larger than it came: what makes it so multiplies the whole prompt. */
const slack = 4096;

/**
 * @returns the body after the rules, the same object where none changed it.
 * @throws AppError channel_rule_refused by a rule's own words; channel_rule_failed where one cannot be done with this body.
 */
export function applyRules(
  operations: readonly Operation[],
  body: Members,
  context: RuleContext,
  { channel, operation }: { readonly channel: Pick<ChannelSnapshot, 'id'>; readonly operation: string },
): Members {
  const failed = (at: number, zh: string, en: string): AppError => ruleFailed(channel, at + 1, new Unfit(zh, en));
  let changed: unknown = body;
  for (const [at, rule] of operations.entries()) {
    try {
      if (!holds(changed, rule, context)) continue;
      if (rule.mode === 'return_error') throw new AppError('channel_rule_refused', { ...rule.refusal });
      changed = applied(changed, rule, context);
    } catch (error) {
      if (error instanceof Unfit) throw ruleFailed(channel, at + 1, error);
      throw error;
    }
  }
  const members = record(changed);
  if (members === null) throw failed(operations.length - 1, '请求体不再是对象', 'the body is no object any more');
  if (members === body) return body;
  const limits = boundsOf(operations);
  if (lengthOf(members) > lengthOf(body) * limits.factor + limits.length + slack)
    throw failed(operations.length - 1, '请求体过大', 'the body becomes too large');
  const dearer = unreservedIn(members, body, limits.written, operation);
  if (dearer !== null)
    throw failed(operations.length - 1, `${dearer} 的费用没有预留`, `nothing was reserved for ${dearer}`);
  return members;
}

/** What multiplies work. */
const multiplied: readonly Multiplied[] = [
  'answers',
  'prompts',
  'pictures',
  'previews',
  'frames',
  'texts',
  'documents',
];
/** Words that choose a price of pictures and films. */
const pricedWords = /^(?:size|quality|seconds|duration|resolution|aspectratio)$/;

/**
 * What costs more after the rules than the request and the rules' own values, which a reservation has read: a value that
 * a caller wrote elsewhere must not become one that has a price.
 * @returns its name; null = there is nothing.
 */
function unreservedIn(after: Members, before: Members, written: readonly Members[], operation: string): string | null {
  const own = [before, ...written];
  for (const of of multiplied)
    if (ordered(operation, of, after, 0) > Math.max(...own.map((body) => ordered(operation, of, body, 0)))) return of;
  for (const [name, value] of Object.entries(after))
    if (pricedWords.test(looseName(name)) && !own.some((body) => body[name] === value)) return name;
  const [sent, known] = [featuresIn(after), own.map(featuresIn)];
  if (sent === noFeatures) return null;
  const modifier = sent.modifiers.find(
    ({ member, value }) =>
      !known.some(({ modifiers }) => modifiers.some((one) => one.member === member && one.value === value)),
  );
  if (modifier !== undefined) return modifier.member;
  const units = (tool: string, uses: readonly HostedUse[]): number =>
    uses.reduce((sum, use) => (use.tool === tool ? sum + use.max : sum), 0);
  const use = sent.uses.find(
    ({ tool }) => units(tool, sent.uses) > known.reduce((sum, { uses }) => sum + units(tool, uses), 0),
  );
  if (use !== undefined) return use.tool;
  if (sent.hosts.some((host) => !known.some(({ hosts }) => hosts.includes(host)))) return 'host';
  if (sent.others.length > known.reduce((sum, { others }) => sum + others.length, 0)) return 'model';
  if (sent.reads > known.reduce((sum, { reads }) => sum + reads, 0)) return 'search';
  return sent.again && !known.some(({ again }) => again) ? 'search' : null;
}

/** A request as conditions of rules for headers read it: the body as it goes out. */
export interface ConditionedRequest {
  readonly body: Members;
  readonly context: RuleContext;
  readonly channel: Pick<ChannelSnapshot, 'id'>;
}

/** @returns whether a rule for a header acts. @throws AppError channel_rule_failed where nobody can say of this body. */
export function headerRuleActs(name: string, when: When, { body, context, channel }: ConditionedRequest): boolean {
  try {
    return holds(body, when, context);
  } catch (error) {
    if (error instanceof Unfit) throw ruleFailed(channel, `header_override.${name}`, error);
    throw error;
  }
}

const ruleFailed = ({ id }: Pick<ChannelSnapshot, 'id'>, rule: number | string, { zh, en }: Unfit): AppError =>
  new AppError('channel_rule_failed', { channel: id, rule, reason_zh: zh, reason_en: en });

/** A rule that cannot be done with the body, and why, in both languages. */
class Unfit extends Error {
  constructor(
    readonly zh: string,
    readonly en: string,
  ) {
    super(en);
  }
}

function unfit(zh: string, en: string): never {
  throw new Unfit(zh, en);
}

const lengthOf = (body: unknown): number => JSON.stringify(body).length;

/** `undefined` = there is nothing. */
function valueAt(node: unknown, path: Path): unknown {
  let found = node;
  for (const step of path) found = childOf(found, keyIn(found, step));
  return found;
}

/** A negative place counts from the end, where the list is long enough. */
function keyIn(node: unknown, { key }: PathStep): string {
  if (!Array.isArray(node) || !/^-\d{1,9}$/.test(key)) return key;
  const at = node.length + Number(key);
  return at >= 0 && at < node.length ? String(at) : key;
}

const indexOf = (key: string): number | null => (/^\d{1,9}$/.test(key) ? Number(key) : null);

function childOf(node: unknown, key: string): unknown {
  if (Array.isArray(node)) {
    const at = indexOf(key);
    return at === null ? undefined : node[at];
  }
  const members = record(node);
  return members !== null && Object.hasOwn(members, key) ? members[key] : undefined;
}

/** Lists do not grow into the blue. */
const maxPadding = 1000;

function withValue(node: unknown, path: Path, value: unknown, depth = 0): unknown {
  const step = path[depth];
  if (step === undefined) return value;
  const key = keyIn(node, step);
  const members = record(node);
  if (members !== null) return { ...members, [key]: withValue(childOf(members, key), path, value, depth + 1) };
  const at = indexOf(key);
  if (Array.isArray(node)) {
    if (at === null && key !== '-1') unfit(`${key} 不是列表中的位置`, `${key} is no place in a list`);
    const list = [...node];
    if (at === null) list.push(withValue(undefined, path, value, depth + 1));
    else placeIn(list, at, withValue(node[at], path, value, depth + 1));
    return list;
  }
  if (at === null) return { [key]: withValue(undefined, path, value, depth + 1) };
  const list: unknown[] = [];
  placeIn(list, at, withValue(undefined, path, value, depth + 1));
  return list;
}

function placeIn(list: unknown[], at: number, value: unknown): void {
  if (at - list.length > maxPadding) unfit(`没有位置 ${at}`, `there is no place ${at}`);
  while (list.length < at) list.push(null);
  list[at] = value;
}

function withoutValue(node: unknown, path: Path, depth = 0): unknown {
  const step = path[depth];
  if (step === undefined) return node;
  const isLast = depth === path.length - 1;
  const key = keyIn(node, step);
  if (Array.isArray(node)) {
    const at = indexOf(key) ?? (isLast && key === '-1' ? node.length - 1 : null);
    if (at === null || at < 0 || at >= node.length) return node;
    const list = [...node];
    if (isLast) list.splice(at, 1);
    else list[at] = withoutValue(node[at], path, depth + 1);
    return list;
  }
  const members = record(node);
  if (members === null || !Object.hasOwn(members, key)) return node;
  if (!isLast) return { ...members, [key]: withoutValue(members[key], path, depth + 1) };
  const { [key]: _, ...others } = members;
  return others;
}

const hasEach = (path: Path): boolean => path.some(({ each }) => each);

/** In place of a value: the member goes. */
const gone = Symbol('gone');
type Change = (there: unknown) => unknown;

/** Changes each member that a path with `*` stands for, in one walk. What leads to it must be there. */
function changedEach(node: unknown, path: Path, change: Change, depth = 0): unknown {
  const step = path[depth];
  if (step === undefined) return node;
  const next: Change = depth === path.length - 1 ? change : (child) => changedEach(child, path, change, depth + 1);
  const isLast = next === change;
  if (Array.isArray(node)) {
    const only = step.each ? null : indexOf(keyIn(node, step));
    if (!step.each && (only === null || only >= node.length)) return node;
    const list: unknown[] = [];
    let isChanged = false;
    for (const [at, child] of node.entries()) {
      const value = only === null || only === at ? next(child) : child;
      isChanged ||= value !== child;
      if (value !== gone) list.push(value);
    }
    return isChanged ? list : node;
  }
  const members = record(node);
  if (members === null) return node;
  let changed: Record<string, unknown> | null = null;
  for (const key of step.each ? Object.keys(members) : [step.key]) {
    const child = childOf(members, key);
    if (child === undefined && !isLast) continue;
    const value = next(child);
    if (value === child) continue;
    changed ??= { ...members };
    if (value === gone) delete changed[key];
    else changed[key] = value;
  }
  return changed ?? node;
}

/** Whether all or one of the conditions hold; none always do. */
function holds(body: unknown, { conditions, all }: When, context: RuleContext): boolean {
  if (conditions.length === 0) return true;
  for (const condition of conditions) if (isMet(body, condition, context) !== all) return !all;
  return all;
}

function isMet(
  body: unknown,
  { path, mode, value: wanted, invert, passMissing }: Condition,
  context: RuleContext,
): boolean {
  const own = valueAt(body, path);
  const found = own === undefined ? valueAt(context, path) : own;
  return found === undefined ? passMissing : compared(found, wanted, mode) !== invert;
}

function compared(found: unknown, wanted: unknown, mode: Condition['mode']): boolean {
  switch (mode) {
    case 'full':
      return isEqual(found, wanted);
    case 'prefix':
      return textOf(found).startsWith(textOf(wanted));
    case 'suffix':
      return textOf(found).endsWith(textOf(wanted));
    case 'contains':
      return textOf(found).includes(textOf(wanted));
  }
  const [one, other] = [number(found), number(wanted)];
  if (one === null || other === null) unfit('只有数字才能比较大小', 'only numbers can be compared by size');
  if (mode === 'gt') return one > other;
  if (mode === 'gte') return one >= other;
  return mode === 'lt' ? one < other : one <= other;
}

const kindOf = (value: unknown): string =>
  value === null ? 'null' : value instanceof ExactNumber ? 'number' : typeof value;

function isEqual(found: unknown, wanted: unknown): boolean {
  const [one, other] = [kindOf(found), kindOf(wanted)];
  if (one === 'null' || other === 'null') return one === other;
  if (one !== other) unfit(`${one} 不能与 ${other} 比较`, `${one} cannot be compared with ${other}`);
  return one === 'number' ? number(found) === number(wanted) : textOf(found) === textOf(wanted);
}

/** The text of any value, for comparisons of words. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null) return '';
  return JSON.stringify(value);
}

function applied(
  body: unknown,
  operation: Exclude<Operation, { mode: 'return_error' }>,
  context: RuleContext,
): unknown {
  switch (operation.mode) {
    case 'move':
      return withoutValue(copied(body, operation.from, operation.to), operation.from);
    case 'copy':
      return copied(body, operation.from, operation.to);
    case 'sync_fields':
      return synced(body, operation.from, operation.to);
    case 'delete':
      return hasEach(operation.path)
        ? changedEach(body, operation.path, () => gone)
        : withoutValue(body, operation.path);
    case 'set': {
      const { keep, value } = operation;
      return over(body, operation.path, (there) => (keep && there !== undefined ? there : value));
    }
    case 'prepend':
    case 'append': {
      const { mode, value, keep } = operation;
      return over(body, operation.path, (there) => joined(there, value, mode, keep));
    }
    case 'replace': {
      const { from, to } = operation;
      return over(body, operation.path, (there) => words(there).replaceAll(from, () => to));
    }
    case 'regex_replace': {
      const { pattern, to } = operation;
      return over(body, operation.path, (there) => patternReplaced(words(there), pattern, to));
    }
    case 'prune_objects': {
      const { pruned, path } = operation;
      if (path.length > 0 && !hasEach(path) && valueAt(body, path) === undefined) return body;
      return over(body, path, (there) => (there === undefined ? gone : withoutObjects(there, pruned, context, true)));
    }
    default: {
      const { mode, value } = operation;
      return over(body, operation.path, (there) => inForm(words(there), mode, value));
    }
  }
}

function over(body: unknown, path: Path, change: Change): unknown {
  if (hasEach(path)) return changedEach(body, path, change);
  const there = valueAt(body, path);
  const value = change(there);
  return value === there && value !== undefined ? body : withValue(body, path, value);
}

function words(value: unknown): string {
  if (typeof value !== 'string') unfit('该处不是文字', 'there is no text');
  return value;
}

function copied(body: unknown, from: Path, to: Path): unknown {
  const value = valueAt(body, from);
  if (value === undefined) unfit('来源处没有内容', 'there is nothing at its source');
  return withValue(body, to, value);
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '');

/** Where one of two has nothing it gets what the other one has. */
function synced(body: unknown, from: Path, to: Path): unknown {
  const [one, other] = [valueAt(body, from), valueAt(body, to)];
  if (isEmpty(one) === isEmpty(other)) return body;
  return isEmpty(one) ? withValue(body, from, other) : withValue(body, to, one);
}

function joined(there: unknown, value: unknown, mode: 'prepend' | 'append', keep: boolean): unknown {
  if (Array.isArray(there)) {
    const more = Array.isArray(value) ? value : [value];
    return mode === 'prepend' ? [...more, ...there] : [...there, ...more];
  }
  if (typeof there === 'string') {
    const text = printedScalar(value);
    if (text === null) unfit('文字只能与文字相接', 'only text can be added to a text');
    return mode === 'prepend' ? text + there : there + text;
  }
  const [members, more] = [record(there), record(value)];
  if (members === null || more === null) unfit('该处不能添加内容', 'nothing can be added there');
  const merged: Record<string, unknown> = { ...members };
  for (const [name, one] of Object.entries(more)) if (!keep || isEmptyMember(merged[name])) merged[name] = one;
  return merged;
}

const isEmptyMember = (value: unknown): boolean => value === undefined || value === null;

function inForm(text: string, mode: StringMode, value: string): string {
  switch (mode) {
    case 'trim_prefix':
      return text.startsWith(value) ? text.slice(value.length) : text;
    case 'trim_suffix':
      return value !== '' && text.endsWith(value) ? text.slice(0, -value.length) : text;
    case 'ensure_prefix':
      return text.startsWith(value) ? text : value + text;
    case 'ensure_suffix':
      return text.endsWith(value) ? text : text + value;
    case 'trim_space':
      return text.trim();
    case 'to_lower':
      return text.toLowerCase();
    case 'to_upper':
      return text.toUpperCase();
  }
}

/** `$1`, `${name}` and `$$` as Go's templates have them. */
function patternReplaced(text: string, pattern: RegExp, template: string): string {
  if (text.length > maxPatternText && isUnbounded(pattern))
    unfit('文字过长，不能用该正则表达式处理', 'the text is too long for its pattern');
  let end = -1;
  return text.replaceAll(pattern, (match: string, ...rest: unknown[]) => {
    const groups = record(rest.at(-1));
    const at = Number(rest[rest.length - (groups === null ? 2 : 3)]);
    // None stands right behind another.
    if (match === '' && at === end) return '';
    end = at + match.length;
    return template.replaceAll(/\$(?:(\$)|(\w+)|\{(\w+)\})/g, (_, dollar?: string, plain?: string, braced?: string) => {
      if (dollar !== undefined) return '$';
      const name = plain ?? braced ?? '';
      if (name === '0') return match;
      const found = /^\d+$/.test(name) ? rest[Number(name) - 1] : groups?.[name];
      const isGroup = /^\d+$/.test(name) ? Number(name) <= rest.length - (groups === null ? 2 : 3) : true;
      return isGroup && typeof found === 'string' ? found : '';
    });
  });
}

function withoutObjects(
  node: unknown,
  pruned: Extract<Operation, { mode: 'prune_objects' }>['pruned'],
  context: RuleContext,
  isRoot: boolean,
): unknown {
  if (Array.isArray(node)) {
    const left = node.flatMap((one) => {
      const next = withoutObjects(one, pruned, context, false);
      return next === undefined ? [] : [next];
    });
    return left.length === node.length && left.every((one, at) => one === node[at]) ? node : left;
  }
  const members = record(node);
  if (members === null) return node;
  if (!isRoot && holds(members, pruned, context)) return undefined;
  if (!pruned.recursive) return node;
  let changed: Record<string, unknown> | null = null;
  for (const [name, one] of Object.entries(members)) {
    const next = withoutObjects(one, pruned, context, false);
    if (next === one) continue;
    changed ??= { ...members };
    if (next === undefined) delete changed[name];
    else changed[name] = next;
  }
  return changed ?? node;
}

const encoder = new TextEncoder();
/** Bytes of a text. */
export const sizeOf = (text: string): number => encoder.encode(text).length;

/** What rules may make of a request's size, whatever it holds. */
interface RuleBounds {
  /** How often the whole prompt may stand in the body afterwards. */
  readonly factor: number;
  /** Bytes of JSON that the rules bring themselves: no fewer than their tokens. */
  readonly length: number;
  /** A limit of the answer may go, or become another one. */
  readonly freesLimit: boolean;
  /** Members that a rule may set, each with what may stand there. */
  readonly written: readonly Members[];
}

const bounds = new WeakMap<readonly Operation[], RuleBounds>();

export function boundsOf(operations: readonly Operation[]): RuleBounds {
  const known = bounds.get(operations);
  if (known !== undefined) return known;
  let [factor, length, freesLimit] = [1, 0, false];
  const written: Members[] = [];
  for (const operation of operations) {
    switch (operation.mode) {
      case 'set':
      case 'prepend':
      case 'append': {
        const { path, value, mode } = operation;
        length += sizeOf(JSON.stringify(value)) + path.reduce((sum, { key }) => sum + sizeOf(key) + 4, 0);
        if (path.some(({ each }) => each)) factor++;
        freesLimit ||= isLimit(path) && !(mode === 'set' && typeof value === 'number' && value >= 1);
        const values = mode === 'set' ? [value] : [value, Array.isArray(value) ? value : [value]];
        for (const one of values) {
          const members = record(withValue({}, path.map(firstOf), one));
          if (members !== null) written.push(members);
        }
        break;
      }
      case 'copy':
      case 'sync_fields':
        factor++;
        freesLimit ||= isLimit(operation.to) || (operation.mode === 'sync_fields' && isLimit(operation.from));
        break;
      case 'move':
        freesLimit ||= isLimit(operation.to) || isLimit(operation.from);
        break;
      case 'replace':
      case 'regex_replace':
        factor++;
        length += sizeOf(operation.to);
        freesLimit ||= isLimit(operation.path);
        break;
      case 'delete':
        freesLimit ||= isLimit(operation.path);
        break;
      case 'prune_objects':
        freesLimit ||= !isOfPrompt(operation.path);
        break;
      case 'return_error':
        break;
      default:
        length += sizeOf(operation.value);
        freesLimit ||= isLimit(operation.path);
        if (operation.path.some(({ each }) => each)) factor++;
    }
  }
  const made: RuleBounds = { factor, length, freesLimit, written };
  bounds.set(operations, made);
  return made;
}

/** Each place of a list is as good as its first one. */
const firstOf = (step: PathStep): PathStep => (step.each ? { key: '0', index: 0, each: false } : step);

const limits =
  /^(?:max(?:output|completion|new)?tokens|maxtokenstosample|maxlength|numpredict|generationconfig|options|extrabody|reasoning|thinking|thinkingconfig)$/;
/** Whether a limit of the answer stands there, or may stand within. */
const isLimit = (path: Path): boolean => path[0]?.each === true || path.some(({ key }) => limits.test(looseName(key)));

const prompts = /^(?:messages|input|contents|system|systeminstruction|instructions|prompt|tools|functions|documents)$/;
const isOfPrompt = ([first]: Path): boolean => first !== undefined && prompts.test(looseName(first.key));

const compiled = new WeakMap<readonly unknown[], readonly Operation[] | null>();

/** The rules of a channel; null = it has none, or some that were stored before they were checked. */
function ownRules({ bodyRules }: Pick<ChannelSnapshot, 'bodyRules'>): readonly Operation[] | null {
  if (bodyRules === undefined) return null;
  const known = compiled.get(bodyRules);
  if (known !== undefined) return known;
  const read = readOperations(bodyRules);
  const rules = isRuleProblem(read) || read.length === 0 ? null : read;
  compiled.set(bodyRules, rules);
  return rules;
}

/** Of rules for all channels and those of one. */
const joinedRules = new WeakMap<readonly Operation[], WeakMap<readonly Operation[], readonly Operation[]>>();

/** The rules that act on requests for a model at a channel, in their order; null = there are none. The same list for the same rules. */
export function rulesOf(
  channel: Pick<ChannelSnapshot, 'bodyRules'>,
  { requestRules }: RuleOptions,
  model: string,
): readonly Operation[] | null {
  const own = ownRules(channel);
  if (requestRules === undefined || requestRules === null) return own;
  const first = requestRules.of(model).operations;
  if (first.length === 0) return own;
  if (own === null) return first;
  const others = joinedRules.get(first) ?? new WeakMap<readonly Operation[], readonly Operation[]>();
  joinedRules.set(first, others);
  const known = others.get(own);
  if (known !== undefined) return known;
  const both = [...first, ...own];
  others.set(own, both);
  return both;
}
