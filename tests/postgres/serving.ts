/** Nodes of one site as processes of their own, on a database of a real server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import { type Client as Caller, openClient } from '../../cli/client.ts';
import { newDatabase, requested } from '../support/engines.ts';
import { completion, type Script, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const main = resolve(import.meta.dirname, '../../cli/main.ts');
const secretKey = 'the same key on every machine of the site';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface ServingNode {
  readonly url: string;
  readonly dir: string;
  readonly process: Bun.Subprocess;
  /** What it has written. */
  output(): string;
  /** Its owner's own commands. */
  client: Caller;
  chat(key: string, body: unknown): Promise<Response>;
  /** Asks it to, and waits. @returns its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number>;
}

export interface ServingSite {
  readonly url: string;
  rows<Row extends object>(text: string): Promise<Row[]>;
  start(options?: StartOptions): Promise<ServingNode>;
  /** A command of the terminal. */
  run(args: readonly string[], options?: StartOptions & { readonly input?: string }): Promise<Ran>;
  /** The same, for tests that give it a terminal. */
  command(args: readonly string[]): readonly string[];
  environment(): Readonly<Record<string, string>>;
  /** Folder of a node's own. */
  folder(): string;
  /** On the server, beside the site's database. */
  administer(text: string): Promise<unknown>;
  /** Ends every connection to the site's database. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

export interface StartOptions {
  readonly dir?: string;
  /** Of the database, default: the server itself. */
  readonly url?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

