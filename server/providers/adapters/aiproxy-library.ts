/** AI Proxy's libraries: one question to the knowledge base that `other` names, an answer with the documents it rests on. Errors come with status 200. */
import { number, record, records, text } from '../../protocols/shared/json.ts';
import { simpleWire, type WireChunk } from '../../protocols/shared/simple-wire.ts';
import type { Adapter } from '../adapter.ts';
import { transcriptOf } from './transcript.ts';

const errorIn = (status: number | null, body: Record<string, unknown>) => ({
  status,
  type: null,
  code: number(body.errCode) === null ? text(body.errCode) : String(body.errCode),
  message: text(body.message) ?? 'the library failed',
});

/** Stand behind the answer; a document without an address cannot be cited. */
const sourcesIn = (body: Record<string, unknown>): Pick<WireChunk, 'citations'> => ({
  citations: records(body.documents).map((raw) => ({
    url: text(raw.url),
    title: text(raw.title),
    quote: null,
    start: null,
    end: null,
    dialect: 'openai-chat',
    raw,
  })),
});

const failed = (body: Record<string, unknown>): boolean => body.success === false || (number(body.errCode) ?? 0) !== 0;

const wire = simpleWire({
  encodeRequest: (request, dropped) => ({
    model: request.model,
    query: transcriptOf(request, dropped),
    stream: request.stream,
  }),
  frame: (body) =>
    failed(body)
      ? { error: errorIn(null, body) }
      : { text: text(body.content), ...sourcesIn(body), ...(body.finish === true ? { end: 'stop' as const } : {}) },
  whole: (body) => (failed(body) ? { error: errorIn(null, body) } : { text: text(body.answer), ...sourcesIn(body) }),
  decodeError: (status, body) => errorIn(status, record(body) ?? {}),
});

export const aiproxyLibrary: Adapter = {
  protocol: () => ({ wire }),
  endpoint: ({ operation, baseUrl }) => (operation === 'chat' ? { url: `${baseUrl}/api/library/ask` } : null),
  body: ({ other }) => ({ whole: (body) => ({ body: { ...body, libraryId: other.trim() } }) }),
};
