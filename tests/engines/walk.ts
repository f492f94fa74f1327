/** One long walk through every repository: people, keys, channels, money on paper, the log. */

import type { Database } from '../../db/open.ts';
import type { LogFilter } from '../../db/repositories/log-filter.ts';
import type { TrafficRow } from '../../db/repositories/traffic.ts';
import { redemptionStates } from '../../server/contract/entities.ts';
import { logFacets } from '../../server/contract/log-status.ts';
import { nameKinds } from '../../server/contract/names.ts';
import { logSorts, redemptionSorts, sortsOf, tokenSorts, userSorts } from '../../server/contract/sort.ts';
import { type TrafficCounter, trafficCounters } from '../../server/contract/traffic.ts';
import type { Repositories } from './recording.ts';

const day = 86_400;
export const start = 1_780_000_000;

const person = (username: string, more: object = {}) => ({
  username,
  display_name: `${username} of Ünïcode 中文`,
  password_hash: `hash-${username}`,
  role: 1,
  status: 1,
  email: `${username}@Example.COM`,
  group_name: 'default',
  github_id: '',
  oidc_id: '',
  wechat_id: '',
  telegram_id: '',
  linux_do_id: '',
  access_token_hash: null,
  aff_code: null,
  aff_count: 0,
  aff_quota: 0,
  aff_history_quota: 0,
  inviter_id: 0,
  setting: '',
  created_at: start,
  deleted_at: null,
  ...more,
});

const rejected = (work: Promise<unknown>): Promise<unknown> => work.catch(() => 'refused');

export async function people({ users, affiliate, credentials, options }: Repositories): Promise<void> {
  const ann = await users.create(person('Ann', { role: 100, aff_code: 'AAAA' }));
  const bob = await users.create(person('bob', { inviter_id: ann, setting: '{"webhook_secret":"s"}' }));
  const cid = await users.create(person('cid_%x', { email: '', group_name: 'vip' }));
  await rejected(users.create(person('bob')));
  for (const filter of [{}, { keyword: 'AN' }, { keyword: '_%' }, { keyword: String(bob) }, { group: 'vip' }])
    await users.page(filter, 0, 10);
  await users.page({ keyword: 'example', searchableEmails: { id: bob, below: 2 } }, 0, 2);
  for (const filter of [{ role: 100 }, { status: 1 }, { status: 2 }, { keyword: 'bob', role: 100 }])
    await users.page(filter, 0, 10);
  await users.page({}, 1, 1);
  for (const sort of sortsOf(userSorts)) await users.page({}, 0, 3, sort);
  for (const name of ['ANN', 'bob@example.com', 'nobody', 'Ünïcode']) {
    await users.nameTaken(name, 0);
    await users.emailTaken(name, bob);
    await users.findByEmail(name);
    await users.findByLogin(name);
  }
  await users.setIdentity(bob, { column: 'oidc_id', id: '7', issuer: 'https://one' });
  await users.setIdentity(cid, { column: 'oidc_id', id: '7', issuer: 'https://two' });
  await rejected(users.setIdentity(ann, { column: 'oidc_id', id: '7', issuer: 'https://two' }));
  await users.findByIdentity({ column: 'oidc_id', id: '7', issuer: 'https://two' });
  await users.findByIdentity({ column: 'github_id', id: '7', issuer: '' });
  await users.setEmail(cid, 'cid@elsewhere');
  await users.setSetting(cid, '{"language":"zh"}');
  await users.update(cid, 1, { role: 10, display_name: 'Cid' });
  await users.update(cid, 1, { role: 1 });
  await users.setAccessToken(ann, 'token-hash');
  await users.findByAccessToken('token-hash');
  await users.all();
  await users.after(0, 10);
  await users.byIds([ann, cid, 99]);
  await users.byIds([]);
  await users.find(bob);
  await users.firstWithRole(10);
  await users.rootExists();
  await users.count();
  await affiliate.code(ann);
  await affiliate.claimCode(bob, 'AAAA');
  await affiliate.claimCode(bob, 'BBBB');
  await affiliate.claimCode(bob, 'CCCC');
  await affiliate.ownerOf('BBBB');
  await affiliate.inviterOf(bob);
  await affiliate.waits(bob);
  await affiliate.waiting(bob);
  await affiliate.given(bob);
  await options.change(
    new Map([
      ['ModelRatio', '{"a":1}'],
      ['Empty', ''],
    ]),
    { actor: 'Ann', reason: 'first', kept: '{}' },
    start,
  );
  await options.change(
    new Map([
      ['ModelRatio', '{"a":2}'],
      ['Empty', null],
    ]),
    null,
    start + 1,
  );
  await options.all();
  await options.byKeys(['ModelRatio', 'none']);
  await options.setMeta('mark', 'one');
  await options.setMeta('mark', 'two');
  await options.firstMeta('mark', 'three');
  await options.firstMeta('first', 'one');
  const shipped = { texts: new Map([['Notice', 'claimed']]), meta: new Map([['beside', 'x']]), version: null };
  await options.changeOnce({ key: 'claim', before: null, after: 'one' }, shipped, start);
  await options.changeOnce({ key: 'claim', before: null, after: 'two' }, shipped, start);
  await options.changeOnce(
    { key: 'claim', before: 'one', after: 'two' },
    { ...shipped, texts: new Map(), versions: new Map([[1, '{"ModelRatio":"{}"}']]) },
    start,
  );
  await options.meta('mark');
  await credentials.rehash(cid, 'hash-cid_%x', 'hash-new');
  await credentials.rehash(cid, 'hash-cid_%x', 'hash-newer');
}

