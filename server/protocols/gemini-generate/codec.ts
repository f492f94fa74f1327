import type { Codec } from '../codec.ts';
import { decodeRequest } from './decode-request.ts';
import { definition } from './definition.ts';
import { encodeRequest } from './encode-request.ts';
import { encodeResponse } from './encode-response.ts';
import { decodeError, encodeError, encodeStreamError } from './errors.ts';
import { foreignBlocks } from './foreign.ts';
import { jsonListFraming, transformFor } from './json-list.ts';
import { createReader, decodeResponse, markers } from './reader.ts';
import { readAnswerUsage, usageMembers } from './usage.ts';
import { createWriter } from './writer.ts';

export const geminiGenerate: Codec = {
  id: 'gemini-generate',
  definition,
  foreignBlocks,
  client: {
    encodeError,
    encodeStreamError,
    closesOnError: true,
    // Comments are no JSON to google-genai for Python, which reads line by line; blank lines it passes over.
    ping: '\n\n',
    transform: transformFor,
  },
  upstream: {
    decodeResponse,
    reader: createReader,
    decodeError,
    readUsage: readAnswerUsage,
    // The stream just ends: no frame says that it is the last.
    markers,
    usageMembers,
    // Relays of this dialect overlook that events were asked for, and answer with a list.
    framing: (contentType, requested) => (requested && contentType.includes('json') ? jsonListFraming() : null),
  },
  translation: { decodeRequest, encodeRequest, encodeResponse, writer: createWriter },
};
