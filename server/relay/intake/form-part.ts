/**
 * The headers of one part of a form. Readers disagree on everything but the plain form that clients write, so that
 * form is read whole and all else is refused. Sources: RFC 7578 4.2, RFC 6266 4.1, and what readers were seen to do.
 */
import { AppError } from '../../contract/errors.ts';
import { checkFieldName } from './members.ts';

export interface PartHead {
  readonly name: string;
  readonly isFile: boolean;
  /** May come only once in a form. */
  readonly single: boolean;
  /** Bytes the part says it has; null = it does not say. */
  readonly declared: number | null;
  /** The part names a charset of its own, by which bytes other than ASCII would be read. */
  readonly asciiOnly: boolean;
}

const fieldName = /^[A-Za-z0-9_][A-Za-z0-9_.\-[\]]*$/;
const header = /^([A-Za-z0-9-]{1,64}): ?([\x20-\x7e\x80-\xff]*)$/;
// The name first: readers that search the text find `name=` inside of `filename=` too.
const disposition =
  /^form-data; ?name=(?:"([^"\\]*)"|([A-Za-z0-9_.-]+))(; ?filename=(?:"([^"]*)"|[A-Za-z0-9!#$%&'*+.^_`|~-]+))?(; ?filename\*=[A-Za-z0-9!#$&+^_`|~.%'-]+)?$/;

const rejected = (detail: string): AppError => new AppError('body_invalid', { detail });

/** @param text the lines between the boundary and the empty line, a byte a character. @throws AppError body_invalid. */
export function readPartHead(text: string): PartHead {
  const found = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const match = header.exec(line);
    const name = match?.[1]?.toLowerCase();
    if (match === null || name === undefined) throw rejected('a part of the form has a header that cannot be read');
    if (found.has(name)) throw rejected(`a part of the form has two ${name} headers`);
    found.set(name, match[2] ?? '');
  }
  const { name, isFile } = readDisposition(found.get('content-disposition') ?? '');
  const single = checkFieldName(name);
  if (single && isFile && name !== 'file') throw rejected(`${name} must be a plain field, not a file`);
  // A text in its place may be an address, and a recording there may have any length.
  if (name === 'file' && !isFile) throw rejected('file must be a file with a name');
  const encoding = found.get('content-transfer-encoding');
  if (encoding !== undefined && !/^(7bit|8bit|binary)$/i.test(encoding)) {
    throw rejected(`the Content-Transfer-Encoding of ${name} is not supported`);
  }
  const type = found.get('content-type');
  if (type !== undefined && /multipart|message/i.test(type)) throw rejected(`${name} holds a form of its own`);
  const length = found.get('content-length');
  if (length !== undefined && !/^\d{1,15}$/.test(length)) throw rejected(`the Content-Length of ${name} is no number`);
  return {
    name,
    isFile,
    single,
    declared: length === undefined ? null : Number(length),
    asciiOnly: isFile ? false : readType(name, type, single),
  };
}

function readDisposition(value: string): { readonly name: string; readonly isFile: boolean } {
  const match = disposition.exec(value);
  const name = match?.[1] ?? match?.[2];
  if (match === null || name === undefined || !fieldName.test(name)) {
    throw rejected('a part of the form needs a Content-Disposition of the form: form-data; name="..."; filename="..."');
  }
  const [, , , first, filename = '', extended] = match;
  // A quote behind a backslash ends the name for some, and what follows is another parameter to them.
  if (filename.endsWith('\\') || (filename.includes(';') && filename.includes('='))) {
    throw rejected(`the file name of ${name} cannot be read in one way alone`);
  }
  return { name, isFile: first !== undefined || extended !== undefined };
}

/** @returns whether only ASCII is read alike. */
function readType(name: string, value: string | undefined, single: boolean): boolean {
  if (value === undefined || !single) return false;
  const match = /^text\/plain(?:; ?charset="?([A-Za-z0-9-]+)"?)?$/i.exec(value);
  if (match === null) throw rejected(`the Content-Type of ${name} must be text/plain`);
  const charset = (match[1] ?? 'utf-8').toLowerCase();
  if (charset === 'utf-8') return false;
  if (charset === 'us-ascii' || charset === 'iso-8859-1') return true;
  throw rejected(`the charset of ${name} must be utf-8`);
}
