/** Where the pieces of a stream go: to the client, in its form, as long as it is there. */
import type { Reshape } from '../../protocols/codec.ts';

export type Piece = Uint8Array | string;

/** The sink of a direct stream. */
export interface Sink {
  write(chunk: Piece): unknown;
  flush(): unknown;
  end(): unknown;
}

/** Pieces on their way, joined where that costs nothing: texts, and bytes that lie side by side in memory. */
export interface Joined {
  add(piece: Piece): void;
  /** What was joined goes out. */
  put(): void;
}

export function joining(write: (piece: Piece) => void): Joined {
  let text = '';
  let run: Uint8Array | null = null;
  /** Bytes from the beginning of `run`. */
  let size = 0;
  const put = () => {
    if (text !== '') {
      const piece = text;
      text = '';
      write(piece);
    }
    if (run === null) return;
    const piece = size === run.length ? run : new Uint8Array(run.buffer, run.byteOffset, size);
    run = null;
    write(piece);
  };
  return {
    put,
    add(piece) {
      if (typeof piece === 'string') {
        if (run !== null) put();
        text += piece;
        return;
      }
      if (run !== null && piece.buffer === run.buffer && piece.byteOffset === run.byteOffset + size) {
        size += piece.length;
        return;
      }
      put();
      run = piece;
      size = piece.length;
    },
  };
}

/** For those who left. */
export const nowhere: Sink = { write: () => null, flush: () => null, end: () => null };

/** The same sink for what is told in another form than events. */
export const reshaped = (sink: Sink, shape: Reshape): Sink => ({
  write: (piece) => sink.write(shape.push(typeof piece === 'string' ? piece : Buffer.from(piece).toString('utf8'))),
  flush: () => sink.flush(),
  end: () => {
    sink.write(shape.end());
    return sink.end();
  },
});

/** Nothing is written to a client that has gone, so that reading on for the bill goes undisturbed. */
export const whilePresent = (sink: Sink, gone: () => boolean): Sink => ({
  write: (piece) => (gone() ? null : sink.write(piece)),
  flush: () => (gone() ? null : sink.flush()),
  end: () => sink.end(),
});
