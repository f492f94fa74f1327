/** The practice upstream inside the server: a first answer without a key of any provider. Loaded on first use. */
import type { OptionsService } from '../domain/options/service.ts';
import type { PracticeUpstream } from '../practice/upstream.ts';

/** Where `gateway mock-upstream` listens too. */
const defaultPort = 4010;
const portKey = 'practice_port';
/** Slow enough to be seen streaming. */
const timing = { latencyMs: 120, chunks: 24, chunkMs: 25 } as const;

export interface PracticeService {
  /** Starts it. @returns its address, the same one after a restart. */
  open(): Promise<string>;
  /** Listens again where it was opened before. @throws the listener's error when the port is taken. */
  resume(): Promise<void>;
  stop(): Promise<void>;
}

/** Whether no other process listens there: a shared port would take some of its requests. */
function isFree(port: number): boolean {
  try {
    void Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response() }).stop(true);
    return true;
  } catch {
    return false;
  }
}

export function createPractice(options: Pick<OptionsService, 'meta' | 'setMeta'>): PracticeService {
  let running: Promise<PracticeUpstream> | null = null;
  const listen = async (port: number): Promise<PracticeUpstream> => {
    const { startPracticeUpstream } = await import('../practice/upstream.ts');
    return startPracticeUpstream({ port, shared: true, ...timing });
  };
  const start = (work: () => Promise<PracticeUpstream>): Promise<PracticeUpstream> => {
    running ??= work().catch((error: unknown) => {
      running = null;
      throw error;
    });
    return running;
  };
  const port = async (): Promise<number> => Number(await options.meta(portKey)) || 0;
  return {
    async open() {
      const upstream = await start(async () =>
        listen((await port()) || (isFree(defaultPort) ? defaultPort : 0)).catch(() => listen(0)),
      );
      await options.setMeta(portKey, String(upstream.port));
      return upstream.url;
    },
    async resume() {
      const before = await port();
      if (before !== 0) await start(() => listen(before));
    },
    async stop() {
      await (await running)?.stop();
    },
  };
}