export async function signingIn(repositories: Repositories): Promise<void> {
  const { accessTokens, credentials, passkeys, savedFilters, secondFactors, sessions, signIns, users, webhookSecrets } =
    repositories;
  const session = (id: string, more: object = {}) => ({
    id_hash: `${id}`.padEnd(64, '0'),
    user_id: 2,
    created_at: start,
    last_seen_at: start,
    expires_at: 5_000_000_000,
    ip: '::1',
    user_agent: 'x',
    ...more,
  });
  for (const [id, hash] of [
    ['a', 'hash-bob'],
    ['b', 'hash-bob'],
    ['c', 'stale'],
  ] as const)
    await sessions.create(session(id), hash);
  await sessions.create(session('d', { expires_at: start + 1 }), 'hash-bob');
  await sessions.find(session('a').id_hash, start, start - 10);
  await sessions.find(session('d').id_hash, start + 2, 0);
  await sessions.seen(session('b').id_hash, start + 5, '10.0.0.1');
  await sessions.list(2, start, 0);
  await sessions.removeNamed(2, session('a').id_hash.slice(0, 24));
  await sessions.removeExpired(start + 2, 0);
  await sessions.remove(session('zz').id_hash);
  await sessions.removeOfUser(2, session('b').id_hash);
  for (const name of ['one', 'two'])
    await accessTokens.create({
      user_id: 2,
      name,
      token_hash: `h-${name}`,
      hint: 'h',
      scopes: 'a,b',
      created_at: start,
      last_used_at: 0,
      expires_at: name === 'one' ? -1 : start + day,
    });
  await accessTokens.list(2);
  await accessTokens.count(2);
  await accessTokens.find('h-two', start + 2 * day);
  await accessTokens.find('h-one', start + 2 * day);
  await accessTokens.used(1, start + 9);
  await accessTokens.remove(2, 1);
  for (const program of [1, 2])
    await signIns.create({
      token_id: program,
      client: 'gateway',
      host: 'h',
      address: '10.0.0.1',
      refresh_hash: `refresh-${program}`,
      previous_hash: '',
      rotated_at: 0,
      created_at: start,
      last_used_at: 0,
    });
  for (const hash of ['refresh-1', 'next', 'refresh-1']) await signIns.rotate(1, hash, 'next', start + 60);
  for (const hash of ['next', 'refresh-1', '']) {
    await signIns.byRefresh(hash);
    await signIns.byPrevious(hash);
  }
  await signIns.count(2);
  await signIns.token(1);
  await signIns.list(2);
  await signIns.get(1);
  await signIns.of(1);
  const key = {
    credential_id: 'cred',
    user_id: 2,
    name: 'key',
    public_key: 'pk',
    counter: 0,
    transports: '',
    created_at: start,
    last_used_at: 0,
  };
  await passkeys.create(key);
  await rejected(passkeys.create(key));
  await passkeys.used(1, 7, start + 1);
  await passkeys.rename(1, 2, 'other');
  await passkeys.findByCredential('cred');
  await passkeys.list(2);
  await passkeys.remove(1, 3);
  const { begin, takeStep, enable, find, replaceCodes, takeCode, slowHashes, codesLeft, remove } = secondFactors;
  await begin(2, 'sealed');
  await begin(2, 'sealed-again');
  await takeStep(2, 5);
  await takeStep(2, 5);
  await enable(2, start);
  await begin(2, 'too late');
  await find(2);
  await replaceCodes(2, ['x', 'y']);
  await takeCode(2, 'x');
  await takeCode(2, 'x');
  await slowHashes(2);
  await codesLeft(2);
  await remove(2);
  for (const [place, name, query] of [
    ['logs', 'b', '?1'],
    ['logs', 'B', '?2'],
    ['users', 'a', '?3'],
    ['logs', 'b', '?4'],
  ] as const)
    await savedFilters.save({ user_id: 2, place, name, query, created_at: start });
  await savedFilters.list(2, '');
  await savedFilters.list(2, 'logs');
  await savedFilters.remove(1, 2);
  await webhookSecrets.set(2, 'one');
  await webhookSecrets.set(2, 'two');
  await webhookSecrets.find(2);
  await webhookSecrets.find(3);
  await webhookSecrets.readable();
  await credentials.replace(2, 'wrong', { passwordHash: 'n', keepSession: '', all: false, now: 1 });
  await credentials.replace(2, null, { passwordHash: 'n', keepSession: '', all: true, now: 1 });
  await users.close(3, 10, start + day);
  await users.close(3, 10, start + day);
  await users.page({}, 0, 10);
}

