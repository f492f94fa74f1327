/** First run: mode, administrator, channel, test call, token, environment. At most eight questions. */
import { shownKey } from '../../server/contract/token-key.ts';
import type { Context } from '../context.ts';
import { addressOf, variablesFor } from '../parts/access.ts';
import { answerTo } from '../parts/questions.ts';
import { channelForm } from './channel-form.ts';

export async function setupWizard(context: Context): Promise<void> {
  const { say, output } = context;
  const client = await context.client();
  const mode = await answerTo(context, {
    label: say('使用模式', 'usage mode'),
    choices: [
      { value: 'self', label: say('自用：不限额度，不计价也能用', 'self-use: for yourself, unpriced models work') },
      { value: 'external', label: say('对外运营：多用户计费', 'external: many users, billed') },
      { value: 'demo', label: say('演示站点：只读', 'demo: nobody can change anything') },
    ],
  });
  const username = await answerTo(context, {
    label: say('管理员用户名', "administrator's username"),
    fallback: 'root',
  });
  const password = await answerTo(context, { label: say('密码（至少 8 位）', 'password (at least 8)'), secret: true });
  await client.call('setup.run', {
    username,
    password,
    confirmPassword: password,
    SelfUseModeEnabled: mode === 'self',
    DemoSiteEnabled: mode === 'demo',
  });
  const [channel] = await channelForm(context);
  output.note(say('正在测试…', 'testing…'));
  const test = channel === undefined ? null : await client.call('channel.test', { id: channel.id });
  const made = await client.call('token.create', { name: 'first', unlimited_quota: true });
  const key = shownKey(made.key);
  const variables = variablesFor(null, addressOf(context), key);
  output.object(
    { result: 'created', username, mode, channel: channel?.id, test, key },
    [
      test?.success === true
        ? say(`测试成功，${test.time.toFixed(2)} 秒`, `the test succeeded in ${test.time.toFixed(2)} s`)
        : say(`测试失败：${test?.message ?? ''}`, `the test failed: ${test?.message ?? ''}`),
      '',
      ...Object.entries(variables).map(([name, value]) => `export ${name}=${value}`),
      '',
      say('接下来：gateway serve', 'next: gateway serve'),
    ],
    key,
  );
}
