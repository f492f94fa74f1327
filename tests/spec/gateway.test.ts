/** Clauses of the third document, each by its number, as callers of the API and of the relay meet them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSpecFixture, type Json, type SpecFixture } from './support.ts';

let on: SpecFixture;
beforeAll(async () => {
  on = await createSpecFixture();
  await on.set('GroupRatio', '{"default":2}');
});
afterAll(() => on.close());

let made = 0;
const channel = async (fields: object = {}) => {
  made += 1;
  const body = { type: 1, name: `c${made}`, key: 'sk-up', models: 'gpt-4o-mini', base_url: on.upstream.url, ...fields };
  const [row] = (await on.works('POST', '/api/channel/', body)) as (Json & { id: number })[];
  if (row === undefined) throw new Error('no channel');
  return row;
};
const read = (id: number) => on.record('GET', `/api/channel/${id}`);
const change = (fields: object) => on.record('PUT', '/api/channel/', fields);
const token = (fields: object = {}) => on.record('POST', '/api/token/', { name: 't', ...fields }, on.plain.headers);
const code = async (fields: object = {}) => {
  const [key = ''] = (await on.works('POST', '/api/redemption/', { name: 'gift', ...fields })) as string[];
  const { items } = (await on.works('GET', '/api/redemption/?p=0&page_size=100')) as {
    items: (Json & { id: number })[];
  };
  const row = items.find((one) => one.key === key);
  if (row === undefined) throw new Error(key);
  return row;
};
const chat = async (key: string) => {
  await on.api.gateway.sync();
  const answer = await on.api.gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
  await on.api.gateway.ledger.drain();
  return answer.status;
};
const rich = async (): Promise<string> => {
  await on.works('PUT', '/api/user/', { id: on.plain.id, add_quota: 5_000_000 });
  return String((await token({ unlimited_quota: true })).key);
};
const spent = async () => {
  await channel();
  expect(await chat(await rich())).toBe(200);
};
const has = (row: object, names: string) => expect(Object.keys(row)).toEqual(expect.arrayContaining(names.split(' ')));
const arrays = async (...paths: readonly string[]) => {
  for (const path of paths) expect([path, await on.works('GET', path)]).toEqual([path, expect.any(Array)]);
};
const payable = async () => {
  for (const [key, value] of [
    ['ServerAddress', 'https://site.example'],
    ['PayAddress', 'https://pay.example'],
    ['EpayId', '1000'],
    ['EpayKey', 'key'],
  ] as const)
    await on.set(key, value);
};

const proofs: Readonly<Record<string, () => Promise<unknown>>> = {
  '002.1.3': async () => expect(await on.ask('GET', '/api/pricing', undefined, {})).toMatchObject({ success: true }),
  '002.1.4': async () => {
    await spent();
    const { items } = (await on.works('GET', '/api/log/?p=1&page_size=1&type=2')) as { items: Json[] };
    // (100 + 10 x 4) x 0.075 x 2
    expect(items[0]).toMatchObject({ quota: 21 });
  },
  '002.2.6': async () =>
    expect(await on.ask('GET', '/api/channel/', undefined, on.plain.headers)).toMatchObject({ success: false }),
  '002.2.9': async () => {
    const { id } = await channel({ tag: 'levels' });
    await on.works('POST', '/api/channel/tag/disabled', { tag: 'levels' });
    expect(await read(id)).toMatchObject({ status: 2 });
    await on.works('POST', '/api/channel/tag/enabled', { tag: 'levels' });
    expect(await read(id)).toMatchObject({ status: 1 });
    await on.works('PUT', '/api/channel/tag', { tag: 'levels', new_tag: 'floors' });
    expect(await read(id)).toMatchObject({ tag: 'floors' });
  },
  '002.3.1': async () => has(await channel(), 'id name type key openai_organization max_input_tokens base_url'),
  '002.3.2': async () =>
    expect(await read((await channel({ type: 3, other: '2024-05-01' })).id)).toMatchObject({ other: '2024-05-01' }),
  '002.3.3': async () => {
    const json = {
      model_mapping: '{"a":"b"}',
      status_code_mapping: '{"429":"500"}',
      setting: '{}',
      param_override: '{"top_p":1}',
    };
    expect(await channel(json)).toMatchObject(json);
    for (const name of Object.keys(json)) {
      const answer = await on.ask('POST', '/api/channel/', { type: 1, name: 'x', key: 'k', models: 'm', [name]: '{' });
      expect([name, answer.success]).toEqual([name, false]);
    }
  },
  '002.3.4': async () => expect(await channel({ models: ' a , b ' })).toMatchObject({ models: 'a,b' }),
  '002.3.5': async () =>
    expect(await channel({ models: ['a', 'b'], group: 'default' })).toMatchObject({ models: 'a,b', group: 'default' }),
  '002.3.6': async () => expect(await channel({ groups: ['default', 'vip'] })).toMatchObject({ group: 'default,vip' }),
  '002.3.7': async () =>
    has(
      await channel(),
      'auto_ban test_model priority weight tag status response_time balance used_quota test_time balance_updated_time',
    ),
  '002.3.8': async () => {
    const { id } = await channel();
    await on.api.gateway.services.channels.disableFor(id, JSON.stringify({ status_reason: 'r', status_time: 1 }));
    const row = await read(id);
    expect([row.status, JSON.parse(String(row.other_info))]).toEqual([3, { status_reason: 'r', status_time: 1 }]);
    expect(row.created_time).toEqual(expect.any(Number));
  },
  '002.3.12': async () => has(await token(), 'id name key status remain_quota used_quota unlimited_quota'),
  '002.3.13': async () => expect(await token()).toMatchObject({ expired_time: -1, created_time: expect.any(Number) }),
  '002.3.14': async () => {
    const limits = { model_limits_enabled: true, model_limits: 'a,b', allow_ips: '10.0.0.1\n10.0.0.2', group: '' };
    expect(await token(limits)).toMatchObject(limits);
  },
  '002.3.15': async () => {
    const row = await code();
    has(row, 'id name key status quota count created_time used_user_id');
    expect(row.used_user_id).toBe(0);
  },
  '002.3.16': async () => {
    await spent();
    const { items } = (await on.works('GET', '/api/log/?p=1&page_size=1&type=2')) as { items: Json[] };
    has(
      items[0] ?? {},
      'id created_at type channel channel_name username user_id token_name group model_name is_stream use_time prompt_tokens completion_tokens quota content',
    );
  },
  '002.3.17': async () => {
    await spent();
    const { items } = (await on.works('GET', '/api/log/?p=1&page_size=1&type=2')) as { items: { other: string }[] };
    const other = JSON.parse(items[0]?.other ?? '') as Json;
    has(other, 'frt model_ratio model_price completion_ratio group_ratio cache_tokens cache_ratio admin_info');
  },
  '002.3.21': async () => {
    await channel();
    const { data } = (await on.ask('GET', '/api/pricing')) as { data: Json[] };
    has(data[0] ?? {}, 'model_name quota_type model_ratio completion_ratio model_price enable_groups');
  },
  '002.3.22': async () =>
    expect(await on.ask('GET', '/api/pricing')).toMatchObject({
      group_ratio: { default: 2 },
      usable_group: { default: expect.any(String) },
    }),
  '002.3.23': async () =>
    expect(await on.works('GET', '/api/user/self/groups')).toMatchObject({
      default: { desc: expect.any(String), ratio: 2 },
    }),
  '002.4.2': async () => {
    const { id } = await channel();
    expect(await change({ id, status: 2 })).toMatchObject({ status: 2 });
    expect(await change({ id, status: 1 })).toMatchObject({ status: 1 });
  },
  '002.4.3': async () => {
    const rows = [await channel({ tag: 'both' }), await channel({ tag: 'both' })];
    expect(await on.works('POST', '/api/channel/tag/disabled', { tag: 'both' })).toBe(2);
    for (const { id } of rows) expect(await read(id)).toMatchObject({ status: 2 });
  },
  '002.4.10': async () => {
    expect(await token()).toMatchObject({ status: 1 });
    expect(await token({ remain_quota: 0 })).toMatchObject({ status: 4 });
    const { id: ended } = await token();
    expect(await on.record('PUT', '/api/token/', { id: ended, expired_time: 1000 }, on.plain.headers)).toMatchObject({
      status: 3,
    });
    const { id } = await token();
    expect(await on.works('PUT', '/api/token/?status_only=true', { id, status: 2 }, on.plain.headers)).toMatchObject({
      status: 2,
    });
  },
  '002.4.11': async () => {
    const { id } = await token();
    for (const status of [2, 1])
      expect(await on.works('PUT', '/api/token/?status_only=true', { id, status }, on.plain.headers)).toMatchObject({
        status,
        name: 't',
      });
  },
  '002.4.12': async () => {
    const { id } = await token();
    await on.works('DELETE', `/api/token/${id}/`, undefined, on.plain.headers);
    expect(await on.ask('GET', `/api/token/${id}`, undefined, on.plain.headers)).toMatchObject({ success: false });
  },
  '002.4.13': async () => {
    const row = await code();
    expect(row.status).toBe(1);
    expect(await on.works('PUT', '/api/redemption/?status_only=true', { id: row.id, status: 2 })).toMatchObject({
      status: 2,
    });
    await on.works('PUT', '/api/redemption/?status_only=true', { id: row.id, status: 1 });
    await on.works('POST', '/api/user/topup', { key: row.key }, on.plain.headers);
    expect(await on.works('GET', `/api/redemption/${row.id}`)).toMatchObject({ status: 3 });
  },
  '002.4.15': async () => {
    const row = await code();
    await on.works('POST', '/api/user/topup', { key: row.key }, on.plain.headers);
    await on.says('已使用的兑换码不能修改', 'PUT', '/api/redemption/?status_only=true', { id: row.id, status: 1 });
  },
  '002.4.17': async () => {
    await spent();
    await on.works('POST', '/api/user/topup', { key: (await code()).key }, on.plain.headers);
    await on.works('PUT', '/api/user/', { id: on.plain.id, add_quota: 1 });
    expect(
      await chat(String((await token({ unlimited_quota: true, model_limits_enabled: true, model_limits: 'x' })).key)),
    ).toBe(403);
    for (const type of [1, 2, 3]) {
      const { items } = (await on.works('GET', `/api/log/?p=1&page_size=10&type=${type}`)) as { items: Json[] };
      expect([type, items.length > 0, items.every((row) => row.type === type)]).toEqual([type, true, true]);
    }
  },
  '002.4.31': async () => {
    await channel({ models: 'fixed-price,gpt-4o-mini' });
    await on.set('ModelPrice', '{"fixed-price":0.1}');
    const { data } = (await on.ask('GET', '/api/pricing')) as { data: Json[] };
    const typeOf = (name: string) => data.find((item) => item.model_name === name)?.quota_type;
    expect([typeOf('fixed-price'), typeOf('gpt-4o-mini')]).toEqual([1, 0]);
  },
  '002.4.32': async () => {
    const balance = async () => (await on.record('GET', '/api/user/self', undefined, on.plain.headers)).quota as number;
    const before = await balance();
    const added = await on.works(
      'POST',
      '/api/user/topup',
      { key: (await code({ quota: 777 })).key },
      on.plain.headers,
    );
    expect([added, (await balance()) - before]).toEqual([777, 777]);
  },
  '002.4.33': async () => arrays('/api/mj/?p=0', '/api/task/?p=0'),
  '002.6.1': async () => expect((await on.api.send('GET', '/api/token/', undefined, {})).status).toBe(401),
  '002.6.2': async () =>
    expect(await on.ask('GET', '/api/pricing', undefined, {})).toMatchObject({ group_ratio: { default: 2 } }),
  '002.6.3': async () => {
    for (const path of ['/api/token/?p=0&size=10', '/api/log/self/', '/api/mj/self/', '/api/task/self'])
      await on.works('GET', path, undefined, on.plain.headers);
    for (const path of ['/api/log/', '/api/mj/', '/api/task/', '/api/channel/', '/api/redemption/'])
      expect([path, (await on.ask('GET', path, undefined, on.plain.headers)).success]).toEqual([path, false]);
  },
  '002.6.6': async () => {
    const link = { key: 'TopUpLink', value: 'https://shop.example' };
    expect(await on.ask('PUT', '/api/option/', link, on.admin.headers)).toMatchObject({ success: false });
    await on.works('PUT', '/api/option/', link);
  },
  '002.7.1': async () => arrays('/api/channel/?p=0&page_size=10&id_sort=true&tag_mode=false'),
  '002.7.2': async () => arrays('/api/channel/search?keyword=c&group=default&model=gpt&id_sort=true&tag_mode=false'),
  '002.7.3': async () => expect((await read((await channel({ name: 'read' })).id)).name).toBe('read'),
  '002.7.4': async () => expect(await channel({ name: 'new' })).toMatchObject({ name: 'new', type: 1 }),
  '002.7.5': async () => {
    const row = await channel();
    expect(await change({ ...row, name: 'changed' })).toMatchObject({ id: row.id, name: 'changed' });
  },
  '002.7.6': async () => {
    const { id } = await channel();
    expect(await change({ id, status: 2 })).toMatchObject({ status: 2 });
    expect(await change({ id, priority: 7 })).toMatchObject({ priority: 7 });
    expect(await change({ id, weight: 3 })).toMatchObject({ weight: 3, status: 2, priority: 7 });
  },
  '002.7.7': async () => on.works('DELETE', `/api/channel/${(await channel()).id}/`),
  '002.7.8': async () =>
    expect(await on.works('GET', `/api/channel/fetch_models/${(await channel()).id}`)).toEqual(['a', 'b']),
  '002.7.9': async () =>
    expect(
      await on.works('POST', '/api/channel/fetch_models', { base_url: on.upstream.url, type: 1, key: 'k' }),
    ).toEqual(['a', 'b']),
  '002.7.10': async () =>
    expect(await on.ask('GET', `/api/channel/test/${(await channel()).id}?model=`)).toMatchObject({
      success: true,
      message: '',
      time: expect.any(Number),
    }),
  '002.7.13': async () => expect(await on.ask('GET', '/api/channel/update_balance')).toMatchObject({ success: true }),
  '002.7.14': async () => {
    await channel({ status: 2 });
    expect(await on.works('DELETE', '/api/channel/disabled')).toBeGreaterThan(0);
  },
  '002.7.15': async () => expect(await on.works('POST', '/api/channel/batch', { ids: [(await channel()).id] })).toBe(1),
  '002.7.16': async () =>
    expect(await on.works('POST', '/api/channel/batch/tag', { ids: [(await channel()).id], tag: 'x' })).toBe(1),
  '002.7.17': async () => expect(await on.works('POST', '/api/channel/fix', {})).toEqual(expect.any(Number)),
  '002.7.18': async () => {
    const { id } = await channel({ tag: 'edited' });
    const edit = {
      tag: 'edited',
      new_tag: 'edited',
      model_mapping: '{"a":"b"}',
      groups: 'default,vip',
      models: 'm1,m2',
    };
    await on.works('PUT', '/api/channel/tag', edit);
    await on.works('PUT', '/api/channel/tag', { tag: 'edited', priority: 4 });
    await on.works('PUT', '/api/channel/tag', { tag: 'edited', weight: 6 });
    const expected = { model_mapping: '{"a":"b"}', group: 'default,vip', models: 'm1,m2', priority: 4, weight: 6 };
    expect(await read(id)).toMatchObject(expected);
  },
  '002.7.22': async () => expect(await on.list('/api/channel/models_enabled')).toContain('gpt-4o-mini'),
  '002.7.24': async () => arrays('/api/token/?p=0&size=10'),
  '002.7.25': async () => {
    const { id, key } = await token({ name: 'findme' });
    expect(await on.list(`/api/token/search?keyword=findme&token=sk-${String(key)}`, on.plain.headers)).toMatchObject([
      { id },
    ]);
    const none = `/api/token/search?keyword=findme&token=sk-${'0'.repeat(48)}`;
    expect(await on.list(none, on.plain.headers)).toEqual([]);
  },
  '002.7.26': async () => {
    const { id } = await token();
    expect(await on.works('GET', `/api/token/${id}`, undefined, on.plain.headers)).toMatchObject({ id });
  },
  '002.7.28': async () => {
    const row = await token();
    expect(await on.works('PUT', '/api/token/', { ...row, name: 'other' }, on.plain.headers)).toMatchObject({
      name: 'other',
    });
  },
  '002.7.33': async () => expect(await on.record('GET', '/api/user/self')).toMatchObject({ quota: expect.any(Number) }),
  '002.7.34': async () =>
    expect(await on.works('GET', '/api/redemption/?p=0&page_size=10')).toMatchObject({
      items: expect.any(Array),
      page: 1,
      total: expect.any(Number),
    }),
  '002.7.35': async () => {
    const { id } = await code({ name: 'looked for' });
    expect(await on.works('GET', '/api/redemption/search?keyword=looked&p=1&page_size=10')).toMatchObject({
      items: [{ id }],
    });
  },
  '002.7.36': async () =>
    expect(await on.works('GET', `/api/redemption/${(await code()).id}`)).toMatchObject({ name: 'gift' }),
  '002.7.37': async () =>
    expect(await on.works('POST', '/api/redemption/', { name: 'x', quota: 5, count: 3 })).toHaveLength(3),
  '002.7.38': async () => {
    const row = await code();
    expect(await on.works('PUT', '/api/redemption/', { ...row, name: 'other', quota: 9 })).toMatchObject({
      name: 'other',
      quota: 9,
    });
  },
  '002.7.40': async () => on.works('DELETE', `/api/redemption/${(await code()).id}/`),
  '002.7.41': async () =>
    expect(await on.works('POST', '/api/user/topup', { key: (await code({ quota: 5 })).key }, on.plain.headers)).toBe(
      5,
    ),
  '002.7.42': async () => {
    await payable();
    expect(await on.ask('POST', '/api/user/amount', { amount: 10, top_up_code: '' }, on.plain.headers)).toMatchObject({
      message: 'success',
      data: expect.anything(),
    });
  },
  '002.7.43': async () => {
    await payable();
    for (const payment_method of ['zfb', 'wx'])
      expect(
        await on.ask('POST', '/api/user/pay', { amount: 10, top_up_code: '', payment_method }, on.plain.headers),
      ).toMatchObject({
        message: 'success',
        url: expect.stringContaining('https://pay.example'),
        data: { sign: expect.any(String) },
      });
  },
  '002.7.44': async () => {
    await spent();
    const query =
      'p=1&page_size=10&type=2&token_name=t&model_name=gpt-4o-mini&start_timestamp=1&end_timestamp=9999999999&group=default';
    expect(
      ((await on.works('GET', `/api/log/?${query}&username=plain&channel=`)) as { total: number }).total,
    ).toBeGreaterThan(0);
    expect(
      ((await on.works('GET', `/api/log/self/?${query}`, undefined, on.plain.headers)) as { total: number }).total,
    ).toBeGreaterThan(0);
  },
  '002.7.45': async () => has((await on.works('GET', '/api/log/')) as object, 'items page page_size total'),
  '002.7.46': async () => {
    for (const path of ['/api/log/stat', '/api/log/self/stat'])
      has(
        (await on.works('GET', `${path}?type=0&start_timestamp=1&end_timestamp=9999999999`)) as object,
        'quota rpm tpm',
      );
  },
  '002.7.48': async () => arrays('/api/mj/?p=0&channel_id=&mj_id=&start_timestamp=1&end_timestamp=9999999999999'),
  '002.7.49': async () => arrays('/api/mj/self/?p=0&mj_id=&start_timestamp=1&end_timestamp=9999999999999'),
  '002.7.50': async () => arrays('/api/task/?p=0&channel_id=&task_id=&start_timestamp=1&end_timestamp=9999999999'),
  '002.7.51': async () => arrays('/api/task/self?p=0&task_id=&start_timestamp=1&end_timestamp=9999999999'),
  '002.7.60': async () =>
    expect(await on.ask('GET', '/api/token/')).toEqual({ success: true, message: '', data: expect.any(Array) }),
  '002.9.4': async () =>
    expect(await token()).toMatchObject({ remain_quota: 500_000, expired_time: -1, unlimited_quota: false }),
  '002.9.9': async () => {
    expect(await on.works('POST', '/api/redemption/', { name: 'one' })).toHaveLength(1);
    expect(await code()).toMatchObject({ quota: 100_000 });
  },
  '002.9.11': async () => {
    const [row] = (await on.works('POST', '/api/channel/', { name: 'd', key: 'k', models: 'm' })) as Json[];
    expect(row).toMatchObject({ type: 1, auto_ban: 1, group: 'default', priority: 0, weight: 0 });
  },
  '002.9.17': async () => {
    const models = (await on.works('GET', '/api/models')) as Readonly<Record<string, readonly string[]>>;
    expect([models[2]?.length, models[5]?.length, models[36]]).toEqual([7, 16, ['suno_music', 'suno_lyrics']]);
  },
  '000.9.7': async () => {
    await on.set('DisplayInCurrencyEnabled', 'true');
    expect(await code({ name: '', quota: 1_234_567 })).toMatchObject({ name: '$2.47' });
  },
  '000.9.8': async () => {
    await on.set('DisplayInCurrencyEnabled', 'false');
    for (const [quota, name] of [
      [9_000, '9000'],
      [12_345, '12.3k'],
      [1_500_000, '1.5M'],
      [2_000_000_000, '2.0B'],
    ] as const)
      expect(await code({ name: '', quota })).toMatchObject({ name });
    await on.works('POST', '/api/option/reset', { key: 'DisplayInCurrencyEnabled' });
  },
  '002.9.21': async () => {
    const key = await rich();
    const balance = async () => (await on.record('GET', '/api/user/self', undefined, on.plain.headers)).quota as number;
    await channel();
    const before = await balance();
    expect(await chat(key)).toBe(200);
    expect(before - (await balance())).toBe(Math.round(2 * 0.075 * (100 + 10 * 4)));
  },
};

test.each(Object.keys(proofs))('%s', async (id) => void (await proofs[id]?.()));
