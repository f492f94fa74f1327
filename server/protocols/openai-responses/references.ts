/** Items of earlier answers that a request names by their id, as clients do that believe every answer to be kept. */
import type { MadeItem } from '../codec.ts';
import type { ReferenceRules } from '../definition.ts';
import { type Json, record, records, text } from '../shared/json.ts';

const kind = 'item_reference';
/** Ids that were given here; what a provider calls its items looks otherwise. */
const ownItemId = /^(?:msg|rs|fc)_\d{17}[0-9a-z]{8}_\d+$/;

const namedBy = (item: unknown): string | null => {
  const known = record(item);
  return known?.type === kind ? text(known.id) : null;
};

export const madeOf = (output: readonly Json[]): readonly MadeItem[] =>
  output.flatMap((item) => (typeof item.id === 'string' && ownItemId.test(item.id) ? [{ id: item.id, item }] : []));

export const references: ReferenceRules = {
  requested: (body) =>
    records(body.input).flatMap((item) => {
      const id = namedBy(item);
      return id !== null && ownItemId.test(id) ? [id] : [];
    }),
  resolved: (body, itemOf) => ({
    ...body,
    input: records(body.input).map((item) => {
      const id = namedBy(item);
      return id !== null && ownItemId.test(id) ? itemOf(id) : item;
    }),
  }),
  isStored: (body) => body.store !== false,
};
