/** Conversations that are to be made short, and what was made of them before: opened before anything else looks at them. */
import { AppError } from '../../contract/errors.ts';
import type { CompactionRules } from '../../protocols/definition.ts';
import { codecFor } from '../../protocols/registry.ts';
import { isOurs } from '../shared/defect.ts';
import { outline } from './json-text.ts';
import {
  type Compaction,
  type EncryptedBlob,
  exactBody,
  type JsonContent,
  type ParsedRequest,
} from './parsed-request.ts';
import type { RelayRoute } from './routes.ts';

type Body = Readonly<Record<string, unknown>>;

const encoder = new TextEncoder();

/** @param exact as `exactBody` gives it. @throws AppError body_too_deep. */
export function contentOf(exact: Body): { readonly body: Body; readonly json: JsonContent } {
  const text = JSON.stringify(exact);
  const shape = outline(text);
  if (!shape.ok) throw new AppError('body_too_deep');
  return { body: JSON.parse(text) as Body, json: { bytes: encoder.encode(text), text, shape } };
}

const rulesOf = (route: RelayRoute): CompactionRules | undefined =>
  route.operation === 'chat' || route.operation === 'count_tokens'
    ? codecFor(route.protocol).definition.compaction
    : undefined;

/** @returns the body with the summaries of this site as text; null = there is none. @throws AppError body_invalid. */
export function openedSummaries(route: RelayRoute, body: Body, encryptedBlob: EncryptedBlob): Body | null {
  return (
    rulesOf(route)?.opened(body, (sealed) => {
      try {
        return encryptedBlob.open(sealed);
      } catch (cause) {
        if (isOurs(cause)) throw cause;
        throw new AppError('body_invalid', { detail: 'a compaction item was not made by this site' }, cause);
      }
    }) ?? null
  );
}

export function compactionOf(route: RelayRoute, body: Body, { encrypt }: EncryptedBlob): Compaction | null {
  if (route.operation !== 'chat') return null;
  if (route.compacts === true) return { form: 'call', encrypt };
  return rulesOf(route)?.requested(body) === true ? { form: 'item', encrypt } : null;
}

/** The prompt for an upstream without compaction. */
export const summaryBody = (route: RelayRoute, body: Body): Body => rulesOf(route)?.summaryRequest(body) ?? body;

const summaries = new WeakMap<ParsedRequest, ParsedRequest>();

/** The same request for a summary in plain words. */
export function asSummary(parsed: ParsedRequest): ParsedRequest {
  const known = summaries.get(parsed);
  if (known !== undefined) return known;
  const { compaction } = parsed;
  if (compaction === undefined) return parsed;
  const content = contentOf(summaryBody(parsed.route, exactBody(parsed)));
  const summary: ParsedRequest = { ...parsed, ...content };
  summaries.set(parsed, summary);
  return summary;
}
