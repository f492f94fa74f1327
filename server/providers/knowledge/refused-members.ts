/** Reads which members an upstream's refusal names, as far as they may be left out, and leaves them out of a body. */
import type { ProtocolId, UpstreamError } from '../../protocols/canonical.ts';
import type { Dropped } from '../../protocols/codec.ts';
import { record } from '../../protocols/shared/json.ts';
import {
  allows,
  betaMember,
  type Removable,
  type RemovableRow,
  removableRows,
  toolTypeMember,
} from './removable-members.ts';

type Members = Readonly<Record<string, unknown>>;

/** A request as it went upstream. */
export interface SentRequest {
  readonly dialect: ProtocolId;
  readonly body: Members;
  /** Names in the header `anthropic-beta`. */
  readonly betas: readonly string[];
  /** The model as the upstream calls it. */
  readonly model: string;
}

export interface RefusedMembers {
  readonly members: readonly Removable[];
  /** The names as the upstream wrote them. */
  readonly names: readonly string[];
  /** The words blame nothing else of this one request, so that it may be true of others. */
  readonly concernsAll: boolean;
}

const maxNames = 40;
const path = '[A-Za-z_$][\\w$.[\\]-]{0,119}';
const quotedName = new RegExp(`["'\`“‘](${path})["'\`”’]`, 'g');
/** `tools.0.strict: Extra inputs are not permitted`, one or several. */
const placeInFront = new RegExp(`(?:^|; |\\n)(${path}): `, 'g');
/** `Unrecognized request argument supplied: seed`, `Argument not supported on this model: seed` */
const placeBehind = new RegExp(`\\b(?:parameter|argument|field|member|property)s?(?: \\w{1,12}){0,6}: (${path})`, 'gi');

/** A place that the upstream names in a member of its own counts alone. */
function namesIn({ param, code, message }: UpstreamError): readonly string[] {
  if (param !== undefined && param !== '') return [param];
  const found = new Set<string>();
  for (const pattern of [placeInFront, quotedName, placeBehind])
    for (const [, name = ''] of message.matchAll(pattern)) if (found.size < maxNames) found.add(name);
  if (code !== null && /^[a-z_.]{2,60}$/.test(code)) found.add(code);
  return [...found];
}

const folded = (name: string): string => name.replaceAll('_', '').toLowerCase();

/** `body.tools.0.custom.strict` → `tools[]`, `custom`, `strict`. */
function stepsOf(name: string): string[] {
  const steps: string[] = [];
  for (const part of name
    .replace(/^(?:\$|body|request|params)\./, '')
    .replace(/\[(\d*)\]/g, '.$1')
    .split('.')) {
    if (/^\d*$/.test(part) && steps.length > 0) steps[steps.length - 1] += '[]';
    else steps.push(folded(part));
  }
  return steps;
}

const stepsOfRow = new Map(removableRows.map((row) => [row, row.member.split('.').map(folded)]));

/** Validators put the kind of a list's item between its place and its member: that step may be too much. */
function isPlaceOf(steps: readonly string[], wanted: readonly string[]): boolean {
  let at = 0;
  let afterItem = false;
  for (const step of steps) {
    if (at < wanted.length && step === wanted[at]) {
      afterItem = step.endsWith('[]');
      at++;
    } else if (afterItem) afterItem = false;
    else return false;
  }
  return at === wanted.length;
}

/** Values at a path. */
function* valuesAt(value: unknown, steps: readonly string[], at = 0): Generator<unknown> {
  const object = record(value);
  const step = steps[at];
  if (object === null || step === undefined) return;
  const isList = step.endsWith('[]');
  const key = isList ? step.slice(0, -2) : step;
  if (!Object.hasOwn(object, key)) return;
  const held = object[key];
  if (at === steps.length - 1) {
    if (held !== undefined) yield held;
  } else if (!isList) yield* valuesAt(held, steps, at + 1);
  else if (Array.isArray(held)) for (const item of held) yield* valuesAt(item, steps, at + 1);
}

const valuesOf = (row: RemovableRow, body: Members): unknown[] => [...valuesAt(body, row.member.split('.'))];

/** How often a member of this name stands anywhere in a value. Not by recursion: bodies nest deeply. */
function countKeys(value: unknown, name: string): number {
  const wanted = folded(name);
  let count = 0;
  const waiting: unknown[] = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (Array.isArray(next)) for (const item of next) waiting.push(item ?? null);
    else if (typeof next === 'object' && next !== null)
      for (const [key, item] of Object.entries(next)) {
        if (folded(key) === wanted) count++;
        waiting.push(item ?? null);
      }
  }
  return count;
}

const lastOf = (row: RemovableRow): string => row.member.slice(row.member.lastIndexOf('.') + 1);

/** How often members that may be left out stand in a body under this name, in its own dialect. */
export function countRemovable(name: string, dialect: ProtocolId, body: Members): number {
  let count = 0;
  for (const row of removableRows)
    if (row.dialect === dialect && lastOf(row) === name) count += valuesOf(row, body).length;
  return count;
}