export async function keysAndChannels({ tokens, channels }: Repositories): Promise<void> {
  const token = (name: string, more: object = {}) => ({
    user_id: 2,
    name,
    key_hmac: `hmac-${name}`,
    key_sealed: 's',
    key_hint: 'h',
    status: 1,
    created_at: start,
    accessed_at: 0,
    expires_at: -1,
    unlimited: 0,
    quota_limit: 100,
    used_quota: 40,
    model_limits_enabled: 0,
    model_limits: '',
    allow_ips: '',
    group_name: '',
    parent_id: 0,
    managed_by: '',
    deleted_at: null,
    ...more,
  });
  for (const name of ['Alpha', 'beta', 'b%ta', 'back\\slash']) await tokens.create(token(name));
  await rejected(tokens.create(token('beta')));
  await rejected(tokens.create(token('fraction', { quota_limit: 1.5 })));
  await tokens.all();
  await tokens.after(0, 10);
  await tokens.bound();
  await tokens.byIds([1, 3]);
  await tokens.byIds([]);
  const all = { offset: 0, limit: 100 };
  await tokens.list({ owner: 2 }, { offset: 0, limit: 2 });
  await tokens.list({ owner: null }, { offset: 1, limit: 2 });
  await tokens.count({ owner: 2 });
  await tokens.counts(2, start);
  for (const keyword of ['ALPHA', 'b%', '\\', '', 'none']) await tokens.list({ owner: 2, keyword }, all);
  await tokens.list({ owner: null, keyHmac: 'hmac-beta' }, all);
  for (const status of [1, 2, 3, 4]) await tokens.list({ owner: null, state: { status, at: start } }, all);
  await tokens.count({ owner: 2, keyword: 'b', state: { status: 1, at: start } });
  for (const sort of sortsOf(tokenSorts)) {
    await tokens.list({ owner: 2 }, { offset: 0, limit: 2, sort });
    await tokens.list({ owner: 2, keyword: 'b' }, { offset: 1, limit: 1, sort });
  }
  await tokens.findByName('beta', 2);
  await tokens.find(1, 3);
  await tokens.keyTaken('hmac-beta');
  await tokens.findByKey('hmac-beta', 500);
  await tokens.findByKey('none', 500);
  await tokens.update(1, 2, { old_key_hmac: 'hmac-old', old_key_until: 600, link_hash: 'hash', link_until: 600 }, 500);
  await tokens.findByKey('hmac-old', 599);
  await tokens.findByKey('hmac-old', 600);
  await tokens.takeLink('hash', 600);
  await tokens.takeLink('', 500);
  await tokens.takeLink('hash', 599);
  await tokens.takeLink('hash', 599);
  await tokens.update(1, 2, { name: 'gamma' }, 500);
  await tokens.update(1, 9, {}, 500);
  await tokens.update(1, 9, {}, undefined);
  await tokens.update(2, 2, { expires_at: start + 100, deleted_at: null }, undefined);
  const channel = (name: string, more: object = {}) => ({
    type: 1,
    name,
    key_sealed: 's',
    key_hint: '',
    organization: '',
    test_model: '',
    status: 1,
    weight: 0,
    priority: 0,
    created_at: start,
    test_at: 0,
    response_time_ms: 0,
    base_url: '',
    other: '',
    balance: 1.25,
    balance_updated_at: 0,
    models: 'gpt-4o,O3',
    group_name: 'default',
    used_quota: 5,
    model_mapping: '',
    status_code_mapping: '',
    param_override: '',
    setting: '',
    auto_ban: 1,
    other_info: '',
    tag: '',
    max_input_tokens: 0,
    managed_by: '',
    ...more,
  });
  await channels.create([
    channel('One'),
    channel('two', { tag: 'b', priority: 5, group_name: 'vip,default' }),
    channel('three', { tag: 'B', base_url: 'https://api', status: 3 }),
    channel('four', { tag: 'a', models: 'claude', balance: 0 }),
  ]);
  for (const filter of [
    {},
    { keyword: 'T' },
    { keyword: '2' },
    { keyword: 'x', keyed: [1, 4] },
    { group: 'vip' },
    { group: 'defa' },
    { model: 'o3' },
    { status: 3 },
    { type: 9 },
    { idSort: true },
  ]) {
    await channels.list(filter, 0, 3);
    await channels.count(filter);
    await channels.tags(filter);
    await channels.ofTags(['a', 'b', 'B'], filter);
  }
  await channels.states();
  await channels.all();
  await channels.replaceKeysOff(2, '', '0123456789');
  // Another list by then.
  await channels.replaceKeysOff(2, '', 'abcdef0123');
  await channels.byIds([2, 3]);
  await channels.byIds([]);
  await channels.byTag('b');
  await channels.update(1, { weight: 9, balance: 0.1 });
  await channels.find(1);
  await channels.updateMany([1, 2], { status: 2 });
  await channels.updateMany([], { status: 2 });
  await channels.updateTag('a', { priority: 3 });
  await channels.removeByStatus([3]);
  await channels.removeMany([2]);
  await channels.remove(2);
  await channels.count();
}

