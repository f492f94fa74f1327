import { expect, test } from 'vitest';
import { sendJson } from '../support/upstream.ts';
import { providerBench } from './bench.ts';

const bench = providerBench({ limits: { idleMs: 1500 } });

test('work that is never done ends with the time limit, and costs nothing', async () => {
  const key = await bench.channel('ali', 'wanx-v1');
  bench.script((response) => sendJson(response, { output: { task_id: 't', task_status: 'RUNNING' } }));
  const response = await bench.post('/v1/images/generations', key, { model: 'wanx-v1', prompt: 'x' });
  expect(response.status).toBe(504);
  expect(bench.upstream.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  expect(await bench.log()).toMatchObject({ type: 5, quota: 0 });
  expect(bench.gateway.relay.open()).toBe(0);
});
