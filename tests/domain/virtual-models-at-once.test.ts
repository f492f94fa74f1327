/** Two saves of virtual models at once: what either finds is what the other one left. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { clear, pairs, runPair } from '../support/virtual-models-at-once.ts';

let gateway: TestGateway;
let channelId = 0;
const saver = () => ({ models: gateway.services.virtualModels, channels: gateway.services.channels });

beforeAll(async () => {
  // On a server of the database the nodes have a test of their own.
  gateway = await createTestGateway({ engine: 'sqlite' });
  await gateway.channel('http://127.0.0.1:9', { models: 'gpt-4o' });
  channelId = await gateway.channel('http://127.0.0.1:9', { models: 'gpt-4.1', tag: 'there' });
});
afterAll(() => gateway.close());
afterEach(async () => {
  for (const { id } of await gateway.services.channels.ofTag('made')) await gateway.services.channels.remove(id);
  await clear(saver(), channelId);
});

test.each(pairs(() => channelId))('of two saves at once that come to $what, one is refused', async (pair) => {
  const codes = await runPair(pair, saver(), saver());
  expect(codes.filter((code) => code === '')).toHaveLength(1);
  expect(pair.codes).toContain(codes.find((code) => code !== ''));
});

test('one that becomes a target is not removed by who looked before', async () => {
  const { models } = saver();
  const { id } = await models.create({ name: 'a', targets: [{ model: 'gpt-4o' }] });
  const [made, removed] = await Promise.allSettled([
    models.create({ name: 'b', targets: [{ model: 'a' }] }),
    models.remove(id),
  ]);
  expect(made.status).toBe('fulfilled');
  expect(removed).toMatchObject({ reason: { code: 'virtual_model_used' } });
  expect((await models.list()).map(({ name }) => name)).toEqual(['a', 'b']);
});
