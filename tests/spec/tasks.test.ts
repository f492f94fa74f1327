/** What is told of drawings and tasks, and how much Gemini may be told to think. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSpecFixture, type SpecFixture } from './support.ts';

let on: SpecFixture;

beforeAll(async () => {
  on = await createSpecFixture();
  const { query } = on.api.gateway.database;
  const owner = (await on.record('GET', '/api/user/self', undefined, on.plain.headers)).id;
  await query
    .insertInto('drawing_tasks')
    .values({ user_id: owner, mj_id: 'd1', submit_ms: 1_700_000_000_123, action: 'IMAGINE', channel_id: 3 } as never)
    .execute();
  await query
    .insertInto('tasks')
    .values({
      ...{ user_id: owner, task_id: 't1', platform: 'suno', action: 'MUSIC', submit_at: 1_700_000_000 },
      ...{ created_at: 1_700_000_000, updated_at: 1_700_000_000 },
    } as never)
    .execute();
});
afterAll(() => on?.close());

const kinds = (row: Readonly<Record<string, unknown>> | undefined, fields: string): Record<string, string> =>
  Object.fromEntries(fields.split(' ').map((name) => [name, typeof row?.[name]]));
const numbers = (fields: string) => Object.fromEntries(fields.split(' ').map((name) => [name, 'number']));
const texts = (fields: string) => Object.fromEntries(fields.split(' ').map((name) => [name, 'string']));

const proofs: Readonly<Record<string, () => Promise<unknown>>> = {
  '002.3.18': async () => {
    const [row] = await on.list('/api/mj/?p=0');
    const fields = numbers('id created_at submit_time finish_time channel_id code');
    const words = texts('mj_id action status');
    expect(kinds(row, Object.keys({ ...fields, ...words }).join(' '))).toEqual({ ...fields, ...words });
    expect(row).toMatchObject({ mj_id: 'd1', submit_time: 1_700_000_000_123, channel_id: 3, action: 'IMAGINE' });
  },
  '002.3.19': async () => {
    const [row] = await on.list('/api/mj/?p=0');
    const words = texts('progress image_url prompt prompt_en fail_reason');
    expect(kinds(row, Object.keys(words).join(' '))).toEqual(words);
  },
  '002.4.34': async () => {
    const owner = (await on.record('GET', '/api/user/self', undefined, on.plain.headers)).id;
    const drawing = (at: number) => ({
      user_id: owner,
      mj_id: `p${at}`,
      submit_ms: 1_700_000_000_000 + at,
      action: 'IMAGINE',
    });
    const rows = Array.from({ length: 25 }, (_, at) => drawing(at));
    await on.api.gateway.database.query
      .insertInto('drawing_tasks')
      .values(rows as never)
      .execute();
    const idsOf = async (p: number) => (await on.list(`/api/mj/?p=${p}&page_size=10`)).map(({ mj_id: id }) => id);
    const merged = [...(await idsOf(0)), ...(await idsOf(1)), ...(await idsOf(2))];
    expect(merged.length).toBe(new Set(merged).size);
    expect(merged).toEqual(expect.arrayContaining(rows.map(({ mj_id: id }) => id)));
  },
  '002.3.20': async () => {
    const [row] = await on.list('/api/task/?p=0');
    const fields = numbers('id created_at submit_time finish_time channel_id');
    const words = texts('platform action task_id status progress fail_reason');
    expect(kinds(row, Object.keys({ ...fields, ...words }).join(' '))).toEqual({ ...fields, ...words });
    expect(row).toMatchObject({ task_id: 't1', platform: 'suno', submit_time: 1_700_000_000 });
  },
  '001.9.16': async () => {
    await on.set('gemini.thinking_adapter_enabled', 'true');
    await on.set('ModelRatio', '{"gemini-2.5-flash":1,"gemini-2.5-flash-thinking":1}');
    const fields = { type: 24, name: 'gemini', key: 'k', base_url: on.upstream.url, group: 'default' };
    await on.works('POST', '/api/channel/', { ...fields, models: 'gemini-2.5-flash-thinking' });
    const made = await on.record('POST', '/api/token/', { name: 'k', unlimited_quota: true });
    const self = await on.record('GET', '/api/user/self');
    await on.works('PUT', '/api/user/', { id: self.id, username: 'root', add_quota: 50_000_000 });
    const messages = [{ role: 'user', content: 'hi' }];
    await on.api.gateway.sync();
    await on.api.gateway.chat(String(made.key), { model: 'gemini-2.5-flash-thinking', max_tokens: 60_000, messages });
    const sent = String(on.upstream.requests.at(-1)?.body);
    expect(/"thinkingBudget":(\d+)/.exec(sent)?.[1]).toBe('24576');
  },
};

test.each(Object.keys(proofs))('%s', async (id) => void (await proofs[id]?.()));
