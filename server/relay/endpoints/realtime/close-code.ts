/** The code that the client of a conversation gets when the upstream closes its socket. */
import type { ChannelSnapshot } from '../../../contract/snapshot.ts';
import { redact, withoutAccount } from '../../shared/failure.ts';

const normal = 1000;
export const goingAway = 1001;
export const policyViolation = 1008;
export const internalError = 1011;

/** RFC 6455, section 7.1.5: the socket was closed in good order, and no code was sent. */
const noCode = 1005;

/**
 * Codes that say nothing of this socket: reserved ones (RFC 6455, section 7.4.1), which may not be sent, and a frame of
 * ours that the upstream could not read. All others are the upstream's words for the client: 3000 to 4999 are its own.
 */
const ofTheOtherSocket: ReadonlySet<number> = new Set([1002, 1004, 1006, 1010, 1015]);

/** Bytes that a close frame can carry behind its code. */
const maxReason = 123;

export interface SocketClose {
  readonly code: number;
  /** '' = none. */
  readonly reason: string;
}

export const endedWell = ({ code }: SocketClose): boolean => code === normal || code === noCode;

/** The close frame for the client, without keys, addresses and the upstream's account. @param close as the upstream sent it. */
export function closeForClient({ code, reason }: SocketClose, channel: ChannelSnapshot): SocketClose {
  if (code === noCode) return { code: normal, reason: '' };
  if (code < normal || code > 4999 || ofTheOtherSocket.has(code)) return { code: internalError, reason: '' };
  return { code, reason: fitting(withoutAccount(redact(reason, [...channel.keys, channel.baseUrl]))) };
}

function fitting(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxReason) return text;
  let end = maxReason;
  // A byte that goes on with a character is no place to cut.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString();
}
