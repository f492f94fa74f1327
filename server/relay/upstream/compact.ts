/** Conversations made short: natively where the upstream knows it, else by a summary that the same model writes. */

import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { ChatEvent } from '../../protocols/canonical.ts';
import { codecFor } from '../../protocols/registry.ts';
import type { ParsedRequest } from '../intake/parsed-request.ts';
import type { UpstreamFailure } from '../shared/failure.ts';

/** Channels whose upstream turned out not to support native compaction. */
export interface NativeCompactions {
  isMissingAt(channel: ChannelSnapshot): boolean;
  noteMissing(channel: ChannelSnapshot): void;
  /** It was edited: it may be another upstream now. */
  clear(channelId: number): void;
}

export function createNativeCompactions(): NativeCompactions {
  const unsupported = new Set<number>();
  return {
    isMissingAt: ({ id }) => unsupported.has(id),
    noteMissing: ({ id }) => void unsupported.add(id),
    clear: (id) => void unsupported.delete(id),
  };
}

/** Where a conversation is made short natively. @param url of the chat. */
export function compactionAddress({ protocol, compaction }: ParsedRequest, url: string): string {
  const suffix = codecFor(protocol).definition.compaction?.suffix;
  if (compaction?.form !== 'call' || suffix === undefined) return url;
  const [path = '', query] = url.split('?', 2);
  return query === undefined ? path + suffix : `${path}${suffix}?${query}`;
}

/** How an upstream responds to an unknown path or item. */
const unheardOf = new Set([400, 404, 405, 415, 422, 501]);

export const missesCompaction = ({ reason, status }: UpstreamFailure): boolean =>
  reason === 'uncompacted' || (reason === 'status' && unheardOf.has(status ?? 0));

/** It responded as if compaction had not been requested. */
export const uncompacted = (status: number): UpstreamFailure => ({
  class: 'host',
  status,
  error: null,
  retryAfter: null,
  reason: 'uncompacted',
});

export const isCompacted = ({ protocol }: ParsedRequest, answer: string): boolean =>
  codecFor(protocol).definition.compaction?.isPassed(answer) === true;

/** Said where a model had nothing to say. */
const nothing = '(no summary available)';

/** A summary in words becomes the item the client waits for, and the only one. */
export function condensing({
  protocol,
  requestId,
  compaction,
}: ParsedRequest): (event: ChatEvent) => readonly ChatEvent[] {
  const rules = codecFor(protocol).definition.compaction;
  let words = '';
  return (event) => {
    switch (event.type) {
      case 'text-delta':
        words += event.text;
        return [];
      case 'response-start':
      case 'usage':
      case 'error':
        return [event];
      case 'finish': {
        if (rules === undefined || compaction === undefined) return [event];
        const raw = rules.item(requestId, compaction.encrypt(words.trim() === '' ? nothing : words.trim()));
        return [
          { type: 'unknown', dialect: protocol, raw },
          { type: 'finish', reason: { unified: 'stop', raw: null } },
        ];
      }
      default:
        return [];
    }
  };
}
