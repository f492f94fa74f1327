import { afterEach, beforeEach, expect, test } from 'vitest';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { actionOf, orderOf } from '../../server/relay/endpoints/tasks/actions.ts';
import { taskFor } from '../../server/relay/endpoints/tasks/routes.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
let channelId: number;
beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) =>
    sendJson(response, { code: 1, description: '提交成功', result: 'mj-1' }),
  );
  const type = providerBySlug('midjourney')?.type;
  channelId = await gateway.channel(upstream.url, { type, models: 'mj_imagine,mj_upscale,mj_inpaint,mj_modal' });
  await gateway.option(
    'ModelPrice',
    '{"mj_imagine":0.1,"mj_upscale":0.05,"mj_inpaint":0,"mj_modal":0.1,"suno_music":0.1,"suno_lyrics":0.01}',
  );
  key = (await gateway.token()).key;
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

async function call(path: string, body?: unknown, secret = key) {
  const response = await gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'mj-api-secret': `sk-${secret}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
const sent = (index: number) => JSON.parse(upstream.requests[index]?.body.toString() || 'null');
const report = (more: object) => upstream.script((response) => sendJson(response, [{ id: 'mj-1', ...more }]));

test('a drawing: submitted, charged, fetched, finished', async () => {
  const before = await gateway.balance();
  const body = { prompt: 'a cat --fast', notifyHook: 'http://evil.example', accountFilter: { id: 'x' } };
  expect(await call('/mj/submit/imagine', body)).toMatchObject({ status: 200, body: { code: 1, result: 'mj-1' } });
  expect(sent(0)).toEqual({ prompt: 'a cat --fast' });
  expect(upstream.requests[0]?.headers['mj-api-secret']).toBe('sk-upstream-secret-key');
  expect(before - (await gateway.balance())).toBe(50_000);
  expect((await gateway.logs())[0]).toMatchObject({ model_name: 'mj_imagine', quota: 50_000, type: 2 });
  report({ status: 'IN_PROGRESS', progress: '40%' });
  await gateway.services.tasks.poll();
  expect((await call('/mj/task/mj-1/fetch')).body).toMatchObject({
    id: 'mj-1',
    status: 'IN_PROGRESS',
    progress: '40%',
  });
  report({
    status: 'SUCCESS',
    progress: '100%',
    imageUrl: 'http://pictures.example/1.png',
    buttons: [{ customId: 'x' }],
  });
  await gateway.services.tasks.poll();
  expect((await call('/mj/task/list-by-condition', { ids: ['mj-1'] })).body).toMatchObject([
    { status: 'SUCCESS', imageUrl: 'http://gateway/mj/image/mj-1', buttons: [{ customId: 'x' }] },
  ]);
  expect(before - (await gateway.balance())).toBe(50_000);
  expect(await gateway.verify()).toEqual([]);
  expect(gateway.relay.open()).toBe(0);
});

test('a failed drawing is paid back, once, whatever is reported how often', async () => {
  const before = await gateway.balance();
  await call('/mj/submit/imagine', { prompt: 'x' });
  report({ status: 'FAILURE', failReason: 'banned' });
  await Promise.all([gateway.services.tasks.poll(), gateway.services.tasks.poll()]);
  await gateway.services.tasks.poll();
  expect(await gateway.balance()).toBe(before);
  expect((await call('/mj/task/mj-1/fetch')).body).toMatchObject({
    status: 'FAILURE',
    failReason: 'banned',
    progress: '100%',
  });
  expect((await gateway.logs()).filter((log) => log.content.startsWith('构图失败'))).toHaveLength(1);
  report({ status: 'SUCCESS', progress: '100%' });
  await gateway.services.tasks.poll();
  expect(await gateway.balance()).toBe(before);
  expect(await gateway.verify()).toEqual([]);
});

test('a bad answer of an upstream does not end the looking', async () => {
  await call('/mj/submit/imagine', { prompt: 'x' });
  for (const bad of ['<html>', 'null', '[null, 5, {"id":"mj-1","status":7}]', '{"data":"x"}']) {
    upstream.script((response) => void response.end(bad));
    await gateway.services.tasks.poll();
  }
  report({ status: 'SUCCESS', progress: '100%' });
  await gateway.services.tasks.poll();
  expect((await call('/mj/task/mj-1/fetch')).body.status).toBe('SUCCESS');
});

test.each([
  [{ code: 23, description: 'queue full' }, 200, 0, 0],
  [{ code: 24, description: 'banned words' }, 200, 0, 0],
  [{ code: 22, description: 'queued', result: 'mj-1' }, 200, 50_000, 1],
  [
    { code: 21, description: 'exists', result: 'mj-1', properties: { status: 'SUCCESS', imageUrl: 'http://x/1.png' } },
    200,
    50_000,
    1,
  ],
])('the upstream answers %j', async (answer, status, paid, rows) => {
  upstream.script((response) => sendJson(response, answer));
  const before = await gateway.balance();
  const submitted = await call('/mj/submit/imagine', { prompt: 'x' });
  expect(submitted.status).toBe(status);
  expect(submitted.body.code).toBe(rows === 1 ? 1 : answer.code);
  expect(before - (await gateway.balance())).toBe(paid);
  expect((await gateway.services.tasks.drawings(gateway.userId, ['mj-1'])).length).toBe(rows);
  expect(await gateway.verify()).toEqual([]);
});

test('a follow-up of a drawing is checked, goes to its channel, and is never another user’s', async () => {
  await call('/mj/submit/imagine', { prompt: 'x' });
  const change = { taskId: 'mj-1', action: 'UPSCALE', index: 2 };
  expect((await call('/mj/submit/change', change)).body.description).toBe('task_status_not_success');
  report({ status: 'SUCCESS', progress: '100%' });
  await gateway.services.tasks.poll();
  upstream.script((response) => sendJson(response, { code: 1, result: 'mj-2' }));
  expect((await call('/mj-turbo/mj/submit/change', change)).body).toMatchObject({ code: 1, result: 'mj-2' });
  expect(sent(upstream.requests.length - 1)).toMatchObject({ accountFilter: { modes: ['TURBO'] } });
  expect((await call('/mj/submit/change', { ...change, taskId: 'mj-9' })).body.description).toBe('task_not_found');
  const other = await gateway.services.users.create({
    username: 'other',
    password: 'password1',
    displayName: '',
    role: 1,
    quota: 1_000_000,
  });
  const theirs = await gateway.services.tokens.create(other, { name: 'o', unlimited_quota: true });
  await gateway.sync();
  expect((await call('/mj/task/mj-1/fetch', undefined, theirs.key)).status).toBe(404);
  expect((await call('/mj/submit/change', change, theirs.key)).body.description).toBe('task_not_found');
});

test('an upstream may report by itself, with the proof it was given', async () => {
  await gateway.option('MjNotifyEnabled', 'true');
  await gateway.option('ServerAddress', 'https://gateway.example');
  await call('/mj/submit/imagine', { prompt: 'x' });
  const { notifyHook } = sent(0) as { notifyHook: string };
  const path = new URL(notifyHook).pathname;
  const forged = `${path.slice(0, -4)}0000`;
  const notification = { id: 'mj-1', status: 'SUCCESS', progress: '100%' };
  expect((await call(forged, notification, 'nobody')).status).toBe(401);
  expect(await call(path, { ...notification, id: 'mj-of-nobody' }, 'nobody')).toMatchObject({
    status: 404,
    body: { code: 4, description: 'task_no_found' },
  });
  expect((await call('/mj/task/mj-1/fetch')).body.status).toBe('');
  expect((await call(path, notification, 'nobody')).status).toBe(200);
  expect((await call('/mj/task/mj-1/fetch')).body.status).toBe('SUCCESS');
});

test('a picture is passed on where it is one, and nothing else that stands at its address', async () => {
  await call('/mj/submit/imagine', { prompt: 'x' });
  report({ status: 'SUCCESS', progress: '100%', imageUrl: `${upstream.url}/cat.png` });
  await gateway.services.tasks.poll();
  const image = async (status: number, type: string) => {
    upstream.script((response) => {
      response.writeHead(status, { 'content-type': type });
      response.end('cat');
    });
    const request = new Request('http://gateway/mj/image/mj-1', { headers: { 'mj-api-secret': `sk-${key}` } });
    const response = await gateway.relay.handle(request, '/mj/image/mj-1', { ip: () => '127.0.0.1' });
    return [response.status, response.headers.get('content-type'), (await response.text()) === 'cat'];
  };
  expect(await image(200, 'image/png')).toEqual([200, 'image/png', true]);
  for (const [status, type] of [
    [404, 'image/png'],
    [200, 'text/html'],
  ] as const)
    expect(await image(status, type)).toEqual([502, expect.stringContaining('json'), false]);
});

test('a path that goes on behind an order is none', () => {
  expect(taskFor('/mj/submit/imagine')).toMatchObject({ kind: 'draw', submit: 'imagine' });
  for (const path of ['/mj/submit/imagine//x', '/mj/task/1/fetch/x', '/mj/image/1//x'])
    expect([path, taskFor(path)]).toEqual([path, null]);
});

test('songs: submitted, fetched, paid back when they fail', async () => {
  const started = Math.floor(Date.now() / 1000);
  await gateway.channel(upstream.url, { type: 36, models: 'suno_music,suno_lyrics' });
  upstream.script((response) => sendJson(response, { code: 'success', data: 'song-1' }));
  const before = await gateway.balance();
  expect((await call('/suno/submit/music', { prompt: 'x' })).body).toEqual({
    code: 'success',
    message: '',
    data: 'song-1',
  });
  expect(sent(0)).toMatchObject({ mv: 'chirp-v3-0' });
  expect(upstream.requests[0]?.path).toBe('/suno/submit/MUSIC');
  expect(before - (await gateway.balance())).toBe(50_000);
  expect((await call('/suno/submit/lyrics', {})).body.code).toBe('prompt_empty');
  upstream.script((response) =>
    sendJson(response, { code: 'success', data: [{ task_id: 'song-1', status: 'IN_PROGRESS' }] }),
  );
  await gateway.services.tasks.poll();
  expect((await call('/suno/fetch/song-1')).body).toMatchObject({ data: { status: 'IN_PROGRESS' } });
  upstream.script((response) =>
    sendJson(response, { code: 'success', data: [{ task_id: 'song-1', status: 'FAILURE', fail_reason: 'no' }] }),
  );
  await gateway.services.tasks.poll();
  const { data } = (await call('/suno/fetch', { ids: ['song-1'] })).body as { data: { finish_time: number }[] };
  expect(data).toMatchObject([{ status: 'FAILURE' }]);
  // The upstream gave no end time: the time when the end was received, in seconds.
  expect(data[0]?.finish_time).toBeGreaterThanOrEqual(started);
  expect(data[0]?.finish_time).toBeLessThanOrEqual(Math.floor(Date.now() / 1000));
  expect(await gateway.balance()).toBe(before);
  expect(await gateway.verify()).toEqual([]);
});

test.each([
  ['/mj/submit/imagine', {}, 'prompt_is_required'],
  ['/mj/submit/change', { action: 'UPSCALE' }, 'task_id_is_required'],
  ['/mj/submit/change', { taskId: '1' }, 'action_is_required'],
  ['/mj/submit/change', { taskId: '1', action: 'UPSCALE' }, 'index_is_required'],
  ['/mj/submit/change', { taskId: '1', action: 'UPSCALE', index: 0 }, 'index_is_required'],
  ['/mj/submit/action', { taskId: '1', customId: 'x' }, 'custom_id_is_invalid'],
])('%s with %j: %s', async (path, body, description) => {
  expect((await call(path, body)).body.description).toBe(description);
  expect(upstream.requests).toHaveLength(0);
});

test.each([
  ['MJ::JOB::upsample::2::abc', 'UPSCALE', 2],
  ['MJ::JOB::variation::3::abc', 'VARIATION', 3],
  ['MJ::JOB::reroll::0::abc::SOLO', 'REROLL', 0],
  ['MJ::JOB::pan_left::1::abc::SOLO', 'PAN', 0],
  ['MJ::Outpaint::50::1::abc::SOLO', 'ZOOM', 0],
  ['MJ::CustomZoom::abc', 'CUSTOM_ZOOM', 0],
  ['MJ::Inpaint::1::abc::SOLO', 'INPAINT', 0],
])('the button %s means %s', (customId, action, index) => {
  expect(actionOf(customId)).toEqual({ action, index });
});

test('the short form of a change', () => {
  expect(orderOf('simple-change', { content: '123 U2' })).toMatchObject({ action: 'UPSCALE', taskId: '123' });
  expect(orderOf('simple-change', { content: '123 R' })).toMatchObject({ action: 'REROLL' });
  expect(orderOf('simple-change', { content: 'U2' })).toBe('content_is_invalid');
});

test('paths of drawings and tasks are known in every spelling', () => {
  expect(taskFor('/mj-fast/mj/submit/imagine')).toMatchObject({ kind: 'draw', submit: 'imagine', mode: 'mj-fast' });
  expect(taskFor('/mj/task/1/image-seed')).toEqual({ kind: 'drawing', mjId: '1', seed: true });
  expect(taskFor('/mj/submit/unknown')).toBeNull();
  expect(taskFor('/mjx')).toBeNull();
});

test.each([
  ['whose channel is gone', 400, () => gateway.services.channels.remove(channelId)],
  ['whose upstream fails', 502, async () => upstream.script((response) => response.destroy())],
] as const)('the seed of a picture %s: refused in the words of its protocol', async (_name, status, happens) => {
  await call('/mj/submit/imagine', { prompt: 'a cat' });
  await happens();
  await gateway.sync();
  expect(await call('/mj/task/mj-1/image-seed')).toMatchObject({ status, body: { code: 4 } });
});

test('a key that was limited to other channels asks none of them for a seed', async () => {
  const { key: limited, id } = await gateway.token();
  await call('/mj/submit/imagine', { prompt: 'a cat' }, limited);
  upstream.script((response) => sendJson(response, { code: 1, seed: '7' }));
  expect(await call('/mj/task/mj-1/image-seed', undefined, limited)).toMatchObject({
    status: 200,
    body: { seed: '7' },
  });
  await gateway.services.tokens.update(id, null, { channels: `${channelId + 1}` }, false);
  await gateway.sync();
  upstream.requests.length = 0;
  expect(await call('/mj/task/mj-1/image-seed', undefined, limited)).toMatchObject({ status: 403, body: { code: 4 } });
  expect(upstream.requests).toEqual([]);
});
