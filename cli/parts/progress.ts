/** Says that long work goes on, without mixing with what it prints at its end. */

export interface SignOptions {
  /** To standard error. */
  readonly write: (text: string) => void;
  /** A cursor can be moved there. */
  readonly isTty: boolean;
  readonly silent: boolean;
  /** The reader's word for "working", or what is done at the moment. */
  readonly word: () => string;
}

/** What is over sooner needs no sign. */
const timeoutMs = 300;
const frameMs = 100;
const lineMs = 10_000;
const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const;

export async function withProgress<Result>(work: Promise<Result>, options: SignOptions): Promise<Result> {
  if (options.silent) return work;
  const began = performance.now();
  let shown = 0;
  const draw = () => {
    const seconds = Math.floor((performance.now() - began) / 1000);
    const frame = frames[shown++ % frames.length];
    const word = options.word();
    options.write(options.isTty ? `\r${frame} ${word} ${seconds} s\u001b[K` : `${word} ${seconds} s\n`);
  };
  let timer: ReturnType<typeof setInterval> | undefined;
  const start = setTimeout(
    () => {
      draw();
      timer = setInterval(draw, options.isTty ? frameMs : lineMs);
    },
    options.isTty ? timeoutMs : lineMs,
  );
  try {
    return await work;
  } finally {
    clearTimeout(start);
    clearInterval(timer);
    if (options.isTty && shown > 0) options.write('\r\u001b[K');
  }
}
