/** The practice upstream inside the server: one call, and a channel to it answers, also after a restart. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPractice, type PracticeService } from '../../server/app/practice.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let restarted: PracticeService | null;
beforeEach(async () => {
  gateway = await createTestGateway();
  restarted = null;
});
afterEach(async () => {
  await restarted?.stop();
  await gateway.services.practice.stop();
  await gateway.close();
});

interface Offered {
  readonly type: number;
  readonly base_url: string;
  readonly models: readonly string[];
}
const open = async (): Promise<Offered> => (await gateway.call('channel.practice', {})) as Offered;

test('a channel to what the server offers for practice answers at once', async () => {
  const { type, base_url: address, models } = await open();
  await gateway.channel(address, { type, models: models.join(',') });
  const { key } = await gateway.token();
  await gateway.sync();
  const answer = await gateway.chat(key, { model: models[0], messages: [{ role: 'user', content: 'hi' }] });
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('practice');
  expect(models).toEqual(['practice-small', 'practice-large']);
});

test('it keeps its address: asked twice, and by the next process', async () => {
  const { base_url: address } = await open();
  expect((await open()).base_url).toBe(address);
  await gateway.services.practice.stop();
  await expect(fetch(`${address}/v1/models`)).rejects.toThrow();
  restarted = createPractice(gateway.services.options);
  await restarted.resume();
  expect((await fetch(`${address}/v1/models`)).status).toBe(200);
});

test('the practice upstream does not listen without its option', async () => {
  restarted = createPractice(gateway.services.options);
  await restarted.resume();
  expect(await gateway.services.options.meta('practice_port')).toBeUndefined();
});

test('a second gateway of the machine gets an address of its own', async () => {
  const { base_url: address } = await open();
  const other = await createTestGateway();
  try {
    const second = ((await other.call('channel.practice', {})) as Offered).base_url;
    expect(second).not.toBe(address);
  } finally {
    await other.close();
  }
});
