/** Whose fault an error is. What reads an upstream, a client or a store turns its errors into an `AppError` where they happen; whatever else is thrown is a defect of ours, and is said so. */
import { AppError } from '../../contract/errors.ts';
import { isOutOfMemory, shortageSeconds } from '../../contract/own-shortage.ts';

/** Tools that everything that serves requests needs. */
export interface Reporter {
  /** Writes down what is a defect of ours, once for each request; everything else is nothing. @returns whether it is ours. */
  report(error: unknown, requestId: string): boolean;
}

/** Neither an answer of the rules nor a failure of somebody else's. What was met for want of memory is neither, whatever it was taken for. */
export const isOurs = (error: unknown): boolean =>
  !(error instanceof AppError) || error.code === 'internal' || isOutOfMemory(error);

/** The error that everybody sees of it. */
export function asAppError(error: unknown): AppError {
  const isShort = isOutOfMemory(error);
  if (error instanceof AppError && (!isShort || error.code === 'overloaded')) return error;
  return isShort
    ? new AppError('overloaded', { seconds: shortageSeconds }, error)
    : new AppError('internal', {}, error);
}

/** Read at the one place where an upstream's bytes come in. @throws AppError upstream_broken where it breaks off. */
export async function readChunk<T>(reader: ReadableStreamDefaultReader<T>) {
  try {
    return await reader.read();
  } catch (cause) {
    throw new AppError('upstream_broken', {}, cause);
  }
}

export class Defects implements Reporter {
  /** Since the relay began, without what memory was missing for. */
  count = 0;
  /** Requests of the errors that were written down. */
  private readonly written = new WeakMap<object, string>();

  /** @param write gets the error itself and the id of the request that met it. */
  constructor(private readonly write: (error: unknown, requestId: string) => void) {}

  report(error: unknown, requestId: string): boolean {
    if (!isOurs(error)) return false;
    const met = error instanceof AppError && error.cause !== undefined ? error.cause : error;
    if (typeof met === 'object' && met !== null) {
      if (this.written.get(met) === requestId) return true;
      this.written.set(met, requestId);
    }
    if (!isOutOfMemory(met)) this.count++;
    this.write(met, requestId);
    return true;
  }
}
