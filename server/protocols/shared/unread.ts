/**
 * Members of a request that its decoder does not read: the common form has no place for them, so no other dialect gets them.
 * What is new in a vendor's API is found here without anybody knowing it, and is listed as lost.
 */
import type { Json } from './json.ts';

/** What of a value is read. Everything else in it is lost in another dialect. */
export interface Shape {
  /** Names that are read. */
  readonly read: ReadonlySet<string>;
  /** Names whose loss changes nothing in the answer; the value that is the default anyway, where that alone is harmless. */
  readonly silent?: Readonly<Record<string, readonly unknown[] | 'always'>>;
  /** Members of which the inner ones are looked at too: an object, or a list of them. */
  readonly inner?: Readonly<Record<string, Inner>>;
}

/** Of a member that is an object, or a list of them; null = it is carried, or listed, as a whole. */
export type Inner = Shape | ((item: Json) => Shape | null);

/** One name in all places where it was found, the first of them named. */
export interface Unread {
  readonly place: string;
  /** Places after the first. */
  more: number;
}

export const words = (names: string): ReadonlySet<string> => new Set(names.split(' '));

/** The shape by an item's `type`. */
export const byType =
  (shapes: Readonly<Record<string, Shape>>, fallback: Shape | null = null): ((item: Json) => Shape | null) =>
  (item: Json): Shape | null =>
    typeof item.type === 'string' && Object.hasOwn(shapes, item.type) ? (shapes[item.type] ?? null) : fallback;

/** Nothing was said. */
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (typeof one === 'object' && JSON.stringify(one) === JSON.stringify(other));

/** Names that are told apart: nobody reads more, and a client may write as many as it likes. */
const most = 64;

class UnreadMembers {
  /** By the names on the way, without the numbers of items. */
  readonly found = new Map<string, Unread>();

  look(value: unknown, shape: Shape, place: string, kind: string): void {
    const { read, silent, inner } = shape;
    const object = value as Json;
    for (const name in object) {
      const member = object[name];
      if (isEmpty(member)) continue;
      if (!read.has(name)) {
        const harmless = silent !== undefined && Object.hasOwn(silent, name) ? silent[name] : undefined;
        if (harmless !== 'always' && !harmless?.some((one) => isSame(one, member)))
          this.note(`${place}/${name}`, `${kind}/${name}`);
        continue;
      }
      const within = inner !== undefined && Object.hasOwn(inner, name) ? inner[name] : undefined;
      if (within !== undefined) this.member(member, within, `${place}/${name}`, `${kind}/${name}`);
    }
  }

  member(value: unknown, within: Inner, place: string, kind: string): void {
    if (!Array.isArray(value)) this.item(value, within, place, kind);
    else for (let n = 0; n < value.length; n++) this.item(value[n], within, `${place}/${n}`, kind);
  }

  private item(value: unknown, within: Inner, place: string, kind: string): void {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    const shape = typeof within === 'function' ? within(value as Json) : within;
    if (shape !== null) this.look(value, shape, place, kind);
  }

  private note(place: string, kind: string): void {
    const known = this.found.get(kind);
    if (known !== undefined) known.more++;
    else if (this.found.size < most) this.found.set(kind, { place, more: 0 });
  }
}

/** @param members of the request that are looked into; what is unread at the top is the decoder's affair. */
export function unreadMembers(body: Json, members: Readonly<Record<string, Inner>>): readonly Unread[] {
  const search = new UnreadMembers();
  for (const name in members) {
    const within = members[name];
    const value = body[name];
    if (within !== undefined && value !== undefined) search.member(value, within, `/${name}`, `/${name}`);
  }
  return [...search.found.values()];
}
