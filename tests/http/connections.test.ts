import { dlopen } from 'bun:ffi';
import { expect, test } from 'vitest';
import { type ConnectionLimits, createConnections, type Listener } from '../../server/http/connections.ts';
import { type Connection, type Descriptors, openDescriptors } from '../../server/http/descriptors.ts';

/** A listener and a system on paper; ports are those of the other side. */
function bench(limits: Partial<ConnectionLimits> = {}, limit = 1000, elsewhere: [number, boolean][] = []) {
  let clock = 0;
  const timeouts: [port: number, seconds: number][] = [];
  const ports = new Map<Request, number>();
  let rows: Connection[] = [];
  let others = 0;
  const ended: number[] = [];
  const descriptors: Descriptors = {
    limit,
    used: async () => Array.from({ length: rows.length + others }, (_, index) => index),
    inbound: () => rows,
    end(descriptor) {
      ended.push(descriptor);
      rows = rows.filter((row) => row.descriptor !== descriptor);
    },
  };
  const connections = createConnections(
    { idleSeconds: 120, bodyMs: 30_000, perAddress: null, ...limits },
    descriptors,
    () => clock,
    async () => elsewhere,
  );
  const listener: Listener = {
    port: 3000,
    timeout: (request, seconds) => void timeouts.push([ports.get(request) ?? 0, seconds]),
    requestIP: (request) => ({ port: ports.get(request) ?? 0 }),
  };
  connections.watch(listener, (address) => address === '10.0.0.9');
  connections.stop();
  return {
    connections,
    timeouts,
    ended,
    descriptors,
    others(count: number) {
      others = count;
    },
    connected(address: string, port: number, caller = address) {
      rows.push({ descriptor: port, port, address, caller });
    },
    async passed(ms: number) {
      clock += ms;
      await connections.check();
    },
    request(port: number, init: RequestInit = {}, isForwarded = false) {
      const request = new Request('http://gateway/v1/x', init);
      ports.set(request, port);
      return connections.begin(request, isForwarded);
    },
  };
}
const short = (text: string): RequestInit => ({
  method: 'POST',
  body: text,
  headers: { 'content-length': String(text.length) },
});

test('a connection that waits for our answer is exempt from the limit until the answer leaves', async () => {
  const { connections, timeouts, passed, request } = bench();
  const one = request(1, short('{}'));
  connections.onReceived(one);
  await passed(20_000);
  expect(timeouts).toEqual([]);
  await passed(30_000);
  await passed(30_000);
  expect(timeouts).toEqual([[1, 0]]);
  connections.onStreaming(one);
  connections.onResponse(one);
  expect(timeouts).toEqual([[1, 0]]);
  connections.over(one);
  connections.over(one);
  expect(timeouts).toEqual([
    [1, 0],
    [1, 120],
  ]);
  // A quick one costs nothing at all.
  const quick = request(2);
  connections.onResponse(quick);
  await passed(100_000);
  expect(timeouts).toHaveLength(2);
});

test('a short body has its time, a long one must make progress, and a slow reader is not the sender’s fault', async () => {
  const { timeouts, passed, request } = bench();
  request(1, short('{"half":'));
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(made) {
      controller = made;
    },
  });
  const long = request(2, { method: 'POST', body });
  await passed(29_000);
  expect(timeouts).toEqual([]);
  await passed(2000);
  expect(timeouts).toEqual([[1, 1]]);
  // Nobody reads yet.
  await passed(60_000);
  expect(timeouts.filter(([port, seconds]) => port === 2 && seconds === 1)).toEqual([]);
  const reader = long.body?.getReader();
  let got = 0;
  const reading = (async () => {
    for (;;) {
      const read = await reader?.read();
      if (read === undefined || read.done) return;
      got += read.value.length;
    }
  })();
  for (let i = 0; i < 5; i++) {
    controller?.enqueue(new Uint8Array(20_000));
    await expect.poll(() => got).toBe(20_000 * (i + 1));
    await passed(31_000);
  }
  expect(timeouts.filter(([port, seconds]) => port === 2 && seconds === 1)).toEqual([]);
  // A letter now and then is no progress.
  for (let i = 0; i < 40; i++) {
    controller?.enqueue(new Uint8Array(1));
    await expect.poll(() => got).toBe(100_001 + i);
    await passed(1000);
  }
  expect(timeouts.filter(([port, seconds]) => port === 2 && seconds === 1)).not.toEqual([]);
  controller?.close();
  await reading;
});