export async function openServingSite(): Promise<ServingSite> {
  const { Pool } = await import('pg');
  const { parsers } = await import('../../db/postgres/open.ts');
  const { url, drop } = await newDatabase(false);
  const home = mkdtempSync(join(tmpdir(), 'gateway-nodes-'));
  const pool = new Pool({ connectionString: url, max: 2, ...(parsers === undefined ? {} : { types: parsers }) });
  pool.on('error', () => undefined);
  const nodes: ServingNode[] = [];
  let made = 0;
  const folder = () => join(home, `node-${made++}`);
  const environment = ({ url: other = url, env = {} }: StartOptions) => ({
    PATH: '/usr/bin:/bin',
    HOME: home,
    TERM: 'dumb',
    LANG: 'C',
    BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
    GATEWAY_SECRET_KEY: secretKey,
    DATABASE_URL: other,
    ...env,
  });
  const spawn = (args: readonly string[], dir: string, options: StartOptions, input = '') =>
    Bun.spawn([process.execPath, main, ...args, '--data-dir', dir], {
      cwd: home,
      env: environment(options),
      stdin: new Blob([input]),
      stdout: 'pipe',
      stderr: 'pipe',
    });

  return {
    url,
    rows: async <Row extends object>(text: string) => (await pool.query<Row>(text)).rows,
    folder,
    command: (args) => [process.execPath, main, ...args],
    environment: () => environment({}),
    administer: requested,
    async quiet() {
      // A process that was about to take over is ended as well.
      const ending = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${new URL(url).pathname.slice(1)}'`;
      while ((await requested(ending)).length > 0) await Bun.sleep(10);
    },
    async run(args, options = {}) {
      const child = spawn(args, options.dir ?? folder(), options, options.input);
      const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
      return { code: await child.exited, out, err };
    },
    async start(options = {}) {
      const dir = options.dir ?? folder();
      const child = spawn(['serve', '--port', '0', '--relays', '1', ...(options.args ?? [])], dir, options);
      let text = '';
      const read = async (stream: ReadableStream<Uint8Array>) => {
        const decoder = new TextDecoder();
        for await (const chunk of stream) text += decoder.decode(chunk);
      };
      void read(child.stdout);
      const errors = read(child.stderr);
      while (!text.includes('Ctrl-C')) {
        if (child.exitCode !== null) {
          await errors;
          throw new Error(text);
        }
        await Bun.sleep(20);
      }
      const address = /URL: (\S+)/.exec(text)?.[1] ?? '';
      const env = environment(options);
      const node: ServingNode = {
        url: address,
        dir,
        process: child,
        output: () => text,
        client: await openClient({
          dataDir: dir,
          url: '',
          token: '',
          userId: '',
          env,
          language: 'en',
          // Only what hangs takes so long.
          timeoutMs: 600_000,
        }),
        chat: (key, body) =>
          fetch(`${address}/v1/chat/completions`, {
            method: 'POST',
            headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          }),
        async stop(signal = 'SIGTERM') {
          child.kill('SIGCONT');
          child.kill(signal);
          return child.exited;
        },
      };
      nodes.push(node);
      return node;
    },
    async close() {
      for (const { process: child } of nodes) child.kill('SIGKILL');
      await pool.end();
      await drop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Retries as a client does after a 503. @returns the first other response. */
export async function insist(ask: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503) return answer;
    await answer.text();
    await Bun.sleep(100);
  }
}

/** What an administrator sets is a difference to what there is: what lies idle elsewhere and is slow to come is asked for again. */
export const setBalance = ({ client }: ServingNode, quota: number): Promise<void> =>
  until(() => client.call('user.update', { id: 1, quota } as never).then(() => true));

const patienceMs = 60_000;
/** In a test and before the first alike. @throws what happened last when it does not become true. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const failed = await isSo().then(
      (so) => (so ? null : new Error('it did not become true in time')),
      (error: unknown) => error,
    );
    if (failed === null) return;
    if (performance.now() > end) throw failed;
    await Bun.sleep(50);
  }
}

const leasedOf = async (site: SellingSite): Promise<number> => {
  const [account] = await site.rows<{ leased: number }>('SELECT leased FROM accounts WHERE id = 1');
  return account?.leased ?? 0;
};

/**
 * What a request holds, and what it costs: quota. Leaves a small balance.
 *
 * What is leased after a request of an ample balance may include what was leased ahead, and of a small balance what an earlier request left.
 * Where neither is possible it is what the request holds: balances are lowered to what was leased until that stays as it is.
 */
export async function needOf(
  site: SellingSite,
  node: ServingNode,
  key: string,
): Promise<{ need: number; cost: number }> {
  expect((await node.chat(key, ask)).status).toBe(200);
  const [log] = await site.rows<{ quota: number }>('SELECT quota FROM logs WHERE type = 2');
  const cost = log?.quota ?? 0;
  let need = await leasedOf(site);
  for (let before = 0; before !== need; ) {
    before = need;
    await setBalance(node, 0);
    expect(await leasedOf(site)).toBe(0);
    await setBalance(node, need + cost);
    const gate = Promise.withResolvers<void>();
    site.upstream.script(answersAfter(gate.promise));
    const holding = insist(() => node.chat(key, ask));
    await until(async () => (await leasedOf(site)) > 0);
    need = await leasedOf(site);
    gate.resolve();
    expect((await holding).status).toBe(200);
  }
  site.upstream.script(answers);
  return { need, cost };
}

/** Sets a site up: an administrator, a channel, a key. @returns the key, without its beginning. */
async function furnish({ client }: ServingNode, upstream: string): Promise<string> {
  await client.call('setup.run', { username: 'root', password: 'password1', confirmPassword: 'password1' });
  await client.call('channel.create', {
    type: 1,
    name: 'up',
    key: 'sk-upstream-secret-key',
    models: 'gpt-4o-mini',
    base_url: upstream,
  } as never);
  const token = (await client.call('token.create', { name: 't', unlimited_quota: true } as never)) as { key: string };
  return token.key;
}

export interface SellingSite extends ServingSite {
  readonly upstream: Upstream;
  /** An administrator, a channel to the upstream, a key. @param node any of the site. @returns the key, without its beginning. */
  furnish(node: ServingNode): Promise<string>;
}

/** What is asked of it, and what its upstream answers. */
export const ask = { model: 'gpt-4o-mini', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };
/** It costs three units, and no fraction that a node would carry to its next request. */
export const answers: Script = (response) => sendJson(response, completion(20, 5));
/** The same, when it may. */
/** Words twice a second, and no end. */
export const endlessStream: Script = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const words = 'data: {"choices":[{"index":0,"delta":{"content":"one two three "},"finish_reason":null}]}\n\n';
  const timer = setInterval(() => response.write(words), 500);
  response.on('close', () => clearInterval(timer));
};

export const answersAfter =
  (gate: Promise<void>): Script =>
  async (response, received) => {
    await gate;
    answers(response, received);
  };

/** A site with an upstream that answers whatever it is asked, until a test changes that. */
export async function openSellingSite(): Promise<SellingSite> {
  const [site, upstream] = await Promise.all([openServingSite(), startUpstream(answers)]);
  return {
    ...site,
    upstream,
    furnish: (node) => furnish(node, upstream.url),
    async close() {
      await upstream.stop();
      await site.close();
    },
  };
}
