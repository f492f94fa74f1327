/** Virtual models: names that stand for an ordered chain of targets, and the words in which a target says when it is meant. */

/** What agents say of a request. Source: https://code.claude.com/docs/en/llm-gateway-protocol (x-claude-code-request-class). */
export const requestClasses = ['main', 'subagent', 'workflow', 'compaction', 'auxiliary'] as const;
export type RequestClass = (typeof requestClasses)[number];

/** Why a target failed, as far as the next one may ask for it. */
export const targetFailures = [
  /** 429, or every key has to wait. */
  'rate_limited',
  /** Keys that are wrong, empty or forbidden. */
  'key',
  /** 5xx, no connection, an answer that cannot be read. */
  'unavailable',
  'timeout',
  /** Upstream does not know the model, or no channel serves it. */
  'no_model',
  'context_too_long',
  /** The provider's filter refused the content. */
  'content_refused',
] as const;
export type TargetFailure = (typeof targetFailures)[number];

/** After these a target without `after` is tried: another model would meet the others as well, unless the operator knows better. */
export const ordinaryFailures: ReadonlySet<TargetFailure> = new Set([
  'rate_limited',
  'key',
  'unavailable',
  'timeout',
  'no_model',
]);

/** Conditions are all met, or the target is passed over; absent = none. Names are those of API, files and table. */
export interface ChainTarget {
  /** A model of channels, or another virtual model. */
  readonly model: string;
  /** Absent = any that serves the model. */
  readonly channel?: number;
  /** Whose channels and prices; absent = the key's own. */
  readonly group?: string;
  /** Only after one of these failures of a target before it; absent = first, or after an ordinary failure. */
  readonly after?: readonly TargetFailure[];
  /** Tokens of the prompt as usual text has them: more than, and at most. */
  readonly prompt_over?: number;
  readonly prompt_up_to?: number;
  /** The request has, or has not, a picture. */
  readonly images?: boolean;
  /** The request asks, or does not ask, to think. */
  readonly thinking?: boolean;
  readonly classes?: readonly RequestClass[];
  /** What an agent calls itself, as `Explore`. */
  readonly agent_types?: readonly string[];
}

/** What people write. */
export interface VirtualModelFields {
  readonly name: string;
  readonly enabled: boolean;
  /** The group that no request of it leaves; '' = none. */
  readonly boundary: string;
  readonly description: string;
  readonly targets: readonly ChainTarget[];
}

/** As the relay knows it. */
export interface VirtualModel extends Omit<VirtualModelFields, 'description'> {
  readonly id: number;
}

/** Virtual models within each other, the outermost among them. */
export const maxChainDepth = 5;
export const maxTargets = 16;
/** Of a chain with all chains inside of it. */
export const maxLeaves = 64;
/** Calls of upstreams for one request. */
export const maxChainCalls = 10;
export const maxVirtualModels = 500;
export const maxNameLength = 128;
export const maxTextLength = 512;
export const maxAgentTypes = 16;
export const maxPrompt = 100_000_000;

/** A member that is wrong, and what it must be instead: parameters of `virtual_model_invalid`. */
export interface FieldProblem {
  readonly field: string;
  readonly expected_zh: string;
  readonly expected_en: string;
}

/** What a value must be, in both languages. */
type Expected = readonly [zh: string, en: string];

const problem = (field: string, [zh, en]: Expected): FieldProblem => ({ field, expected_zh: zh, expected_en: en });

