// @vitest-environment happy-dom
/** What the upstream of a channel does not take, in its form: confirmed, deleted, probed after the cost was said. */
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { UnsupportedMembers } from '../../web/features/channels/unsupported-members.tsx';
import { done, filled } from '../support/answers.ts';
import { mounted, unmounted } from './mounted.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const answers = Object.fromEntries(
  (['unsupported', 'unsupported_confirm', 'unsupported_store', 'probe_plan', 'probe'] as const).map((name) => [
    `channel.${name}`,
    filled[`channel.${name}`] ?? done[`channel.${name}`],
  ]),
);

test('members are listed with their source and scope, confirmed and deleted', async () => {
  const page = await mounted(() => <UnsupportedMembers channelId={21} />, { answers });
  await page.until(() => expect(page.text()).toContain('openai-chat:seed'));
  for (const words of ['由拒绝得知', '遇到过的对话不再发送', '由管理员设置', '所有请求都不发送'])
    expect(page.text()).toContain(words);
  await page.press('确认 gpt-4o 的 openai-chat:seed');
  await page.press('删除 gpt-4o 的 openai-chat:top_p');
  const sent = () => page.calls.filter(([id]) => /unsupported_(?:confirm|delete)$/.test(String(id)));
  await page.until(() => expect(sent()).toHaveLength(2));
  expect(sent().map(([id, fields]) => [id, fields])).toEqual([
    ['channel.unsupported_confirm', { id: '21', model: 'gpt-4o', member: 'openai-chat:seed' }],
    ['channel.unsupported_delete', { id: '21', model: 'gpt-4o', member: 'openai-chat:top_p' }],
  ]);
});

test('a probe says its cost, asks, shows what differs and stores it', async () => {
  const page = await mounted(() => <UnsupportedMembers channelId={21} />, { answers });
  await page.until(() => expect(page.text()).toContain('探测上游'));
  await page.press('探测上游');
  await page.until(() => expect(document.body.textContent).toContain('$0.0184'));
  expect(page.calls.map(([id]) => id)).not.toContain('channel.probe');
  const buttons = document.querySelectorAll<HTMLButtonElement>('[role="alertdialog"] button, [role="dialog"] button');
  [...buttons].find((button) => button.textContent === '探测上游')?.click();
  await page.until(() => expect(page.text()).toContain("seed: 拒绝 Unsupported parameter: 'seed'"));
  await page.press('保存差异');
  const stored = () => page.calls.find(([id]) => id === 'channel.unsupported_store')?.[1];
  await page.until(() =>
    expect(stored()).toMatchObject({ source: 'probe', members: [{ member: 'openai-chat:seed' }] }),
  );
});
