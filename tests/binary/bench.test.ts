import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSandbox, freePort, type Sandbox } from './support.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.close());

interface Row {
  readonly requests: number;
  readonly failed: number;
  readonly cpuMicros: number | null;
  readonly threadMicros: Readonly<Record<string, number>>;
}
interface Bench {
  readonly compiled: boolean;
  readonly verified: boolean;
  readonly timesFloor: number | null;
  readonly table: Readonly<Record<string, Readonly<Record<string, Row>>>>;
  readonly extras: { readonly streams: { readonly count: number; readonly stuck: number } };
  readonly goals: readonly { readonly name: string; readonly verdict: string }[];
}

/** Three ports in a row that nobody listens on. */
const threePorts = (): number => {
  for (;;) {
    const first = freePort();
    const servers: { stop(force: boolean): unknown }[] = [];
    try {
      for (const more of [0, 1, 2]) servers.push(Bun.serve({ port: first + more, fetch: () => new Response() }));
      return first;
    } catch {
      // One of them is taken: elsewhere.
    } finally {
      for (const server of servers) server.stop(true);
    }
  }
};

test('the executable alone measures itself, the floors and another gateway, and leaves nothing behind', async () => {
  const upstream = threePorts();
  // Stands for another gateway: the way to the practice upstream itself.
  const rival = `other=http://127.0.0.1:${upstream}/v1,sk-other,practice-small`;
  const flags = ['--quick', '--seconds', '0.1', '--shapes', 'c=64,64 chunks 1 ms apart'];
  const ran = await sandbox.run(
    ['bench', ...flags, '--upstream-port', String(upstream), '--against', rival, '--json'],
    '',
    { TMPDIR: sandbox.dir, PATH: '' },
  );
  expect(ran.code, ran.err).toBe(0);
  const bench = JSON.parse(ran.out) as Bench;
  expect(bench).toMatchObject({ compiled: true, verified: true, timesFloor: expect.any(Number) });
  expect(Object.keys(bench.table['c=64'] ?? {})).toEqual([
    'direct',
    'floor: fetch',
    'floor: sockets',
    'floor: durable',
    'gateway',
    'other',
  ]);
  expect(Object.keys(bench.table['c=64']?.gateway?.threadMicros ?? {})).toContain('main');
  expect(Object.keys(bench.table['64 chunks, 1 ms apart'] ?? {})).not.toContain('other');
  for (const [name, row] of Object.values(bench.table).flatMap((rows) => Object.entries(rows))) {
    expect(row, name).toMatchObject({ failed: 0 });
    expect(row.requests, name).toBeGreaterThan(0);
  }
  expect(bench.table['c=64']?.other?.cpuMicros).toBeNull();
  expect(bench.extras.streams).toMatchObject({ count: 200, stuck: 0 });
  expect(bench.goals.map(({ name }) => name)).toContain('CPU, c=64 / floor: fetch');
  expect(readdirSync(sandbox.dir).filter((name) => name.startsWith('gateway-bench-'))).toEqual([]);
});

test('a target that cannot be measured is refused before anything starts', async () => {
  for (const against of ['x', 'x=https://127.0.0.1/v1', 'x=http://192.0.2.1/v1']) {
    const ran = await sandbox.run(['bench', '--against', against]);
    expect([ran.code, ran.out]).toEqual([2, '']);
  }
  expect((await sandbox.run(['bench', '--before', 'nowhere'])).code).not.toBe(0);
});
