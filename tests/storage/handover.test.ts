/** A server that is asked for its place by one that dies: it serves on, at whatever moment that happens. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type FromOldProcess, protocolVersion } from '../../server/handover/messages.ts';
import { requestHandover, taskOfOther, taskThere } from '../../server/handover/new-process.ts';
import { type HandoverListener, listenForHandover, type OldServer } from '../../server/handover/old-process.ts';

let dir: string;
let path: string;
let handovers: HandoverListener | null = null;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'succession-'));
  path = join(dir, 'next.sock');
});
afterEach(() => {
  handovers?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** What is asked of the old server, in order. `release` ends when it is let. */
function slowOldServer(releases: readonly Promise<void>[]) {
  const calls: string[] = [];
  const left = [...releases];
  const oldServer: OldServer = {
    port: 1,
    listeners: 1,
    async release() {
      calls.push('release');
      await left.shift();
      calls.push('released');
    },
    resume: async () => void calls.push('comeBack'),
    forwardTo: () => void calls.push('handOn'),
    openMoney: () => ({ users: [], tokens: [], groups: [] }),
    pending: () => 0,
    follow: () => ({ receive: () => undefined, fail: () => undefined }),
    taskResponded: () => undefined,
    leavePort: async () => undefined,
    stopAfterHandover: async () => undefined,
    hurry: () => void calls.push('hurry'),
    fail: () => void calls.push('fail'),
  };
  return { oldServer, calls };
}

interface Requester {
  readonly socket: Socket;
  readonly received: FromOldProcess['kind'][];
}

/** A new server that says hello and asks for the place. */
async function ask(): Promise<Requester> {
  const received: FromOldProcess['kind'][] = [];
  const socket = await new Promise<Socket>((resolve, reject) => {
    const one = connect(path, () => resolve(one));
    one.once('error', reject);
  });
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) received.push((JSON.parse(line) as FromOldProcess).kind);
  });
  socket.write(`${JSON.stringify({ kind: 'hello', dialect: protocolVersion, pid: process.pid })}\n`);
  await expect.poll(() => received).toEqual(['welcome']);
  socket.write(`${JSON.stringify({ kind: 'release' })}\n`);
  return { socket, received };
}

test('a new server that dies while the old one lets go of the database: the old one takes it back, and another may ask', async () => {
  const letting = Promise.withResolvers<void>();
  const { oldServer, calls } = slowOldServer([letting.promise]);
  handovers = listenForHandover(path, oldServer);
  const { socket } = await ask();
  await expect.poll(() => calls).toEqual(['release']);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.destroy();
  await closed;
  // The old server has heard that it is gone when it no longer answers to it.
  await Bun.sleep(50);
  letting.resolve();
  await expect.poll(() => calls).toEqual(['release', 'released', 'comeBack']);
  const second = await ask();
  await expect.poll(() => second.received).toEqual(['welcome', 'released']);
  second.socket.destroy();
  await expect.poll(() => calls.slice(3)).toEqual(['release', 'released', 'comeBack']);
});

test('while one server takes over no other can, not even after it has died', async () => {
  const letting = Promise.withResolvers<void>();
  const { oldServer, calls } = slowOldServer([letting.promise]);
  handovers = listenForHandover(path, oldServer);
  const { socket } = await ask();
  await expect.poll(() => calls).toEqual(['release']);
  socket.destroy();
  await Bun.sleep(50);
  const received: string[] = [];
  const other = connect(path, () =>
    other.write(`${JSON.stringify({ kind: 'hello', dialect: protocolVersion, pid: process.pid })}\n`),
  );
  other.setEncoding('utf8');
  other.on('data', (text: string) => received.push(text));
  await expect.poll(() => received.join('')).toContain('refused');
  other.destroy();
  letting.resolve();
  await expect.poll(() => calls).toEqual(['release', 'released', 'comeBack']);
});

test('the new server notes what open requests of the old one learn of upstreams and of this program', async () => {
  const { oldServer } = slowOldServer([Promise.resolve()]);
  // It has open requests.
  handovers = listenForHandover(path, { ...oldServer, stopAfterHandover: () => new Promise(() => undefined) });
  const before = await requestHandover(path, process.pid);
  await before.release();
  const noted: string[] = [];
  await before.reserve({
    balances: { money: { memory: { get: () => 0, put: () => undefined }, accounts: [] } } as never,
    ledger: { execute: () => Promise.reject(new Error('nothing is billed here')) },
    control: ({ kind }) => void noted.push(kind),
    now: () => 0,
  });
  before.open(1, join(dir, 'endpoint.sock'));
  await before.alone;
  const said = [{ kind: 'learnt' }, { kind: 'defect' }, { kind: 'trouble' }, { kind: 'traffic' }, { kind: 'storage' }];
  for (const message of said) expect(handovers.control(message as never)).toBe(true);
  await expect.poll(() => noted).toEqual(['learnt', 'defect', 'trouble', 'traffic']);
  before.end();
});

test('numbers of tasks of three servers in a row stay apart, and find their way back', () => {
  const first = [1, 2, 3, 65_537];
  const atThird = [...first.map(taskOfOther).map(taskOfOther), ...first.map(taskOfOther)];
  expect(new Set(atThird).size).toBe(2 * first.length);
  expect(atThird.every((id) => id < 0)).toBe(true);
  expect(atThird.slice(0, 4).map(taskThere).map(taskThere)).toEqual(first);
  expect(atThird.slice(4).map(taskThere)).toEqual(first);
});
