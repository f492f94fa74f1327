/** Refuses bodies that another parser could read as another model, number or size than the one that is billed: by what their members say and by how these are spelled. */
import { isModelName } from '../../contract/address-part.ts';
import { AppError } from '../../contract/errors.ts';
import { allCodecs } from '../../protocols/registry.ts';
import { record, records } from '../../protocols/shared/json.ts';
import { foldedName, looseName } from '../../protocols/shared/member-name.ts';
import { maxMembers, nameTwice, type Outline, outline } from './json-text.ts';
import type { MatchedRoute, Operation } from './routes.ts';

type Body = Readonly<Record<string, unknown>>;

interface JsonText {
  readonly text: string;
  readonly shape: Outline & { readonly ok: true };
}

const rejected = (detail: string): AppError => new AppError('body_invalid', { detail });

/** Also those whose words are checked or counted: read differently upstream they are as good as unread. */
const common = [
  'model',
  'models',
  'fallbacks',
  'fallback_models',
  'n',
  'best_of',
  'stream',
  'stream_options',
  'reasoning_effort',
  'size',
  'quality',
  'duration',
  'seconds',
  'resolution',
  'response_format',
  'service_tier',
  'speed',
  'inference_geo',
  'background',
  'deferred',
  'previous_response_id',
  'conversation',
  'container',
  'group',
  'messages',
  'system',
  'prompt',
  'input',
  'instructions',
  'contents',
  'requests',
  'tools',
] as const;

const definitions = allCodecs.map((codec) => codec.definition);
/** Objects of the dialects that say how long an answer may get, how much is thought, or what else is billed. */
const billedObjects: readonly string[] = definitions.flatMap(({ limit, gate }) => [
  ...(limit.nested?.objects ?? limit.thoughts.map(([object]) => object)),
  ...(gate?.objects ?? []),
]);
const billed: readonly string[] = [
  ...common,
  ...billedObjects,
  ...definitions.flatMap(({ limit, gate }) => [...limit.names, ...(gate?.names ?? [])]),
];

/** Members that a container of limits may hold twice in no spelling. */
const inContainer: readonly string[] = [
  'imageConfig',
  'image_config',
  'responseModalities',
  'response_modalities',
  'include_usage',
  'type',
  'effort',
  ...definitions.flatMap(({ limit: { nested, thoughts }, gate }) => [
    ...(nested?.names ?? []),
    ...(nested?.choices ?? []),
    ...thoughts.map(([object, member]) => (nested === undefined ? member : object)),
    ...(gate?.inObjects ?? []),
  ]),
];

const foldsOf = (names: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const folds = new Map<string, Set<string>>();
  for (const name of names) {
    const folded = foldedName(name);
    folds.set(folded, (folds.get(folded) ?? new Set()).add(name));
  }
  return folds;
};

/** Some read `max_tokens`, `max-tokens` and `maxTokens` alike. */
const unscored = (folded: string): string => folded.replaceAll(/[_-]/g, '');

/** How a name is read: `like` = the billed name that another parser takes it for, `spelled` = what all spellings of a billed name have in common. */
interface Reading {
  readonly like: string | null;
  readonly spelled: string | null;
}

/** The readings of one place, for its names come again and again. */
class NameReader {
  /** Names that were read before; others go through `read`. */
  readonly known = new Map<string, Reading>();
  private readonly folds: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(names: readonly string[]) {
    this.folds = foldsOf(names);
  }

  spellings(): readonly string[] {
    return [...this.folds.keys()].map(unscored);
  }

  read(name: string): Reading {
    const folded = foldedName(name);
    const exact = this.folds.get(folded);
    const spelled = unscored(folded);
    const reading = {
      like: exact?.has(name) === true ? null : likeOf(exact, folded, spelled),
      spelled: spellings.has(spelled) ? spelled : null,
    };
    if (this.known.size >= maxNames) this.known.clear();
    if (name.length <= maxNameLength) this.known.set(name, reading);
    return reading;
  }
}
const maxNames = 2000;
const maxNameLength = 64;

