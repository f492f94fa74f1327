/**
 * The table of what multiplies work: members of a request by which one call becomes many answers, pictures, texts or
 * searches. Estimates, charges by the call and shortened answers read it; tests/relay/vendor-members.test.ts compares it
 * with the vendors' request types, where every other list, number and choice of words has a row as well.
 */
import { dearest, type Reading } from '../contract/pricing/dearest.ts';
import { record } from '../protocols/shared/json.ts';
import { looseName } from '../protocols/shared/member-name.ts';

type Members = Readonly<Record<string, unknown>>;

/** What there is more of. */
export type Multiplied = 'answers' | 'prompts' | 'pictures' | 'previews' | 'frames' | 'texts' | 'documents';

export interface Multiplier {
  readonly operations: readonly string[];
  /** Where it stands, as the vendor spells it. */
  readonly path: string;
  readonly of: Multiplied;
  /** How often the work is done for a value; 0 = the value does not say. */
  readonly times: (value: unknown) => number;
  readonly source: string;
}

/** No upstream does more at once; wishes beyond it are the same wish, and sums stay exact. */
export const maxTimes = 1_000_000;

/** Rounded up: an upstream may take half an answer for one. */
function number(value: unknown): number {
  const count = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof count === 'number' && count > 0 ? Math.ceil(Math.min(count, maxTimes)) : 0;
}

/** A list, or the longest one in an object that some hosts have in its place. */
function listIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  let found: readonly unknown[] = none;
  for (const inner of Object.values(record(value) ?? {}))
    if (Array.isArray(inner) && inner.length > found.length) found = inner;
  return found;
}
const none: readonly unknown[] = [];

const length = (value: unknown): number => listIn(value).length;

/** A list of numbers is one text, sent as its tokens. */
const texts = (value: unknown): number =>
  Array.isArray(value) && value.some((item) => typeof item !== 'number') ? value.length : 0;

const pictureCalls = ['images', 'image_edits', 'image_variations'] as const;
const openai = 'https://platform.openai.com/docs/api-reference';

export const multipliers: readonly Multiplier[] = [
  row('chat completions', 'n', 'answers', number, `${openai}/chat/create`),
  row('chat completions', 'best_of', 'answers', number, `${openai}/completions/create`),
  row('chat', 'generationConfig.candidateCount', 'answers', number, 'https://ai.google.dev/api/generate-content'),
  row('completions', 'prompt', 'prompts', texts, `${openai}/completions/create`),
  row('embeddings', 'input', 'texts', texts, `${openai}/embeddings/create`),
  row('embeddings', 'requests', 'texts', length, 'https://ai.google.dev/api/embeddings'),
  row('moderations', 'input', 'texts', texts, `${openai}/moderations/create`),
  row(pictureCalls.join(' '), 'n', 'pictures', number, `${openai}/images/create`),
  row('images image_edits', 'partial_images', 'previews', number, `${openai}/images/create`),
  row('images image_edits', 'frame_count', 'frames', number, `${openai}/images/create`),
  row('rerank', 'documents', 'documents', length, 'https://docs.cohere.com/reference/rerank'),
  row('rerank', 'texts', 'documents', length, 'https://huggingface.github.io/text-embeddings-inference'),
  row('rerank', 'passages', 'documents', length, 'https://docs.nvidia.com/nim/nemo-retriever/text-reranking'),
  row('rerank', 'sources', 'documents', length, 'https://docs.aws.amazon.com/bedrock/latest/APIReference'),
  row('rerank', 'records', 'documents', length, 'https://cloud.google.com/generative-ai-app-builder/docs/ranking'),
  row('rerank', 'input.documents', 'documents', length, 'https://help.aliyun.com/zh/model-studio/text-rerank-api'),
];

function row(operations: string, path: string, of: Multiplied, times: Multiplier['times'], source: string): Multiplier {
  return { operations: operations.split(' '), path, of, times, source };
}

/** Clients and hosts merge it into the request. */
const wrapper = 'extrabody';

interface Compiled extends Multiplier {
  /** Loose names from the top. */
  readonly names: readonly string[];
}

/** The rows of an operation by what they multiply, made once. */
const compiled = new Map<string, readonly Compiled[]>();
for (const one of multipliers)
  for (const operation of one.operations) {
    const key = `${operation} ${one.of}`;
    compiled.set(key, [...(compiled.get(key) ?? []), { ...one, names: one.path.split('.').map(looseName) }]);
  }

const noRows: readonly Compiled[] = [];

/** Loose names that ask for several answers: a request without any of them, at any depth, gets one for each prompt. */
export const answerNames: readonly string[] = [
  ...new Set(multipliers.flatMap(({ of, path }) => (of === 'answers' ? [looseName(path.split('.')[0] ?? '')] : []))),
];

/** Values at a path in all their spellings. */
function valuesAt(
  object: Members,
  names: readonly string[],
  place: string,
  found: (value: unknown, place: string) => void,
): void {
  const [first, ...rest] = names;
  for (const key in object) {
    if (looseName(key) !== first) continue;
    if (rest.length === 0) found(object[key], `${place}${key}`);
    else {
      const inner = record(object[key]);
      if (inner !== null) valuesAt(inner, rest, `${place}${key}.`, found);
    }
  }
}

/** Each value that a parser may take for a member that multiplies, at its path in the vendor's schema. */
function eachValue(
  operation: string,
  of: Multiplied,
  body: Members,
  found: (value: unknown, place: string, row: Multiplier) => void,
): void {
  for (const row of compiled.get(`${operation} ${of}`) ?? noRows) {
    const { names } = row;
    valuesAt(body, names, '', (value, place) => found(value, place, row));
    for (const key in body) {
      const wrapped = looseName(key) === wrapper ? record(body[key]) : null;
      if (wrapped !== null) valuesAt(wrapped, names, `${key}.`, (value, place) => found(value, place, row));
    }
  }
}

/** @returns how many a request orders, in the dearest of all readings; 1 = it says nothing. */
export function ordered(operation: string, of: Multiplied, body: Members, least = 1): number {
  const readings: Reading[] = [];
  eachValue(operation, of, body, (value, place, { times }) => readings.push({ value: times(value), place }));
  return Math.min(dearest(readings, least), maxTimes);
}

/** @returns the longest list of what is multiplied. */
export function longest(operation: string, of: Multiplied, body: Members): readonly unknown[] {
  let list = none;
  eachValue(operation, of, body, (value) => {
    const found = listIn(value);
    if (found.length > list.length) list = found;
  });
  return list;
}

/** @returns answers that a request may get, over all of its prompts. */
export const answersOf = (operation: string, body: Members): number =>
  Math.min(ordered(operation, 'answers', body) * ordered(operation, 'prompts', body), maxTimes);
