/** What the common form knows and a dialect has no place for: listed here, so that nothing is lost without a word. */
import { createHash } from 'node:crypto';
import type { ChatRequest, Message, Part, ProtocolId } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { grammarOf } from './tools.ts';

export interface Capabilities {
  /** The upstream's; absent = none that clients speak. */
  readonly dialect?: ProtocolId;
  /** Marks of what to cache. */
  readonly cacheMarks?: boolean;
  /** Who speaks in a message. */
  readonly speakers?: true;
  /** How closely a picture is looked at. */
  readonly detail?: true;
  /** Names of files. */
  readonly names?: true;
  /** Arguments of calls are held to their schema on demand. */
  readonly strict?: true;
  /** Custom tools follow a grammar. */
  readonly grammar?: true;
}

/**
 * Who asks, for another maker's upstream. Claude Code puts ids of its device and account there: they stay here, and a hash
 * distinguishes its users as well.
 */
export function userFor({ user, dialect }: ChatRequest, dropped: Dropped): string | null {
  if (user === null || dialect !== 'anthropic-messages') return user;
  dropped.push('/metadata/user_id: sent as a hash');
  return `user_${createHash('sha256').update(user).digest('hex').slice(0, 32)}`;
}

export function reportDropped(request: ChatRequest, capabilities: Capabilities, dropped: Dropped): void {
  if (request.dialect !== capabilities.dialect)
    for (const { place, more } of request.unread ?? [])
      dropped.push(`${place}: not known to the upstream${others(more)}`);
  for (const [at, { parts, name }] of request.messages.entries()) {
    if (name !== undefined && !capabilities.speakers) dropped.push(`/messages/${at}/name: has no place here`);
    for (const [index, part] of parts.entries())
      listPart(part, `/messages/${at}/content/${index}`, capabilities, dropped);
  }
  if (!capabilities.cacheMarks) reportCacheMarks(request, dropped);
  for (const [index, tool] of request.tools.entries()) {
    if (tool.strict === true && !capabilities.strict) dropped.push(`/tools/${index}/strict: not known to the upstream`);
    if (grammarOf(tool) !== null && !capabilities.grammar)
      dropped.push(`/tools/${index}/format: no grammar is followed`);
  }
}

/** Of what stands in many places the first is named. */
const others = (more: number): string => (more === 0 ? '' : `, as in ${more} more ${more === 1 ? 'place' : 'places'}`);

function reportCacheMarks({ messages, tools }: ChatRequest, dropped: Dropped): void {
  const places = [
    ...messages.flatMap(({ parts }, at) => markedIn(parts, `/messages/${at}/content`)),
    ...tools.flatMap(({ cache }, at) => (cache === undefined ? [] : [`/tools/${at}`])),
  ];
  const [first] = places;
  if (first !== undefined)
    dropped.push(`${first}: marks of what to cache are not known to the upstream${others(places.length - 1)}`);
}

const markedIn = (parts: Message['parts'], path: string): string[] =>
  parts.flatMap((part, at) => [
    ...(part.cache === undefined ? [] : [`${path}/${at}`]),
    ...(part.type === 'tool-result' ? markedIn(part.content, `${path}/${at}`) : []),
  ]);

function listPart(part: Part, path: string, capabilities: Capabilities, dropped: Dropped): void {
  if (part.type === 'tool-result') for (const item of part.content) listPart(item, path, capabilities, dropped);
  const hasDetail = part.type === 'image' && part.detail !== undefined && part.detail !== 'auto';
  if (hasDetail && !capabilities.detail) dropped.push(`${path}/detail: not known to the upstream`);
  if (part.type === 'file' && part.name !== null && !capabilities.names)
    dropped.push(`${path}/name: has no place here`);
}
