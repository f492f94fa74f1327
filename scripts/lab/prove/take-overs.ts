/**
 * Take-overs one soon after the other, under load: `prove take-overs [--count 10] [--apart-ms 2500] [--seconds 30] [--streams 40] [--relays 1]`.
 * Streams that last, connections that idle until the end, short requests and sockets: what of them is whole, cut, refused.
 */
import { connect, type Socket } from 'node:net';
import { command, start } from '../../../cli/bench/process.ts';
import type { Goal } from '../bench/goal.ts';
import { chunk, double, frame, lastFrames, requestOf, streamHead } from './double.ts';
import { flag, maxGoal, minGoal, openSite, siteProgram } from './site.ts';

const wordMs = 500;
const pauseMs = 20;

interface Counts {
  whole: number;
  cut: number;
  failed: number;
  empty: number;
}

const newCounts = (): Counts => ({ whole: 0, cut: 0, failed: 0, empty: 0 });

function judge(counts: Counts, text: string, isWhole: boolean): void {
  const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? '';
  if (isWhole) counts.whole++;
  else if (status.startsWith('5') || status === '429') counts.failed++;
  else counts.cut++;
  if (status !== '' && /\r\n\r\n$/.test(text) && /content-length: 0/i.test(text)) counts.empty++;
}

const open = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
  });

/** @returns what came until `isWhole`, or until the connection ended. */
const ask = (socket: Socket, request: string, isWhole: (text: string) => boolean): Promise<string> =>
  new Promise((resolve) => {
    let text = '';
    const end = () => resolve(text);
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      if (isWhole(text) || (/content-length: (\d+)/i.test(text) && text.length > 0 && !isStream(text))) end();
    });
    socket.once('close', end);
    socket.once('error', end);
    socket.write(request);
  });

const isStream = (text: string): boolean => /transfer-encoding: chunked/i.test(text);
const isDone = (text: string): boolean => text.endsWith('0\r\n\r\n');
const isWell = (text: string): boolean => isDone(text) && text.includes('[DONE]') && !text.includes('"error"');

/** An upstream with streams of so many milliseconds, and sockets that answer each frame. */
function upstreamOf(ms: number) {
  const streams = double((socket) => {
    socket.write(streamHead);
    const ends = performance.now() + ms;
    const timer = setInterval(() => {
      if (performance.now() < ends) return void socket.write(chunk(frame('word ')));
      clearInterval(timer);
      socket.write(`${chunk(lastFrames)}0\r\n\r\n`);
    }, wordMs);
  });
  const sockets = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request, server) =>
      server.upgrade(request) ? undefined : new Response('a socket is needed', { status: 426 }),
    websocket: {
      open: (socket) => void socket.send('{"type":"session.created","session":{}}'),
      message: (socket, data) => void socket.send(`{"type":"conversation.item.created","length":${data.length}}`),
    },
  });
  return {
    streams: streams.url,
    sockets: `http://127.0.0.1:${sockets.port}`,
    stop() {
      streams.stop();
      void sockets.stop(true);
    },
  };
}

