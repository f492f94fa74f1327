/** Items that a request names instead of repeating them are put in their places, before anything counts, prices or routes it. */
import { AppError } from '../../contract/errors.ts';
import type { ReferenceRules } from '../../protocols/definition.ts';
import { codecFor } from '../../protocols/registry.ts';
import { parseExact } from '../../protocols/shared/json.ts';
import { type BodyHolder, memoryPerByte, smallBody } from './body-memory.ts';
import { exactBody } from './parsed-request.ts';
import type { RelayRoute } from './routes.ts';

type Body = Readonly<Record<string, unknown>>;
type Content = Parameters<typeof exactBody>[0];

/** The JSON of the caller's own items, by id. */
export type LoadItems = (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** Conversations have hundreds of turns, not tens of thousands. */
const maxItems = 10_000;

/** At once where nothing is named. @returns null = nothing is named that was made here. @throws AppError item_reference_not_found, body_too_large, overloaded. */
export function loadedBody(route: RelayRoute, content: Content, from: LoadItemsFrom): Promise<Body | null> | null {
  if (route.operation !== 'chat' && route.operation !== 'count_tokens') return null;
  const rules = codecFor(route.protocol).definition.references;
  const named = rules?.requested(content.body) ?? [];
  return rules === undefined || named.length === 0 ? null : loadedItems(rules, named, exactBody(content), from);
}

interface LoadItemsFrom {
  readonly loadItems: LoadItems;
  /** Largest body in bytes. */
  readonly bodyLimit: number;
  /** Who says how much memory the body takes; absent = nobody asks. */
  readonly holder?: BodyHolder | undefined;
  /** Bytes of the body as it came. */
  readonly received: number;
}

async function loadedItems(
  rules: ReferenceRules,
  named: readonly string[],
  body: Body,
  { loadItems, bodyLimit, holder, received }: LoadItemsFrom,
): Promise<Body> {
  if (named.length > maxItems) throw new AppError('body_invalid', { detail: `more than ${maxItems} items are named` });
  const kept = await loadItems([...new Set(named)]);
  let size = 0;
  for (const id of named) {
    const item = kept.get(id);
    if (item === undefined) throw new AppError('item_reference_not_found', { id });
    size += item.length;
  }
  // A short request may name much.
  if (size > bodyLimit) throw new AppError('body_too_large', { limit: bodyLimit });
  if (received + size > smallBody) holder?.holdMemory((received + size) * memoryPerByte.json);
  return rules.resolved(body, (id) => parseExact(kept.get(id) ?? 'null'));
}
