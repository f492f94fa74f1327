/** First run from the terminal, and a look at the whole. */
import { readFileSync } from 'node:fs';
import { AppError } from '../../server/contract/errors.ts';
import { version } from '../../server/embedded/version.ts';
import { type CommandRun, text } from '../command.ts';

export const setup: CommandRun = async (context, flags) => {
  const mode = text(flags.mode) ?? 'external';
  if (!['external', 'self', 'demo'].includes(mode))
    throw new AppError('usage', { detail: '--mode: external, self, demo' });
  const client = await context.client();
  const state = await client.call('setup.get');
  const zh = context.language === 'zh';
  if (state.status) {
    context.output.object(
      { result: 'unchanged' },
      [zh ? '已经初始化，无需操作' : 'already set up, nothing to do'],
      'unchanged',
    );
    return;
  }
  const username = text(flags.username) ?? context.env.GATEWAY_ADMIN_USERNAME;
  const hasPassword =
    flags.passwordStdin === true ||
    text(flags.passwordFile) !== undefined ||
    context.env.GATEWAY_ADMIN_PASSWORD !== undefined;
  const missing = [...(username === undefined ? ['--username'] : []), ...(hasPassword ? [] : ['--password-stdin'])];
  if (!state.root_init && missing.length > 0) throw new AppError('input_needed', { flags: missing.join(', ') });
  const password = state.root_init
    ? ''
    : flags.passwordStdin === true
      ? await context.readSecret('--password-stdin')
      : text(flags.passwordFile) !== undefined
        ? readFileSync(text(flags.passwordFile) ?? '', 'utf8').replace(/\r?\n$/, '')
        : (context.env.GATEWAY_ADMIN_PASSWORD ?? '');
  await client.call('setup.run', {
    username,
    password,
    confirmPassword: password,
    SelfUseModeEnabled: mode === 'self',
    DemoSiteEnabled: mode === 'demo',
  });
  context.output.object(
    { result: 'created', username, mode },
    [zh ? `系统初始化成功，管理员 ${username}` : `set up, administrator ${username}`],
    'created',
  );
};

export const status: CommandRun = async (context) => {
  const client = await context.client();
  const overview = await client.call('status.overview');
  const value = { version, data_dir: context.dataDir, ...overview };
  context.output.object(
    value,
    Object.entries(value).map(([key, item]) => `${key.padEnd(18)} ${String(item)}`),
    version,
  );
};
