/** What may be wrong with a body before any call looks at it, and the error that its sender gets. */
import { AppError } from '../contract/errors.ts';
import { isOutOfMemory } from '../contract/own-shortage.ts';

/** Parsing and translating are recursive; no real request comes near. */
const maxDepth = 128;

const [quote, backslash] = [34, 92];
const opens = new Set([91, 123]);
const closes = new Set([93, 125]);

/** Counts brackets outside of strings, without building anything. @throws AppError body_too_deep */
export function rejectDeep(bytes: Uint8Array): void {
  let level = 0;
  let inside = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (inside) {
      if (byte === backslash) at += 1;
      else if (byte === quote) inside = false;
    } else if (byte === quote) inside = true;
    else if (closes.has(byte)) level -= 1;
    else if (opens.has(byte)) {
      level += 1;
      if (level > maxDepth) throw new AppError('body_too_deep');
    }
  }
}

/** Errors of the body parsers, in our words. What is none of theirs comes back as it is. @param limit bytes. */
export function bodyError(error: unknown, limit: number): unknown {
  if (error instanceof AppError || isOutOfMemory(error)) return error;
  const { type, status, message } = (error ?? {}) as { type?: unknown; status?: unknown; message?: unknown };
  if (type === 'entity.too.large') return new AppError('body_too_large', { limit }, error);
  if (type === 'entity.parse.failed') return new AppError('body_not_json', {}, error);
  // An unknown encoding or character set, packed data that cannot be unpacked, a broken percent sign in a path.
  if (typeof status === 'number' && status >= 400 && status < 500)
    return new AppError('body_invalid', { detail: String(message).slice(0, 200) }, error);
  return error;
}
