/** Refuses bodies that another parser could read as another model, number or size than the one that is billed. */
import { isModelName } from '../../contract/address-part.ts';
import { AppError } from '../../contract/errors.ts';
import { allCodecs } from '../../protocols/registry.ts';
import { record, records } from '../../protocols/shared/json.ts';
import { billedObjects, checkMemberNames } from './billed-members.ts';
import type { JsonContent } from './inquiry.ts';
import { mostMembers, outline } from './json-text.ts';
import type { MatchedRoute, Operation } from './routes.ts';

type Body = Readonly<Record<string, unknown>>;

const refused = (detail: string): AppError => new AppError('body_invalid', { detail });

const limits = allCodecs.map(({ traits }) => traits.limit);
const numbers = ['n', 'best_of', ...new Set(limits.flatMap(({ names }) => names))];
/** Objects with numbers that are billed. */
const configs = new Map(
  limits.flatMap(({ nested }) =>
    (nested?.objects ?? []).map((name) => [name, [...(nested?.names ?? []), ...(nested?.choices ?? [])]] as const),
  ),
);
const containers: ReadonlySet<string> = new Set(['stream_options', ...billedObjects]);
const pictures: ReadonlySet<Operation> = new Set<Operation>(['images', 'image_edits', 'image_variations']);
/** Work that goes on when its answer has come: nobody would be there to pay for it. */
const lateWork = ['background', 'deferred'] as const;

/** Clients write null for what they do not mean. */
const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/** @throws AppError body_invalid, background_unsupported. */
export function checkMembers({ text, shape }: JsonContent, body: Body, { route, model }: MatchedRoute): void {
  checkMemberNames(shape.members, 'body');
  for (const { key, valueStart, valueEnd } of shape.members) {
    if (!containers.has(key)) continue;
    const inner = outline(text.slice(valueStart, valueEnd), mostMembers);
    if (inner.ok) checkMemberNames(inner.members, 'container');
    else if (inner.reason === 'too_deep') throw new AppError('body_too_deep');
  }
  checkNumbers(body, numbers);
  for (const [name, inner] of configs) {
    const config = body[name];
    if (isAbsent(config)) continue;
    const members = record(config);
    if (members === null) throw refused(`${name} must be an object`);
    checkNumbers(members, inner);
  }
  if (pictures.has(route.operation)) checkPicture(body);
  if (route.operation === 'chat' || route.operation === 'completions') checkChat(body);
  if (model !== null) checkNamedModels(body, model);
}

/** It may become part of an address, and what is no text is replaced by some. @throws AppError body_invalid. */
export function checkModelName(model: string): void {
  if (isModelName(model)) return;
  throw refused(`${JSON.stringify(model.slice(0, 100))} is no name of a model`);
}

/** Fields of a form are text. @throws AppError body_invalid. */
export function checkFields(body: Body, operation: Operation): void {
  const { n } = body;
  if (n !== undefined && !/^[0-9]{1,4}$/.test(String(n))) throw refused('n must be a whole number');
  if (pictures.has(operation)) checkPicture(body);
}

/** Text and numbers beyond all bounds are read as something else, or nothing, by whoever is less strict. */
function checkNumbers(body: Body, names: readonly string[]): void {
  for (const name of names) {
    const value = body[name];
    if (!isAbsent(value) && (typeof value !== 'number' || !Number.isFinite(value))) {
      throw refused(`${name} must be a number`);
    }
  }
}

function checkPicture(body: Body): void {
  for (const name of ['size', 'quality'] as const) {
    const value = body[name];
    if (!isAbsent(value) && (typeof value !== 'string' || !/^[\x21-\x7e]*$/.test(value))) {
      throw refused(`${name} must be a word without blanks`);
    }
  }
}

function checkChat(body: Body): void {
  for (const name of lateWork) {
    if (!isAbsent(body[name]) && body[name] !== false) throw new AppError('background_unsupported', { name });
  }
}

/** Gemini names the model in each request of a batch again. */
function checkNamedModels(body: Body, model: string): void {
  for (const request of records(body.requests)) {
    const named = request.model;
    if (isAbsent(named)) continue;
    if (typeof named !== 'string' || bare(named) !== bare(model))
      throw refused('every request must name the same model');
  }
}

const bare = (model: string): string => (model.startsWith('models/') ? model.slice('models/'.length) : model);
