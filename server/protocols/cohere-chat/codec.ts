import type { Codec } from '../codec.ts';
import { record } from '../shared/json.ts';
import { decodeReasoning, decodeRequest } from './decode-request.ts';
import { definition } from './definition.ts';
import { encodeRequest } from './encode-request.ts';
import { encodeResponse } from './encode-response.ts';
import { decodeError, encodeError, encodeStreamError } from './errors.ts';
import { createReader, decodeResponse, markers } from './reader.ts';
import { readUsage } from './usage.ts';
import { createWriter } from './writer.ts';

export const cohereChat: Codec = {
  id: 'cohere-chat',
  definition,
  client: { encodeError, encodeStreamError, ping: ': PING\n\n' },
  upstream: {
    decodeResponse,
    reader: createReader,
    decodeError,
    readUsage: (body) => readUsage(record(body)?.usage),
    markers,
  },
  translation: { decodeRequest, reasoning: decodeReasoning, encodeRequest, encodeResponse, writer: createWriter },
};
