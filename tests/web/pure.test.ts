import { expect, test } from 'vitest';
import type { Log } from '../../server/contract/entities.ts';
import {
  badJsonIn,
  fieldsOf,
  formOf,
  issueOf,
  settingIn,
  withSetting,
} from '../../web/features/channels/channel-form.ts';
import { curlOf } from '../../web/features/logs/curl.ts';
import { type PriceList, rowsFor } from '../../web/features/pricing/price-rows.ts';
import {
  completionFor,
  completionOf,
  followsFamily,
  inputPrice,
  type MapTexts,
  outputPrice,
  ratioOf,
  rowsOf,
  withModel,
  withoutModel,
} from '../../web/features/settings/prices/price-maps.ts';

const texts: MapTexts = {
  ModelPrice: '{"mj":0.1}',
  ModelRatio: '{"plain":2,"gpt-4o":1.25}',
  CompletionRatio: '{"plain":3,"gpt-4o":9,"orphan":2}',
};

test('maps become rows and back; nothing else is touched', () => {
  const rows = rowsOf(texts);
  expect(rows.map(({ name }) => name)).toEqual(['gpt-4o', 'mj', 'plain']);
  const plain = rows.find(({ name }) => name === 'plain');
  if (plain === undefined) throw new Error('lost');
  expect([inputPrice(2), outputPrice(plain), ratioOf(4), completionFor(4, 12)]).toEqual([4, 12, 2, 3]);
  const next = withModel(texts, { name: 'plain', price: 0.5, ratio: 7, completion: 7 });
  expect(JSON.parse(next.ModelPrice)).toEqual({ mj: 0.1, plain: 0.5 });
  expect(JSON.parse(next.ModelRatio)).toEqual({ 'gpt-4o': 1.25 });
  expect(JSON.parse(next.CompletionRatio)).toEqual({ 'gpt-4o': 9, orphan: 2 });
  const renamed = withModel(texts, { ...plain, name: 'other' }, 'plain');
  expect(rowsOf(renamed).map(({ name }) => name)).toEqual(['gpt-4o', 'mj', 'other']);
  expect(rowsOf(withoutModel(texts, 'mj')).map(({ name }) => name)).toEqual(['gpt-4o', 'plain']);
});

test('a set value counts; where none is set, the family’s default is shown', () => {
  const [fixed, , free] = rowsOf(texts);
  if (fixed === undefined || free === undefined) throw new Error('lost');
  expect([followsFamily(fixed), completionOf(fixed)]).toEqual([false, 9]);
  expect([followsFamily(free), completionOf(free)]).toEqual([false, 3]);
  const unset = { ...fixed, completion: null };
  expect([followsFamily(unset), completionOf(unset)]).toEqual([true, 4]);
});

test('the price list is sorted for its reader and priced for the group', () => {
  const item = (name: string, type: number, groups: string[]) => ({
    model_name: name,
    quota_type: type,
    model_ratio: 1.5,
    model_price: 0.1,
    completion_ratio: 4,
    cache_ratio: 1,
    enable_groups: groups,
    owner_by: '',
    supported_endpoint_types: [],
    ...{ maker: null, context: null, longest: null, takes: [] },
  });
  const list: PriceList = {
    success: true,
    message: '',
    data: [
      item('zeta', 0, ['default']),
      item('call', 1, ['default']),
      item('gpt-x', 0, ['default']),
      item('vip-only', 0, ['vip']),
    ],
    group_ratio: { default: 1, vip: 0.5 },
    usable_group: { default: '', vip: '' },
  };
  const names = (group: string, search = '') => rowsFor(list, group, search).map(({ model_name: name }) => name);
  expect(names('default')).toEqual(['gpt-x', 'zeta', 'call', 'vip-only']);
  expect(names('vip')).toEqual(['vip-only', 'gpt-x', 'zeta', 'call']);
  expect(names('default', 'gx')).toEqual(['gpt-x']);
  const [first] = rowsFor(list, 'vip', '');
  expect([first?.input, first?.output, first?.price]).toEqual([1.5, 6, null]);
  expect(rowsFor(list, 'vip', 'call')[0]?.price).toBe(0.05);
});

test('a switch of a channel changes its own member of the settings alone', () => {
  const before = '{"proxy":"http://p","own":[1]}';
  expect(settingIn(withSetting(before, 'pass_through', true))).toEqual({
    proxy: 'http://p',
    own: [1],
    pass_through: true,
  });
  expect(settingIn(withSetting(before, 'proxy', ''))).toEqual({ own: [1] });
  expect(withSetting('{"force_format":true}', 'force_format', false)).toBe('');
  expect(settingIn('{')).toBeNull();
});

test('a channel form says what is missing, and sends numbers and lists', () => {
  const form = { ...formOf(null), name: ' a ', key: 'sk-1', models: 'm, n,,m', weight: '3', priority: '-1,000' };
  expect(fieldsOf({ ...form, base_url: 'http://h/ ' })).toMatchObject({
    name: 'a',
    models: 'm,n',
    weight: 3,
    priority: -1000,
    auto_ban: 1,
    base_url: 'http://h',
  });
  expect(issueOf(form, true)).toBeNull();
  expect(issueOf({ ...form, key: '' }, true)).toBe('channels.required');
  expect(issueOf({ ...form, key: '' }, false)).toBeNull();
  expect(issueOf({ ...form, models: ' ' }, false)).toBe('channels.modelsRequired');
  expect(issueOf({ ...form, param_override: '[1]' }, false)).toBe('channels.badJsonIn');
  expect(badJsonIn({ ...form, param_override: '[1]', setting: '{' })).toBe('channels.override');
  expect(badJsonIn({ ...form, setting: '{' })).toBe('channels.setting');
  expect(issueOf({ ...form, base_url: 'not a url' }, false)).toBe('channels.badAddress');
});

test('a log row is asked again in its own dialect', () => {
  const log = { model_name: 'm', is_stream: true } as Log;
  const bodyOf = (path?: string) => JSON.parse(/-d '(.*)'$/.exec(curlOf(log, path, 'http://h'))?.[1] ?? '') as object;
  expect(curlOf(log, undefined, 'http://h')).toContain('curl http://h/v1/chat/completions ');
  expect(bodyOf()).toEqual({ model: 'm', stream: true, messages: [{ role: 'user', content: '...' }] });
  expect(bodyOf('/v1/messages')).toMatchObject({ max_tokens: 1024 });
  expect(bodyOf('/v1/responses')).toMatchObject({ input: '...' });
  expect(bodyOf('/v1/embeddings')).toEqual({ model: 'm', input: '...' });
  const google = '/v1beta/models/{model}:streamGenerateContent';
  expect(curlOf(log, google, 'http://h')).toContain('/v1beta/models/m:streamGenerateContent');
  expect(bodyOf(google)).toHaveProperty('contents');
});
