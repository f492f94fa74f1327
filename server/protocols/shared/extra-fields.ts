/** Members of a request that only some dialects know: carried where the name means the same, else reported. */
import type { ChatRequest } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { type Json, number, record } from './json.ts';

const anyValue = Symbol('any value');

/** @param body the client's request. @param known members the decoder has read. @returns the rest. */
export function extraFieldsOf(body: Json, known: ReadonlySet<string>): Record<string, unknown> {
  const extra: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(body)) if (!known.has(key) && value !== null) extra[key] = value;
  return extra;
}

/** Members whose loss changes nothing in the answer; a value that is the default anyway where that alone is harmless. */
const silent: Readonly<Record<string, unknown>> = {
  // What is kept, noted and shown beside the answer is between the client and its own provider.
  store: anyValue,
  metadata: anyValue,
  include: anyValue,
  stream_options: anyValue,
  client_metadata: anyValue,
  // A translated answer is waited for.
  background: anyValue,
  truncation: 'disabled',
};

/** What a member has to be to mean the same in another dialect: the words that it may be, or the kind of its value. */
export type Kind = 'string' | 'number' | 'boolean' | 'object' | 'list' | ReadonlySet<string>;

/** Names that a dialect shares with others, and what their values are there; several kinds where it takes each. */
export type SharedFields = Readonly<Record<string, Kind | readonly Kind[]>>;

/** OpenAI's. Sources: `service_tier` in openai 7.59 (`ServiceTier`), hosts' own words for the same. */
export const serviceTiers: ReadonlySet<string> = new Set([
  ...['auto', 'default', 'flex', 'scale', 'priority', 'fast', 'ultrafast'],
  ...['on_demand', 'performance', 'standard'],
]);

function isOfKind(value: unknown, kind: Kind): boolean {
  if (typeof kind !== 'string') return typeof value === 'string' && kind.has(value);
  if (kind === 'list') return Array.isArray(value);
  return kind === 'object'
    ? record(value) !== null
    : kind === 'number'
      ? number(value) !== null
      : typeof value === kind;
}

const fits = (value: unknown, kinds: Kind | readonly Kind[]): boolean =>
  Array.isArray(kinds) ? kinds.some((kind) => isOfKind(value, kind)) : isOfKind(value, kinds as Kind);

/** @param shared names that mean the same in the target dialect, where their values are of its kind. */
export function copyExtraFields(request: ChatRequest, shared: SharedFields, dropped: Dropped): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(request.extra)) {
    const kinds = Object.hasOwn(shared, key) ? shared[key] : undefined;
    if (kinds !== undefined && fits(value, kinds)) kept[key] = value;
    else if (kinds !== undefined) dropped.push(`/${key}: has another meaning for the upstream`);
    else if (!Object.hasOwn(silent, key) || (silent[key] !== anyValue && silent[key] !== value))
      dropped.push(`/${key}: not known to the upstream`);
  }
  return kept;
}
