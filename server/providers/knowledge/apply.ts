/** Brings a body within what a provider takes. Nothing is changed in place: what no rule bites stays the same value. */
import { createHash } from 'node:crypto';
import { bareName } from '../../contract/model-limits.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { Dropped } from '../../protocols/codec.ts';
import { guardedLookup, record } from '../../protocols/shared/json.ts';
import { pictureType } from '../../protocols/shared/media.ts';
import {
  isInstruction,
  isSystemFirst,
  JoinedTurns,
  joinedContent,
  ownOrder,
  type SystemOrder,
  safeOrder,
  withSystemFirst,
} from './message-order.ts';
import { providerRows } from './providers.ts';
import type { Demand, ProviderRow } from './row.ts';

type Members = Readonly<Record<string, unknown>>;

interface Step {
  readonly key: string;
  /** The member is a list: the rest of the path holds for each of it. */
  readonly each: boolean;
}

interface Rule {
  readonly row: ProviderRow;
  readonly path: readonly Step[];
  /** Member of the body in which it lies. */
  readonly top: string;
}

/** What a provider wants of the requests for one model. */
export interface Rules {
  readonly list: readonly Rule[];
  /** Members that some rule of the provider is about. */
  readonly tops: ReadonlySet<string>;
}

/** Their loss changes nothing in an answer. */
const silent = new Set([
  'stream_options',
  'stream_options.include_usage',
  'store',
  'metadata',
  'include',
  'client_metadata',
  'access_programs',
  'messages[].role',
]);

type Compiled = ReadonlyMap<string, Rules>;

function compile(rows: readonly ProviderRow[]): Compiled {
  const compiled = new Map<string, Rules>();
  for (const row of rows) {
    const key = `${row.provider} ${row.dialect}`;
    const rule = ruleOf(row);
    const before = compiled.get(key);
    compiled.set(key, {
      list: [...(before?.list ?? []), rule],
      // What must be there is missed where that stands beside which it must be.
      tops: new Set([
        ...(before?.tops ?? []),
        rule.top,
        ...(row.demand.kind === 'present' && rule.path.length === 1 ? [row.onlyWith ?? rule.top] : []),
      ]),
    });
  }
  return compiled;
}

function ruleOf(row: ProviderRow): Rule {
  const path = row.member.split('.').map((part) => ({ key: part.replace('[]', ''), each: part.endsWith('[]') }));
  return { row, path, top: path[0]?.key ?? '' };
}

const providerRules = compile(providerRows);
const ofPassed = compile(providerRows.filter(({ translatedOnly }) => translatedOnly !== true));

/**
 * @param provider slug of the catalogue.
 * @param translated whether the request is translated; else it passes as its client wrote it.
 * @param model as the upstream calls it.
 * @param order where the channel's host takes instructions.
 * @returns undefined where the provider takes what its dialect takes.
 */
export function rulesFor(
  provider: string,
  dialect: ProtocolId,
  translated: boolean,
  model: string,
  order: SystemOrder = 'default',
): Rules | undefined {
  const all = (translated ? providerRules : ofPassed).get(`${provider} ${dialect}`);
  const name = bareName(model);
  const known = all?.list.filter(({ row: { models } }) => models === undefined || models.test(name)) ?? [];
  const list = withOrder(known, order, { provider, dialect, translated });
  if (list.length === 0) return undefined;
  return { list, tops: new Set([...(all?.tops ?? []), ...list.map(({ top }) => top)]) };
}

const isOrder = ({ row: { demand } }: Rule): boolean => demand.kind === 'systemFirst';

/** What is said of the order of turns comes before the rules that look at it. */
function withOrder(
  known: readonly Rule[],
  order: SystemOrder,
  { provider, dialect, translated }: { provider: string; dialect: ProtocolId; translated: boolean },
): readonly Rule[] {
  if (order === 'anywhere') return known.some(isOrder) ? known.filter((rule) => !isOrder(rule)) : known;
  if (known.some(isOrder)) return known;
  const rows = order === 'first' ? ownOrder(provider, dialect) : translated ? safeOrder(provider, dialect) : [];
  return rows.length === 0 ? known : [...rows.map(ruleOf), ...known];
}

