/** Things that an upstream of this dialect keeps: where a request names them, and what an answer says was made. */
import { cheapestOnlyIf } from '../../contract/pricing/dearest.ts';
import { idOf, type Json, list, record, records, text } from '../shared/json.ts';
import { anyAsks, readingsOf, valuesOf } from '../shared/member-name.ts';
import { containerOf } from '../shared/tool-usage.ts';
import { references } from './references.ts';

const none: readonly never[] = [];

/** Ids by which a request names what an earlier answer made. */
export function storedIn(body: Json): readonly string[] {
  const ids = [...idOf(body.previous_response_id), ...idOf(body.conversation)];
  for (const tool of records(body.tools)) ids.push(...containersOf(tool));
  const ours = new Set(references.requested(body));
  for (const item of list(body.input)) for (const id of itemIds(record(item))) if (!ours.has(id)) ids.push(id);
  return ids;
}

const texts = (values: readonly unknown[]): readonly string[] => values.flatMap((value) => text(value) ?? none);

function containersOf(tool: Json): readonly string[] {
  const ids: string[] = [];
  for (const container of valuesOf(tool, 'container')) ids.push(...idOf(container));
  for (const environment of valuesOf(tool, 'environment')) {
    const place = record(environment);
    if (place !== null) ids.push(...texts(valuesOf(place, 'containerid')));
  }
  return ids;
}

/** An item without a type and a role stands for the one of its id, too. */
function itemIds(item: Json | null): readonly string[] {
  if (item === null) return none;
  const isNamed = anyAsks(item, 'type', (type) => text(type)?.toLowerCase() === 'item_reference');
  const refers = isNamed || (text(item.type) === null && item.role === undefined);
  return refers ? texts(valuesOf(item, 'id')) : none;
}

const isWhole = (thought: Json): boolean =>
  cheapestOnlyIf(readingsOf(thought, 'encryptedcontent'), 'encrypted_content', (words) => text(words) !== null);

/** A thought without its signature is one that the upstream looks up. Those that were made here are removed before. */
export function thoughtsIn(body: Json): readonly string[] {
  return records(body.input).flatMap((item) =>
    anyAsks(item, 'type', (type) => text(type)?.toLowerCase() === 'reasoning') && !isWhole(item)
      ? texts(valuesOf(item, 'id'))
      : none,
  );
}

/** Ids of a response, of its items and of the containers its tools ran in. Containers last even where nothing else is kept. */
export function madeIn(body: Json, answer: unknown): readonly string[] {
  const response = record(answer);
  const ids: string[] = [];
  const kept = body.store !== false;
  if (kept) ids.push(...idOf(response));
  for (const item of records(response?.output)) {
    const id = text(item.id);
    if (kept && id !== null) ids.push(id);
    const container = containerOf(item);
    if (container !== null) ids.push(container);
  }
  return [...new Set(ids)];
}
