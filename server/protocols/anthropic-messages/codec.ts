import type { Codec } from '../codec.ts';
import { record } from '../shared/json.ts';
import { decodeReasoning, decodeRequest } from './decode-request.ts';
import { definition } from './definition.ts';
import { encodeRequest } from './encode-request.ts';
import { encodeResponse } from './encode-response.ts';
import { decodeError, encodeError, encodeStreamError } from './errors.ts';
import { foreignBlocks } from './foreign.ts';
import { createReader, decodeResponse, markers } from './reader.ts';
import { readAnthropicUsage } from './usage.ts';
import { createWriter } from './writer.ts';

export const anthropicMessages: Codec = {
  id: 'anthropic-messages',
  definition,
  foreignBlocks,
  // A comment, not the `ping` event: that one may not come before message_start.
  client: {
    encodeError,
    encodeStreamError,
    statuses: [529],
    ping: ': PING\n\n',
    // Clients that end a stream for want of events overlook comments.
    pingWithin: 'event: ping\ndata: {"type": "ping"}\n\n',
  },
  upstream: {
    decodeResponse,
    reader: createReader,
    decodeError,
    readUsage: (body) => readAnthropicUsage(record(body)?.usage, record(body)?.container),
    markers,
  },
  translation: { decodeRequest, reasoning: decodeReasoning, encodeRequest, encodeResponse, writer: createWriter },
};