/** Whether a member of this name is refused as a whole. */
export const rejectsMember = (rules: Rules | undefined, member: string): boolean =>
  rules?.list.some(({ row }) => row.member === member && row.demand.kind === 'absent') === true;

/** @returns the same object where no rule bites. */
export function withinRules(body: Members, rules: Rules | undefined, dropped: Dropped): Members {
  return rules === undefined || !touches(rules, body) ? body : heldToRules(body, rules, dropped);
}

/** The same for a body that has one of the members in question. */
export function heldToRules(body: Members, rules: Rules, dropped: Dropped): Members {
  let within = body;
  for (const { row, path, top } of rules.list) {
    if ((row.demand.kind !== 'present' && !Object.hasOwn(within, top)) || !bites(within, path, 0, row)) continue;
    const reasons: string[] = [];
    within = changed(within, path, row, reasons) as Members;
    if (reasons.length === 0 || silent.has(row.member)) continue;
    dropped.push(`/${row.member.replaceAll('.', '/')}: ${reasons[0]}`);
  }
  return within;
}

/** Looks for something to change and allocates nothing: nearly every body has nothing. */
function bites(value: unknown, path: readonly Step[], at: number, row: ProviderRow): boolean {
  const step = path[at];
  if (step === undefined || typeof value !== 'object' || value === null) return false;
  const object = value as Members;
  const held = object[step.key];
  if (at === path.length - 1) return unmet(object, step.key, row);
  if (!step.each) return bites(held, path, at + 1, row);
  const key = path[at + 1]?.key;
  if (!Array.isArray(held) || key === undefined) return false;
  const mayLack = row.demand.kind === 'present';
  for (const item of held) {
    if (typeof item !== 'object' || item === null || !(mayLack || Object.hasOwn(item, key))) continue;
    if (bites(item, path, at + 1, row)) return true;
  }
  return false;
}

function unmet(object: Members, key: string, row: ProviderRow): boolean {
  const { demand } = row;
  if (!appliesTo(object, row)) return false;
  const value = object[key];
  if (demand.kind === 'absent') return value !== undefined || Object.hasOwn(object, key);
  if (demand.kind === 'present') return isMissing(value, demand);
  if (demand.kind === 'notNull') return value === null;
  if (value === undefined || value === null) return false;
  if (demand.kind === 'oneOf') return typeof value === 'string' && !demand.words.includes(value);
  if (demand.kind === 'word') return typeof value === 'object';
  if (demand.kind === 'systemFirst') return Array.isArray(value) && !isSystemFirst(value, demand.apart, object);
  if (demand.kind === 'continued') return Array.isArray(value) && isUnmarked(value.at(-1), demand.member);
  if (demand.kind === 'asked') return Array.isArray(value) && !hasRole(value, demand.by.role);
  if (demand.kind === 'shaped') return typeof value === 'string' && !demand.pattern.test(value);
  if (demand.kind === 'pictured') return pictureAt(object, key, demand.data) !== value;
  if (demand.kind === 'without') return Array.isArray(value) && value.some((word) => demand.words.includes(word));
  return true;
}

/** Most bodies have none of the members. */
export function touches({ tops }: Rules, body: Members): boolean {
  for (const name in body) if (tops.has(name)) return true;
  return false;
}

const noEdits: ReadonlyMap<string, string | undefined> = new Map();

/** The members in which two bodies differ, as edits. */
export function editsBetween(before: Members, after: Members): ReadonlyMap<string, string | undefined> {
  if (before === after) return noEdits;
  const edits = new Map<string, string | undefined>();
  for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) edits.set(name, undefined);
  for (const [name, value] of Object.entries(after)) if (before[name] !== value) edits.set(name, JSON.stringify(value));
  return edits;
}

