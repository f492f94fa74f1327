/** One site on several machines, all of them this one: PostgreSQL, Redis, practice upstreams, nodes and a balancer, each a process of its own that can be killed or frozen. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client, types } from 'pg';
import {
  command,
  end,
  freePort,
  ownProgram,
  type Program,
  start,
  waitForResponse,
} from '../../../../cli/bench/process.ts';
import { type PostgresServer, postgresPrograms, startPostgres } from '../../../servers/postgres.ts';
import { type RedisServer, redisInstalled, startRedis } from '../../../servers/redis.ts';
import { type Balancer, startBalancer } from './balancer.ts';
import { type Link, startLink } from './link.ts';
import { type Account, type Needed, provision } from './people.ts';

const binary = resolve(import.meta.dirname, '..', '..', '..', '..', 'dist', 'gateway');
export const program: Program = existsSync(binary) ? [binary] : ownProgram;

/** What a token costs, in either direction: amounts are large enough that one that is missing shows. */
export const unit = 100;

export interface ClusterNode {
  readonly name: string;
  readonly port: number;
  readonly url: string;
  readonly dataDir: string;
  /** Takes all room on the disk of its own files, or gives it back. */
  fill(full: boolean): void;
  /** By how many milliseconds its clock is wrong; of nodes whose program is `mortal.ts`. */
  setClock(skewMs: number): void;
  /** Its way to the database; null = the usual one. */
  readonly link: Link | null;
  pid(): number;
  begin(as?: Program): Promise<void>;
  kill(): Promise<void>;
  /** As a supervisor does. @returns exit code. */
  stop(): Promise<number>;
  signal(name: NodeJS.Signals): void;
  run(args: readonly string[]): Promise<string>;
  /** What it has written to standard error and output. */
  output(): string;
}

export interface Cluster {
  readonly nodes: readonly ClusterNode[];
  readonly balancer: Balancer;
  readonly accounts: readonly Account[];
  readonly root: Account;
  readonly codes: string[];
  readonly database: PostgresServer;
  readonly redis: { kill(): Promise<void>; begin(): Promise<void>; flush(): Promise<void> } | null;
  readonly folder: string;
  readonly url: string;
  /** Of the upstream that answers at once. */
  readonly upstream: string;
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export interface ClusterOrder extends Needed {
  readonly nodes?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly serveFlags?: readonly string[];
  /** More lines of `postgresql.conf`. */
  readonly settings?: string;
  /** Megabytes of a disk of its own for each node's files; wants to be root. */
  readonly diskBytes?: number;
  /** Each node reaches the database over a link of its own. */
  readonly linked?: boolean;
  /** Channels beside those for chats. */
  readonly more?: readonly {
    readonly type: string;
    readonly model: string;
    readonly url: string;
    /** Of a call, dollars; absent = it costs by its tokens. */
    readonly price?: number;
  }[];
  /** What a node runs, default: the gateway. */
  readonly as?: Program;
}

const upstreams = [
  { model: 'practice-small', flags: ['--chunks', '8'] },
  { model: 'practice-large', flags: ['--chunks', '40', '--tokens-per-second', '20'] },
] as const;

async function startUpstreams(): Promise<{ url: string; model: string }[]> {
  return Promise.all(
    upstreams.map(async ({ model, flags }) => {
      const port = freePort();
      start(null, [...program, 'mock-upstream', '--port', String(port), ...flags]);
      await waitForResponse(`http://127.0.0.1:${port}/v1/models`);
      return { url: `http://127.0.0.1:${port}`, model };
    }),
  );
}

/** Set up in a file by the usual commands. */
export async function prepareFile(folder: string, order: Needed & Pick<ClusterOrder, 'more'>) {
  const dataDir = join(folder, 'first');
  const run = (args: readonly string[], input?: string) => command(program, dataDir, args, input);
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'external'], 'password1');
  const providers = await startUpstreams();
  for (const { url: address, model } of providers) {
    const where = ['--base-url', address, '--models', model];
    await run(['channel', 'add', '--type', 'practice', '--name', model, ...where, '--key-stdin'], 'k');
  }
  for (const { type, model, url: address } of order.more ?? [])
    await run(
      ['channel', 'add', '--type', type, '--name', model, '--base-url', address, '--models', model, '--key-stdin'],
      'k',
    );
  const models = [...upstreams, ...(order.more ?? []).filter(({ price }) => price === undefined)];
  const ratios = JSON.stringify(Object.fromEntries(models.map(({ model }) => [model, unit])));
  const ones = JSON.stringify(Object.fromEntries(models.map(({ model }) => [model, 1])));
  const prices = Object.fromEntries(
    (order.more ?? []).flatMap(({ model, price }) => (price === undefined ? [] : [[model, price]])),
  );
  if (Object.keys(prices).length > 0) await run(['option', 'set', `ModelPrice=${JSON.stringify(prices)}`]);
  await run(['option', 'set', `ModelRatio=${ratios}`, `CompletionRatio=${ones}`, 'RetryTimes=0']);
  const port = freePort();
  const child = start(null, [...program, 'serve', '--port', String(port)], { GATEWAY_DATA_DIR: dataDir });
  await waitForResponse(`http://127.0.0.1:${port}/readyz`, (status) => status === 200);
  const made = await provision(`http://127.0.0.1:${port}`, order);
  await end(child);
  return { ...made, dataDir, upstream: providers[0]?.url ?? '', key: join(dataDir, 'secret.key') };
}

