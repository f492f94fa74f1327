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
  /** @returns a promise where the client has not taken it all yet. */
  flush(): Promise<void> | null;
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
  const { upstream } = departure;
  /** Ends the wait for a client that takes nothing. */
  let giveUp: (() => void) | null = null;
  let left: (() => void) | null = null;
  upstream.onAbort(() => giveUp?.());
  departure.onGone(() => left?.());

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
      await new Promise<unknown>((resolve, reject) => {
        giveUp = () => reject(new Error('client gone'));
        if (upstream.aborted) return giveUp();
        written.then(resolve, reject);
        left = () => resolve(null);
        if (departure.gone()) left();
      });
      giveUp = null;
      left = null;
      watchdog.resumed();
    },
    flush() {
      const flushed = sink.flush();
      if (flushed instanceof Promise) return flushed.then(watchdog.wrote);
      watchdog.wrote();
      return null;
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
