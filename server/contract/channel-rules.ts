/** Rules of a channel that change a request's body before it is sent: new-api's `operations`, read and checked when they are saved. */

const maxOperations = 64;
const maxConditions = 64;
/** Units of the text of `param_override`. */
export const maxRulesLength = 262_144;

/** One step of a path: a member's name, or the place in a list; `*` (unescaped) is each of them. */
export interface PathStep {
  readonly key: string;
  /** Set where the key is a whole number. */
  readonly index: number | null;
  readonly each: boolean;
}
export type Path = readonly PathStep[];

const conditionModes = ['full', 'prefix', 'suffix', 'contains', 'gt', 'gte', 'lt', 'lte'] as const;
export type ConditionMode = (typeof conditionModes)[number];

export interface Condition {
  /** Read from the body, or where that has nothing there from the request's context. */
  readonly path: Path;
  readonly mode: ConditionMode;
  readonly value: unknown;
  readonly invert: boolean;
  /** It holds where neither has anything at the path. */
  readonly passMissing: boolean;
}

/** When a rule acts. */
export interface When {
  readonly conditions: readonly Condition[];
  /** Every condition must hold, not one of them. */
  readonly all: boolean;
}

/** Words of a rule that refuses the request. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
}

export type Pruned = When & { readonly recursive: boolean };

export type Operation = When &
  (
    | { readonly mode: 'delete'; readonly path: Path }
    | { readonly mode: 'set'; readonly path: Path; readonly value: unknown; readonly keep: boolean }
    | { readonly mode: 'move' | 'copy' | 'sync_fields'; readonly from: Path; readonly to: Path }
    | { readonly mode: 'prepend' | 'append'; readonly path: Path; readonly value: unknown; readonly keep: boolean }
    | { readonly mode: StringMode; readonly path: Path; readonly value: string }
    | { readonly mode: 'replace'; readonly path: Path; readonly from: string; readonly to: string }
    | { readonly mode: 'regex_replace'; readonly path: Path; readonly pattern: RegExp; readonly to: string }
    | { readonly mode: 'prune_objects'; readonly path: Path; readonly pruned: Pruned }
    | { readonly mode: 'return_error'; readonly refusal: Refusal }
  );

const stringModes = [
  'trim_prefix',
  'trim_suffix',
  'ensure_prefix',
  'ensure_suffix',
  'trim_space',
  'to_lower',
  'to_upper',
] as const;
export type StringMode = (typeof stringModes)[number];

/** What is wrong with a rule: parameters of `channel_rule_invalid`. */
export interface RuleProblem {
  /** `operations[2].path`. */
  readonly field: string;
  readonly expected_zh: string;
  readonly expected_en: string;
}

export const isRuleProblem = (read: object): read is RuleProblem => 'expected_en' in read;

class Invalid extends Error {
  constructor(readonly problem: RuleProblem) {
    super(problem.expected_en);
  }
}

type Members = Readonly<Record<string, unknown>>;

