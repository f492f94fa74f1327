/** Multipart bodies: the small fields are read, the files pass through as they are, edited only where the model is named. */
import { AppError } from '../contract/errors.ts';

/** What is read before the body is passed on; requests up to this size can be repeated at another channel. */
const readAhead = 8 * 1024 * 1024;
/** Values longer than this are files in all but name. */
const fieldLimit = 64 * 1024;

interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Form {
  readonly contentType: string;
  /** Text fields in what has been read. */
  readonly fields: ReadonlyMap<string, string>;
  /** The first file's content in what has been read, for its length in seconds. */
  readonly file: Uint8Array | null;
  readonly replayable: boolean;
  /** The body with another model; call once, again only when replayable. */
  body(model: string | null): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** Size of the whole body in bytes, as far as it has been passed on. */
  size(): number;
}

/** @throws AppError body_invalid when it is no form, body_too_large. */
export async function readForm(request: Request, bodyLimit: number): Promise<Form> {
  const contentType = request.headers.get('content-type') ?? '';
  const boundary = /boundary=(?:"([^"]{1,200})"|([^;\s]{1,200}))/i.exec(contentType);
  const mark = boundary?.[1] ?? boundary?.[2];
  if (!/^multipart\/form-data/i.test(contentType) || mark === undefined) {
    throw new AppError('body_invalid', { detail: 'multipart/form-data is expected' });
  }
  if (request.body === null) throw new AppError('body_invalid', { detail: 'the form is empty' });
  const reader = request.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const chunks: Uint8Array[] = [];
  let size = 0;
  let done = false;
  while (!done && size < readAhead) {
    const read = await reader.read();
    done = read.done;
    if (read.value !== undefined) {
      chunks.push(read.value);
      size += read.value.length;
    }
    if (size > bodyLimit) throw new AppError('body_too_large', { limit: bodyLimit });
  }
  let head = Buffer.concat(chunks);
  let parts = readParts(head, mark);
  // A file in front of the fields: they must be seen before a channel can be chosen.
  while (!done && parts.model === null) {
    const more: Uint8Array[] = [];
    for (let got = 0; !done && got < readAhead; ) {
      const read = await reader.read();
      done = read.done;
      if (read.value === undefined) continue;
      more.push(read.value);
      got += read.value.length;
    }
    head = Buffer.concat([head, ...more]);
    if (head.length > bodyLimit) throw new AppError('body_too_large', { limit: bodyLimit });
    parts = readParts(head, mark);
  }
  let total = head.length;
  const bytes = (model: string | null): Uint8Array<ArrayBuffer> =>
    new Uint8Array(
      model === null || parts.model === null
        ? head
        : Buffer.concat([head.subarray(0, parts.model.start), Buffer.from(model), head.subarray(parts.model.end)]),
    );
  return {
    contentType,
    fields: parts.fields,
    file: parts.file,
    replayable: done,
    size: () => total,
    body(model) {
      if (done) return bytes(model);
      let first = true;
      return new ReadableStream<Uint8Array>({
        async pull(controller) {
          if (first) {
            first = false;
            controller.enqueue(bytes(model));
            return;
          }
          const read = await reader.read();
          if (read.done) return controller.close();
          total += read.value.length;
          if (total > bodyLimit) return controller.error(new AppError('body_too_large', { limit: bodyLimit }));
          controller.enqueue(read.value);
        },
        cancel: (reason) => reader.cancel(reason),
      });
    },
  };
}

interface Parts {
  readonly fields: ReadonlyMap<string, string>;
  readonly model: Span | null;
  readonly file: Uint8Array | null;
}

function readParts(bytes: Buffer, boundary: string): Parts {
  const fields = new Map<string, string>();
  let model: Span | null = null;
  let file: Uint8Array | null = null;
  const mark = Buffer.from(`--${boundary}`);
  let at = bytes.indexOf(mark);
  while (at >= 0) {
    const headersEnd = bytes.indexOf('\r\n\r\n', at);
    if (headersEnd < 0) break;
    const headers = bytes.toString('utf8', at + mark.length, headersEnd);
    const start = headersEnd + 4;
    const next = bytes.indexOf(Buffer.from(`\r\n--${boundary}`), start);
    const name = /name="([^"]*)"/i.exec(headers)?.[1] ?? '';
    if (/filename[*]?=/i.test(headers)) file ??= bytes.subarray(start, next < 0 ? bytes.length : next);
    else if (next >= 0 && next - start <= fieldLimit) {
      if (fields.has(name) && (name === 'model' || name === 'n')) {
        throw new AppError('body_invalid', { detail: `${name} appears twice` });
      }
      fields.set(name, bytes.toString('utf8', start, next));
      if (name === 'model') model = { start, end: next };
    }
    at = next < 0 ? -1 : next + 2;
  }
  return { fields, model, file };
}
