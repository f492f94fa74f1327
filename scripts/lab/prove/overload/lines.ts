/** Connections of a client that does as little as it can for each request. */

export interface Line {
  /** Milliseconds; when the last request was written. */
  writtenAt: number;
  ask(bytes: Buffer): void;
}

export interface Lines {
  readonly free: Line[];
  close(): void;
}

interface State extends Line {
  /** Of an answer whose end has not come; null = nothing has. */
  rest: Buffer | null;
}

const endOfHead = Buffer.from('\r\n\r\n');
const lengthName = /content-length: *(\d+)/i;
/** Where the status stands in an answer. */
const statusAt = 'HTTP/1.1 '.length;

/** @returns bytes of the whole answer, 0 = its head has not come. */
function wholeLength(bytes: Buffer): number {
  const end = bytes.indexOf(endOfHead);
  if (end < 0) return 0;
  return end + endOfHead.length + Number(lengthName.exec(bytes.toString('latin1', 0, end))?.[1] ?? 0);
}

/** @param answered called once for each answer that has come whole. */
export async function createLines(
  port: number,
  count: number,
  answered: (line: Line, status: number) => void,
): Promise<Lines> {
  const sockets = await Promise.all(
    Array.from({ length: count }, () =>
      Bun.connect<State>({
        hostname: '127.0.0.1',
        port,
        socket: {
          open(socket) {
            socket.data = {
              writtenAt: 0,
              rest: null,
              ask(bytes) {
                this.writtenAt = performance.now();
                socket.write(bytes);
              },
            };
          },
          data({ data }, chunk) {
            const bytes = data.rest === null ? chunk : Buffer.concat([data.rest, chunk]);
            const whole = wholeLength(bytes);
            if (whole === 0 || bytes.length < whole) {
              data.rest = Buffer.from(bytes);
              return;
            }
            data.rest = null;
            answered(data, Number(bytes.toString('latin1', statusAt, statusAt + 3)));
          },
          error: () => undefined,
        },
      }),
    ),
  );
  return {
    free: sockets.map(({ data }) => data),
    close() {
      for (const socket of sockets) socket.terminate();
    },
  };
}
