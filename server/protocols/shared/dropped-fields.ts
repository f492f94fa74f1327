/** What the common form knows and a dialect has no place for: listed here, so that nothing is lost without a word. */
import { createHash } from 'node:crypto';
import type { ChatRequest, Part } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { record } from './json.ts';

export interface Capabilities {
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
  for (const [at, { parts }] of request.messages.entries())
    for (const [index, part] of parts.entries())
      listPart(part, `/messages/${at}/content/${index}`, capabilities, dropped);
  for (const [index, tool] of request.tools.entries()) {
    if (tool.strict === true && !capabilities.strict) dropped.push(`/tools/${index}/strict: not known to the upstream`);
    const grammar = tool.kind === 'custom' && record(record(tool.raw)?.format)?.type === 'grammar';
    if (grammar && !capabilities.grammar) dropped.push(`/tools/${index}/format: no grammar is followed`);
  }
}

function listPart(part: Part, path: string, capabilities: Capabilities, dropped: Dropped): void {
  if (part.type === 'tool-result') for (const item of part.content) listPart(item, path, capabilities, dropped);
  const hasDetail = part.type === 'image' && part.detail !== undefined && part.detail !== 'auto';
  if (hasDetail && !capabilities.detail) dropped.push(`${path}/detail: not known to the upstream`);
  if (part.type === 'file' && part.name !== null && !capabilities.names)
    dropped.push(`${path}/name: has no place here`);
}