/** A request without a model is one for the usual model: nothing that some read as its name may stand there. */
const likeOf = (exact: ReadonlySet<string> | undefined, folded: string, spelled: string): string | null =>
  exact === undefined ? (spelled === 'model' ? spelled : null) : ([...exact][0] ?? folded);

const inBody = new NameReader(billed);
const inContainers = new NameReader(inContainer);
const knownInForm = foldsOf([...billed, 'file', '_charset_']);
/** The same without what some leave out of a name. */
const spelledInForm = new Map([...knownInForm.keys()].map((folded) => [unscored(folded), folded]));
const spellings: ReadonlySet<string> = new Set([...inBody.spellings(), ...inContainers.spellings()]);

const misread = (name: string, like: string): AppError => rejected(`${JSON.stringify(name)} could be read as ${like}`);

/** Some parser reads two spellings of one billed name as the same name. @throws AppError body_invalid. */
function checkNames(members: readonly { readonly key: string }[], reader: NameReader): void {
  let seen: string[] | null = null;
  for (const { key: name } of members) {
    const { like, spelled } = reader.known.get(name) ?? reader.read(name);
    if (like !== null) throw misread(name, like);
    if (spelled === null) continue;
    if (seen === null) seen = [spelled];
    else if (seen.includes(spelled)) throw rejected(`${name} appears twice`);
    else seen.push(spelled);
  }
}

/**
 * Form readers make lists and objects of `n[]` and `n[0]`, and an underscore of a dot.
 * @returns whether the field may come only once. @throws AppError body_invalid.
 */
export function checkFieldName(name: string): boolean {
  const [base = ''] = name.split('[', 1);
  const folded = foldedName(base.replaceAll(/[.-]/g, '_'));
  const exact = knownInForm.get(folded);
  const like = exact === undefined ? spelledInForm.get(unscored(folded)) : undefined;
  if (like !== undefined) throw misread(name, like);
  if (exact === undefined) return false;
  if (!exact.has(name)) throw misread(name, [...exact][0] ?? folded);
  return true;
}

const limits = definitions.map(({ limit }) => limit);
const numbers = ['n', 'best_of', 'partial_images', 'frame_count', ...new Set(limits.flatMap(({ names }) => names))];
/** Numbers at the top, and where clients and hosts merge the same ones into the request. */
const numbered: ReadonlySet<string> = new Set([...numbers, ...limits.flatMap(({ others = [] }) => others)]);
/** Numbers in the objects below. */
const innerNumbers: ReadonlySet<string> = new Set(
  limits.flatMap(({ nested, thoughts }) => [
    ...(nested?.names ?? []),
    ...(nested?.choices ?? []),
    ...thoughts.map(([, member]) => member),
  ]),
);
/** Objects with numbers that are billed. */
const configs = new Map(
  limits.flatMap(({ nested }) =>
    (nested?.objects ?? []).map((name) => [name, [...(nested?.names ?? []), ...(nested?.choices ?? [])]] as const),
  ),
);
const containers: ReadonlySet<string> = new Set(['stream_options', ...billedObjects]);
const images: ReadonlySet<Operation> = new Set<Operation>(['images', 'image_edits', 'image_variations']);
/** Work that goes on after its answer has come: it could not be charged. */
const deferredWork = ['background', 'deferred'] as const;

/** Clients write null for what they do not mean. */
const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/** @throws AppError body_invalid, background_unsupported. */
export function checkMembers({ text, shape }: JsonText, body: Body, { route, model }: MatchedRoute): void {
  checkNames(shape.members, inBody);
  for (const { key, valueStart, valueEnd } of shape.members) {
    const isWrapper = looseName(key) === 'extrabody';
    if (numbered.has(key)) checkWhole(key, text.slice(valueStart, valueEnd));
    if (!isWrapper && !containers.has(key)) continue;
    const innerText = text.slice(valueStart, valueEnd);
    const inner = outline(innerText, maxMembers);
    if (inner.ok) {
      if (isWrapper) checkWrappedModel(inner.members, key);
      else checkNames(inner.members, inContainers);
      const names = isWrapper ? numbered : innerNumbers;
      for (const { key: name, valueStart: start, valueEnd: end } of inner.members)
        if (names.has(name)) checkWhole(name, innerText.slice(start, end));
    } else if (inner.reason === 'too_deep') throw new AppError('body_too_deep');
  }
  checkNumbers(body, numbers);
  for (const [name, inner] of configs) {
    const config = body[name];
    if (config === undefined || config === null) continue;
    const members = record(config);
    if (members === null) throw rejected(`${name} must be an object`);
    checkNumbers(members, inner);
  }
  if (images.has(route.operation)) checkPicture(body);
  if (route.operation === 'chat' || route.operation === 'completions') checkChat(body);
  if (model !== null) checkNamedModels(body, model);
}

