/** Makes something long of a value that was right: one place of it grows, all else stays. */

export type Json = unknown;
export type Path = readonly (string | number)[];

/** All places of a value, of long lists the first. */
export function placesOf(value: Json, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const members = Array.isArray(value) ? [...value.entries()].slice(0, 4) : Object.entries(value);
  return [path, ...members.flatMap(([key, inner]) => placesOf(inner, [...path, key]))];
}

const at = (value: Json, path: Path): Json =>
  path.reduce<Json>((inner, key) => (inner as Record<string | number, Json>)[key], value);

function withAt(value: Json, path: Path, made: Json): Json {
  const [key, ...rest] = path;
  if (key === undefined) return made;
  const own = value as Record<string | number, Json>;
  const inner = withAt(own[key], rest, made);
  return Array.isArray(value) ? value.with(Number(key), inner) : { ...own, [key]: inner };
}

const named: ReadonlySet<string> = new Set([
  'id',
  'name',
  'call_id',
  'tool_call_id',
  'tool_use_id',
  'title',
  'url',
  'uri',
]);
const counted: ReadonlySet<string> = new Set(['index', 'output_index', 'content_index', 'startIndex', 'endIndex']);

/** Another one of the same kind: what names it differs. */
export function another(value: Json, n: number): Json {
  if (Array.isArray(value)) return value.map((item) => another(item, n));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (named.has(key) && typeof inner === 'string') return [key, `${inner}${n}`];
      return [key, counted.has(key) && typeof inner === 'number' ? inner + n : another(inner, n)];
    }),
  );
}

const fillers = [' ', '\n', '\\"', 'A', '\u0301', '[[', '<think>', 'data:', '1', '/'];

/** In how many ways a place can grow. */
export function waysOf(value: Json, path: Path): readonly string[] {
  const place = at(value, path);
  if (Array.isArray(place)) return place.length === 0 ? [] : ['the same again', 'others', 'others in blocks'];
  if (typeof place === 'string') return fillers.map((filler) => `with ${JSON.stringify(filler)}`);
  return typeof place === 'object' && place !== null ? ['members'] : [];
}

/** @param n items or members; 32 times as many characters. */
export function amplified(value: Json, path: Path, way: string, n: number): Json {
  const place = at(value, path);
  if (Array.isArray(place)) {
    const { length } = place;
    const items = Array.from({ length: n }, (_, index) => {
      if (way === 'the same again') return place[index % length];
      const block = way === 'others' ? index % length : Math.floor((index * length) / n);
      return another(place[block], index);
    });
    return withAt(value, path, items);
  }
  if (typeof place === 'string') {
    const filler = fillers.find((one) => way === `with ${JSON.stringify(one)}`) ?? ' ';
    return withAt(value, path, `${place}${filler.repeat(Math.ceil((n * 32) / filler.length))}!`);
  }
  const more = Object.fromEntries(Array.from({ length: n }, (_, index) => [`x${index}`, { type: 'string', n: index }]));
  return withAt(value, path, { ...(place as object), ...more });
}
