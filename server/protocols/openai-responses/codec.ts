import type { Codec } from '../codec.ts';
import { decodeReasoning, decodeRequest } from './decode-request.ts';
import { definition } from './definition.ts';
import { encodeRequest } from './encode-request.ts';
import { encodeResponse } from './encode-response.ts';
import { decodeError, encodeError, encodeStreamError } from './errors.ts';
import { foreignBlocks } from './foreign.ts';
import { createReader, decodeResponse, markers } from './reader.ts';
import { readResponseUsage } from './usage.ts';
import { createWriter } from './writer.ts';

export const openaiResponses: Codec = {
  id: 'openai-responses',
  definition,
  foreignBlocks,
  client: { encodeError, encodeStreamError, ping: ': PING\n\n' },
  upstream: {
    decodeResponse,
    reader: createReader,
    decodeError,
    readUsage: readResponseUsage,
    markers,
  },
  translation: { decodeRequest, reasoning: decodeReasoning, encodeRequest, encodeResponse, writer: createWriter },
};
