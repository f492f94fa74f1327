/**
 * The server that machines of a site count together on, Redis or Valkey. Requests do not wait for it when it is away, slow or
 * frozen: it is checked in the background, and every machine keeps to its own share until it is back.
 */
import { rateScripts, type SiteRatesDeps } from '../relay/admission/site-rates.ts';

/** The part of a client that is used. */
export interface RedisLine {
  connect(): Promise<void>;
  send(command: string, values: string[]): Promise<unknown>;
  close(): void;
}

export interface RedisDeps {
  readonly open: () => RedisLine;
  /** One line for the operator, when it goes and when it comes back. */
  readonly print: (line: string) => void;
  readonly wait: (ms: number) => Promise<void>;
}

/** Requests wait no longer than this to be counted. */
const timeoutMs = 250;
const againMs = 1000;
/** One site's keys share a hash slot, where the server is a cluster. */
const prefix = 'gateway:{rates}:';

export function createRedis({ open, print, wait }: RedisDeps): Pick<SiteRatesDeps, 'run'> & { close(): void } {
  let line: RedisLine | null = null;
  let closed = false;
  let warned = false;
  const digests = new Map<string, string>();

  const within = async <T>(work: Promise<T>): Promise<T> => {
    const timedOut = wait(timeoutMs).then(() => Promise.reject(new Error(`no answer within ${timeoutMs} ms`)));
    return Promise.race([work, timedOut]);
  };
  const join = async (): Promise<void> => {
    const fresh = open();
    try {
      await within(fresh.connect());
      for (const [name, text] of Object.entries(rateScripts))
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
        if (warned) print('rate limits: Redis answers again, all nodes count together');
        warned = false;
      } catch (error) {
        if (!warned) print(`rate limits: Redis is away, each node keeps to its share: ${String(error)}`);
        warned = true;
        await wait(againMs);
      }
    }
  };
  const lost = (from: RedisLine, error: unknown) => {
    if (line !== from) return;
    line = null;
    from.close();
    if (!warned) print(`rate limits: Redis is away, each node keeps to its share: ${String(error)}`);
    warned = true;
    void keepTrying();
  };
  void keepTrying();

  const evaluate = async (of: RedisLine, script: keyof typeof rateScripts, values: string[]): Promise<unknown> => {
    try {
      return await of.send('EVALSHA', [digests.get(script) ?? '', ...values]);
    } catch (error) {
      // It was emptied, or started again.
      if (!String(error).includes('NOSCRIPT')) throw error;
      return of.send('EVAL', [rateScripts[script], ...values]);
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
