/** Walks a form's bytes as they pass: no part that matters comes twice, none is seen by one reader and not by another. */
import { AppError } from '../../contract/errors.ts';
import { type PartHead, readPartHead } from './form-part.ts';

export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface FormScan {
  /** To be called with all bytes in order, before anybody else sees them. @throws AppError body_invalid. */
  push(chunk: Uint8Array): void;
  /** There are no more bytes. @throws AppError body_invalid when the form is not complete. */
  end(): void;
  /** Text fields that are complete. */
  readonly fields: ReadonlyMap<string, string>;
  /** Where the model stands, and its part's headers where these name its length; null = not yet seen. */
  model(): (Span & { readonly headers: number | null }) | null;
  /** Parts that are files, as far as they were seen. */
  files(): number;
  /** Where the part `file` stands as far as it was seen; null = not yet. */
  file(): Span | null;
}

/** Values longer than this are files in all but name. */
const fieldLimit = 64 * 1024;
const headersLimit = 16 * 1024;
/** Clients send some twenty fields and as many pictures. */
const maxParts = 1000;
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const none = Buffer.alloc(0);

const rejected = (detail: string): AppError => new AppError('body_invalid', { detail });

export function scanForm(boundary: string): FormScan {
  const mark = Buffer.from(`--${boundary}`, 'latin1');
  const fields = new Map<string, string>();
  const seen = new Set<string>();
  let state: 'start' | 'headers' | 'content' | 'after' = 'start';
  /** Bytes that are not understood yet, and where they begin in the body. */
  let rest: Buffer = none;
  let at = 0;
  let part: PartHead | null = null;
  let parts = 0;
  let files = 0;
  let contentStart = 0;
  /** The content of a text field so far. */
  let value: Buffer[] = [];
  let valueSize = 0;
  let modelSpan: ReturnType<FormScan['model']> = null;
  let headersStart = 0;
  let fileStart: number | null = null;
  let fileEnd: number | null = null;

  const take = (count: number): Buffer => {
    const taken = rest.subarray(0, count);
    rest = rest.subarray(count);
    at += count;
    return taken;
  };

  const keep = (bytes: Buffer) => {
    if (part === null || part.isFile || bytes.length === 0) return;
    valueSize += bytes.length;
    if (valueSize > fieldLimit) {
      if (part.single && part.name !== 'file') throw rejected(`${part.name} is too long`);
      value = [];
      return;
    }
    value.push(Buffer.from(bytes));
  };

  const open = () => {
    const end = rest.indexOf('\r\n\r\n');
    if (end > headersLimit || (end < 0 && rest.length > headersLimit)) throw rejected('a part has too many headers');
    if (end < 0) return false;
    const text = rest.toString('latin1', 0, end);
    if (text.includes(mark.toString('latin1'))) throw rejected('the boundary appears inside of a part');
    if (++parts > maxParts) throw rejected(`the form has more than ${maxParts} parts`);
    headersStart = at;
    take(end + 4);
    part = readPartHead(text);
    if (part.single && seen.has(part.name)) throw rejected(`${part.name} appears twice`);
    if (part.single) seen.add(part.name);
    if (part.isFile) files++;
    contentStart = at;
    value = [];
    valueSize = 0;
    if (part.name === 'file') fileStart = at;
    state = 'content';
    return true;
  };

  const close = (end: number) => {
    if (part === null) return;
    const { name, declared, asciiOnly } = part;
    if (declared !== null && declared !== end - contentStart) throw rejected(`the Content-Length of ${name} is wrong`);
    if (name === 'file') fileEnd = end;
    if (part.isFile || valueSize > fieldLimit) return;
    const text = decode(name, Buffer.concat(value), part.single);
    if (asciiOnly && /[^\0-\x7f]/.test(text)) throw rejected(`${name} must be utf-8`);
    if (name === '_charset_' && !/^utf-8$/i.test(text)) throw rejected('_charset_ must be utf-8');
    fields.set(name, text);
    if (name === 'model') modelSpan = { start: contentStart, end, headers: declared === null ? null : headersStart };
  };

  /** Content up to the next boundary. @returns whether there was one. */
  const read = () => {
    const found = rest.indexOf(mark);
    if (found < 0) {
      // Bytes that may be the beginning of a boundary, with the line break before it, wait for the rest of it.
      const sure = rest.length - (mark.length + 1);
      if (sure > 0) keep(take(sure));
      return false;
    }
    if (rest.length < found + mark.length + 2) {
      if (found > 2) keep(take(found - 2));
      return false;
    }
    if (found < 2 || rest[found - 2] !== 13 || rest[found - 1] !== 10) {
      throw rejected('the boundary appears inside of a part');
    }
    keep(take(found - 2));
    close(at);
    take(2);
    return delimiter();
  };

  /** At a boundary with at least two bytes behind it. */
  const delimiter = () => {
    const last = rest.toString('latin1', mark.length, mark.length + 2);
    if (last !== '\r\n' && last !== '--') throw rejected('something stands behind a boundary');
    take(mark.length + 2);
    part = null;
    state = last === '--' ? 'after' : 'headers';
    return true;
  };

  const begin = () => {
    // Some clients put an empty line in front of the first boundary.
    const skipped = rest[0] === 13 ? 2 : 0;
    if (rest.length < skipped + mark.length + 2) return false;
    if (skipped === 2 && rest[1] !== 10) throw rejected('the form does not begin with its boundary');
    if (!rest.subarray(skipped, skipped + mark.length).equals(mark)) {
      throw rejected('the form does not begin with its boundary');
    }
    take(skipped);
    return delimiter();
  };

  const after = () => {
    for (const byte of take(rest.length)) {
      if (byte !== 13 && byte !== 10) throw rejected('something stands behind the last boundary');
    }
    return false;
  };

  const steps = { start: begin, headers: open, content: read, after };

  return {
    push(chunk) {
      rest =
        rest.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.concat([rest, chunk]);
      while (rest.length > 0 && steps[state]());
      // The chunk is the sender's; what waits must not change under us.
      rest = rest.length === 0 ? none : Buffer.from(rest);
    },
    end() {
      if (state !== 'after') throw rejected('the form ends before its last boundary');
    },
    fields,
    model: () => modelSpan,
    files: () => files,
    file: () => (fileStart === null ? null : { start: fileStart, end: fileEnd ?? at }),
  };
}

function decode(name: string, bytes: Buffer, single: boolean): string {
  try {
    return strict.decode(bytes);
  } catch (cause) {
    if (single) throw new AppError('body_invalid', { detail: `${name} is not valid UTF-8` }, cause);
    return bytes.toString('utf8');
  }
}
