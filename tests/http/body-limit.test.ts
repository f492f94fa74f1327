import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture } from '../support/api.ts';

let api: ApiFixture;
beforeAll(async () => {
  api = await createApiFixture();
});
afterAll(() => api?.close());

test('the API takes a body of one MiB and no byte more', async () => {
  const most = 1024 * 1024;
  const sent = async (bytes: number) => {
    const empty = JSON.stringify({ username: 'nobody', password: '' });
    const body = JSON.stringify({ username: 'nobody', password: 'x'.repeat(bytes - empty.length) });
    return (await api.send('POST', '/api/user/login', body)).status;
  };
  expect(await sent(most)).not.toBe(413);
  expect(await sent(most + 1)).toBe(413);
});
