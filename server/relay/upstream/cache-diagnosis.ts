/** Asks a provider why its cache was missed where the client did not, and takes the question's traces out of the answer again. */
import type { CacheDiagnostics, Compared } from '../../protocols/shared/cache-diagnosis.ts';
import { parseJson, record } from '../../protocols/shared/json.ts';
import type { RawFrame } from '../../protocols/shared/sse.ts';
import { refusesDiagnosis } from '../../providers/knowledge/cache-diagnosis.ts';
import type { Target } from '../../routing/target.ts';
import { type Edits, editPaths } from '../intake/json-text.ts';
import type { UpstreamFailure } from '../shared/failure.ts';

type Members = Readonly<Record<string, unknown>>;
const nothing: Members = {};
const noEdits: Edits = new Map();

/** @returns null = this upstream is not asked, or the client asks itself. */
export function diagnosticsFor(
  { translated, bridged, whole, request, codec, channel, options, place }: Target,
  body: Members,
  { previous }: Compared,
): CacheDiagnostics | null {
  const found = codec.definition.cache?.diagnostics;
  if (found === undefined || request.operation !== 'chat' || translated || bridged || whole !== undefined) return null;
  if (options.passThrough || channel.setting.pass_through === true) return null;
  if (previous === null && !found.asksFirst) return null;
  if (refusesDiagnosis(place.dialect, place.model)) return null;
  const [member, named] = found.asks;
  if (Object.hasOwn(channel.paramOverride, member)) return null;
  const own = body[member];
  if (own === undefined) return found;
  // Its other members are the client's, and stay.
  const members = record(own);
  return members === null || found.asksFirst || Object.hasOwn(members, named) ? null : found;
}

/** @param edits of the body otherwise. @param edited the body with them. @returns none where a rule of the site left the member out, or asks itself. */
export function askingEdits(
  { asks: [member, named] }: CacheDiagnostics,
  edits: Edits,
  edited: Members,
  { previous }: Compared,
): Edits {
  const own = edited[member];
  const members = own === undefined ? nothing : record(own);
  const isLeftOut = own === undefined && edits.has(member);
  if (isLeftOut || members === null || Object.hasOwn(members, named)) return noEdits;
  return new Map([[member, JSON.stringify({ ...members, [named]: previous })]]);
}

/** The upstream complains of what we put in. */
export const complainsOfDiagnosis = ({ error }: UpstreamFailure, { asks }: CacheDiagnostics): boolean =>
  asks.some((name) => error?.message.includes(name) === true);

/** The traces of the question in an answer: other answers show none, and get nothing put in. */
const shownIn = (text: string, { shown }: CacheDiagnostics) =>
  shown.filter(({ path }) => text.includes(`"${path.at(-1)}"`));

/** @param text of a whole answer. @returns what it would have been, had nobody asked. */
export const withoutDiagnosis = (text: string, asked: CacheDiagnostics): string =>
  editPaths(text, shownIn(text, asked));

/** The same of a frame of a stream: every byte that is not about it stays. */
export function withoutDiagnosisIn(frame: RawFrame, asked: CacheDiagnostics): Uint8Array {
  const { text, bytes } = frame;
  const found = shownIn(text, asked);
  if (found.length === 0) return bytes;
  const { within } = asked;
  const begin = text.indexOf('{');
  const end = text.lastIndexOf('}') + 1;
  const json = text.slice(begin, end);
  if (begin < 0 || record(record(parseJson(json))?.[within]) === null) return bytes;
  const edits = found.map(({ path, value }) => ({ path: [within, ...path], value }));
  return Buffer.from(text.slice(0, begin) + editPaths(json, edits) + text.slice(end));
}