/** What a name means in the body that was sent. */
function rowsNamed(name: string, { dialect, body }: SentRequest): RemovableRow[] {
  const steps = stepsOf(name);
  const rows = removableRows.filter((row) => row.dialect === dialect && row.member !== betaMember);
  const named = rows.filter((row) => isPlaceOf(steps, stepsOfRow.get(row) ?? []) && valuesOf(row, body).length > 0);
  if (steps.length > 1) return named;
  const [step = ''] = steps;
  const found =
    named.length > 0
      ? named
      : rows.filter(
          (row) => row.member !== toolTypeMember && folded(lastOf(row)) === step && valuesOf(row, body).length > 0,
        );
  // It may mean a member of the same name elsewhere.
  const count = found.reduce((sum, row) => sum + valuesOf(row, body).length, 0);
  return count === countKeys(body, step) ? found : [];
}

const unsupported =
  /unsupported|not (?:be )?(?:supported|permitted|allowed|accepted|recogni[sz]ed|available)|unrecogni[sz]ed|unknown|unexpected|extra.(?:inputs|forbidden)|deprecated|n[o']t support|cannot find field|no longer|不支持|未知|无法识别/i;
const onlyDefault = /only the default/i;
const ofValue =
  /\bvalues?\b|must (?:be|equal)|should be|has to be|expected|\bthan\b|between|\brange\b|at (?:most|least)|minimum|maximum|exceed|invalid type|one of|variant|取值|范围|必须/i;
/**
 * The words of sentences that are true of every request to a model: whichever else one has, the refusal may depend on it, be it
 * another member, the account, its plan or the moment. Servers word such reasons in too many ways to list them.
 */
const generalWords = new Set(
  (
    'a an the this that it is are was be been being do does did not no nor can cannot could will won longer yet currently ' +
    "isn't doesn't don't aren't can't cannot supported support supports supporting unsupported permitted allowed allow " +
    'allows accepted accept accepts recognized recognised recognize available unrecognized unrecognised unknown ' +
    'unexpected extra extraneous input inputs forbidden deprecated removed find found invalid field fields parameter ' +
    'parameters param params argument arguments arg args member members property properties option options keyword ' +
    'name names body json payload received supplied provided given specified in at of to for by on from as ' +
    'model models api endpoint upstream provider server backend deployment only default value values one but and or ' +
    'must should expected got use please instead remove try again error http header headers beta betas s selected requested current'
  ).split(' '),
);
/** Phrases that say nothing about a member, though their single words might. */
const phrases =
  /\b(?:invalid|bad|malformed)(?: input)? request\b|\brequest (?=(?:argument|parameter|body|field|payload|property)s?\b)|\b(?:http|status|code):? [45]\d\d\b|\bwith (?=(?:(?:this|the|that|selected|requested|current) ){0,3}model\b)/gi;
const chineseWords =
  /当前|模型|不再|不支持|支持|不允许|参数|字段|属性|取值|该|此|这个|的|未知|无法识别|无效|错误|请求体/g;
/** Codes are words, too. */
const conditionalCode = /account|organi[sz]ation|tier|plan|user|key|quota|region|permission/i;

/** Whether a refusal blames nothing besides the members that it names. */
function isGeneral(words: string, { code, type }: UpstreamError, names: readonly string[]): boolean {
  if (conditionalCode.test(`${code ?? ''} ${type ?? ''}`)) return false;
  const own = new Set(names.flatMap((name) => name.toLowerCase().split(/[^a-z]+/)));
  const said = words.replace(phrases, ' ').replace(chineseWords, ' ').replaceAll('’', "'").toLowerCase();
  // A number is most often the value that was refused.
  if (/\d/.test(said) && !onlyDefault.test(said)) return false;
  for (const [word] of said.matchAll(/\p{L}[\p{L}']*/gu)) if (!generalWords.has(word) && !own.has(word)) return false;
  return true;
}

/** @returns null where the refusal names nothing that may be left out, or more than one thing. */
export function refusedMembers(error: UpstreamError, sent: SentRequest): RefusedMembers | null {
  const names = namesIn(error);
  const betas = namedBetas(error, names, sent);
  const words = plainWords(error, sent.model);
  if (betas.members.length > 0) return { ...betas, concernsAll: isGeneral(words, error, [...betas.names, betaMember]) };
  const meant = names.map((name) => ({ name, rows: rowsNamed(name, sent) })).filter(({ rows }) => rows.length > 0);
  const rows = [...new Set(meant.flatMap((one) => one.rows))];
  const [first] = rows;
  if (first === undefined || new Set(rows.map(lastOf)).size > 1) return null;
  const written = meant.map(({ name }) => name);
  const general = isGeneral(words, error, [...written, first.member]);
  if (first.member === toolTypeMember) return toolTypes(first, written, sent, general);
  const aboutValue = !onlyDefault.test(words) && ofValue.test(words);
  const members = rows.map((row): Removable => ({ row, value: aboutValue ? onlyWord(row, sent.body) : null }));
  // A number that is too large says nothing about others.
  const isWhole = !aboutValue && unsupported.test(`${error.code ?? ''} ${error.type ?? ''} ${words}`);
  return {
    members,
    names: written,
    concernsAll: general && (isWhole || members.every(({ value }) => value !== null)),
  };
}

/** @returns null where the member is no word, or not the same one everywhere. */
function onlyWord(row: RemovableRow, body: Members): string | null {
  const words = new Set(valuesOf(row, body));
  for (const word of words) if (words.size === 1 && typeof word === 'string' && allows(row, word)) return word;
  return null;
}

/** Names of members are no words of the sentence, and the model's name is none. */
function plainWords({ message }: UpstreamError, model: string): string {
  let words = message;
  for (const quote of ['"', "'", '`']) words = words.replaceAll(`${quote}${model}${quote}`, thisModel);
  return (model === '' ? words : words.replaceAll(model, thisModel))
    .replace(quotedName, ' - ')
    .replace(placeInFront, ' ')
    .replace(placeBehind, (all, name: string) => all.slice(0, -name.length));
}

const thisModel = 'this model';

function namedBetas({ message }: UpstreamError, names: readonly string[], { betas, dialect }: SentRequest) {
  const row = removableRows.find((one) => one.member === betaMember && one.dialect === dialect);
  if (row === undefined || !/\bbeta\b/i.test(message)) return { members: [], names: [] };
  const named = betas.filter((beta) => names.includes(beta) && allows(row, beta));
  return { members: named.map((value): Removable => ({ row, value })), names: named };
}

/** A kind of tool is meant by the place of one. */
function toolTypes(
  row: RemovableRow,
  names: readonly string[],
  { body }: SentRequest,
  concernsAll: boolean,
): RefusedMembers | null {
  const tools = Array.isArray(body.tools) ? body.tools : [];
  const types = new Set<string>();
  for (const name of names) {
    const at = /^(?:body\.)?tools[.[](\d+)/.exec(name)?.[1];
    const type = at === undefined ? null : record(tools[Number(at)])?.type;
    if (typeof type === 'string' && allows(row, type)) types.add(type);
  }
  const members = [...types].map((value): Removable => ({ row, value }));
  return members.length === 0 ? null : { members, names, concernsAll };
}

/** What is left out, in the words of a log row. */
const reason = 'refused by this upstream before, left out';

/** @param removed of this dialect. @returns the same object where none of them stands in it. Types of tools and features in headers are not its concern. */
export function leftOut(body: Members, removed: readonly Removable[], dropped: Dropped): Members {
  let left = body;
  for (const { row, value } of removed) {
    if (row.member === betaMember || row.member === toolTypeMember) continue;
    const next = withoutPath(left, row.member.split('.'), value) as Members;
    if (next === left) continue;
    left = next;
    dropped.push(`/${row.member.replaceAll('.', '/')}: ${reason}`);
  }
  return left;
}

/** Objects that are empty then go, too; items of lists stay. */
function withoutPath(value: unknown, [step = '', ...rest]: readonly string[], only: string | null): unknown {
  const object = record(value);
  const isList = step.endsWith('[]');
  const key = isList ? step.slice(0, -2) : step;
  if (object === null || !Object.hasOwn(object, key)) return value;
  const held = object[key];
  if (rest.length === 0) {
    if (only !== null && held !== only) return value;
    const { [key]: _, ...others } = object;
    return others;
  }
  if (isList) {
    if (!Array.isArray(held)) return value;
    const items = held.map((item) => withoutPath(item, rest, only));
    return items.every((item, at) => item === held[at]) ? value : { ...object, [key]: items };
  }
  const next = withoutPath(held, rest, only);
  if (next === held) return value;
  if (Object.keys(next as object).length > 0) return { ...object, [key]: next };
  const { [key]: _, ...others } = object;
  return others;
}

/** @param header names in `anthropic-beta`, parted by commas. @returns the same text where none of them goes. */
export function betasLeft(header: string, removed: readonly Removable[], dropped: Dropped): string {
  const gone = removed.flatMap(({ row, value }) => (row.member === betaMember && value !== null ? [value] : []));
  const names = betasIn(header);
  const left = names.filter((name) => !gone.includes(name));
  if (left.length === names.length) return header;
  for (const name of names) if (gone.includes(name)) dropped.push(`/${betaMember}/${name}: ${reason}`);
  return left.join(',');
}

export const betasIn = (header: string): string[] =>
  header
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

/** @param known types that the provider takes; null = all. @returns types that are taken, where some are not; null = all. */
export function toolTypesLeft(removed: readonly Removable[], known: RegExp | null): RegExp | null {
  const gone = removed.flatMap(({ row, value }) => (row.member === toolTypeMember && value !== null ? [value] : []));
  if (gone.length === 0) return known;
  // Values that are allowed are words.
  return new RegExp(`^(?!(?:${gone.join('|')})$)${known === null ? '' : `(?:${known.source})`}`);
}