function changed(value: unknown, [step, ...rest]: readonly Step[], row: ProviderRow, reasons: string[]): unknown {
  const object = record(value);
  if (object === null || step === undefined) return value;
  const { key, each } = step;
  const { demand } = row;
  if (rest.length === 0) {
    if (!appliesTo(object, row)) return value;
    if (demand.kind === 'present') return isMissing(object[key], demand) ? { ...object, [key]: demand.value } : value;
    return Object.hasOwn(object, key) ? satisfy(object, key, demand, reasons) : value;
  }
  if (!Object.hasOwn(object, key)) return value;
  const held = object[key];
  const inside = (item: unknown) => changed(item, rest, row, reasons);
  if (!each) {
    const next = inside(held);
    return next === held ? value : { ...object, [key]: next };
  }
  if (!Array.isArray(held)) return value;
  const next = held.map(inside);
  return next.every((item, index) => item === held[index]) ? value : { ...object, [key]: next };
}

const isMissing = (value: unknown, { notEmpty }: Extract<Demand, { kind: 'present' }>): boolean =>
  value === undefined || value === null || (notEmpty === true && value === '');

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);

/** Whether that stands beside it without which a row says nothing. */
const appliesTo = (object: Members, { onlyWith: paired, onlyWithType }: ProviderRow): boolean =>
  paired === undefined ||
  (!isEmpty(object[paired]) && (onlyWithType === undefined || record(object[paired])?.type === onlyWithType));

type ValueDemand = Exclude<Demand, { kind: 'present' }>;

function satisfy(object: Members, key: string, demand: ValueDemand, reasons: string[]): Members {
  const value = object[key];
  if (demand.kind === 'absent') {
    if (value !== undefined && value !== null) reasons.push('not taken by the upstream');
    return without(object, key);
  }
  if (demand.kind === 'notNull') return value === null ? without(object, key) : object;
  if (value === undefined || value === null) return object;
  switch (demand.kind) {
    case 'renamed': {
      const rest = without(object, key);
      return Object.hasOwn(object, demand.to) ? rest : { ...rest, [demand.to]: value };
    }
    case 'mentions':
      if (!Array.isArray(value) || demand.word.test(JSON.stringify(value))) return object;
      reasons.push('a word that the upstream demands is put before them');
      return { ...object, [key]: led(demand.by, value) };
    case 'continued': {
      const last = Array.isArray(value) ? record(value.at(-1)) : null;
      if (!Array.isArray(value) || !isUnmarked(last, demand.member)) return object;
      return { ...object, [key]: value.with(-1, { ...last, [demand.member]: true }) };
    }
    case 'asked':
      return asked(object, key, demand, reasons);
    case 'parted':
      return parted(object, key, demand, reasons);
    case 'alternating':
      return alternating(object, key, reasons);
    case 'systemFirst':
      return withSystemFirst(object, key, demand.apart, reasons);
    case 'atMost':
    case 'atLeast': {
      if (Array.isArray(value) && demand.kind === 'atMost') {
        if (value.length <= demand.value) return object;
        reasons.push(`no more than ${demand.value}`);
        return { ...object, [key]: value.slice(0, demand.value) };
      }
      if (typeof value !== 'number') return object;
      const within = demand.kind === 'atMost' ? Math.min(value, demand.value) : Math.max(value, demand.value);
      if (within === value) return object;
      reasons.push(`${within} instead of ${value}`);
      return { ...object, [key]: within };
    }
    case 'word':
      if (typeof value !== 'object') return object;
      reasons.push(`${demand.instead} instead of one by its name`);
      return { ...object, [key]: demand.instead };
    case 'oneOf':
      return oneOf(object, key, demand, reasons);
    case 'pictured': {
      const type = pictureAt(object, key, demand.data);
      return type === value ? object : { ...object, [key]: type };
    }
    case 'without': {
      const left = Array.isArray(value) ? value.filter((word) => !demand.words.includes(word)) : value;
      return Array.isArray(left) && left.length === 0 ? without(object, key) : { ...object, [key]: left };
    }
    case 'shaped':
      // An id may be replaced: call and result are changed alike.
      return typeof value !== 'string' || demand.pattern.test(value)
        ? object
        : { ...object, [key]: shortHash(value, demand.length) };
  }
}

