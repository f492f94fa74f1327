/** A channel that calls a model otherwise may send a request to one that takes less than the client's own: the members that must differ, as edits. */
import type { Codec } from '../../protocols/codec.ts';
import { record } from '../../protocols/shared/json.ts';
import { type Target, unknownTarget } from '../../protocols/target.ts';

type Members = Readonly<Record<string, unknown>>;

const noEdits: ReadonlyMap<string, string | undefined> = new Map();

/**
 * Tells what concerns the model alone with what is known of it, without that, and without a thought: where these differ the client's words are replaced.
 * @param body the client's own. @param dropped what had to go is added to it.
 */
export function mappedEdits(
  { traits, translation }: Codec,
  body: Members,
  { model, target }: { readonly model: string; readonly target: Target },
  dropped: string[],
): ReadonlyMap<string, string | undefined> {
  const { fits } = traits;
  if (fits === undefined || target === unknownTarget) return noEdits;
  const paths = fits.members.map((member) => member.split('.') as [string, string?]);
  const asked: Record<string, unknown> = { [fits.turns]: [], model };
  for (const name of ['tools', ...paths.map(([top]) => top)]) if (body[name] !== undefined) asked[name] = body[name];
  const request = translation.decodeRequest(asked, { model, stream: false });
  const usual: string[] = [];
  const known: string[] = [];
  const without = translation.encodeRequest(request, usual, unknownTarget);
  const unthinking = translation.encodeRequest({ ...request, reasoning: null }, [], unknownTarget);
  const told = translation.encodeRequest(request, known, target);
  const changed = new Map<string, unknown>();
  for (const [top, inner] of paths) {
    const value = valueAt(told, top, inner);
    const usually = [without, unthinking].every((other) => same(value, valueAt(other, top, inner)));
    if (usually || within(value, valueAt(body, top, inner))) continue;
    changed.set(top, inner === undefined ? value : withMember(changed.get(top) ?? body[top], inner, value));
  }
  if (changed.size > 0) dropped.push(...known.filter((loss) => !usual.includes(loss)));
  return new Map([...changed].map(([name, value]) => [name, value === undefined ? undefined : JSON.stringify(value)]));
}

const valueAt = (body: Members, top: string, inner: string | undefined): unknown =>
  inner === undefined ? body[top] : record(body[top])?.[inner];

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Whether the client said as much; what it said besides is its own. */
function within(value: unknown, said: unknown): boolean {
  const [object, own] = [record(value), record(said)];
  if (object === null || own === null) return same(value, said);
  return Object.entries(object).every(([name, member]) => same(member, own[name]));
}

function withMember(object: unknown, name: string, value: unknown): Members | undefined {
  const { [name]: _, ...rest } = record(object) ?? {};
  const next = value === undefined ? rest : { ...rest, [name]: value };
  return Object.keys(next).length === 0 ? undefined : next;
}
