/** Multipart bodies: the small fields are read, the files pass through as they are, edited only where the model is named. */
import { AppError } from '../../contract/errors.ts';
import { asAppError } from '../shared/defect.ts';
import { type FormScan, scanForm } from './form-scan.ts';

/** What is read before the body is passed on; requests up to this size can be repeated at another channel. */
const readAhead = 8 * 1024 * 1024;
/** That much of a recording is enough to read its format. */
const fileHead = 64 * 1024;

export interface Form {
  readonly contentType: string;
  /** Text fields in what has been read. */
  readonly fields: ReadonlyMap<string, string>;
  /** The content of `file` in what has been read, for its length in seconds. */
  readonly file: Uint8Array | null;
  readonly replayable: boolean;
  /** All of the body has been passed on. */
  isPassedOn(): boolean;
  /** The body with another model; call once, again only when replayable. */
  body(model: string | null): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** Files in what has been read. */
  files(): number;
  /** Size of `file` in bytes, as far as it has been passed on. */
  fileSize(): number;
  /** What was found wrong with the body while it was passed on: the caller's mistake, not the upstream's. */
  formError(): AppError | null;
  /** Called before the body breaks off at its fault. */
  onError(call: () => void): void;
}

export interface FormLimits {
  /** Largest body in bytes. */
  readonly size: number;
  /** The price depends on fields that may stand behind the files: nothing goes out before all was read. */
  readonly whole: boolean;
}

/** @throws AppError body_invalid when it is no form that everybody reads alike, body_too_large. */
export async function readForm(request: Pick<Request, 'headers' | 'body'>, limits: FormLimits): Promise<Form> {
  const contentType = request.headers.get('content-type') ?? '';
  const scan = scanForm(boundaryOf(contentType));
  if (request.body === null) throw new AppError('body_invalid', { detail: 'the form is empty' });
  const reader = request.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const chunks: Uint8Array[] = [];
  let total = 0;
  /** Every byte passes here before anybody else sees it. */
  const next = async (): Promise<Uint8Array | null> => {
    const { done, value } = await chunkOf(reader);
    if (done) {
      scan.end();
      return null;
    }
    total += value.length;
    if (total > limits.size) throw new AppError('body_too_large', { limit: limits.size });
    scan.push(value);
    return value;
  };
  let done = false;
  while (!done && (limits.whole || total < readAhead || !isKnown(scan))) {
    const chunk = await next();
    if (chunk === null) done = true;
    else chunks.push(chunk);
  }
  const head = Buffer.concat(chunks);
  const file = scan.file();
  let isOver = done;
  let formError: AppError | null = null;
  let notify: () => void = () => undefined;
  return {
    contentType,
    fields: scan.fields,
    file: file === null ? null : head.subarray(file.start, file.end),
    replayable: done,
    files: () => scan.files(),
    isPassedOn: () => isOver,
    formError: () => formError,
    onError(call) {
      notify = call;
    },
    fileSize() {
      const span = scan.file();
      return span === null ? 0 : span.end - span.start;
    },
    body(model) {
      const first = withModel(head, scan, contentType, model);
      if (done) return first;
      let started = false;
      return new ReadableStream<Uint8Array>({
        async pull(controller) {
          if (!started) {
            started = true;
            controller.enqueue(first);
            return;
          }
          try {
            const chunk = await next();
            if (chunk === null) {
              isOver = true;
              controller.close();
            } else controller.enqueue(chunk);
          } catch (error) {
            formError = asAppError(error);
            // First of all the upstream must not take the broken body for a whole one.
            notify();
            void reader.cancel().catch(() => undefined);
            controller.error(error);
          }
        },
        cancel: (reason) => reader.cancel(reason),
      });
    },
  };
}

/** @throws AppError body_invalid where the client breaks off. */
async function chunkOf(reader: ReadableStreamDefaultReader<Uint8Array>) {
  try {
    return await reader.read();
  } catch (cause) {
    throw new AppError('body_invalid', { detail: 'the form ended early' }, cause);
  }
}

/** Fields may stand behind a file: the model must be seen before a channel can be chosen, the recording before it can be paid for. */
function isKnown(scan: FormScan): boolean {
  const file = scan.file();
  return scan.model() !== null && file !== null && (file.complete || file.end - file.start >= fileHead);
}

const modelHeaders = 'Content-Disposition: form-data; name="model"\r\n\r\n';

/** @param model null = the body stays as it is. */
function withModel(head: Buffer, scan: FormScan, contentType: string, model: string | null): Uint8Array<ArrayBuffer> {
  if (model === null) return new Uint8Array(head);
  const span = scan.model();
  if (span !== null) {
    const before = head.subarray(0, span.headers ?? span.start);
    const value = Buffer.from(span.headers === null ? model : `${modelHeaders}${model}`);
    return new Uint8Array(Buffer.concat([before, value, head.subarray(span.end)]));
  }
  const ownBreak = head[0] === 13 ? '' : '\r\n';
  const part = Buffer.from(`--${boundaryOf(contentType)}\r\n${modelHeaders}${model}${ownBreak}`);
  return new Uint8Array(Buffer.concat([part, head]));
}

const parameter = /; ?([A-Za-z-]+)=(?:"([^"\\]*)"|([A-Za-z0-9!#$%&'*+.^_`|~-]+))/y;
/** RFC 2046 5.1.1, without the blank that some readers cut off. */
const boundaryMark = /^[0-9A-Za-z'()+_,\-./:=?]{1,70}$/;

/** A Content-Type is read whole or not at all: every reader must find the same boundary in it. @returns the boundary. @throws AppError body_invalid. */
function boundaryOf(contentType: string): string {
  const start = /^multipart\/form-data(?=;|$)/i.exec(contentType)?.[0].length;
  if (start === undefined) throw new AppError('body_invalid', { detail: 'multipart/form-data is expected' });
  let boundary: string | null = null;
  parameter.lastIndex = start;
  while (parameter.lastIndex < contentType.length) {
    const found = parameter.exec(contentType);
    if (found === null) throw unclear();
    const name = (found[1] ?? '').toLowerCase();
    const value = found[2] ?? found[3] ?? '';
    if (name === 'charset') {
      // Starlette decodes fields by it.
      if (!/^utf-?8$/i.test(value)) throw new AppError('body_invalid', { detail: `charset ${value} is not utf-8` });
    } else if (name !== 'boundary' || boundary !== null || !boundaryMark.test(value)) throw unclear();
    else boundary = value;
  }
  if (boundary === null) throw new AppError('body_invalid', { detail: 'the form has no boundary' });
  return boundary;
}

const unclear = () =>
  new AppError('body_invalid', {
    detail: 'the Content-Type must name one boundary and nothing that is not understood',
  });