/** Names appear in paths, headers, lists with commas and files. */
const isName = (text: string): boolean =>
  text.length > 0 && text.length <= maxNameLength && text.trim() === text && !/[\p{Cc},"\\?#%]/u.test(text);

const isWhole = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= maxPrompt;

const isText = (value: unknown): value is string => typeof value === 'string';

interface Check {
  readonly passes: (value: unknown) => boolean;
  readonly expected: Expected;
}

const check = (passes: Check['passes'], zh: string, en: string): Check => ({ passes, expected: [zh, en] });
const listOf = (words: readonly string[]): Check =>
  check(
    (value) =>
      Array.isArray(value) && value.length <= words.length && value.every((one) => words.includes(one as string)),
    `以下一项或多项，不重复：${words.join('、')}`,
    `one or more of ${words.join(', ')}, each once`,
  );
const nameOf = (zh: string, en: string): Check => check((value) => isText(value) && isName(value), zh, en);
const flag = check((value) => typeof value === 'boolean', 'true 或 false', 'true or false');
const tokens = check(isWhole, `不超过 ${maxPrompt} 的整数`, `a whole number up to ${maxPrompt}`);

const targetChecks: Readonly<Record<keyof ChainTarget, Check>> = {
  model: nameOf('模型名称', 'the name of a model'),
  channel: check((value) => isWhole(value) && value > 0, '渠道编号', 'the number of a channel'),
  group: nameOf('分组名称', 'the name of a group'),
  after: listOf(targetFailures),
  prompt_over: tokens,
  prompt_up_to: tokens,
  images: flag,
  thinking: flag,
  classes: listOf(requestClasses),
  agent_types: check(
    (value) =>
      Array.isArray(value) && value.length <= maxAgentTypes && value.every((one) => isText(one) && isName(one)),
    `不超过 ${maxAgentTypes} 个代理名称`,
    `names of agents, at most ${maxAgentTypes}`,
  ),
};

/** Members of a target in the order in which they are written. */
export const targetMembers = Object.keys(targetChecks) as readonly (keyof ChainTarget)[];

/** @returns the target with its members in order, empty ones left out; or what is wrong. */
export function readTarget(value: unknown, at: number): ChainTarget | FieldProblem {
  const place = `targets[${at}]`;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return problem(place, ['带 model 的对象', 'an object with a model']);
  const given = value as Readonly<Record<string, unknown>>;
  const made: Record<string, unknown> = {};
  for (const name of Object.keys(given))
    if (!Object.hasOwn(targetChecks, name))
      return problem(`${place}.${name}`, [
        `以下成员之一：${targetMembers.join('、')}`,
        `one of the members ${targetMembers.join(', ')}`,
      ]);
  for (const name of targetMembers) {
    const one = given[name];
    if (isAbsent(one)) continue;
    const { passes, expected } = targetChecks[name];
    if (!passes(one)) return problem(`${place}.${name}`, expected);
    made[name] = one;
  }
  if (made.model === undefined) return problem(`${place}.model`, targetChecks.model.expected);
  const target = made as unknown as ChainTarget;
  const { prompt_over: over, prompt_up_to: most } = target;
  if (over !== undefined && most !== undefined && over >= most)
    return problem(`${place}.prompt_up_to`, [`大于 prompt_over（${over}）的数值`, `more than prompt_over, ${over}`]);
  return target;
}

/** Forms, files and commands write what is not set in one of these ways. */
const isAbsent = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

export const isProblem = (read: object): read is FieldProblem => 'expected_en' in read;

/** @param value as a form or a file has it. @returns what is stored, or the first thing that is wrong. */
export function readVirtualModel(value: Readonly<Record<string, unknown>>): VirtualModelFields | FieldProblem {
  const { name, enabled = true, boundary = '', description = '', targets } = value;
  if (!isText(name) || !isName(name))
    return problem('name', [`不超过 ${maxNameLength} 个字符的名称`, `a name of up to ${maxNameLength} characters`]);
  if (typeof enabled !== 'boolean') return problem('enabled', flag.expected);
  if (!isText(boundary) || (boundary !== '' && !isName(boundary)))
    return problem('boundary', targetChecks.group.expected);
  if (!isText(description) || description.length > maxTextLength)
    return problem('description', [`不超过 ${maxTextLength} 个字符的文字`, `up to ${maxTextLength} characters`]);
  if (!Array.isArray(targets) || targets.length === 0 || targets.length > maxTargets)
    return problem('targets', [
      `目标列表，1 到 ${maxTargets} 个`,
      `a list of targets, at least one and at most ${maxTargets}`,
    ]);
  const read: ChainTarget[] = [];
  for (const [at, one] of targets.entries()) {
    const target = readTarget(one, at);
    if (isProblem(target)) return target;
    read.push(target);
  }
  return { name, enabled, boundary, description, targets: read };
}

/** Targets as the table keeps them; what is none any more is left out. */
export function targetsIn(text: string): readonly ChainTarget[] {
  let stored: unknown;
  try {
    stored = JSON.parse(text);
  } catch {
    return [];
  }
  if (!Array.isArray(stored)) return [];
  return stored.map(readTarget).filter((read): read is ChainTarget => !isProblem(read));
}
