import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSandbox, freePort, type Sandbox, setUp } from './support.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.close());

const body = JSON.stringify({ model: 'practice-small', messages: [{ role: 'user', content: 'hi' }] });
const ask = (url: string) =>
  fetch(`${url}/v1/chat/completions`, { method: 'POST', body, headers: { 'content-type': 'application/json' } });

test('A11: without practice upstreams alone the tiers that skip keys are refused at the start', async () => {
  // Answers everything, and is no practice upstream for all that.
  const stranger = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('{"data":[]}') });
  await setUp(sandbox, `http://127.0.0.1:${stranger.port}`);
  for (const tier of ['1', '2']) {
    const ran = await sandbox.run(['serve', '--port', '0'], '', { GATEWAY_BENCH_TIER: tier });
    expect([ran.code, ran.out]).toEqual([2, '']);
    expect(ran.err).toContain(`GATEWAY_BENCH_TIER=${tier} checks no key`);
  }
  await stranger.stop(true);
});

test('A11: with them the tiers work, until a channel becomes another', async () => {
  const { line } = await sandbox.start(['mock-upstream', '--port', String(freePort())]);
  await setUp(sandbox, line);
  const served = await sandbox.start(['serve', '--port', '0'], { GATEWAY_BENCH_TIER: '1' });
  const url = served.line.replace('URL: ', '');
  expect((await ask(url)).status).toBe(200);
  const stranger = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json({ choices: [] }) });
  const edited = await sandbox.run(['channel', 'edit', 'practice', '--base-url', `http://127.0.0.1:${stranger.port}`]);
  expect(edited.code, edited.err).toBe(0);
  const refused = await ask(url);
  expect(refused.status).toBeGreaterThanOrEqual(400);
  expect(await refused.text()).toContain('bench_tier_refused');
  await stranger.stop(true);
});
