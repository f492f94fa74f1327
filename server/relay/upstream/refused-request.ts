/** Whether a refused request is worth one more attempt: the upstream names a member that may be left out, and nothing of it can be the caller's own words. */
import type { ProtocolId } from '../../protocols/canonical.ts';
import { parseJson, record } from '../../protocols/shared/json.ts';
import { betasIn, countRemovable, refusedMembers } from '../../providers/knowledge/refused-members.ts';
import { toolTypeMember } from '../../providers/knowledge/removable-members.ts';
import type { Reservation } from '../admission/reservation.ts';
import type { ParsedRequest } from '../intake/parsed-request.ts';
import type { LearntMembers, Trial } from '../routing/learnt-members.ts';
import { type UpstreamFailure, writtenIn } from '../shared/failure.ts';
import type { Prepared } from './prepare.ts';

/** Statuses of requests that cannot be served as they are. */
const statuses: ReadonlySet<number | null> = new Set([400, 422]);

/** @returns null = the refusal stands. */
export function trialAfter(
  learnt: LearntMembers,
  { parsed, plan, principal, free }: Reservation,
  prepared: Prepared,
  { class: kind, reason, status, error, inBody, refusal }: UpstreamFailure,
): Trial | null {
  const { channel, dialect, translated, upstreamModel: model } = prepared;
  if (kind !== 'client' || reason !== 'status' || !statuses.has(status) || error === null) return null;
  if (inBody === true || refusal !== undefined || free || parsed.operation !== 'chat') return null;
  if (prepared.ownWire || prepared.custom !== null || prepared.compaction !== null) return null;
  if (!translated && (plan.settings.passThrough || channel.setting.pass_through === true)) return null;
  const body = bodyOf(prepared);
  if (body === null) return null;
  const refused = refusedMembers(error, { dialect, body, betas: betasOf(prepared, body), model });
  if (refused === null || refused.members.length === 0) return null;
  const { members, names, concernsAll } = refused;
  const isOperators = ({ member }: { readonly member: string }) =>
    Object.hasOwn(channel.paramOverride, member.split(/[.[]/, 1)[0] ?? '');
  if (members.some(({ row }) => isOperators(row) || (translated && row.member === toolTypeMember))) return null;
  if (names.some((name) => isWritten(name, parsed))) return null;
  if (!learnt.mayTry(channel.id, principal.user.id)) return null;
  return { channelId: channel.id, model, members, concernsAll };
}

function bodyOf({ call: { body } }: Prepared): Readonly<Record<string, unknown>> | null {
  if (body === null) return null;
  return record(parseJson(typeof body === 'string' ? body : Buffer.from(body).toString('utf8')));
}

/** A cloud has them in the body. */
function betasOf({ call: { headers } }: Prepared, { anthropic_beta: listed }: Readonly<Record<string, unknown>>) {
  if (Array.isArray(listed)) return listed.filter((name) => typeof name === 'string');
  return betasIn(headers['anthropic-beta'] ?? '');
}

/** Whether a name stands anywhere in what the caller wrote besides where members of that name stand. */
function isWritten(name: string, { body, json, protocol, request }: ParsedRequest): boolean {
  const expected = membersCalled(name, protocol, body, request.headers);
  // Where two members have one name the parsed body has the last alone; the text may have escapes that it has not.
  return [writtenIn({}, json?.text ?? '', request), writtenIn(body, '', request)].some(
    (text) => countWords(text.toLowerCase(), name.toLowerCase()) > expected,
  );
}

const membersCalled = (name: string, protocol: ProtocolId, body: ParsedRequest['body'], headers: Headers): number =>
  countRemovable(name, protocol, body) +
  betasIn(headers.get('anthropic-beta') ?? '').filter((beta) => beta === name).length;

/** How often a word stands in a text, not as a part of a longer one. */
function countWords(text: string, word: string): number {
  let count = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length))
    if (!isPart(text[at - 1]) && !isPart(text[at + word.length])) count++;
  return count;
}

const isPart = (character: string | undefined): boolean => character !== undefined && /\w/.test(character);
