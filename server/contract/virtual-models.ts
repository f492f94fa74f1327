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

/** A member that is wrong, and what is wrong about it, in words for an error's detail. */
export interface FieldProblem {
  readonly field: string;
  readonly problem: string;
}

/** Names appear in paths, headers, lists with commas and files. */
const isName = (text: string): boolean =>
  text.length > 0 && text.length <= maxNameLength && text.trim() === text && !/[\p{Cc},"\\?#%]/u.test(text);

const isWhole = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= maxPrompt;

const isText = (value: unknown): value is string => typeof value === 'string';

type Check = (value: unknown) => string | null;

const listOf =
  (words: readonly string[]): Check =>
  (value) =>
    Array.isArray(value) && value.length > 0 && value.every((one) => words.includes(one as string))
      ? null
      : `one or more of ${words.join(', ')}`;
const flag: Check = (value) => (typeof value === 'boolean' ? null : 'true or false');
const tokens: Check = (value) => (isWhole(value) ? null : `a whole number up to ${maxPrompt}`);

const targetChecks: Readonly<Record<keyof ChainTarget, Check>> = {
  model: (value) => (isText(value) && isName(value) ? null : 'the name of a model'),
  channel: (value) => (isWhole(value) && value > 0 ? null : 'the number of a channel'),
  group: (value) => (isText(value) && isName(value) ? null : 'the name of a group'),
  after: listOf(targetFailures),
  prompt_over: tokens,
  prompt_up_to: tokens,
  images: flag,
  thinking: flag,
  classes: listOf(requestClasses),
  agent_types: (value) =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= maxAgentTypes &&
    value.every((one) => isText(one) && isName(one))
      ? null
      : `up to ${maxAgentTypes} names of agents`,
};

/** Members of a target in the order in which they are written. */
export const targetMembers = Object.keys(targetChecks) as readonly (keyof ChainTarget)[];

/** @returns the target with its members in order, empty ones left out; or what is wrong. */
export function readTarget(value: unknown, at: number): ChainTarget | FieldProblem {
  const place = `targets[${at}]`;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { field: place, problem: 'an object with a model' };
  const given = value as Readonly<Record<string, unknown>>;
  const made: Record<string, unknown> = {};
  for (const name of Object.keys(given))
    if (!Object.hasOwn(targetChecks, name)) return { field: `${place}.${name}`, problem: 'not known' };
  for (const name of targetMembers) {
    const one = given[name];
    if (isAbsent(one)) continue;
    const problem = targetChecks[name](one);
    if (problem !== null) return { field: `${place}.${name}`, problem };
    made[name] = one;
  }
  if (made.model === undefined) return { field: `${place}.model`, problem: 'the name of a model' };
  const target = made as unknown as ChainTarget;
  const { prompt_over: over, prompt_up_to: most } = target;
  if (over !== undefined && most !== undefined && over >= most)
    return { field: `${place}.prompt_up_to`, problem: `more than prompt_over, ${over}` };
  return target;
}

/** Forms, files and commands write what is not set in one of these ways. */
const isAbsent = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

export const isProblem = (read: object): read is FieldProblem => 'problem' in read;

/** @param value as a form or a file has it. @returns what is stored, or the first thing that is wrong. */
export function readVirtualModel(value: Readonly<Record<string, unknown>>): VirtualModelFields | FieldProblem {
  const { name, enabled = true, boundary = '', description = '', targets } = value;
  if (!isText(name) || !isName(name)) return { field: 'name', problem: `a name of up to ${maxNameLength} characters` };
  if (typeof enabled !== 'boolean') return { field: 'enabled', problem: 'true or false' };
  if (!isText(boundary) || (boundary !== '' && !isName(boundary)))
    return { field: 'boundary', problem: 'the name of a group' };
  if (!isText(description) || description.length > maxTextLength)
    return { field: 'description', problem: `up to ${maxTextLength} characters` };
  if (!Array.isArray(targets) || targets.length === 0 || targets.length > maxTargets)
    return { field: 'targets', problem: `1 to ${maxTargets} targets` };
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