export async function paper(repositories: Repositories): Promise<void> {
  const { alerts, audit, backups, changes, options, priceVersions, redemptions, topUps, tasks } = repositories;
  await redemptions.createAll(
    ['Gift', 'gift 2', 'g_ft'].map((name, index) => ({
      user_id: 1,
      name,
      key_hmac: `r-${index}`,
      key_sealed: 's',
      status: index === 2 ? 2 : 1,
      quota: 5,
      created_at: start,
      redeemed_at: 0,
      used_user_id: 0,
      deleted_at: null,
    })),
  );
  for (const keyword of ['', 'GIFT', 'g_', '3']) await redemptions.page({ keyword, now: 1 }, 0, 10);
  for (const status of redemptionStates) await redemptions.page({ status, now: 1 }, 0, 10);
  for (const sort of sortsOf(redemptionSorts)) await redemptions.page({ now: 1 }, 0, 10, sort);
  await redemptions.find(1);
  await redemptions.findByKey('r-1');
  await redemptions.countNamed('Gift');
  await redemptions.update(1, { name: 'new' });
  await redemptions.remove(2, start);
  await redemptions.removeInvalid(start);
  for (const trade_no of ['t1', 't2'])
    await topUps.create({
      user_id: 2,
      trade_no,
      method: 'epay',
      amount: 1,
      quota: 5,
      money: 100,
      currency: 'CNY',
      status: 'pending',
      created_at: start,
      paid_at: 0,
    });
  await topUps.find('t1');
  await topUps.expire('t1');
  await topUps.expireOlder(start + 1);
  for (const filter of [{}, { keyword: 't1' }, { keyword: '2' }, { userId: 2, status: 'expired' }]) {
    await topUps.page(filter, 0, 10);
    await topUps.sums(filter);
  }
  const callback = { source: 'epay', event_id: 'e', trade_no: 't1', received_at: start, facts: '{}', body: 'b' };
  await topUps.receive(callback);
  await topUps.receive(callback);
  await topUps.pending();
  await topUps.finish(1, 'credited');
  await topUps.callbackPage('credited', 0, 10);
  const entry = { at: start, actor_id: 1, actor: 'Ann', ip: '', target: '', detail: '', changes: '' };
  await Promise.all(['a', 'b', 'c'].map((action) => audit.append({ ...entry, action: `${action.length}` })));
  await audit.page(0, 2);
  await audit.page(0, 2, { action: '1', actor: 'Ann', target: '', from: start, to: start });
  await audit.page(0, 2, { action: '2', actor: 'Bob', from: start + 1 });
  await audit.find(2);
  await audit.after(1, 5);
  await audit.ofTarget('', entry.target, 2);
  await audit.ofTarget('1', entry.target, 5);
  await backups.state();
  await backups.keep('{"a":1}');
  await backups.keep('{"a":2}');
  await backups.state();
  await priceVersions.page(0, 5);
  await priceVersions.since(1);
  const last = await changes.last();
  await options.change(new Map([['news', 'x']]), null, start);
  await changes.after(last, 10);
  await changes.trim(last + 1);
  await changes.after(0, 10);
  await alerts.claim(0, 'disk@here', start, 100);
  await alerts.claim(0, 'disk@here', start + 50, 100);
  await alerts.claim(0, 'disk@here', start + 100, 100);
  await alerts.postpone('disk@here', start - 5);
  await alerts.history();
  await alerts.claim(0, 'old@x', start, 100);
  await alerts.deleteOld(['disk']);
  await alerts.history();
  await alerts.expiring(start, start + 1000);
  const drawing = {
    code: 1,
    user_id: 2,
    token_id: 0,
    action: 'IMAGINE',
    prompt: '',
    prompt_en: '',
    description: '',
    state: '',
    submit_ms: start * 1000,
    start_ms: 0,
    finish_ms: 0,
    image_url: 'https://i',
    progress: '',
    fail_reason: '',
    channel_id: 1,
    quota: 5,
    buttons: '',
    properties: '',
    request_id: 'r',
  };
  await tasks.addDrawing({ ...drawing, mj_id: 'm1', status: 'SUCCESS' });
  await tasks.addDrawing({ ...drawing, mj_id: 'm2', status: '' });
  await tasks.listDrawings({ userId: 2, from: 1, to: start * 1000, channelId: 1 }, 0, 10);
  for (const filter of [{}, { userId: 3 }, { mjId: 'm1' }, { channelId: 9 }, { from: start * 1000 + 1 }, { to: 1 }])
    await tasks.listDrawings(filter, 0, 10);
  await tasks.listDrawings({}, 1, 1);
  await tasks.drawings(2, ['m1', 'm2']);
  await tasks.drawings(2, []);
  await tasks.imageOf('m1');
  await tasks.drawingAt(1, 'm2');
  await tasks.openDrawings(5);
  await tasks.updateDrawing(1, { progress: '9%' });
  await tasks.updateDrawing(2, { progress: '9%', finish_ms: start * 1000 + 7 });
  const song = {
    created_at: start,
    updated_at: start,
    platform: 'suno',
    user_id: 2,
    token_id: 0,
    channel_id: 1,
    quota: 5,
    action: 'MUSIC',
    fail_reason: '',
    submit_at: start,
    start_at: 0,
    finish_at: 0,
    progress: '',
    properties: '',
    data: '',
    request_id: 'r',
  };
  await tasks.addSong({ ...song, task_id: 's1', status: 'SUCCESS' });
  await tasks.addSong({ ...song, task_id: 's2', status: '' });
  await tasks.listSongs({ userId: 2, taskId: 's1', platform: 'suno', status: 'SUCCESS', action: 'MUSIC' }, 0, 10);
  for (const filter of [
    {},
    { userId: 3 },
    { taskId: 's1' },
    { channelId: 9 },
    { platform: 'none' },
    { status: 'SUCCESS' },
    { action: 'LYRICS' },
    { from: start + 1 },
    { to: 1 },
  ])
    await tasks.listSongs(filter, 0, 10);
  await tasks.listSongs({}, 1, 1);
  await tasks.songs(2, ['s1', 's2']);
  await tasks.openSongs(5);
  await tasks.updateSong(1, { progress: '9%' });
  await tasks.updateSong(2, { progress: '9%' });
}

