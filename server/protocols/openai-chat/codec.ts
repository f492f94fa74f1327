import type { Codec } from '../codec.ts';
import { decodeReasoning, decodeRequest } from './decode-request.ts';
import { definition } from './definition.ts';
import { encodeRequest } from './encode-request.ts';
import { encodeResponse } from './encode-response.ts';
import { decodeError, encodeError, encodeStreamError } from './errors.ts';
import { foreignBlocks } from './foreign.ts';
import { createReader, decodeResponse, isFailed, markers } from './reader.ts';
import { readAnswerUsage } from './usage.ts';
import { createWriter } from './writer.ts';

export const openaiChat: Codec = {
  id: 'openai-chat',
  definition,
  foreignBlocks,
  foreignMember: 'reasoning_details',
  client: { encodeError, encodeStreamError, ping: ': PING\n\n' },
  upstream: {
    decodeResponse,
    reader: createReader,
    decodeError,
    readUsage: readAnswerUsage,
    markers,
    isFailed,
  },
  translation: { decodeRequest, reasoning: decodeReasoning, encodeRequest, encodeResponse, writer: createWriter },
};
