/** Lists that follow from the endpoint table: pages from an endpoint's input, columns from the fields of its output. */
import type * as z from 'zod/mini';
import type { InputOf, OutputOf } from '../../server/contract/endpoint.ts';
import { type EndpointId, type EndpointOf, endpointById } from '../../server/contract/endpoints/index.ts';
import type { Language } from '../../server/contract/enum.ts';
import { AppError } from '../../server/contract/errors.ts';
import { allOrOwn, type Client } from '../client.ts';
import { type CommandRun, type FlagValues, text } from '../command.ts';
import { type Column, isoTime } from '../output.ts';
import { isAmount } from './details.ts';
import { type Money, moneyOf } from './money.ts';
import { wholeNumber } from './numbers.ts';

type RowIn<Output> = Output extends readonly (infer Row extends object)[]
  ? Row
  : Output extends { readonly items: readonly (infer Row extends object)[] }
    ? Row
    : never;
/** Endpoints that answer with rows, or with pages of rows. */
type ListId = { [Id in EndpointId]: RowIn<OutputOf<EndpointOf<Id>>> extends never ? never : Id }[EndpointId];
export type RowOf<Id extends ListId> = RowIn<OutputOf<EndpointOf<Id>>>;
/** Lists of the same rows. */
type OwnId<Id extends ListId> = { [Other in ListId]: RowOf<Other> extends RowOf<Id> ? Other : never }[ListId];
type Input<Id extends ListId> = Partial<InputOf<EndpointOf<Id>>>;

const maxPage = 100;
const largerPages: Partial<Record<EndpointId, number>> = { 'channel.list': 1000 };

type Shape = Readonly<Record<string, { readonly def: { readonly type: string } }>>;
const shapeOf = (schema: z.ZodMiniType): Shape => (schema as unknown as z.ZodMiniObject).def.shape as unknown as Shape;
const endpointOf = (id: EndpointId) => endpointById(id) as NonNullable<ReturnType<typeof endpointById>>;
const returnsArray = (id: EndpointId): boolean => endpointOf(id).output.def.type === 'array';

function fieldsOf(id: EndpointId): Shape {
  const output = endpointOf(id).output as z.ZodMiniType;
  const rows = returnsArray(id) ? output : (shapeOf(output).items as unknown as z.ZodMiniType);
  return shapeOf((rows as unknown as z.ZodMiniArray).def.element as z.ZodMiniType);
}

/** All rows of an endpoint, or the first `limit`. Arrays count their pages from 0, pages with a total from 1. */
export async function rowsOf<Id extends ListId>(
  client: Client,
  id: Id,
  input?: Input<Id>,
  limit = Number.POSITIVE_INFINITY,
): Promise<RowOf<Id>[]> {
  const known = shapeOf(endpointOf(id).input);
  const size = Math.min(limit, largerPages[id] ?? maxPage);
  const rows: RowOf<Id>[] = [];
  for (let page = returnsArray(id) ? 0 : 1; rows.length < limit; page++) {
    const paging = 'p' in known ? { p: page, ['size' in known ? 'size' : 'page_size']: size } : {};
    const answer = (await client.call(id, { ...input, ...paging } as Input<Id>)) as
      | readonly RowOf<Id>[]
      | { readonly items: readonly RowOf<Id>[] };
    const some = 'items' in answer ? answer.items : answer;
    rows.push(...some.slice(0, limit - rows.length));
    if (!('p' in known) || some.length < size) break;
  }
  return rows;
}

type Cell<Row> = (keyof Row & string) | ((row: Row) => string);
/** By heading: a field, a function of the row, either with its place in the order of leaving out, or a whole column. */
export type Columns<Row> = Readonly<
  Record<string, Cell<Row> | readonly [cell: Cell<Row>, spare: number] | Omit<Column<Row>, 'name'>>
>;

/** Amounts, times, numbers and words by the kind and the name of a field. */
export function columnsOf<Id extends ListId>(id: Id, columns: Columns<RowOf<Id>>, money: Money): Column<RowOf<Id>>[] {
  type Row = RowOf<Id>;
  const fields = fieldsOf(id);
  const ofField = (name: string, field: keyof Row & string): Column<Row> => {
    if (isAmount(field)) return money.column<Row>(name, (row) => row[field] as number);
    if (field === 'expired_time')
      return { name, value: (row) => ((row[field] as number) <= 0 ? 'never' : isoTime(row[field] as number)) };
    if (/_(time|at)$/.test(field)) return { name, value: (row) => isoTime(row[field] as number) };
    return { name, value: (row) => String(row[field]), ...(fields[field]?.def.type === 'number' && { right: true }) };
  };
  return Object.entries(columns).map(([name, spec]): Column<Row> => {
    if (typeof spec === 'object' && 'value' in spec) return { ...spec, name };
    const [cell, priority] = typeof spec === 'object' ? spec : [spec];
    const column = typeof cell === 'function' ? { name, value: cell } : ofField(name, cell as keyof Row & string);
    return priority === undefined ? column : { ...column, priority };
  });
}

interface Listing<Id extends ListId> {
  readonly columns: (money: Money, language: Language) => Columns<RowOf<Id>>;
  /** Field that `-q` prints; `id` when absent. */
  readonly key?: keyof RowOf<Id> & string;
  readonly input?: (flags: FlagValues) => Input<Id>;
  /** Rows without `--limit`; absent = all. */
  readonly limit?: number;
  /** What shows the caller's own rows, and flags that ask for those of others. */
  readonly own?: { readonly id: OwnId<Id>; readonly others: readonly string[] };
}

/** The command that lists an endpoint's rows. */
export const listOf =
  <Id extends ListId>(id: Id, { columns, key, input, limit, own }: Listing<Id>): CommandRun =>
  async (context, flags) => {
    const most = wholeNumber(text(flags.limit), '--limit') ?? limit;
    const client = await context.client();
    const read = (from: Id) => rowsOf(client, from, input?.(flags), most);
    const rows =
      own === undefined || own.others.some((flag) => flags[flag] !== undefined)
        ? await read(id)
        : await allOrOwn(
            () => read(id),
            () => read(own.id as ListId as Id),
          );
    const money = await moneyOf(context);
    const keyOf = (row: RowOf<Id>): string => String((row as Readonly<Record<string, unknown>>)[key ?? 'id']);
    context.output.list(rows, columnsOf(id, columns(money, context.language), money), keyOf);
  };

/** @throws AppError not_found, name_ambiguous. */
export function only<Thing extends { readonly id: number }>(found: readonly Thing[], what: string, ref: string): Thing {
  const [first, second] = found;
  if (first === undefined) throw new AppError('not_found', { what: `${what} ${ref}` });
  if (second !== undefined)
    throw new AppError('name_ambiguous', { what: ref, candidates: found.map((one) => one.id).join(', ') });
  return first;
}

export const isId = (ref: string): boolean => /^\d+$/.test(ref);
