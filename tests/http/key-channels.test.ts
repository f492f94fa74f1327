/** Which keys are bound to which channels: who may say so, what is refused, and what a deletion is told of. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
const call = (id: string, input: unknown) => gateway.call(id, input);
const open = (name: string, fields: object = {}) =>
  gateway.channel('http://127.0.0.1:9', { name, models: 'm', ...fields });
beforeEach(async () => {
  gateway = await createTestGateway();
});
afterEach(() => gateway.close());

test('administrators alone bind a key to channels, and its owner may send them back unchanged', async () => {
  const [one, two] = [await open('one'), await open('two')];
  const { id } = await gateway.token();
  const user = { via: 'session', userId: gateway.userId, username: 'tester', role: 1, group: 'default' } as const;
  const own = (fields: object) => gateway.call('token.update', { id, name: 'ci', ...fields }, user);
  await expect(own({ channels: `${one}` })).rejects.toMatchObject({ code: 'role_too_low' });
  await expect(gateway.call('token.create', { name: 'new', channels: `${one}` }, user)).rejects.toMatchObject({
    code: 'role_too_low',
  });
  const admin = { ...user, role: 10 };
  expect(await gateway.call('token.update', { id, channels: ` ${two},${one},${two} ` }, admin)).toMatchObject({
    channels: `${one},${two}`,
  });
  expect(await own({ channels: `${one},${two}` })).toMatchObject({ channels: `${one},${two}` });
  await expect(own({ channels: `${one}` })).rejects.toMatchObject({ code: 'role_too_low' });
  await expect(own({ channels: '' })).rejects.toMatchObject({ code: 'role_too_low' });
  expect(await own({})).toMatchObject({ channels: `${one},${two}` });
  expect(await call('token.update', { id, channels: '' })).not.toHaveProperty('channels');
});

test.each([
  ['a word', 'one', 'token_channels'],
  ['no number of a channel', '0', 'token_channels'],
  ['separators alone, which would lift the limit', ' , ', 'token_channels'],
  ['more than a key may have', Array.from({ length: 65 }, (_, at) => at + 1).join(','), 'token_channels'],
  ['a channel that is not there', '99', 'not_found'],
])('%s is refused', async (_name, channels, code) => {
  await open('one');
  const { id } = await gateway.token();
  await expect(call('token.update', { id, channels })).rejects.toMatchObject({ code });
  await expect(call('token.create', { name: 'k', channels })).rejects.toMatchObject({ code });
  expect(await call('token.get', { id })).not.toHaveProperty('channels');
});

test('before channels are deleted it is said which keys are bound to them, and what these have left', async () => {
  const [one, two, three] = [await open('one'), await open('two'), await open('three', { status: 2 })];
  const a = await gateway.token({ name: 'a', channels: `${one}` });
  const b = await gateway.token({ name: 'b', channels: `${one},${two}` });
  const c = await gateway.token({ name: 'c', channels: `${three}` });
  await gateway.token({ name: 'free' });
  const said = (name: string, id: number, others: number[], enabled: number[]) => ({
    ...{ id, name, user_id: gateway.userId, others, enabled },
  });
  expect(await call('token.bound', { channels: `${one}` })).toEqual([
    said('a', a.id, [], [one]),
    said('b', b.id, [two], [one, two]),
  ]);
  expect(await call('token.bound', { channels: `${one},${two}` })).toEqual([
    said('a', a.id, [], [one]),
    said('b', b.id, [], [one, two]),
  ]);
  expect(await call('token.bound', { disabled: true })).toEqual([said('c', c.id, [], [])]);
  expect(await call('token.bound', { channels: '' })).toEqual([]);
  await call('channel.delete', { id: one });
  // A channel that is gone is no other one, and its number may stay with the key.
  expect(await call('token.bound', { channels: `${two}` })).toEqual([said('b', b.id, [], [two])]);
  expect(await call('token.update', { id: b.id, channels: `${one},${two}` })).toMatchObject({
    channels: `${one},${two}`,
  });
});

test('all keys in use that are bound are listed with those of their channels that are there and enabled', async () => {
  const [one, off] = [await open('one'), await open('off', { status: 2 })];
  const paused = await open('paused', { status: 3 });
  const gone = await open('gone');
  const bind = (name: string, ...channels: number[]) => gateway.token({ name, channels: channels.join(',') });
  const [served, unserved] = [await bind('served', one, off), await bind('unserved', off, paused, gone)];
  const ended = await bind('ended', gone);
  await call('token.update', { id: ended.id, status: 2 });
  await gateway.token({ name: 'free' });
  await call('channel.delete', { id: gone });
  const found = await call('token.bound', { all: true });
  const own = [served.id, unserved.id, ended.id];
  expect((found as { id: number }[]).filter(({ id }) => own.includes(id))).toEqual([
    { id: served.id, name: 'served', user_id: gateway.userId, others: [one, off], enabled: [one] },
    { id: unserved.id, name: 'unserved', user_id: gateway.userId, others: [off, paused], enabled: [] },
  ]);
  expect((found as { name: string }[]).map(({ name }) => name)).not.toContain('free');
});

test('a declarative file binds keys by the names of channels, says what differs, and the export is such a file', async () => {
  const [one, two] = [await open('one'), await open('two')];
  await open('two');
  const gone = await open('gone');
  await gateway.token({ name: 'ci' });
  const apply = async (channels: unknown) => {
    const document = { version: 1, tokens: [{ name: 'ci', owner: 'tester', channels }] };
    const [change] = (await call('provision.apply', { document, dry_run: false, prune: false })) as {
      action: string;
      fields: string[];
    }[];
    return [change?.action, ...(change?.fields ?? [])];
  };
  const exported = async () => {
    const { tokens } = (await gateway.services.provisioning.export(false)) as { tokens: { channels?: unknown }[] };
    return tokens[0]?.channels;
  };
  expect(await apply(['one', two])).toEqual(['update', `channels:  -> ${one},${two}`]);
  expect(await apply(['one', two])).toEqual(['unchanged']);
  // Two channels have the name.
  expect(await exported()).toEqual(['one', two]);
  await expect(apply('two')).rejects.toMatchObject({ code: 'name_ambiguous' });
  await expect(apply('nobody')).rejects.toMatchObject({ code: 'not_found' });
  await expect(apply('')).rejects.toMatchObject({ code: 'params_invalid' });
  await expect(apply([])).rejects.toMatchObject({ code: 'params_invalid' });
  expect(await apply('gone')).toEqual(['update', `channels: ${one},${two} -> ${gone}`]);
  await call('channel.delete', { id: gone });
  // Left out it would be bound to none, and so to all.
  expect(await exported()).toEqual([gone]);
  expect(await apply([gone])).toEqual(['unchanged']);
  expect(await apply('unlimited')).toEqual(['update', `channels: ${gone} -> `]);
  await expect(apply([gone])).rejects.toMatchObject({ code: 'not_found' });
  expect(await exported()).toBeUndefined();
});
