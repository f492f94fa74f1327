/** Ports that several listeners share. */
import { AppError } from '../contract/errors.ts';

/** Several listeners of one user share a port without a word, also with those of another server: this one does not. @throws AppError port_taken. */
export function freePort(host: string, port: number): number {
  try {
    const listener = Bun.listen({ hostname: host, port, socket: { data: () => undefined } });
    const { port: found } = listener;
    listener.stop(true);
    return found;
  } catch (error) {
    throw portError(error, port);
  }
}

/** What a listener's error means. */
export const portError = (error: unknown, port: number): unknown =>
  (error as { code?: unknown }).code === 'EADDRINUSE' ? new AppError('port_taken', { port }, error) : error;
