/**
 * The server that machines of a site share, Redis or Valkey. Requests do not wait for it when it is away, slow or
 * frozen: it is checked in the background, and every machine keeps to its own share until it is back.
 */
/** The part of a client that is used. */
export interface RedisLine {
  connect(): Promise<void>;
  send(command: string, values: string[]): Promise<unknown>;
  close(): void;
}

/** Runs a script there. @returns null when it does not answer. */
export type RedisScript<Name extends string> = (
  script: Name,
  keys: readonly string[],
  values: readonly (string | number)[],
) => Promise<readonly number[] | null>;

export interface RedisDeps<Name extends string> {
  readonly scripts: Readonly<Record<Name, string>>;
  /** Keys of one purpose share a hash slot, where the server is a cluster. */
  readonly purpose: 'rates' | 'changes';
  readonly open: () => RedisLine;
  /** Called when it goes, and with null when it comes back. */
  readonly changed: (error: unknown) => void;
  readonly wait: (ms: number) => Promise<void>;
}

/** Requests wait no longer than this to be counted. */
const timeoutMs = 250;
const againMs = 1000;

export function createRedis<Name extends string>({
  open,
  scripts,
  purpose,
  changed,
  wait,
}: RedisDeps<Name>): {
  readonly run: RedisScript<Name>;
  close(): void;
} {
  const prefix = `gateway:{${purpose}}:`;
  let line: RedisLine | null = null;
  let closed = false;
  let warned = false;
  const digests = new Map<Name, string>();

  const within = async <T>(work: Promise<T>): Promise<T> => {
    const timedOut = wait(timeoutMs).then(() => Promise.reject(new Error(`no answer within ${timeoutMs} ms`)));
    return Promise.race([work, timedOut]);
  };
  const join = async (): Promise<void> => {
    const fresh = open();
    try {
      await within(fresh.connect());
      for (const [name, text] of Object.entries(scripts) as [Name, string][])
        digests.set(name, String(await within(fresh.send('SCRIPT', ['LOAD', text]))));
      line = fresh;
    } catch (error) {
      fresh.close();
      throw error;
    }
  };
  const keepTrying = async (): Promise<void> => {
    while (!closed && line === null) {
      try {
        await join();
        if (warned) changed(null);
        warned = false;
      } catch (error) {
        if (!warned) changed(error);
        warned = true;
        await wait(againMs);
      }
    }
  };
  const lost = (from: RedisLine, error: unknown) => {
    if (line !== from) return;
    line = null;
    from.close();
    if (!warned) changed(error);
    warned = true;
    void keepTrying();
  };
  void keepTrying();

  const evaluate = async (of: RedisLine, script: Name, values: string[]): Promise<unknown> => {
    try {
      return await of.send('EVALSHA', [digests.get(script) ?? '', ...values]);
    } catch (error) {
      // It was emptied, or started again.
      if (!String(error).includes('NOSCRIPT')) throw error;
      return of.send('EVAL', [scripts[script], ...values]);
    }
  };

  return {
    async run(script, keys, values) {
      const own = line;
      if (own === null) return null;
      const args = [String(keys.length), ...keys.map((key) => prefix + key), ...values.map(String)];
      try {
        return (await within(evaluate(own, script, args))) as readonly number[];
      } catch (error) {
        lost(own, error);
        return null;
      }
    },
    close() {
      closed = true;
      line?.close();
      line = null;
    },
  };
}

/** The runtime's own client. */
export const redisAt = (url: string): RedisLine =>
  new Bun.RedisClient(url, {
    connectionTimeout: 1000,
    autoReconnect: false,
    enableOfflineQueue: false,
  });
