/** A full disk, then the end of the process, under each packaging that is printed: whoever saw the end of an answer has paid for it. */
import { expect, test } from 'vitest';
import { streams } from '../storage/answers.ts';
import { startUpstream } from '../support/upstream.ts';
import {
  canMount,
  composeFile,
  composePackaging,
  createMachine,
  dockerfile,
  type Machine,
  type Packaging,
  unitPackaging,
} from './packaged.ts';
import { createSandbox } from './support.ts';

const count = Number(process.env.FULL_DISK_STREAMS ?? 20);
const mountable = canMount();
if (!mountable) console.log('no mounts of its own here: what a full disk does is played in tests/ledger/owed.test.ts');

const printed = async (...args: readonly string[]): Promise<string> => {
  const sandbox = createSandbox();
  try {
    return (await sandbox.run(['service', 'print', ...args])).out;
  } finally {
    await sandbox.close();
  }
};

const packagings: Readonly<Record<string, () => Promise<Packaging>>> = {
  'the printed unit': async () => unitPackaging(await printed('systemd')),
  'the printed unit, a folder named': async () => unitPackaging(await printed('systemd', '--data-dir', '/srv/gateway')),
  'the compose file of one node': async () => {
    const service = composeFile('compose-one.yaml').services.gateway;
    if (service === undefined) throw new Error('there is no such service');
    return composePackaging(dockerfile(), service);
  },
  'the printed container, its folders as volumes': async () => {
    const file = await printed('container');
    const volumes = /^VOLUME (.*)$/m.exec(file)?.[1]?.split(' ') ?? [];
    return composePackaging(file, { volumes: volumes.map((path) => `volume:${path}`) });
  },
  'a shell': async () => ({
    command: ['/usr/local/bin/gateway', 'serve'],
    env: { GATEWAY_DATA_DIR: '/srv/gateway/data', HOME: '/srv/gateway' },
    uid: 61_234,
    kept: ['/srv/gateway'],
    temporary: [],
    isReadOnly: false,
  }),
};

interface ReceivedStream {
  readonly id: string;
  readonly whole: boolean;
}

async function stream(url: string, key: string): Promise<ReceivedStream> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"model":"gpt-4o-mini","stream":true,"messages":[{"role":"user","content":"hi"}]}',
  });
  let text = '';
  try {
    for await (const chunk of response.body ?? []) text += new TextDecoder().decode(chunk);
  } catch {
    // Broken off: its end was not seen.
  }
  return { id: response.headers.get('x-oneapi-request-id') ?? '', whole: text.endsWith('data: [DONE]\n\n') };
}

/** Tests that run side by side cannot share the runner's own polling. @throws after 30 s. */
async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`never: ${what}`);
    await Bun.sleep(50);
  }
}

interface Scene {
  readonly own: Machine;
  readonly serving: Awaited<ReturnType<Machine['serve']>>;
  readonly open: readonly Promise<ReceivedStream>[];
  /** The upstream ends all streams well. */
  finish(): void;
}

/** A site on a disk of 24 MB, with streams under way, whose disk is full. */
async function onFullDisk(packaging: Packaging, play: (scene: Scene) => Promise<void>): Promise<void> {
  const upstreamStreams = streams();
  const upstream = await startUpstream(upstreamStreams.script);
  const own = createMachine(packaging, 24);
  try {
    await own.ready();
    await own.run(['setup', '--username', 'root', '--password-stdin'], 'password1\n');
    const channel = ['--type', 'openai', '--name', 'up', '--models', 'gpt-4o-mini', '--base-url', upstream.url];
    await own.run(['channel', 'add', ...channel, '--key-stdin'], 'sk-upstream\n');
    const key = await own.run(['token', 'create', '--name', 'test', '--quota', 'unlimited', '-q']);
    const serving = await own.serve();
    await until('room is reserved', () => own.files().filter(isReserve).length > 1);
    const open = Array.from({ length: count }, () => stream(serving.url, key));
    await until('all streams have begun', () => upstreamStreams.open() === count);
    expect(own.fill().stdout.trim()).toBe('0');
    await play({ own, serving, open, finish: upstreamStreams.finish });
  } finally {
    await own.close();
    await upstream.stop();
  }
}

