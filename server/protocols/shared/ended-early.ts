/** What readers report for a stream that stopped without its end: these words are ours and not the upstream's. */
import type { UpstreamError } from '../canonical.ts';

export const endedEarly: UpstreamError = { status: null, type: null, code: null, message: 'the stream ended early' };
