/** A misspelt member of a body would be passed over in silence, and what was meant never happen: it is named instead, with the nearest that exists. */
import type { Endpoint } from '../contract/endpoint.ts';
import { endpoints } from '../contract/endpoints/index.ts';
import { AppError } from '../contract/errors.ts';

/** What scripts and consoles of the family send along: whole rows as they were read, in older and newer versions. */
const familyMembers: Readonly<Record<string, readonly string[]>> = {
  channel:
    'status_code_mapping remark channel_info mode multi_key_mode config system_prompt groups max_input_tokens openai_organization balance_updated_time test_time other_info key_mode is_edit'.split(
      ' ',
    ),
  token: 'DeletedAt deleted_at cross_group_retry models subnet accessed_time user_id tokenCount'.split(' '),
  user: 'DeletedAt deleted_at original_password verification_code access_token password2 aff_count aff_quota aff_history_quota inviter_id stripe_customer remark last_login_at request_count wechat_id telegram_id'.split(
    ' ',
  ),
  redemption: 'DeletedAt deleted_at user_id used_user_id created_time redeemed_time'.split(' '),
  option: [],
};

interface Definition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly catchall?: unknown;
  readonly element?: Schema;
  readonly innerType?: Schema;
  readonly options?: readonly Schema[];
}
interface Schema {
  readonly _zod: { readonly def: Definition };
}

const definitionOf = (schema: unknown): Definition => (schema as Schema)._zod.def;

/** Names of members in a shape, whatever stands around it. */
function membersOf(schema: unknown): readonly string[] {
  const { shape, element, innerType, options } = definitionOf(schema);
  if (shape !== undefined) return Object.entries(shape).flatMap(([name, inner]) => [name, ...membersOf(inner)]);
  return [element, innerType, ...(options ?? [])].flatMap((inner) => (inner === undefined ? [] : membersOf(inner)));
}

const nounOf = ({ path }: Endpoint): string => path.split('/')[2] ?? '';

/** Per noun, the members of everything that is asked and answered about it: rows are sent back as they were read. */
const knownNames = new Map<string, Set<string>>();
for (const row of endpoints as readonly Endpoint[]) {
  const noun = nounOf(row);
  const words = knownNames.get(noun) ?? new Set(familyMembers[noun]);
  knownNames.set(noun, words);
  for (const name of [...membersOf(row.input), ...membersOf(row.output)]) words.add(name);
}

/** Letters to change, add or leave out. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++)
      next.push(
        Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)),
      );
    row = next;
  }
  return row[to.length] ?? 0;
}

/** A word of a longer name counts nearly as much as the name. */
const farFrom = (unknown: string, name: string): number =>
  Math.min(distance(unknown, name), ...name.split('_').map((part) => distance(unknown, part) + 0.5));

/** @throws AppError member_unknown naming the first such member. */
export function rejectUnknown(row: Endpoint, sent: object): void {
  if (row.access === 'public' || row.body === 'text') return;
  const { shape, catchall } = definitionOf(row.input);
  if (shape === undefined || catchall !== undefined) return;
  const words = knownNames.get(nounOf(row));
  const name = Object.keys(sent).find((one) => !Object.hasOwn(shape, one) && words?.has(one) !== true);
  if (name === undefined) return;
  const [nearest = ''] = Object.keys(shape).toSorted((a, b) => farFrom(name, a) - farFrom(name, b));
  throw new AppError('member_unknown', { name: name.slice(0, 100), nearest });
}