test('one address has its share; this machine and trusted proxies are not counted', async () => {
  const { connections, ended, passed, request, connected } = bench({ perAddress: 10 });
  for (let i = 0; i < 15; i++) connected('203.0.113.5', 100 + i);
  for (let i = 0; i < 30; i++) connected('127.0.0.1', 200 + i);
  for (let i = 0; i < 30; i++) connected('10.0.0.9', 300 + i);
  // Two addresses of one IPv6 network are one caller.
  for (let i = 0; i < 12; i++) connected(`2001:db8:0:1:0:0:0:${i}`, 400 + i, '2001:db8:0:1');
  const answered = request(100, short('{}'));
  connections.onReceived(answered);
  request(101, short('{"half'));
  await passed(1000);
  // The request that is answered stays; the one that is still coming is taken last.
  expect(ended.filter((port) => port < 200)).toEqual([102, 103, 104, 105, 106]);
  expect(ended.filter((port) => port >= 400)).toHaveLength(2);
  expect(ended).toHaveLength(7);
});

test('when descriptors run short the oldest idle connections go first, of the address with the most', async () => {
  const { ended, passed, connected, others } = bench({ perAddress: 1000 }, 512);
  for (let i = 0; i < 300; i++) connected('127.0.0.1', 1000 - i);
  await passed(1000);
  expect(ended).toEqual([]);
  for (let i = 0; i < 100; i++) connected('127.0.0.1', 2000 + i);
  for (let i = 0; i < 20; i++) connected('198.51.100.7', 5000 + i);
  others(60);
  await passed(1000);
  // 480 in use of 512, 64 are kept free.
  expect(ended).toHaveLength(32);
  expect(ended.every((port) => port <= 1000)).toBe(true);
});

test('a request that another server answers is in use: its connection stays, and only a body that does not come is timed', async () => {
  const { ended, timeouts, passed, connected, request } = bench({ perAddress: 2 }, 1000);
  for (let port = 1; port <= 4; port++) connected('203.0.113.5', port);
  const sent = request(1, short('{}'), true);
  request(2, {}, true);
  const half = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(2)) });
  const stalled = request(3, { method: 'POST', body: half, headers: { 'content-length': '9' } }, true);
  expect(await sent.text()).toBe('{}');
  void stalled.text().catch(() => undefined);
  await passed(1000);
  expect(ended).toEqual([4, 3]);
  await passed(29_000);
  await passed(2000);
  expect(timeouts.filter(([, seconds]) => seconds === 1)).toEqual([[3, 1]]);
});

test('the system’s own figures for descriptors and connections are read', async () => {
  const descriptors = openDescriptors();
  const server = Bun.serve({ port: 0, hostname: '::', fetch: () => new Response() });
  const clients = await Promise.all(
    ['127.0.0.1', '::1'].map((hostname) =>
      Bun.connect({ hostname, port: server.port ?? 0, socket: { data: () => undefined } }),
    ),
  );
  // The system shows a connection to the listener when it has said something.
  for (const client of clients) client.write('GET / HTT');
  const found = () => descriptors?.inbound(server.port ?? 0, null) ?? [];
  await expect
    .poll(() =>
      found()
        .map((one) => one.address)
        .sort(),
    )
    .toEqual(['0:0:0:0:0:0:0:1', '127.0.0.1']);
  expect(
    found()
      .map((one) => one.port)
      .sort(),
  ).toEqual(clients.map((client) => client.localPort).sort());
  expect(descriptors?.limit).toBeGreaterThan(100);
  expect((await descriptors?.used())?.length).toBeGreaterThan(2);
  for (const one of found()) descriptors?.end(one.descriptor);
  await expect.poll(found).toEqual([]);
  for (const client of clients) client.end();
  await server.stop(true);
});

test('connections that other threads are answering are never ended', async () => {
  const system = bench({ perAddress: 2 }, 1000, [
    [1, true],
    [2, true],
  ]);
  for (let port = 1; port <= 5; port++) system.connected('10.1.1.1', port);
  await system.passed(1000);
  expect(system.ended).toEqual([3, 4, 5]);
  expect([...system.connections.busy()]).toEqual([]);
});

test('a process that was started with few descriptors takes as many as the system lets it', () => {
  const openFiles = process.platform === 'darwin' ? 8 : 7;
  const library = dlopen(process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6', {
    getrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
    setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
  }).symbols;
  const limits = new BigUint64Array(2);
  library.getrlimit(openFiles, limits);
  const [now = 0n, most = 0n] = limits;
  try {
    library.setrlimit(openFiles, BigUint64Array.of(most - 1n, most));
    expect(openDescriptors()?.limit).toBe(Number(most));
    library.getrlimit(openFiles, limits);
    expect(limits[0]).toBe(most);
  } finally {
    library.setrlimit(openFiles, BigUint64Array.of(now, most));
  }
});