/** By loose names: schemas, notes, and what functions take and are given. What these call a thing is no request. */
const schemas: ReadonlySet<string> = new Set(
  'schema jsonschema responseschema responsejsonschema properties metadata clientmetadata logitbias variables'.split(
    ' ',
  ),
);
const functionWords: ReadonlySet<string> = new Set(
  'parameters inputschema parametersjsonschema arguments args input response'.split(' '),
);

/**
 * Whichever of two an upstream reads, the other one may have been counted.
 * @param text of a body that has more members than were read. @throws AppError body_invalid.
 */
export function checkTwice(text: string): void {
  const name = nameTwice(text, (own, inList) => {
    const loose = looseName(own);
    return schemas.has(loose) || (inList && functionWords.has(loose));
  });
  if (name !== null) throw rejected(`${name.slice(0, 100)} appears twice`);
}

/** It may become part of an address, and what is no text is replaced by some. @throws AppError body_invalid. */
export function checkModelName(model: string): void {
  if (isModelName(model)) return;
  throw rejected(`${JSON.stringify(model.slice(0, 100))} is no name of a model`);
}

/** Fields of a form are text. @throws AppError body_invalid. */
export function checkFields(body: Body, operation: Operation): void {
  const { n, partial_images, frame_count } = body;
  for (const [name, value] of Object.entries({ n, partial_images, frame_count }))
    if (value !== undefined && !/^[0-9]{1,4}$/.test(String(value))) throw rejected(`${name} must be a whole number`);
  if (images.has(operation)) checkPicture(body);
}

const number = /^-?\d+(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Of a number that is not whole as it is written, whatever a double makes of it, some parser makes 0, which may mean that
 * there is no bound. @throws AppError body_invalid.
 */
function checkWhole(name: string, source: string): void {
  const found = number.exec(source.trim());
  if (found === null) return;
  const [, decimals = '', exponent = '0'] = found;
  let digits = decimals.length;
  while (digits > 0 && decimals[digits - 1] === '0') digits--;
  if (digits > Number(exponent)) throw rejected(`${name} must be a whole number`);
}

/** Text and numbers beyond all bounds are read differently, or dropped, by less strict parsers. */
function checkNumbers(body: Body, names: readonly string[]): void {
  for (const name of names) {
    const value = body[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'number' || !Number.isFinite(value)) throw rejected(`${name} must be a number`);
  }
}

function checkPicture(body: Body): void {
  for (const name of ['size', 'quality'] as const) {
    const value = body[name];
    if (!isAbsent(value) && (typeof value !== 'string' || !/^[\x21-\x7e]*$/.test(value))) {
      throw rejected(`${name} must be a word without blanks`);
    }
  }
}

function checkChat(body: Body): void {
  for (const name of deferredWork) {
    const value = body[name];
    if (value !== undefined && value !== null && value !== false)
      throw new AppError('background_unsupported', { name });
  }
}

/** An upstream that merges the wrapper into its request, as LiteLLM does, would serve a model that is not the one that is paid. */
function checkWrappedModel(members: readonly { readonly key: string }[], wrapper: string): void {
  for (const { key: name } of members) if (looseName(name) === 'model') throw misread(`${wrapper}.${name}`, 'model');
}

/** Gemini names the model in each request of a batch again. */
function checkNamedModels(body: Body, model: string): void {
  for (const request of records(body.requests)) {
    const named = request.model;
    if (isAbsent(named)) continue;
    if (typeof named !== 'string' || bare(named) !== bare(model))
      throw rejected('every request must name the same model');
  }
}

const bare = (model: string): string => (model.startsWith('models/') ? model.slice('models/'.length) : model);
