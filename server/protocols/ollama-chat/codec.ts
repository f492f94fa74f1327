import type { Codec } from '../codec.ts';
import { ndjsonLines } from '../shared/ndjson.ts';
import { decodeRequest } from './decode-request.ts';
import { definition } from './definition.ts';
import { encodeRequest } from './encode-request.ts';
import { encodeResponse } from './encode-response.ts';
import { encodeError, encodeStreamError } from './errors.ts';
import { generated, generatePath } from './other-calls.ts';
import { upstream } from './reader.ts';
import { createWriter } from './writer.ts';

const isGenerate = (url: string): boolean => (url.split('?', 1)[0] ?? '').endsWith(generatePath);

export const ollamaChat: Codec = {
  id: 'ollama-chat',
  definition,
  client: {
    encodeError,
    encodeStreamError,
    // Its clients read every line as an object.
    ping: 'data: {"message":{"role":"assistant","content":""},"done":false}\n\n',
    transform: (url) => ndjsonLines(isGenerate(url) ? generated : undefined),
    wholeForm: (url) => (isGenerate(url) ? generated : null),
  },
  upstream,
  translation: { decodeRequest, encodeRequest, encodeResponse, writer: createWriter },
};
