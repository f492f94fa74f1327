/** Members of a request that only some dialects know: carried where the name means the same, else reported. */
import type { ChatRequest } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import type { Json } from './json.ts';

/** @param body the client's request. @param known members the decoder has read. @returns the rest. */
export function extraFieldsOf(body: Json, known: ReadonlySet<string>): Record<string, unknown> {
  const extra: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(body)) if (!known.has(key) && value !== null) extra[key] = value;
  return extra;
}

/** Members whose loss changes nothing in the answer. */
const silent = new Set([
  'store',
  'metadata',
  'include',
  'stream_options',
  'truncation',
  'background',
  'client_metadata',
]);

/** @param sharedFields names that mean the same in the target dialect. */
export function copyExtraFields(
  request: ChatRequest,
  sharedFields: ReadonlySet<string>,
  dropped: Dropped,
): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(request.extra)) {
    if (sharedFields.has(key)) kept[key] = value;
    else if (!silent.has(key)) dropped.push(`/${key}: not known to the upstream`);
  }
  return kept;
}