/** A conversation of so many milliseconds: each frame has its answer. */
async function converse(port: number, token: string, ms: number, counts: Counts): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/realtime?model=gpt-realtime`, {
    headers: { authorization: `Bearer ${token}` },
  } as unknown as string[]);
  let [sent, heard, opened] = [0, 0, false];
  const closed = new Promise<void>((resolve) => socket.addEventListener('close', () => resolve()));
  socket.addEventListener('open', () => {
    opened = true;
  });
  socket.addEventListener('message', () => {
    heard++;
  });
  const ends = performance.now() + ms;
  while (performance.now() < ends && socket.readyState <= WebSocket.OPEN) {
    await Bun.sleep(wordMs);
    if (socket.readyState !== WebSocket.OPEN) continue;
    socket.send('{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[]}}');
    sent++;
  }
  await Bun.sleep(wordMs);
  // The greeting, and an answer to each frame.
  if (socket.readyState === WebSocket.OPEN && heard >= sent + 1) counts.whole++;
  else if (opened) counts.cut++;
  else counts.failed++;
  socket.close();
  await closed;
}

export async function takeOvers(args: readonly string[]): Promise<readonly Goal[]> {
  const count = flag(args, '--count', 10);
  const apartMs = flag(args, '--apart-ms', 2500);
  const streamMs = flag(args, '--seconds', 30) * 1000;
  const parallel = flag(args, '--streams', 40);
  const relayThreads = ['--relays', String(flag(args, '--relays', 1))];
  const long = upstreamOf(streamMs);
  const short = upstreamOf(1);
  const site = await openSite(
    [
      { name: 'long', url: long.streams, models: 'long' },
      { name: 'short', url: short.streams, models: 'short' },
    ],
    relayThreads,
  );
  const address = ['--base-url', long.sockets, '--models', 'gpt-realtime', '--key-stdin'];
  await command(
    siteProgram,
    site.dataDir,
    ['channel', 'add', '--type', 'openai', '--name', 'sockets', ...address],
    'k',
  );

  const counts = { streams: newCounts(), kept: newCounts(), short: newCounts(), sockets: newCounts() };
  let isOver = false;
  const stream = async (model: string, into: Counts): Promise<void> => {
    const text = await open(site.port)
      .then((socket) => ask(socket, requestOf(site.token, model, 'hi', true), isDone).finally(() => socket.destroy()))
      .catch(() => '');
    judge(into, text, isWell(text));
  };
  const again = async (of: () => Promise<void>): Promise<void> => {
    while (!isOver) {
      await of();
      await Bun.sleep(pauseMs);
    }
  };
  const models = `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${site.token}\r\n\r\n`;
  const keep = async (): Promise<Socket> => {
    const socket = await open(site.port);
    await ask(socket, models, (text) => text.includes('"data"'));
    return socket;
  };

  const running = [
    ...Array.from({ length: parallel }, () => again(() => stream('long', counts.streams))),
    ...Array.from({ length: 4 }, () => again(() => stream('short', counts.short))),
    ...Array.from({ length: 8 }, () => again(() => converse(site.port, site.token, streamMs / 3, counts.sockets))),
  ];
  const idle = await Promise.all(Array.from({ length: 2 * count }, keep));
  const children: Bun.Subprocess[] = [];
  const late: Promise<void>[] = [];
  for (let number = 1; number <= count; number++) {
    await Bun.sleep(apartMs);
    const serve = [...siteProgram, 'serve', '--take-over', ...relayThreads];
    children.push(start(null, serve, { GATEWAY_DATA_DIR: site.dataDir }));
    // Connections from before all take-overs are used while these go on: each once.
    for (const socket of idle.splice(0, 2))
      late.push(
        ask(socket, requestOf(site.token, 'long', 'hi', true), isDone).then((text) => {
          socket.destroy();
          judge(counts.kept, text, isWell(text));
        }),
      );
  }
  await Bun.sleep(apartMs);
  isOver = true;
  await Promise.all([...running, ...late]);
  const last = children.pop();
  const codes = await Promise.all([site.ended(), ...children.map(({ exited }) => exited)]);
  last?.kill('SIGTERM');
  await last?.exited;
  // Ends with an error where anything does not add up.
  await site.run(['ledger', 'verify']);
  long.stop();
  short.stop();
  site.remove();
  for (const [name, { whole, cut, failed, empty }] of Object.entries(counts))
    console.log(`${name}: whole ${whole}, cut ${cut}, 5xx ${failed}, empty bodies ${empty}`);
  console.log(`exit codes: ${codes.join(' ')}, last ${last?.exitCode}`);
  const sum = (of: keyof Counts) => Object.values(counts).reduce((total, one) => total + one[of], 0);
  return [
    minGoal('take-overs that took place', codes.filter((code) => code === 0).length, count, 'processes'),
    minGoal('whole over connections from before', counts.kept.whole, 2 * count, 'streams'),
    maxGoal('cut', sum('cut'), 0, 'requests'),
    maxGoal('refused', sum('failed'), 0, 'requests'),
    maxGoal('empty bodies', sum('empty'), 0, 'responses'),
  ];
}
