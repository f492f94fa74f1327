/** The row of a drawing or song is kept behind its charge: what becomes of both while the store is away. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { systemTimers } from '../../server/contract/timers.ts';
import type { TaskStore } from '../../server/relay/endpoints/tasks/store.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let upstream: Upstream;
let gateway: TestGateway;
let key: string;
/** How often the store fails before it keeps anything. */
let failures: number;
let attempts: number;
let pauses: number;
let kept: string[];
/** Where rows go: through the service that keeps them once. */
let service: Pick<TaskStore, 'addDrawing' | 'addSong'>;
/** The store keeps the row, and its answer is lost. */
let isLate: boolean;

beforeEach(async () => {
  [failures, attempts, pauses, kept, isLate] = [0, 0, 0, [], false];
  upstream = await startUpstream((response, { path }) =>
    sendJson(response, path.includes('suno') ? { code: 'success', data: 'song-1' } : { code: 1, result: 'drawing-1' }),
  );
  const keep = async (id: string, row: () => Promise<void>) => {
    const fails = ++attempts <= failures;
    if (!fails || isLate) await row();
    if (fails) throw new AppError('storage_unavailable', { reason: 'away' });
    kept.push(id);
  };
  const tasks = {
    addDrawing: (row: Parameters<TaskStore['addDrawing']>[0]) => keep(row.mj_id, () => service.addDrawing(row)),
    addSong: (row: Parameters<TaskStore['addSong']>[0]) => keep(row.task_id, () => service.addSong(row)),
  } as unknown as TaskStore;
  const second = 1000;
  gateway = await createTestGateway({
    relay: {
      tasks,
      timers: {
        ...systemTimers,
        set(done, ms) {
          if (ms === second) pauses++;
          return systemTimers.set(done, ms === second ? 1 : ms);
        },
      },
    },
  });
  service = gateway.services.tasks as unknown as typeof service;
  await gateway.option('ModelPrice', '{"mj_imagine":0.1,"suno_music":0.1}');
  await gateway.channel(upstream.url, { type: 2, models: 'mj_imagine' });
  await gateway.channel(upstream.url, { type: 36, models: 'suno_music' });
  ({ key } = await gateway.token());
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const price = 50_000;
const spent = async () => gateway.balance();
const orders = [
  ['drawing', '/mj/submit/imagine', { prompt: 'a cat' }, 'drawing-1', 'drawing_tasks'],
  ['song', '/suno/submit/MUSIC', { prompt: 'a cat' }, 'song-1', 'tasks'],
] as const;

test.each(orders)(
  'a %s whose row cannot be kept at first is answered when it is, and paid once',
  async (_kind, path, body, id, table) => {
    const before = await spent();
    failures = 3;
    const response = await gateway.send(key, path, body);
    expect([response.status, kept, attempts, pauses]).toEqual([200, [id], 4, 3]);
    await gateway.ledger.drain();
    expect(before - (await spent())).toBe(price);
    expect(await gateway.rows(`SELECT 1 FROM ${table}`)).toHaveLength(1);
    expect(upstream.requests).toHaveLength(1);
  },
);

test.each([
  [200, 1, price],
  [200, 21, price],
  [200, 24, 0],
  [201, 1, 0],
  [500, 1, 0],
])('a drawing is paid where status %s and code %s both say that it was taken: %s', async (status, code, paid) => {
  const before = await spent();
  upstream.script((response) => sendJson(response, { code, result: 'drawing-1' }, status));
  await gateway.send(key, '/mj/submit/imagine', { prompt: 'a cat' });
  await gateway.ledger.drain();
  expect(before - (await spent())).toBe(paid);
});

test.each(orders)(
  'a %s whose row was kept although the answer was lost is kept once',
  async (_kind, path, body, _id, table) => {
    [failures, isLate] = [2, true];
    expect((await gateway.send(key, path, body)).status).toBe(200);
    expect(await gateway.rows(`SELECT 1 FROM ${table}`)).toHaveLength(1);
  },
);

test.each(orders)(
  'a %s whose row can never be kept is refused, and its charge given back',
  async (_kind, path, body) => {
    const before = await spent();
    failures = Number.POSITIVE_INFINITY;
    const response = await gateway.send(key, path, body);
    expect([response.status, attempts, pauses]).toEqual([503, 20, 19]);
    await gateway.ledger.drain();
    expect(await spent()).toBe(before);
    expect(upstream.requests).toHaveLength(1);
  },
);