/** What the picture beside the label is; what is no picture's label stays. */
function pictureAt(object: Members, key: string, data: string): unknown {
  const [label, bytes] = [object[key], object[data]];
  const isLabelled = typeof label === 'string' && label.startsWith('image/') && typeof bytes === 'string';
  return isLabelled ? pictureType(bytes, label) : label;
}

function oneOf(object: Members, key: string, demand: Extract<Demand, { kind: 'oneOf' }>, reasons: string[]): Members {
  const value = object[key];
  if (typeof value !== 'string' || demand.words.includes(value)) return object;
  const instead = demand.instead === undefined ? undefined : guardedLookup(demand.instead, value);
  reasons.push(instead === undefined ? `${value} is not taken by the upstream` : `${instead} instead of ${value}`);
  return instead === undefined ? without(object, key) : { ...object, [key]: instead };
}

const isUnmarked = (turn: unknown, member: string): boolean => {
  const last = record(turn);
  return last?.role === 'assistant' && isEmpty(last.tool_calls) && last[member] !== true;
};

const hasRole = (turns: readonly unknown[], role: string): boolean => turns.some((turn) => record(turn)?.role === role);

function asked(object: Members, key: string, { by }: Extract<Demand, { kind: 'asked' }>, reasons: string[]): Members {
  const value = object[key];
  if (!Array.isArray(value) || hasRole(value, by.role)) return object;
  const first = value.findIndex((turn) => !isInstruction(turn));
  const at = first < 0 ? value.length : first;
  reasons.push(`the upstream wants somebody to ask: a word of the ${by.role}’s stands before the answers`);
  return { ...object, [key]: value.toSpliced(at, 0, by) };
}

/** A host may take one system message alone. */
function led(by: { readonly role: string; readonly content: string }, turns: readonly unknown[]): readonly unknown[] {
  const first = record(turns[0]);
  if (first?.role !== by.role) return [by, ...turns];
  return [{ ...first, content: joinedContent([by.content, first.content], 'text') }, ...turns.slice(1)];
}

function parted(object: Members, key: string, demand: Extract<Demand, { kind: 'parted' }>, reasons: string[]): Members {
  const value = object[key];
  if (!Array.isArray(value)) return object;
  const roles = value.map((message) => record(message)?.role);
  const apart = value.flatMap((message, index) =>
    roles[index] === demand.before && roles[index - 1] === demand.after ? [demand.by, message] : [message],
  );
  if (apart.length === value.length) return object;
  reasons.push(`${demand.before} cannot follow ${demand.after} here: a word of the ${demand.by.role}’s stands between`);
  return { ...object, [key]: apart };
}

/** Words stay words where both are. Calls and their results stand for themselves. */
function alternating(object: Members, key: string, reasons: string[]): Members {
  const value = object[key];
  if (!Array.isArray(value)) return object;
  const joined = new JoinedTurns('text');
  for (const item of value) {
    const [last, next] = [joined.last, record(item)];
    const speaks = next?.role === 'user' || next?.role === 'assistant';
    const plain = (message: Members | null) => message?.tool_calls == null;
    if (!speaks || last?.role !== next.role || !plain(last) || !plain(next)) joined.add(item);
    else joined.join(next);
  }
  const turns = joined.all();
  if (turns.length === value.length) return object;
  reasons.push(`what one side says in a row is one message here${joined.losses}`);
  return { ...object, [key]: turns };
}

function without(object: Members, key: string): Members {
  const { [key]: _, ...rest } = object;
  return rest;
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Letters and digits alone. */
const shortHash = (id: string, length: number): string =>
  [...createHash('sha256').update(id).digest().subarray(0, length)].map((byte) => letters[byte % 62]).join('');