const models = ['gpt-4o', 'GPT-4o-mini', 'o3', 'we%ird'];

/** Rows over three months, as a ledger would have written them. */
export async function fillLog({ query, engine }: Database, hoursTable: string): Promise<void> {
  const rows = Array.from({ length: 400 }, (_, index) => ({
    request_id: index % 9 === 0 ? null : `20260601req${index}`,
    created_at: start + Math.floor(index / 2) * (day / 3),
    type: index % 7 === 3 ? 5 : 2,
    user_id: 1 + (index % 3),
    username: 'bob',
    token_id: index % 4,
    token_name: index % 5 === 0 ? 'rare' : 'default',
    channel_id: 1 + (index % 4),
    group_name: index % 50 === 0 ? 'vip' : 'default',
    model_name: models[index % models.length] ?? '',
    is_stream: index % 2,
    use_time: 1,
    prompt_tokens: 10 + index,
    completion_tokens: index,
    quota: 100 + index,
    content: 'text\nwith "quotes" and \u0001',
    other: JSON.stringify({
      group_ratio: [0, 1.5, 2][index % 3],
      note: '\0 "attempts":[ "failure":"none"',
      ...(index % 14 === 3 ? { failure: 'status 429' } : index % 7 === 3 ? { refused: 'model_refused' } : {}),
      admin_info: index % 11 === 0 ? { attempts: [{ channel: 1 }] } : { use_channel: ['1'] },
    }),
    usage_source: 'reported',
    end_reason: index % 14 === 3 ? 'upstream_failed' : index % 7 === 3 ? 'refused' : 'completed',
    // Named by number alone are those that the table does not have, and 1 is what was not kept.
    session_id: index % 10 === 0 ? 100 + (index % 3) : index % 10 === 5 ? 1 : 0,
    end_user_id: index % 20 === 0 ? 200 : 0,
  }));
  await query.insertInto('logs').values(rows).execute();
  await query
    .insertInto('names')
    .values([
      { user_id: 1, id: 100, kind: 'session', text: 's-1', day: 20_000 },
      { user_id: 2, id: 101, kind: 'session', text: 's-1', day: 20_000 },
      { user_id: 3, id: 102, kind: 'session', text: "it's \\ é", day: 20_001 },
      { user_id: 1, id: 200, kind: 'end_user', text: 'jo', day: 20_001 },
    ])
    .execute();
  await query
    .insertInto('postings')
    .values([
      {
        ref: 'overrun:20260601req1',
        debit: -3,
        credit: 2,
        amount: 7,
        kind: 'overrun',
        token_id: 0,
        channel_id: 2,
        at: start,
      },
      {
        ref: 'overrun:20260601req5',
        debit: -3,
        credit: 3,
        amount: 9,
        kind: 'overrun',
        token_id: 0,
        channel_id: 3,
        at: start + day,
      },
    ])
    .execute();
  const hours = Array.from({ length: 30 }, (_, index) => ({
    hour_at: start - (start % 3600) + index * 3600,
    user_id: 1 + (index % 2),
    username: 'bob',
    model_name: 'gpt-4o',
    channel_id: 1,
    count: 1,
    tokens: 5,
    quota: 10 + index,
    ...(engine === 'postgres' ? { epoch: 0 } : {}),
  }));
  await query
    .insertInto(hoursTable as 'usage_hours')
    .values(hours)
    .execute();
}

