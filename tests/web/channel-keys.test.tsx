// @vitest-environment happy-dom
/** Keys of a channel in its form, and the limits and the rule that it has of its own. */
import { useState } from 'react';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { AdvancedFields } from '../../web/features/channels/advanced-fields.tsx';
import { type ChannelForm, formOf, issueOf } from '../../web/features/channels/channel-form.ts';
import { ChannelKeys } from '../../web/features/channels/channel-keys.tsx';
import { filled } from '../support/answers.ts';
import { mounted, unmounted } from './mounted.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const keys = filled['channel.keys'] as readonly { readonly key_id: string; readonly status: string }[];

test('each key of a channel is listed with its state and the words of its upstream, tested and switched', async () => {
  let listed = keys;
  const page = await mounted(() => <ChannelKeys channelId={21} />, {
    answers: {
      'channel.keys': () => listed,
      'channel.key_test': { success: false, message: 'HTTP 401 no', time: 0.1 },
      'channel.key_update': (fields: Readonly<Record<string, unknown>>) => {
        listed = listed.map((one) => (one.key_id === fields.key_id ? { ...one, status: String(fields.status) } : one));
        return listed[0];
      },
    },
  });
  await page.until(() => expect(page.text()).toContain('sk-a…wxyz'));
  for (const words of [
    '使用中',
    '被拒绝',
    '等待中',
    '已停用',
    'gpt-4o：',
    '尚未使用',
    'Incorrect API key provided: ***',
  ])
    expect(page.text()).toContain(words);
  await page.press('测试密钥 sk-b…3456');
  await page.until(() => expect(page.text()).toContain('HTTP 401 no'));
  await page.press('停用密钥 sk-a…wxyz');
  await page.until(() => expect(document.querySelector('[aria-label="启用密钥 sk-a…wxyz"]')).not.toBeNull());
  const sent = page.calls.filter(([id]) => id === 'channel.key_update').map(([, fields]) => fields);
  expect(sent[0]).toMatchObject({ key_id: '3f2a9c01de', status: 'off' });
});

test('a channel with one key lists none', async () => {
  const page = await mounted(() => <ChannelKeys channelId={21} />, { answers: { 'channel.keys': keys.slice(0, 1) } });
  await page.until(() => expect(page.calls).toHaveLength(1));
  expect(page.text()).toBe('');
});

let form: ChannelForm = formOf(null);

function Piece() {
  const [shown, setShown] = useState(form);
  return (
    <AdvancedFields
      form={shown}
      provider={undefined}
      onChange={(change) => {
        form = { ...form, ...change };
        setShown(form);
      }}
    />
  );
}

test('limits and the rule of a channel are written as numbers, and taken out when their fields are emptied', async () => {
  form = { ...formOf(null), setting: '{"key_mode":"turn"}' };
  const page = await mounted(() => <Piece />);
  const setting = () => JSON.parse(form.setting) as unknown;
  await page.type(/^首字节最长等待/, '30');
  await page.type(/^最长静默/, '90');
  await page.type(/^错误次数/, '5');
  expect(page.text()).toContain('三项都要填写');
  const whole = { ...form, name: 'n', key: 'k', models: 'm' };
  expect(issueOf(whole, true)).toBe('channels.offRuleAll');
  await page.type(/^时间范围/, '10');
  await page.type(/^多久后试探/, '2');
  expect(page.text()).not.toContain('三项都要填写');
  expect(setting()).toEqual({
    ...{ key_mode: 'turn', first_byte_seconds: 30, upstream_idle_seconds: 90 },
    off_after: { errors: 5, minutes: 10, half_open_minutes: 2 },
  });
  expect(issueOf({ ...form, name: 'n', key: 'k', models: 'm' }, true)).toBeNull();
  for (const label of [/^首字节最长等待/, /^最长静默/, /^错误次数/, /^时间范围/, /^多久后试探/])
    await page.type(label, '');
  expect(setting()).toEqual({ key_mode: 'turn' });
});