const isReserve = (name: string): boolean => /gateway\.reserve-\d+$/.test(name);

/** Ids of what was charged, once there is room again. */
async function chargedLater(own: Machine): Promise<Set<string>> {
  own.makeRoom();
  const { child } = await own.serve();
  const rows = JSON.parse(await own.run(['logs', 'list', '--json', '--limit', '1000'])) as {
    readonly request_id: string;
  }[];
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
  await own.run(['ledger', 'verify']);
  const ids = rows.map(({ request_id: id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  return new Set(ids);
}

const kinds = Object.entries(packagings);
const seenBy = async ({ open }: Scene): Promise<string[]> =>
  (await Promise.all(open)).filter(({ whole }) => whole).map(({ id }) => id);
const report = (what: string, seen: readonly string[], charged: ReadonlySet<string>): void => {
  const lost = seen.filter((id) => !charged.has(id));
  console.log(`${what}: ${seen.length} ends seen, ${lost.length} lost`);
  expect(lost).toEqual([]);
};

test.concurrent.each(kinds)(
  '%s: the disk is full and the service is stopped: every end that was seen is charged at the next start',
  async (name, packaging) => {
    if (!mountable) return;
    await onFullDisk(await packaging(), async (scene) => {
      const { own, serving, finish } = scene;
      serving.child.kill('SIGTERM');
      finish();
      const seen = await seenBy(scene);
      expect(await serving.child.exited).toBe(0);
      expect(serving.said()).toContain('settlements could not be written to the database');
      expect(seen).toHaveLength(count);
      // Started again at once, while the disk is full: whether it serves or says why not, nothing owed is lost.
      await own.serve().then(
        ({ child }) => {
          child.kill('SIGTERM');
          return child.exited;
        },
        () => undefined,
      );
      report(`${name}, full disk, SIGTERM`, seen, await chargedLater(own));
    });
  },
);

// A kill meets no packaging: what is in memory is gone under each alike.
const killed = process.env.FULL_DISK_STREAMS === undefined ? kinds.slice(0, 1) : kinds;

test.concurrent.each(killed)(
  '%s: the disk is full and the service is killed: no end was sent that is not charged',
  async (name, packaging) => {
    if (!mountable) return;
    await onFullDisk(await packaging(), async (scene) => {
      const { own, serving, finish } = scene;
      finish();
      await until('paid requests are refused', () => serving.said().includes('paid requests are refused'));
      serving.child.kill('SIGKILL');
      const seen = await seenBy(scene);
      report(`${name}, full disk, SIGKILL`, seen, await chargedLater(own));
    });
  },
);

test.concurrent('nothing that outlives the process takes what is owed: the ends are not sent, and the lines are printed', async () => {
  if (!mountable) return;
  await onFullDisk(unitPackaging(await printed('systemd')), async ({ own, serving, open, finish }) => {
    own.takeReserve();
    serving.child.kill('SIGTERM');
    finish();
    const answers = await Promise.all(open);
    await serving.child.exited;
    expect(answers.filter(({ whole }) => whole)).toEqual([]);
    expect(serving.said()).toContain('the ends of these answers are not sent');
    for (const { id } of answers) expect(serving.said()).toContain(`"ref":"${id}"`);
  });
});

test.concurrent('the room is set aside again once there is some', async () => {
  if (!mountable) return;
  await onFullDisk(unitPackaging(await printed('systemd')), async ({ own, serving, open, finish }) => {
    own.takeReserve();
    await until('no room could be reserved', () => serving.said().includes('no room could be reserved'));
    own.makeRoom();
    await until('room is reserved', () => own.files().filter(isReserve).length > 1);
    await until('is there again', () => serving.said().includes('is there again'));
    finish();
    await Promise.all(open);
    serving.child.kill('SIGTERM');
    expect(await serving.child.exited).toBe(0);
  });
});