export async function theLog({ logs, conversations, usage, alerts }: Repositories): Promise<void> {
  const filters: readonly LogFilter[] = [
    {},
    { userId: 2 },
    { type: 5 },
    { type: 2, from: start + day },
    { username: 'bob' },
    { username: 'nobody' },
    { tokenName: 'rare', model: 'o3' },
    { model: 'gpt%' },
    { model: 'we%ird' },
    { model: 'GPT-4O' },
    { channel: 3, group: 'vip' },
    { requestId: '20260601req7' },
    { channelName: 'main' },
    { channelName: '%', tokenName: 'rare', tokenId: 7 },
    { from: start + 10 * day, to: start + 20 * day, userId: 1, type: 5 },
    { statuses: ['failed', 'refused'] },
    { statuses: ['succeeded', 'retried'], retries: true, model: 'o3' },
    { statuses: ['retried'], retries: true },
    { error: 'status 429', channel: 3 },
    { channelTag: 'a' },
    { model: '%g%p%t%-%4%o%' },
    { model: '%_%' },
    { from: start + day, to: start + 2 * day, type: 2, userId: 2, tokenId: 1, group: 'vip' },
    { statuses: ['event', 'stopped'], channelName: 'o' },
    { names: { session: 's-1' } },
    { names: { session: 's-1', end_user: 'jo' }, userId: 1, from: start + day },
    { names: { session: 'other' }, type: 2 },
    { names: { agent: 'nobody' } },
  ];
  for (const [index, filter] of filters.entries()) {
    await logs.list(filter, 0, 7);
    await logs.list(filter, 5, 3);
    // What is sorted by does not depend on what is looked for.
    for (const sort of index % 5 === 0 ? sortsOf(logSorts) : []) await logs.list(filter, 3, 4, sort);
    await logs.count(filter);
    await logs.walk(filter, { createdAt: start + 3 * day, id: 20 }, 5);
    await logs.stat(filter);
    await logs.unserved(filter);
    await logs.overrun(filter);
    await logs.counts(filter, {
      by: logFacets,
      stepOf: (seconds) => Math.ceil(seconds / 10),
      now: start + 40 * day,
      checkedRows: 150,
    });
  }
  await logs.channelNames();
  await logs.days({});
  await logs.refunds({});
  await logs.days({ from: start + day, to: start + 3 * day });
  for (const by of ['channel', 'model', 'user'] as const) {
    const sums = await logs.totals({ from: start }, by);
    sums.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.channel_id - b.channel_id));
  }
  for (const by of ['token', 'label', 'group', 'tag', 'hour', 'day'] as const) {
    const groups = await logs.groups({ to: start + 40 * day }, by, 8);
    groups.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.quota - b.quota));
  }
  for (const by of ['user_id', 'token_id', 'project_id'] as const) {
    const shares = await logs.shares({ from: start }, by);
    shares.sort((a, b) => a.user_id - b.user_id || a.id - b.id || a.quota - b.quota);
  }
  await logs.textsOf([
    [2, 5],
    [2, 2 ** 40],
  ]);
  await logs.usersOf([1, 2, 99]);
  await logs.usersOf([]);
  await logs.keysNamed([1, 2, 99]);
  for (const kind of nameKinds) await logs.namedGroups({}, kind, 6);
  await logs.namedGroups({ userId: 2, from: start + day }, 'session', 6);
  await logs.namesOf((await logs.list({ names: { session: 's-1' } }, 0, 4)).concat(await logs.list({}, 4, 2)));
  await conversations.ownerOf('s-1', {});
  await conversations.ownerOf('s-1', { id: 2, name: 'bob' });
  await conversations.ownerOf('s-1', { id: 3 });
  const owner = { id: 1, username: 'ann', session_id: 100 };
  for (const of of [owner, { ...owner, session_id: 99 }]) {
    await conversations.whole(of);
    await conversations.begin(of);
    await conversations.models(of);
    await conversations.prompts(of, 2);
    await conversations.helpers(of, 2);
  }
  await conversations.texts(1, [100, 200, 7]);
  await logs.after(395, undefined, 10);
  await logs.after(380, 5, 10);
  await logs.find('7');
  await logs.find('20260601req7');
  await logs.find('none');
  await logs.prepare();
  await logs.dropWhole(start - 400 * day);
  await logs.deleteSome(start + day, 4);
  await logs.deleteSome(start + day, 100);
  await logs.count({});
  await usage.hours({ from: start, to: start + 20 * 3600 }, 100);
  await usage.hours({ from: 0, to: start + 20 * 3600, userId: 1, username: 'bob' }, 5);
  // A day of hours has to be known.
  for (const hours of [5, 24, 25]) await alerts.spend(start + hours * 3600);
  await alerts.spend(start - 5 * 3600);
  await alerts.spendByHour(start - 30 * 86_400, start + 30 * 86_400);
  await alerts.spenders(start + 3600);
}

