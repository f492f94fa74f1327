/** Relays that do next to nothing but relay: their CPU per request is what all others are measured against. */
import { fdatasync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { serveSockets } from './socket-floor.ts';

/** The least that a relay can be with the runtime's HTTP, with a line about each request on the disk before its answer, and over plain sockets. */
export type FloorKind = 'fetch' | 'durable' | 'sockets';

interface Listening {
  stop(closesConnections?: boolean): unknown;
}

type Answer = (upstream: number, request: Request) => Promise<Response>;

const passOn: Answer = (upstream, request) => {
  const { pathname, search } = new URL(request.url);
  return fetch(`http://127.0.0.1:${upstream}${pathname}${search}`, request);
};

/** @param pairs behind the kind `PORT:UPSTREAM`: each port passes everything on to one upstream of this machine. */
export function serveFloor([kind, ...pairs]: readonly string[]): readonly Listening[] {
  const answer = kind === 'durable' ? noted(passOn, openNotes()) : passOn;
  return pairs.map((pair) => {
    const [port = 0, upstream = 0] = pair.split(':').map(Number);
    if (kind === 'sockets') return serveSockets(port, upstream);
    const server = { port, hostname: '127.0.0.1', idleTimeout: 0 };
    return Bun.serve({ ...server, fetch: (request) => answer(upstream, request) });
  });
}

interface Notes {
  /** Resolves when the line is on the disk. */
  write(line: string): Promise<void>;
}

/** As much as a ledger writes of a request. */
const noteBytes = 512;
const fileBytes = 4 * 1024 * 1024;

/** What waits while one write is synced goes with the next, into a file that is as long as it gets. */
function openNotes(): Notes {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-floor-'));
  const file = openSync(join(folder, 'notes'), 'w');
  // It goes with the process, however that ends.
  if (process.platform !== 'win32') rmSync(folder, { recursive: true });
  writeSync(file, Buffer.alloc(fileBytes));
  const sync = promisify(fdatasync);
  let waiting: { readonly line: string; readonly done: () => void }[] = [];
  let isBusy = false;
  let at = 0;
  const flush = async (): Promise<void> => {
    isBusy = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      const bytes = Buffer.from(batch.map(({ line }) => line).join(''));
      if (at + bytes.length > fileBytes) at = 0;
      writeSync(file, bytes, 0, bytes.length, at);
      at += bytes.length;
      await sync(file);
      for (const { done } of batch) done();
    }
    isBusy = false;
  };
  return {
    write(line) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ line, done: resolve });
      if (!isBusy) void flush();
      return promise;
    },
  };
}

/** A whole answer waits for its line, a stream's headers do. */
const noted =
  (answer: Answer, notes: Notes): Answer =>
  async (upstream, request) => {
    const response = await answer(upstream, request);
    await notes.write(`${JSON.stringify({ at: Date.now(), status: response.status }).padEnd(noteBytes - 1)}\n`);
    return response;
  };
