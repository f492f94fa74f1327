import { expect, test } from 'vitest';
import { createTestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream } from '../support/upstream.ts';

test('a picture’s quality costs what it costs its maker, whatever name the model is sold under', async () => {
  const quota = 100_000_000;
  const gateway = await createTestGateway({ quota });
  let held = 0;
  const upstream = await startUpstream((response) => {
    held = quota - gateway.balances.account(gateway.userId, 0).available();
    sendJson(response, { created: 1, data: [{ url: 'https://pictures.example/1.png' }] });
  });
  await gateway.channel(upstream.url, { models: 'painter', model_mapping: '{"painter":"dall-e-3"}' });
  await gateway.option('ModelPrice', '{"painter":0.04}');
  const { key } = await gateway.token();
  const path = '/v1/images/generations';
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'painter', prompt: 'a door', quality: 'hd', size: '1024x1024' }),
  });
  expect((await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' })).status).toBe(200);
  // Twice the price of a standard one.
  expect([held, (await gateway.lastLog())?.quota]).toEqual([40_000, 40_000]);
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});