const counts = Object.fromEntries(trafficCounters.map((name, at) => [name, at % 3])) as Record<TrafficCounter, number>;

/** Windows of two channels and two keys, added twice, read by each way and swept. */
export async function theTraffic({ traffic }: Repositories): Promise<void> {
  const at = start - (start % 86_400);
  const row = (kind: string, subject_id: number, part: string, more: Partial<TrafficRow> = {}): TrafficRow => ({
    ...{ span: 300, kind, at, subject_id, user_id: 0, part },
    ...{ answered: 0, streak: 1, streak_at: at + 1, failed_at: at + 1, words: '401 no' },
    ...counts,
    ...more,
  });
  const rows = [
    row('all', 0, ''),
    row('channel', 2, ''),
    row('channel', 1, '', { at: at + 300, answered: 1, streak: 0, streak_at: 0 }),
    row('route', 1, 'GPT-4o'),
    row('route', 1, 'gpt-4o'),
    row('use', 7, 'gpt-4o', { user_id: 3 }),
    row('token', 7, '', { user_id: 3, span: 86_400 }),
    row('channel', 1, '', { span: 86_400 }),
    row('channel', 1, '', { span: 86_400, at: at - 86_400 }),
    row('save', 1, '2'),
  ];
  await traffic.add(rows, { writer: '', work: 'one:1' });
  await traffic.add(rows, { writer: '', work: 'one:1' });
  await traffic.add(rows.toReversed(), { writer: 'other', work: 'two:1' });
  const range = { from: at, to: at + 600 };
  await traffic.totals({ span: 300, kind: 'all', ...range }, ['at']);
  await traffic.totals({ span: 300, kind: 'all', ...range }, []);
  await traffic.totals({ span: 300, kind: 'channel', ...range }, ['subject_id', 'at']);
  await traffic.totals({ span: 300, kind: 'route', ...range, subjectId: 1 }, ['part', 'at']);
  await traffic.totals({ span: 300, kind: 'route', ...range, part: 'gpt-4o' }, ['subject_id']);
  await traffic.totals({ span: 300, kind: 'use', ...range, userId: 3, subjectId: 7, part: 'gpt-4o' }, ['part']);
  await traffic.totals({ span: 86_400, kind: 'token', ...range, userId: 4 }, ['subject_id']);
  await traffic.totals({ span: 300, kind: 'save', ...range, subjectId: 1 }, ['part']);
  await traffic.totals({ span: 300, kind: 'route', ...range, only: { group: 'part', keys: ['gpt-4o'] } }, [
    'part',
    'subject_id',
  ]);
  await traffic.totals({ span: 300, kind: 'channel', ...range, only: { group: 'subject_id', keys: [2] } }, [
    'subject_id',
  ]);
  for (const order of ['requests', 'charge', 'tokens'] as const)
    await traffic.top({ span: 300, kind: 'channel', ...range }, { by: 'subject_id', order, limit: 1 });
  await traffic.parts('channel', { ...range, width: 300 });
  await traffic.parts('model', { ...range, width: 600 });
  await traffic.suspects({ minutesFrom: 0, hoursFrom: 0 });
  await traffic.userNames([1, 2, 99]);
  await traffic.usedFrom(
    new Map([
      [1, '192.0.2.1'],
      [99, '192.0.2.2'],
    ]),
  );
  await traffic.windows(300, at);
  await traffic.windows(300, at, 1);
  await traffic.newestWindows(300, at);
  await traffic.newestWindows(3600, 0);
  await traffic.spend({ from: at - 86_400, day: at });
  for (const windows of [1, 2])
    await traffic.failedShares({ span: 300, windows, ...range, percent: 12.5, attempts: 0 });
  await traffic.failingHours({ ...range, streak: 1, failures: 1 });
  await traffic.channelNames([1, 2, 99]);
  await traffic.tokenLabels();
  await traffic.tokenNames([1, 2, 99]);
  await traffic.deleteOld({ 300: at + 300, 3600: 0, 86400: 0 });
  await traffic.totals({ span: 300, kind: 'all', ...range }, []);
  await traffic.windows(300, at);
}
