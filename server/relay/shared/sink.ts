/** Where the pieces of a stream go: to the client, in its form, as long as it is there. */
import type { RawFrame, Reshape } from '../../protocols/codec.ts';

export type Piece = Uint8Array | string;
/** What is to go to the client, in whole frames where they pass as they came. */
export type Outgoing = Piece | RawFrame;

export const pieceOf = (one: Outgoing): Piece =>
  typeof one === 'string' || one instanceof Uint8Array ? one : one.bytes;
/** Bytes, of a text UTF-16 units. */
export const sizeOf = (one: Outgoing): number =>
  typeof one === 'string' || one instanceof Uint8Array ? one.length : one.size;

/** The sink of a direct stream. */
export interface Sink {
  write(chunk: Piece): unknown;
  flush(): unknown;
  end(): unknown;
}

/** On its way, joined where that costs nothing: texts, and frames that came side by side. */
export interface Joined {
  add(one: Outgoing): void;
  /** What was joined goes out. */
  put(): void;
}

export function joining(write: (piece: Piece) => void): Joined {
  let text = '';
  /** What the frames that are joined came in, and which part of it they are. */
  let run: Uint8Array | null = null;
  let start = 0;
  let end = 0;
  const put = () => {
    if (text !== '') {
      const piece = text;
      text = '';
      write(piece);
    }
    if (run === null) return;
    const piece = end - start === run.length ? run : run.subarray(start, end);
    run = null;
    write(piece);
  };
  return {
    put,
    add(one) {
      if (typeof one === 'string') {
        if (run !== null) put();
        text += one;
      } else if (one instanceof Uint8Array) {
        put();
        write(one);
      } else if (run === one.within && one.start === end) end += one.size;
      else {
        put();
        run = one.within;
        start = one.start;
        end = start + one.size;
      }
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
