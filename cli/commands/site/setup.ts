/** First run from the terminal: the administrator, and on request the first channel and token. */
import { AppError } from '../../../server/contract/errors.ts';
import { displayedKey } from '../../../server/contract/token-key.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, type FlagValues, needed, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { typeOf } from '../channel/fields.ts';
import { credentials } from './from-environment.ts';

const modes = { external: 'external', self: 'self', 'self-use': 'self', demo: 'demo' } as const;

function modeOf(input: string | undefined): (typeof modes)[keyof typeof modes] {
  const name = input ?? 'external';
  if (!Object.hasOwn(modes, name)) throw new AppError('usage', { detail: '--mode: external, self-use, demo' });
  return modes[name as keyof typeof modes];
}

/** @returns whether the administrator is new. */
async function administrator(context: Context, client: Client, flags: FlagValues, mode: string): Promise<boolean> {
  const state = await client.call('setup.get');
  if (state.status) return false;
  const username = text(flags.username) ?? context.env.GATEWAY_ADMIN_USERNAME;
  const password = state.root_init ? '' : await context.secret(flags, 'password', 'GATEWAY_ADMIN_PASSWORD');
  if (!state.root_init) needed({ '--username': username, '--password-stdin': password });
  const code = text(flags.code) ?? context.env.GATEWAY_SETUP_CODE;
  await client.call('setup.run', {
    username,
    password,
    confirmPassword: password,
    ...(code === undefined ? {} : { code }),
    SelfUseModeEnabled: mode === 'self',
    DemoSiteEnabled: mode === 'demo',
  });
  return true;
}

async function channel(context: Context, client: Client, flags: FlagValues): Promise<number | undefined> {
  const typeName = text(flags.channelType);
  if (typeName === undefined) return undefined;
  const { '--channel-key-stdin': key } = needed({
    '--channel-key-stdin': await context.secret(
      { keyStdin: flags.channelKeyStdin, keyFile: flags.channelKeyFile },
      'key',
      'GATEWAY_CHANNEL_KEY',
    ),
  });
  const { type, models } = await typeOf(client, typeName);
  const name = text(flags.channelName) ?? typeName;
  const known = (await client.call('channel.search', { keyword: name })).find((one) => one.name === name);
  if (known !== undefined) return known.id;
  const [made] = await client.call('channel.create', {
    type,
    name,
    key,
    models: text(flags.channelModels) ?? models.join(','),
    base_url: text(flags.channelBaseUrl),
  });
  return made?.id;
}

async function token(client: Client, name: string | undefined): Promise<string | undefined> {
  if (name === undefined) return undefined;
  const known = (await client.call('token.search', { keyword: name })).find((one) => one.name === name);
  return displayedKey((known ?? (await client.call('token.create', { name, unlimited_quota: true }))).key);
}

export const setup: CommandRun = async (context, flags) => {
  const mode = modeOf(text(flags.mode));
  const client = await context.client();
  const bare = text(flags.username) === undefined && context.env.GATEWAY_ADMIN_USERNAME === undefined;
  const all = ['channelType', 'tokenName'].every((flag) => flags[flag] === undefined);
  if (bare && context.interactive && (all || !(await client.call('setup.get')).status)) {
    const { setupWizard } = await import('../../screens/setup-steps.ts');
    return setupWizard(context, flags);
  }
  const created = await administrator(context, client, flags, mode);
  if (context.url === '') for (const line of await credentials(context, client)) context.output.note(line);
  const channelId = await channel(context, client, flags);
  const key = await token(client, text(flags.tokenName));
  const result = created ? 'created' : 'unchanged';
  context.output.object(
    { result, mode, ...(channelId === undefined ? {} : { channel: channelId }), ...(key === undefined ? {} : { key }) },
    [
      created
        ? context.say('系统初始化成功', 'the system is set up')
        : context.say('已经初始化，无需操作', 'already set up, nothing to do'),
      ...(key === undefined ? [] : [key]),
    ],
    key ?? result,
  );
};