/** As operators do it. */
export const moveToServer = (dataDir: string, url: string): Promise<string> =>
  command(program, dataDir, ['db', 'move', url, '--yes']);

const open = new Set<() => Promise<void>>();
/** For a process that is stopped in the middle. */
export const closeClusters = (): Promise<unknown> => Promise.all([...open].map((close) => close()));

export async function openCluster(order: ClusterOrder): Promise<Cluster> {
  const bin = postgresPrograms();
  if (bin === null) throw new Error('PostgreSQL is not installed (Debian: apt-get install postgresql)');
  const folder = mkdtempSync(join(tmpdir(), 'gateway-cluster-'));
  const database = await startPostgres(bin, order.settings);
  let cache: RedisServer | null = null;
  const opened: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true }), () => database.remove()];
  const close = async () => {
    open.delete(close);
    for (const one of opened.splice(0).toReversed()) await one();
  };
  open.add(close);
  try {
    cache = redisInstalled() ? await startRedis() : null;
    opened.push(() => cache?.stop());
    const url = await createDatabase(database.url);
    const { key, dataDir, ...made } = await prepareFile(folder, order);
    await moveToServer(dataDir, url);
    const env = { DATABASE_URL: url, ...(cache === null ? {} : { REDIS_URL: cache.url }), ...order.env };
    const count = order.nodes ?? 3;
    const links = order.linked === true ? await Promise.all(Array.from({ length: count }, () => startLink(url))) : [];
    for (const link of links) opened.push(() => link.stop());
    const nodes = Array.from({ length: count }, (_, n) =>
      createNode({
        link: links[n] ?? null,
        as: order.as ?? program,
        name: `n${n + 1}`,
        folder,
        key,
        env,
        flags: order.serveFlags ?? [],
        diskBytes: order.diskBytes ?? 0,
      }),
    );
    for (const node of nodes)
      opened.push(
        () => node.unmount(),
        () => node.signal('SIGCONT'),
      );
    await Promise.all(nodes.map((node) => node.begin()));
    const balancer = await startBalancer(nodes.map((node) => node.port));
    opened.push(() => balancer.stop());
    await until(() => balancer.ready().length === nodes.length);
    return {
      ...made,
      nodes,
      balancer,
      database,
      folder,
      url,
      redis: cache === null ? null : ownedRedis(cache, (next) => (cache = next)),
      query: (text, values) => ask(url, text, values),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

export async function createDatabase(server: string): Promise<string> {
  await ask(server, 'CREATE DATABASE site');
  const address = new URL(server);
  address.pathname = '/site';
  return address.href;
}

const numbers = { getTypeParser: (oid: number) => (oid === 20 || oid === 1700 ? Number : types.getTypeParser(oid)) };

/** A connection for each question: whatever was open may be gone. */
export async function ask<Row extends object>(url: string, text: string, values: readonly unknown[] = []) {
  const client = new Client({ connectionString: url, types: numbers as never, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}

function ownedRedis(first: RedisServer, set: (next: RedisServer) => void) {
  const port = Number(new URL(first.url).port);
  let child = first;
  return {
    async kill() {
      process.kill(child.pid, 'SIGKILL');
      await child.stop();
    },
    async begin() {
      child = await startRedis(port);
      set(child);
    },
    async flush() {
      const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data: () => undefined } });
      socket.write('FLUSHALL\r\n');
      await Bun.sleep(50);
      socket.end();
    },
  };
}

interface NodeOrder {
  readonly link: Link | null;
  readonly as: Program;
  readonly name: string;
  readonly folder: string;
  readonly key: string;
  readonly env: Readonly<Record<string, string>>;
  readonly flags: readonly string[];
  readonly diskBytes: number;
}

const system = (...args: string[]): void => {
  const { exitCode, stderr } = Bun.spawnSync(args, { stdout: 'ignore', stderr: 'pipe' });
  if (exitCode !== 0) throw new Error(stderr.toString());
};

/** As long as it takes anything. */
function fillUp(file: string): void {
  const target = openSync(file, 'w');
  try {
    for (let size = 1 << 20; size >= 1; )
      try {
        writeSync(target, Buffer.alloc(size));
      } catch {
        size >>= 1;
      }
  } finally {
    closeSync(target);
  }
}

function createNode({
  link,
  as: usual,
  name,
  folder,
  key,
  env,
  flags,
  diskBytes,
}: NodeOrder): ClusterNode & { unmount(): void } {
  const dataDir = join(folder, name);
  const log = join(folder, `${name}.log`);
  mkdirSync(dataDir, { mode: 0o700 });
  copyFileSync(key, join(dataDir, 'secret.key'));
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  let child: Bun.Subprocess | null = null;
  const clock = join(folder, `${name}.clock`);
  const outbox = diskBytes === 0 ? dataDir : join(dataDir, 'disk');
  if (diskBytes > 0) {
    mkdirSync(outbox, { mode: 0o700 });
    system('mount', '-t', 'tmpfs', '-o', `size=${diskBytes}m`, 'none', outbox);
  }
  const here = {
    ...{ GATEWAY_DATA_DIR: dataDir, GATEWAY_OUTBOX: outbox, LAB_CLOCK_FILE: clock, ...env },
    ...(link === null ? {} : { DATABASE_URL: link.url }),
  };
  return {
    fill(full) {
      if (full) fillUp(join(outbox, 'filler'));
      else rmSync(join(outbox, 'filler'), { force: true });
    },
    setClock: (skewMs) => writeFileSync(clock, String(skewMs)),
    unmount() {
      if (diskBytes > 0) system('umount', '-l', outbox);
    },
    name,
    port,
    url,
    dataDir,
    link,
    pid: () => child?.pid ?? 0,
    async begin(as = usual) {
      const said = openSync(log, 'a');
      child = start(null, [...as, 'serve', '--port', String(port), ...flags], here, said);
      closeSync(said);
      const gone = child.exited.then((code) => `${name} ended with ${code}`);
      const up = waitForResponse(`${url}/readyz`, (status) => status === 200).then(() => '');
      const failure = await Promise.race([gone, up]);
      if (failure !== '') throw new Error(`${failure}: ${readFileSync(log, 'utf8').slice(-2000)}`);
    },
    async kill() {
      child?.kill('SIGKILL');
      await child?.exited;
    },
    async stop() {
      child?.kill('SIGTERM');
      return (await child?.exited) ?? 0;
    },
    signal: (wanted) => void (child?.exitCode === null && child.signalCode === null && child.kill(wanted)),
    run: (args) => command(['env', `DATABASE_URL=${env.DATABASE_URL}`, ...program], dataDir, args),
    output: () => (existsSync(log) ? readFileSync(log, 'utf8') : ''),
  };
}

/** @throws Error when it does not come to be. */
export async function until(isSo: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  for (const over = performance.now() + ms; !(await isSo()); ) {
    if (performance.now() > over) throw new Error(`not within ${ms / 1000} s: ${isSo}`);
    await Bun.sleep(50);
  }
}