/** @throws what `problemOf` returns. */
export function invalid(field: string, expected_zh: string, expected_en: string): never {
  throw new Invalid({ field, expected_zh, expected_en });
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @param text JSON of an object that may have a member `operations`. @returns what is wrong with these. */
export function rulesProblem(text: string): RuleProblem | null {
  const { operations } = JSON.parse(text) as Readonly<Record<string, unknown>>;
  if (operations === undefined || operations === null) return null;
  if (text.length > maxRulesLength)
    return problemOf(() =>
      invalid(
        'param_override',
        `不超过 ${maxRulesLength} 个字符的文字`,
        `text of at most ${maxRulesLength} characters`,
      ),
    );
  const read = readOperations(operations);
  return isRuleProblem(read) ? read : null;
}

/** @param value member `operations` of a channel's `param_override`. @returns the rules in their order, or the first thing that is wrong. */
export function readOperations(value: unknown): readonly Operation[] | RuleProblem {
  return problemOf(() => {
    if (!Array.isArray(value)) invalid('operations', '规则列表', 'a list of rules');
    if (value.length > maxOperations)
      invalid('operations', `不超过 ${maxOperations} 条规则`, `a list of rules, at most ${maxOperations}`);
    return value.map((one, at) => readOperation(one, `operations[${at}]`));
  });
}

export function problemOf<Of>(read: () => Of): Of | RuleProblem {
  try {
    return read();
  } catch (error) {
    if (error instanceof Invalid) return error.problem;
    throw error;
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Scalars as Go prints them. @returns null = the value has no such form. */
export function printedScalar(value: unknown): string | null {
  if (typeof value === 'number') return printedNumber(value);
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : null;
}

/** As `%v` does: with an exponent from a million on, and below a ten-thousandth. */
function printedNumber(value: number): string {
  const plain = Math.abs(value);
  if (plain !== 0 && (plain < 1e-4 || plain >= 1e6)) {
    const [digits = '', exponent = '0'] = value.toExponential().split('e');
    const power = Number(exponent);
    return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
  }
  return String(value);
}

function readOperation(value: unknown, at: string): Operation {
  if (!isMembers(value)) invalid(at, '带 mode 的对象', 'an object with a mode');
  const { mode } = value;
  const when = whenOf(value, at);
  const path = (name: 'path' | 'from' | 'to', each = false): Path => pathOf(value[name], `${at}.${name}`, each);
  const written = (name: 'path' | 'to' | 'from'): Path => writable(path(name, name === 'path'), `${at}.${name}`, mode);
  const keep = value.keep_origin === true;
  switch (mode) {
    case 'delete':
      return { ...when, mode, path: written('path') };
    case 'set':
      return { ...when, mode, path: written('path'), value: value.value ?? null, keep };
    case 'move':
    case 'copy':
      return { ...when, mode, from: mode === 'move' ? written('from') : path('from'), to: written('to') };
    case 'sync_fields':
      return {
        ...when,
        mode,
        from: writable(pathOf(inBody(value.from, `${at}.from`), `${at}.from`, false), `${at}.from`, mode),
        to: writable(pathOf(inBody(value.to, `${at}.to`), `${at}.to`, false), `${at}.to`, mode),
      };
    case 'prepend':
    case 'append':
      return { ...when, mode, path: written('path'), value: value.value ?? null, keep };
    case 'trim_prefix':
    case 'trim_suffix':
    case 'ensure_prefix':
    case 'ensure_suffix': {
      const affix = printedScalar(value.value);
      if (affix === null || (affix === '' && mode.startsWith('ensure'))) invalid(`${at}.value`, '文字', 'a text');
      return { ...when, mode, path: written('path'), value: affix };
    }
    case 'trim_space':
    case 'to_lower':
    case 'to_upper':
      return { ...when, mode, path: written('path'), value: '' };
    case 'replace': {
      const from = textOf(value.from);
      if (from === '') invalid(`${at}.from`, '要替换的文字', 'the text to replace');
      return { ...when, mode, path: written('path'), from, to: textOf(value.to) };
    }
    case 'regex_replace':
      return {
        ...when,
        mode,
        path: written('path'),
        pattern: patternOf(textOf(value.from), `${at}.from`),
        to: textOf(value.to),
      };
    case 'prune_objects':
      return {
        ...when,
        mode,
        path: value.path === undefined || value.path === '' ? [] : path('path', true),
        pruned: prunedOf(value.value, `${at}.value`),
      };
    case 'return_error':
      return { ...when, mode, refusal: refusalOf(value.value, `${at}.value`) };
  }
  const modes = [...bodyModes].join(', ');
  return invalid(`${at}.mode`, `以下之一：${modes}`, `one of ${modes}`);
}

/** @returns the conditions that a rule has; without any it always acts. */
export const whenOf = (value: Members, at: string): When => ({
  conditions: value.conditions === undefined ? [] : conditionsOf(value.conditions, `${at}.conditions`),
  all: textOf(value.logic).toUpperCase() === 'AND',
});

const bodyModes: readonly Operation['mode'][] = [
  'set',
  'delete',
  'move',
  'copy',
  'prepend',
  'append',
  ...stringModes,
  'replace',
  'regex_replace',
  'prune_objects',
  'sync_fields',
  'return_error',
];

/** @returns the path of a `json:path` or a plain one. */
function inBody(value: unknown, at: string): string {
  const text = textOf(value).trim();
  const colon = text.indexOf(':');
  if (colon < 0) return text;
  const kind = text.slice(0, colon).trim().toLowerCase();
  if (kind !== 'json' && kind !== 'body') invalid(at, '请求体中的路径（json:…）', 'a path in the body (json:…)');
  return text.slice(colon + 1).trim();
}

/** Modes that take what they write from elsewhere in the request. */
const copying: ReadonlySet<unknown> = new Set(['move', 'copy', 'sync_fields']);

/** How an answer comes is decided by the request; which model serves it, by no caller's words. */
function writable(path: Path, at: string, mode: unknown): Path {
  const [first] = path;
  if (first === undefined || first.each || path.length > 1) return path;
  if (first.key === 'stream' || (first.key === 'model' && copying.has(mode)))
    invalid(
      at,
      'stream 以外的成员（move、copy、sync_fields 也不能写 model）',
      'a member other than stream (nor model for move, copy and sync_fields)',
    );
  return path;
}

/** Marks of the family's query language beyond plain paths. */
const query = /[#@|?{}[\]()!<>=%^$]/;

function pathOf(value: unknown, at: string, each: boolean): Path {
  const text = textOf(value);
  const steps: PathStep[] = [];
  let key = '';
  let isPlain = true;
  const end = (): void => {
    const isEach = isPlain && key.trim() === '*';
    if (key === '' || (isPlain && !isEach && /[*?]/.test(key)) || (isEach && !each) || (isPlain && key[0] === ':'))
      wrongPath(at, each);
    steps.push({ key, index: /^\d{1,9}$/.test(key) ? Number(key) : null, each: isEach });
    key = '';
    isPlain = true;
  };
  for (let index = 0; index < text.length; index++) {
    const sign = text[index] ?? '';
    if (sign === '\\') {
      key += text[++index] ?? wrongPath(at, each);
      isPlain = false;
    } else if (sign === '.') end();
    else if (query.test(sign)) wrongPath(at, each);
    else key += sign;
  }
  end();
  return steps;
}

const wrongPath = (at: string, each: boolean): never =>
  each
    ? invalid(
        at,
        '由点分隔的路径，如 messages.0.content 或 tools.*.name（不支持查询语法）',
        'a path with dots, such as messages.0.content or tools.*.name (queries are not supported)',
      )
    : invalid(
        at,
        '由点分隔的路径，如 messages.0.content（不支持查询语法和 *）',
        'a path with dots, such as messages.0.content (neither queries nor * are supported)',
      );

/** What only new-api knows about a request. */
const unknownContext = /^(?:last_error|retry|is_retry|is_channel_test|request_headers|header_override)(?:_|$)/;

function conditionsOf(value: unknown, at: string): readonly Condition[] {
  if (isMembers(value)) {
    const entries = Object.entries(value).filter(([name]) => name.trim() !== '');
    if (entries.length === 0) invalid(at, '至少一个条件', 'at least one condition');
    return bounded(entries, at).map(([name, wanted]) =>
      conditionOf({ path: name.trim(), mode: 'full', value: wanted }, `${at}.${name}`),
    );
  }
  if (!Array.isArray(value)) invalid(at, '条件列表', 'a list of conditions');
  return bounded(value, at).map((one, index) => conditionOf(one, `${at}[${index}]`));
}

function bounded<Of>(list: readonly Of[], at: string): readonly Of[] {
  if (list.length > maxConditions)
    invalid(at, `不超过 ${maxConditions} 个条件`, `a list of conditions, at most ${maxConditions}`);
  return list;
}

function conditionOf(value: unknown, at: string): Condition {
  if (!isMembers(value)) invalid(at, '带 path 和 mode 的对象', 'an object with a path and a mode');
  const mode = conditionModes.find((one) => one === textOf(value.mode).toLowerCase());
  if (mode === undefined)
    invalid(`${at}.mode`, `以下之一：${conditionModes.join('、')}`, `one of ${conditionModes.join(', ')}`);
  const path = pathOf(value.path, `${at}.path`, false);
  if (unknownContext.test(path[0]?.key ?? ''))
    invalid(
      `${at}.path`,
      '请求体中的路径，或 model、original_model、upstream_model、request_path',
      'a path in the body, or model, original_model, upstream_model or request_path',
    );
  return {
    path,
    mode,
    value: value.value ?? null,
    invert: value.invert === true,
    passMissing: value.pass_missing_key === true,
  };
}

function prunedOf(value: unknown, at: string): Pruned {
  const typed = (wanted: unknown): Condition => conditionOf({ path: 'type', mode: 'full', value: wanted }, at);
  const type = textOf(value).trim();
  if (type !== '') return { conditions: [typed(type)], all: true, recursive: true };
  if (!isMembers(value)) invalid(at, '类型名或带条件的对象', 'the name of a type or an object with conditions');
  const conditions = [
    ...(value.conditions === undefined ? [] : conditionsOf(value.conditions, `${at}.conditions`)),
    ...(value.where === undefined ? [] : conditionsOf(value.where, `${at}.where`)),
    ...(value.type === undefined ? [] : [typed(value.type)]),
  ];
  // Without one, everything would go.
  if (conditions.length === 0) invalid(at, '至少一个条件', 'at least one condition');
  const logic = textOf(value.logic).trim();
  return { conditions, all: logic === '' || logic.toUpperCase() === 'AND', recursive: value.recursive !== false };
}

function refusalOf(value: unknown, at: string): Refusal {
  const given = isMembers(value) ? value : { message: value };
  const message = textOf(given.message).trim() || textOf(given.msg).trim();
  if (message === '') invalid(at, '错误信息（message）', 'a message');
  const status = given.status_code ?? given.status ?? 400;
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 400 || status > 599)
    invalid(`${at}.status_code`, '400 到 599 的状态码', 'a status from 400 to 599');
  if (given.skip_retry === false)
    invalid(`${at}.skip_retry`, 'true：被规则拒绝的请求不会改试其他渠道', 'true: no other channel is tried for it');
  return { status, message };
}

/** Longest text that a pattern with an unbounded repetition looks at: its time is quadratic at worst. */
export const maxPatternText = 4096;
const maxPatternLength = 512;
const maxRepeat = 100;

/** Spellings that are Go's own, or that JavaScript reads otherwise; and references back. */
const foreign = /\\[AzZQEpPCGK1-9]|\[\[:|\(\?(?!:)/;

/** Repetitions of a pattern, as they come. */
function repetitions(pattern: string): readonly { readonly most: number; readonly ofGroup: boolean }[] {
  const found: { readonly most: number; readonly ofGroup: boolean }[] = [];
  let [isClass, before] = [false, ''];
  for (let at = 0; at < pattern.length; at++) {
    const sign = pattern[at] ?? '';
    if (sign === '\\') at++;
    else if (isClass) isClass = sign !== ']';
    else if (sign === '[') isClass = true;
    else if (sign === '*' || sign === '+') found.push({ most: Number.POSITIVE_INFINITY, ofGroup: before === ')' });
    else if (sign === '{') {
      const [, least = '', comma = '', most = ''] =
        /^\{(\d{1,4})(,?)(\d{0,4})\}/.exec(pattern.slice(at, at + 12)) ?? [];
      const times = comma === '' ? Number(least) : most === '' ? Number.POSITIVE_INFINITY : Number(most);
      if (least !== '') found.push({ most: times, ofGroup: before === ')' });
    }
    before = sign;
  }
  return found;
}

/** @returns whether a pattern's time may grow faster than its text. */
export const isUnbounded = ({ source }: RegExp): boolean =>
  repetitions(source).some(({ most }) => most === Number.POSITIVE_INFINITY);

/** @returns what runs in time that its text bounds: one unbounded repetition at most, none within another. */
export function patternOf(source: string, at: string): RegExp {
  const flags = /^\(\?([ims]{1,3})\)/.exec(source)?.[1] ?? '';
  const body = flags === '' ? source : source.slice(flags.length + 3);
  if (source === '' || source.length > maxPatternLength || foreign.test(body)) wrongPattern(at);
  const found = repetitions(body);
  const unbounded = found.filter(({ most }) => most === Number.POSITIVE_INFINITY);
  const isNested = found.length > 1 && found.some(({ ofGroup }) => ofGroup);
  const isLong = found.some(({ most }) => most > maxRepeat && most !== Number.POSITIVE_INFINITY);
  if (unbounded.length > 1 || isNested || isLong) wrongPattern(at);
  try {
    return new RegExp(body, `gu${[...new Set(flags)].join('')}`);
  } catch {
    return wrongPattern(at);
  }
}

const wrongPattern = (at: string): never =>
  invalid(
    at,
    '简单的正则表达式：最多一处不限次数的重复，不嵌套，不含反向引用',
    'a plain pattern: at most one unbounded repetition, none within another, no references back',
  );
