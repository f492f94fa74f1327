/** Counts tokens of text when an upstream reports none: in a thread of its own, started at first need, because loading an encoding takes 300 ms. */

export interface TokenCounter {
  /** @returns tokens of each text. Never rejects: when the thread fails, one token per four characters. */
  count(model: string, texts: readonly string[]): Promise<number[]>;
  close(): void;
}

export interface CountRequest {
  readonly id: number;
  readonly model: string;
  readonly texts: readonly string[];
}

export interface CountAnswer {
  readonly id: number;
  readonly counts: readonly number[];
}

/** The parts of a Worker that are used here. */
/** Types know a thread's messages as anything. */
export const countingThreadOf = (thread: object): CountingThread => thread as unknown as CountingThread;

export interface CountingThread {
  postMessage(message: CountRequest): void;
  onmessage: ((event: MessageEvent<CountAnswer>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  terminate(): void;
  unref?(): void;
}

const roughly = (text: string): number => Math.ceil(text.length / 4);

export function createTokenCounter(spawn: () => CountingThread): TokenCounter {
  let thread: CountingThread | null = null;
  let next = 1;
  const waiting = new Map<
    number,
    { readonly texts: readonly string[]; readonly resolve: (counts: number[]) => void }
  >();

  const abandon = () => {
    for (const { texts, resolve } of waiting.values()) resolve(texts.map(roughly));
    waiting.clear();
    thread = null;
  };

  const start = (): CountingThread => {
    const started = spawn();
    started.onmessage = ({ data }) => {
      waiting.get(data.id)?.resolve([...data.counts]);
      waiting.delete(data.id);
    };
    started.onerror = abandon;
    started.unref?.();
    return started;
  };

  return {
    count(model, texts) {
      if (texts.every((text) => text === '')) return Promise.resolve(texts.map(() => 0));
      thread ??= start();
      const id = next++;
      const { promise, resolve } = Promise.withResolvers<number[]>();
      waiting.set(id, { texts, resolve });
      thread.postMessage({ id, model, texts });
      return promise;
    },
    close() {
      thread?.terminate();
      abandon();
    },
  };
}
