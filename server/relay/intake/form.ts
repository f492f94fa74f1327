/** Multipart bodies: the small fields are read, the files go out as they are, edited only where the model is named. */
import { AppError } from '../../contract/errors.ts';
import { audioSeconds } from '../shared/recordings/length.ts';
import { type FormScan, scanForm } from './form-scan.ts';

export interface Form {
  readonly contentType: string;
  /** Text fields. */
  readonly fields: ReadonlyMap<string, string>;
  /** The content of `file`; null = there is none. */
  readonly file: Uint8Array | null;
  /** How long the recording in `file` is, measured once; null = there is none. */
  seconds(): number | null;
  /** Parts that are files. */
  readonly files: number;
  /** @param model in the place of the one that is named; null = the body stays as it is. */
  body(model: string | null): Uint8Array<ArrayBuffer>;
}

/** @throws AppError body_invalid when it is no form that everybody reads alike. */
export function formOf(contentType: string, bytes: Uint8Array<ArrayBuffer>): Form {
  const boundary = boundaryOf(contentType);
  if (bytes.length === 0) throw new AppError('body_invalid', { detail: 'the form is empty' });
  const scan = scanForm(boundary);
  scan.push(bytes);
  scan.end();
  const span = scan.file();
  const file = span === null ? null : bytes.subarray(span.start, span.end);
  let measured: number | null = null;
  return {
    contentType,
    fields: scan.fields,
    file,
    seconds() {
      if (file !== null) measured ??= audioSeconds(file, file.length);
      return measured;
    },
    files: scan.files(),
    body: (model) => (model === null ? bytes : withModel(bytes, scan.model(), boundary, model)),
  };
}

const modelHeaders = 'Content-Disposition: form-data; name="model"\r\n\r\n';

function withModel(
  bytes: Uint8Array,
  span: ReturnType<FormScan['model']>,
  boundary: string,
  model: string,
): Uint8Array<ArrayBuffer> {
  if (span !== null) {
    const before = bytes.subarray(0, span.headers ?? span.start);
    const value = Buffer.from(span.headers === null ? model : `${modelHeaders}${model}`);
    return Buffer.concat([before, value, bytes.subarray(span.end)]);
  }
  const ownBreak = bytes[0] === 13 ? '' : '\r\n';
  const part = Buffer.from(`--${boundary}\r\n${modelHeaders}${model}${ownBreak}`);
  return Buffer.concat([part, bytes]);
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
