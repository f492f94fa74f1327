import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let me: Headers;
let other: Headers;
beforeEach(async () => {
  api = await createApiFixture();
  ({ headers: me } = await api.addUser('me', 1));
  ({ headers: other } = await api.addUser('other', 1));
});
afterEach(() => api.close());

const save = async (place: string, name: string, query: string, as = me) =>
  (await api.send('POST', '/api/filter/', { place, name, query }, as)).body;
const list = async (place: string, as = me) =>
  (await api.send('GET', `/api/filter/?place=${place}`, undefined, as)).body.data as { id: number; name: string }[];

test('a filter is kept per user and table, replaced by its name, and removed', async () => {
  expect((await save('logs', ' errors ', '?type=5&q=%E4%B8%AD')).data).toMatchObject({
    place: 'logs',
    name: 'errors',
    query: 'type=5&q=%E4%B8%AD',
  });
  await save('logs', 'errors', 'type=5&model=gpt-4o');
  await save('channels', 'errors', 'status=3');
  await save('logs', 'errors', 'type=1', other);
  expect(await list('logs')).toMatchObject([{ name: 'errors', query: 'type=5&model=gpt-4o' }]);
  expect(await list('')).toHaveLength(2);
  expect(await list('logs', other)).toMatchObject([{ query: 'type=1' }]);
  const id = (await list('logs'))[0]?.id;
  expect((await api.send('DELETE', `/api/filter/${id}`, undefined, other)).body.success).toBe(false);
  expect((await api.send('DELETE', `/api/filter/${id}`, undefined, me)).body.success).toBe(true);
  expect(await list('logs')).toEqual([]);
});

test('a malformed filter is refused, and the number of filters is bounded', async () => {
  expect((await save('nowhere', 'a', '')).success).toBe(false);
  expect((await save('logs', ' ', '')).message).toBe('请输入名称');
  expect((await save('logs', 'x'.repeat(41), '')).success).toBe(false);
  expect((await save('logs', 'a', 'x'.repeat(2001))).success).toBe(false);
  for (let at = 0; at < 100; at++) expect((await save('logs', `f${at}`, '')).success).toBe(true);
  expect((await save('logs', 'one more', '')).message).toBe('最多可保存 100 个筛选');
  expect((await save('logs', 'f3', 'type=2')).success).toBe(true);
});
