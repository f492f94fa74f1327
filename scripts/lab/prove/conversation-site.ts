/** A gateway before the strict doubles, in memory or as an executable of its own behind a port, for conversations that are sent by the thousand. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Exchange } from '../../../tests/doubles/serve.ts';
import { aliasOf, type GridTarget } from '../../../tests/practice/grid/targets.ts';
import { createWorld, gatewayUrl, playDoubles } from '../../../tests/practice/grid/world.ts';
import { gatewayIn } from '../../run-gateway.ts';

/** A row of the log, as far as it is looked at. */
export interface LogRow {
  readonly request_id: string;
  readonly other: string;
}

export interface ConversationSite {
  readonly url: string;
  readonly fetch: typeof fetch;
  /** The key of a target's channel. */
  pinned(target: GridTarget): string;
  /** What the doubles saw since the last look. */
  take(): readonly Exchange[];
  /** The newest hundred. */
  logs(): Promise<readonly LogRow[]>;
  close(): Promise<void>;
}

async function inMemory(targets: readonly GridTarget[]): Promise<ConversationSite> {
  const world = await createWorld(targets);
  return { ...world, url: gatewayUrl, logs: () => world.gateway.logs() };
}

/** The doubles' hosts are one proxy here, and the executable reaches nothing else. */
async function behindPort(targets: readonly GridTarget[], executable: string): Promise<ConversationSite> {
  const seen: Exchange[] = [];
  const { answer, channelOf } = playDoubles((exchange) => void seen.push(exchange));
  const proxy = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, development: false, fetch: answer });
  const dir = mkdtempSync(join(tmpdir(), 'gateway-conversations-'));
  const address = `http://127.0.0.1:${proxy.port}`;
  for (const name of ['HTTP_PROXY', 'http_proxy']) process.env[name] = address;
  for (const name of ['NO_PROXY', 'no_proxy']) process.env[name] = '127.0.0.1,localhost';
  const { run, start } = gatewayIn(join(dir, 'data'), executable);
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  const key = (await run(['token', 'create', '--name', 'proof', '--quota', 'unlimited', '-q'])).trim();
  const served = start(['serve', '--port', '0']);
  const { value } = await served.stdout.getReader().read();
  const url = /https?:\/\/[^\s/]+/.exec(new TextDecoder().decode(value))?.[0] ?? '';
  const signedIn = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'root', password: 'password1' }),
  });
  const headers = {
    'content-type': 'application/json',
    cookie: signedIn.headers.get('set-cookie')?.split(';')[0] ?? '',
    'new-api-user': '1',
  };
  const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(url + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { success, message, data } = (await response.json()) as { success: boolean; message: string; data: unknown };
    if (!success) throw new Error(`${method} ${path}: ${message}`);
    return data;
  };
  for (const target of targets) await call('POST', '/api/channel/', channelOf(target));
  const { items } = (await call('GET', '/api/channel/?p=1&page_size=100')) as {
    readonly items: readonly { readonly id: number; readonly name: string }[];
  };
  const channels = new Map(items.map(({ id, name }) => [name, id]));
  return {
    url,
    fetch,
    pinned: (target) => `${key}-${channels.get(aliasOf(target))}`,
    take: () => seen.splice(0),
    async logs() {
      const page = (await call('GET', '/api/log/?p=1&page_size=100')) as { readonly items: readonly LogRow[] };
      return page.items;
    },
    async close() {
      served.kill('SIGTERM');
      await served.exited;
      await proxy.stop(true);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** @param executable '' = the sources, in this process. */
export const openConversationSite = (targets: readonly GridTarget[], executable: string): Promise<ConversationSite> =>
  executable === '' ? inMemory(targets) : behindPort(targets, executable);
