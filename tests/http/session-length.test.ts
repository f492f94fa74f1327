/** How long a login lasts, on a clock that is moved by hand. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let now: number;
const day = 24 * 3600 * 1000;

beforeEach(async () => {
  now = Date.UTC(2026, 0, 1);
  api = await createApiFixture({}, { now: () => now });
});
afterEach(() => api.close());

const isInside = async (me: Headers): Promise<boolean> =>
  (await api.send('GET', '/api/user/self', undefined, me)).body.success === true;

test('a session lives thirty days, in the browser and here, however often it is used', async () => {
  const { headers } = await api.send('POST', '/api/user/login', { username: 'tester', password: 'password1' });
  expect(headers.get('set-cookie')).toMatch(/; Max-Age=2592000(;|$)/);
  await api.gateway.option('general_setting.session_idle_hours', '0');
  const me = await api.login('tester', 'password1');
  now += 29 * day;
  expect(await isInside(me)).toBe(true);
  now += day - 1000;
  expect(await isInside(me)).toBe(true);
  now += 1000;
  expect(await isInside(me)).toBe(false);
});
