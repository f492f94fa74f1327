/** The client's end of a stream: what it is slow to take is waited for, and the end of its answer is held back for the bill. */
import type { Piece, Sink } from '../shared/sink.ts';
import type { PumpOptions } from './stream-options.ts';
import type { Watchdog } from './watchdog.ts';

export interface ClientSide {
  /** @returns a promise while the client takes nothing, to be handed to `taken`. */
  readonly write: (piece: Piece) => unknown;
  readonly end: () => unknown;
  /** A sign of life. */
  ping(): void;
  /** Waits while the client takes nothing: then the upstream waits too. @throws when the upstream's side is ended meanwhile. */
  taken(written: Promise<unknown>): Promise<void>;
  flush(): Promise<void>;
  /** Keeps back the end of the answer, as long as nobody knows what it costs: who has it has no reason to stay. */
  hold(pieces: readonly Piece[]): void;
  holds(): boolean;
  /** What is held back goes out in a while even without the bill. */
  awaitBill(): void;
  /** The bill was waited for in vain. */
  waited(): boolean;
  /** What was held back goes out now. */
  release(): void;
  /** The bill is waited for no longer. */
  calm(): void;
}

export const pinging = (sink: Sink, ping: string) => () => {
  sink.write(ping);
  sink.flush();
};

export function createClientSide(
  { ping, billMs, departure }: Pick<PumpOptions, 'ping' | 'billMs' | 'departure'>,
  sink: Sink,
  watchdog: Pick<Watchdog, 'stalled' | 'resumed' | 'wrote'>,
): ClientSide {
  const { signal } = departure.upstream;
  /** Ends the wait for a client that takes nothing. */
  let giveUp: (() => void) | null = null;
  signal.addEventListener('abort', () => giveUp?.(), { once: true });

  const held: Piece[] = [];
  let waiting: ReturnType<typeof setTimeout> | undefined;
  let waited = false;
  const release = () => {
    clearTimeout(waiting);
    waiting = undefined;
    for (const piece of held.splice(0)) sink.write(piece);
  };

  return {
    write: (piece) => sink.write(piece),
    end: () => sink.end(),
    ping: pinging(sink, ping),
    async taken(written) {
      watchdog.stalled();
      // One listener serves the whole stream: one for each wait would stay as long as the stream does.
      await new Promise<unknown>((resolve, reject) => {
        giveUp = () => reject(new Error('client gone'));
        if (signal.aborted) return giveUp();
        written.then(resolve, reject);
        void departure.whenGone().then(resolve);
      });
      giveUp = null;
      watchdog.resumed();
    },
    async flush() {
      const flushed = sink.flush();
      if (flushed instanceof Promise) await flushed;
      watchdog.wrote();
    },
    hold: (pieces) => void held.push(...pieces),
    holds: () => held.length > 0,
    awaitBill() {
      waiting ??= setTimeout(() => {
        waited = true;
        release();
        sink.flush();
      }, billMs);
    },
    waited: () => waited,
    release,
    calm: () => clearTimeout(waiting),
  };
}
